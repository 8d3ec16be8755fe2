//! `"batch-norm"`, `{ layer = "batch-norm", momentum = 0.05 }`; threshold-dependent with `scale`, the threshold of the neuron
//! behind it; temporal effective with `time_steps`, each of which then has a trained factor.

use super::keys::{EPSILON, MOMENTUM, key};
use super::{Kind, MainValue};
use crate::layer::BatchNorm;
use crate::module::Module;
use crate::network::build::Builder;
use crate::network::layer_fields::LayerFields;
use spikelet_core::document::Located;
use std::sync::Arc;

/// The largest number of time steps with factors of their own.
const MAX_TIME_STEPS: usize = 1 << 20;

pub(super) const BATCH_NORM: Kind = Kind {
    name: "batch-norm",
    types: &["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"],
    summary: "batch normalization of each channel",
    main: MainValue::None,
    keys: &[
        EPSILON,
        MOMENTUM,
        key!(affine: "flag" = "true", "whether there are trained scales and offsets"),
        key!(scale: "number" = "1.0", "the initial value of the scales"),
        key!(each_step: "flag" = "false", "whether each time step has statistics of its own"),
        key!(time_steps: "integer" = "null", "the number of time steps, each with a factor that is learned (TEBN)"),
    ],
    example: (&[4, 6, 6], r#""batch-norm""#),
    build: |layer, b| match b.shape.len() {
        1 | 2 => batch_norm::<1>(layer, b),
        3 => batch_norm::<2>(layer, b),
        _ => batch_norm::<3>(layer, b),
    },
};

fn batch_norm<const D: usize>(
    layer: &LayerFields<'_>,
    b: &mut Builder,
) -> Result<Arc<dyn Module>, Located> {
    let channels = b.shape[0];
    let mut norm = BatchNorm::<D>::new(channels);
    norm.epsilon = layer.fields.number("epsilon")?.unwrap_or(norm.epsilon);
    norm.momentum = layer.fields.number("momentum")?.unwrap_or(norm.momentum);
    norm.affine = layer.fields.flag("affine")?.unwrap_or(norm.affine);
    norm.scale = layer.fields.number("scale")?.unwrap_or(norm.scale);
    norm.each_step = layer.fields.flag("each_step")?.unwrap_or(norm.each_step);
    let leaf = b.leaf(layer.kind.name, norm, channels.checked_mul(2), |_| Some(0))?;
    let time_steps = layer.fields.integer("time_steps", 1..=MAX_TIME_STEPS)?;
    match time_steps {
        // The builder's sequences have another number of steps.
        Some(_) => Ok(Arc::new(BatchNorm { time_steps, ..norm })),
        None => Ok(leaf),
    }
}
