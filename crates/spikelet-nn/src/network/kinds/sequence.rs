//! `{ name = "stage1", layers = […], repeat = 2 }`: layers with a common name. With `repeat`, copies with weights
//! of their own, named `0`, `1` ….

use super::keys::key;
use super::{Kind, MainValue};
use crate::module::Sequential;
use crate::network::limits::MAX_LAYERS;
use std::sync::Arc;

pub(super) const LAYERS: Kind = Kind {
    name: "layers",
    types: &["Group"],
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
