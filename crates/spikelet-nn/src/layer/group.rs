//! Layers in sequence as one layer of files; in Rust, a [`Sequential`] in another one.

use crate::module::Sequential;
use crate::network::kind::{Kind, MainValue, key};
use crate::network::limits::MAX_LAYERS;
use std::sync::Arc;

/// `{ name = "stage1", layers = […], repeat = 2 }`: layers with a common name. With `repeat`, copies with weights
/// of their own, named `0`, `1` ….
pub(crate) const LAYERS: Kind = Kind {
    names: &["layers", "sequential"],
    types: &["Layers"],
    summary: "layers in sequence, with a common name or repeated",
    main: MainValue::Layers(key!(layers: "layers", "a list of layers")),
    keys: &[key!(repeat: "integer" = "null", "the number of copies, each with weights of its own")],
    example: (
        &[8],
        r#"{ layers = [{ linear = 6 }, "neuron"], repeat = 2 }"#,
    ),
    build: |layer, b| {
        let list = layer.main()?;
        let Some(copies) = layer.fields.integer("repeat", 1..=MAX_LAYERS)? else {
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
    },
};
