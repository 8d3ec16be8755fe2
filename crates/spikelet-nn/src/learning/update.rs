//! When the weights of a layer with a learning rule change.

use super::LearningError;
use crate::domain::Domain;
use crate::module::Context;
use crate::network::kind::{LayerFields, key};
use crate::network::{LayerKey, NetworkProblem};
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

pub(super) const LEARNING_RATE: LayerKey =
    key!(learning_rate: "number" = "1.0", "the factor of a change");

impl Update {
    /// Refuses a key of a layer in a file that the optimizer replaces.
    pub(super) fn expect_without(
        self,
        layer: &LayerFields<'_>,
        key: &'static str,
    ) -> Result<(), Located> {
        match layer.fields.entry(key) {
            Some(entry) if self == Self::Gradient => {
                Err(NetworkProblem::PlasticByOptimizer { key }.at(entry.span.clone()))
            }
            _ => Ok(()),
        }
    }

    /// The value of [`LEARNING_RATE`] in a file.
    pub(super) fn learning_rate(self, layer: &LayerFields<'_>) -> Result<f64, Located> {
        self.expect_without(layer, "learning_rate")?;
        Ok(layer
            .number("learning_rate", Domain::FINITE)?
            .unwrap_or(1.0))
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
