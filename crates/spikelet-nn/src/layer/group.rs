//! Layers in sequence as one layer of files; in Rust, a [`Sequential`] in another one.

use crate::module::Sequential;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::limits::MAX_LAYERS;
use crate::network::values::LayerList;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Layers in sequence, with a common name or repeated.
///
/// `{ name = "stage1", layers = […], repeat = 2 }`. The copies are named `0`, `1` ….
#[derive(Debug, Schema)]
#[schema(name = "layers")]
pub(crate) struct LayersKeys {
    /// A list of layers.
    #[schema(main, required)]
    layers: LayerList,
    /// The number of copies, each with weights of its own.
    #[schema(from = 1, to = MAX_LAYERS)]
    repeat: Option<usize>,
}

impl LayerKeys for LayersKeys {
    const OTHER_NAMES: &[&str] = &["sequential"];
    const EXAMPLE: (&[usize], &str) = (
        &[8],
        r#"{ layers = [{ linear = 6 }, "neuron"], repeat = 2 }"#,
    );

    fn build(&self, _: &LayerFields<'_>, b: &mut Builder) -> Built {
        let list = &self.layers;
        let Some(copies) = self.repeat else {
            return Ok(Arc::new(b.sequence(list)?));
        };
        let mut all = Sequential::new();
        for copy in 0..copies {
            b.count()?;
            let name = copy.to_string();
            let made = b.inside(&name, |b| b.sequence(list))?;
            all = all.add_named(&name, made);
        }
        Ok(Arc::new(all))
    }
}
