//! `"layer-norm"`, `{ layer = "layer-norm", axes = 1 }`

use super::keys::{EPSILON, key};
use super::{Kind, MainValue};
use crate::layer::LayerNorm;

pub(super) const LAYER_NORM: Kind = Kind {
    name: "layer-norm",
    types: &["LayerNorm"],
    summary: "layer normalization over the last axes, by default over all",
    main: MainValue::None,
    keys: &[
        key!(axes: "integer" = "null", "the number of last axes over which is normalized; by default all"),
        EPSILON,
    ],
    example: (&[8], r#""layer-norm""#),
    build: |layer, b| {
        let axes = layer.fields.integer("axes", 1..=b.shape.len())?;
        let first = b.shape.len() - axes.unwrap_or(b.shape.len());
        let mut norm = LayerNorm::new(&b.shape[first..]);
        norm.epsilon = layer.fields.number("epsilon")?.unwrap_or(norm.epsilon);
        let weights = norm
            .shape
            .iter()
            .try_fold(2_usize, |all, &n| all.checked_mul(n));
        b.leaf(layer.kind.name, norm, weights, |_| Some(0))
    },
};
