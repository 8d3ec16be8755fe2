//! When the weights of a layer with a learning rule change.

use super::LearningError;
use crate::module::Context;
use serde::{Deserialize, Serialize};
use spikelet_core::Result;

/// When and how a rule changes the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// In each step, inside the loop over time.
    #[default]
    EachStep,
    /// After the last step, by the sum of the changes.
    EndOfCall,
    /// The change is subtracted from the gradient of the weight, which is a parameter: the optimizer adds the change,
    /// multiplied by its learning rate. The loss may have a gradient as well.
    Gradient,
}

impl Update {
    /// Refuses weights that each of several ranks would change by itself.
    pub(super) fn check(self, cx: &Context, what: &str, rule: &'static str) -> Result<()> {
        let ranks = cx.ranks();
        if self == Self::Gradient || !cx.mode().training || ranks <= 1 {
            return Ok(());
        }
        Err(cx.error(what, LearningError::Ranks { rule, ranks }.into()))
    }
}
