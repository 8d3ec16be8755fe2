//! `{ dropout = 0.5 }`, `{ dropout = 0.5, each_step = true }`, `{ dropout2d = 0.1 }`

use super::keys::key;
use super::{Kind, MainValue};
use crate::layer::{Dropout, Dropout2d};
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::{Located, Node};

const PROBABILITY: MainValue = MainValue::Required(key!(p: "number", "the probability"));

pub(super) const DROPOUT: Kind = Kind {
    name: "dropout",
    types: &["Dropout"],
    summary: "dropout of features, the same at all time steps",
    main: PROBABILITY,
    keys: &[key!(each_step: "flag" = "false", "whether each time step has a mask of its own")],
    example: (&[8], "{ dropout = 0.25 }"),
    build: |layer, b| {
        let each_step = layer.fields.flag("each_step")?.unwrap_or(false);
        let module = Dropout::new(probability(layer)?).each_step(each_step);
        b.leaf("dropout", module, Some(0), |_| Some(0))
    },
};

pub(super) const DROPOUT2D: Kind = Kind {
    name: "dropout2d",
    types: &["Dropout2d"],
    summary: "dropout of complete channels, the same at all time steps",
    main: PROBABILITY,
    keys: &[],
    example: (&[4, 6, 6], "{ dropout2d = 0.25 }"),
    build: |layer, b| {
        let module = Dropout2d::new(probability(layer)?);
        b.leaf("dropout2d", module, Some(0), |_| Some(0))
    },
};

fn probability(layer: &LayerFields<'_>) -> Result<f64, Located> {
    below_one(layer.kind.name, layer.main()?)
}

/// A probability below 1: otherwise nothing would remain.
pub(super) fn below_one(key: &str, node: &Node) -> Result<f64, Located> {
    let p = node.number(key)?;
    match (0.0..1.0).contains(&p) {
        true => Ok(p),
        false => Err(node.wrong(key, "at least 0 and below 1")),
    }
}
