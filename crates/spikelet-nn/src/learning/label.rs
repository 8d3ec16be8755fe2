//! The classes of the samples, which a context gives to layers that learn by them.

use super::LearningError;
use crate::module::{Context, LABEL};
use spikelet_graph::{DType, Var};

/// A probability of each class, `[N, classes]`, for the samples of a batch; `rule` needs it.
pub(super) fn label(
    cx: &Context,
    rule: &'static str,
    batch: usize,
    classes: usize,
) -> Result<Var, LearningError> {
    let Some(label) = cx.signal(LABEL) else {
        return Err(LearningError::NoSignal {
            rule,
            signal: LABEL.to_string(),
        });
    };
    match (label.ty().dtype, label.shape()) {
        (DType::I64, [n]) if *n == batch => Ok(cx.once(|| label.one_hot(classes))),
        (DType::F32 | DType::F64, [n, c]) if [*n, *c] == [batch, classes] => {
            Ok(cx.once(|| label.cast(cx.tracer().float()).detach()))
        }
        _ => Err(LearningError::LabelShape {
            given: label.ty().clone(),
            batch,
            classes,
        }),
    }
}
