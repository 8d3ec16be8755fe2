//! When the weights of a layer with a learning rule change.

use super::LearningError;
use crate::module::Context;
use crate::network::NetworkProblem;
use crate::network::kind::LayerFields;
use spikelet_core::Result;
use spikelet_core::document::Located;
use spikelet_schema::Schema;

/// When and how a rule changes the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
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
    /// Refuses a key of a layer in a file that the optimizer replaces.
    pub(super) fn expect_without(
        self,
        layer: &LayerFields<'_>,
        key: &'static str,
    ) -> Result<(), Located> {
        match layer.entry(key) {
            Some(entry) if self == Self::Gradient => {
                Err(NetworkProblem::PlasticByOptimizer { key }.at(entry.span.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Refuses weights that each of several ranks would change by itself.
    pub(super) fn check(self, cx: &Context, what: &str, rule: &'static str) -> Result<()> {
        let ranks = cx.ranks();
        if self == Self::Gradient || !cx.mode().training || ranks <= 1 {
            return Ok(());
        }
        Err(cx.error(what, LearningError::Ranks { rule, ranks }.into()))
    }
}
