//! Learning rules: weights that change by the activity of the neurons at both ends of a synapse.
//!
//! A rule is one file: the equations of its traces, and the change of a weight in one time step, in the expressions of
//! neurons ([`LearningRule`]). It attaches to any [linear layer or convolution](PlasticSynapses) and any neuron
//! ([`Plastic`]), and to the recurrent connections of neurons ([`PlasticRecurrent`]). A change that is a sum of products of
//! a factor of the presynaptic and one of the postsynaptic neuron is computed as matrix products, whose factors come from
//! the scans that compute the traces: nothing of the size of time × batch × weights is stored.
//!
//! With [`Update::EachStep`] the weights change in each step, inside the loop over time, and memory does not grow with
//! the number of steps. A rule may be combined with gradients: other layers of the network are trained as usual, and with
//! [`Update::Gradient`] the change is added to the gradient of the weight, for an optimizer.

mod apply;
mod changing_synapses;
mod class_reward;
mod competition;
mod definition;
mod eprop;
mod error;
mod factors;
mod label;
mod reward;
mod scope;
mod spike_pairs;
mod stdp;
mod synapses;
mod terms;
mod update;
mod weight_function;

pub use apply::{RuleInputs, RuleResults, run_rule};
pub use class_reward::ClassReward;
pub use competition::Homeostasis;
pub use eprop::{Eprop, LEARNING_SIGNAL};
pub use error::LearningError;
pub use reward::{RewardStdp, RewardTraceStdp};
pub use scope::RuleScope;
pub use spike_pairs::{Bound, Interaction, PairStdp, TripletStdp};
pub use stdp::Stdp;
pub use synapses::PlasticSynapses;
pub use update::Update;
pub use weight_function::WeightFunction;

use crate::network::kind::layers;
use spikelet_expr::Expr;
use spikelet_schema::{Record, registry};
use std::fmt;
use std::sync::Arc;

layers! {
    mod plastic: Plastic => PlasticKeys;
    mod plastic_recurrent: PlasticRecurrent => PlasticRecurrentKeys;
    mod online_eprop: EpropError, EpropFeedback, OnlineEprop, RateRegularization => OnlineEpropKeys;
}

/// A learning rule: the change of a weight in one time step.
///
/// Two traces and their product, as in a rule of one's own:
///
/// ```
/// use spikelet_nn::learning::{LearningRule, Plastic, RuleScope};
/// use spikelet_nn::prelude::*;
/// use spikelet_expr::Expr;
///
/// /// A product of traces.
/// #[derive(Debug, Schema)]
/// struct Hebb {}
///
/// impl LearningRule for Hebb {
///     fn change(&self, r: &RuleScope) -> Expr {
///         let p = r.set_pre_trace("p", r.pre_trace("p") * 0.9 + r.pre());
///         let q = r.set_post_trace("q", r.post_trace("q") * 0.8 + r.post());
///         (1.0 - r.weight()) * r.post() * p - 0.5 * r.weight() * r.pre() * q
///     }
/// }
///
/// let net = Plastic::new(Linear::new(20, 10).bias(false), Lif::new(2.0), Hebb {});
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [50, 8, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [50, 8, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub trait LearningRule: Record + Send + Sync + fmt::Debug {
    /// The name in error messages and recorded values.
    fn name(&self) -> &'static str {
        self.declaration().name
    }

    /// The equations of one time step: sets the next values of the traces, and returns the change of a weight. It is
    /// summed over the samples of the batch, and for a convolution over the positions of the window; a term without a
    /// factor of either neuron, such as a decay of the weight, is added once.
    fn change(&self, r: &RuleScope) -> Expr;

    /// The interval to which a weight is clamped after each change.
    fn bounds(&self) -> Option<[f64; 2]> {
        None
    }
}

impl LearningRule for Arc<dyn LearningRule> {
    fn change(&self, r: &RuleScope) -> Expr {
        (**self).change(r)
    }

    fn bounds(&self) -> Option<[f64; 2]> {
        (**self).bounds()
    }
}

registry! {
    /// The rules that files may have. The signal of those with a reward is that of [`Plastic::reward`]; rules with other signals
    /// are not among them.
    ///
    /// ```
    /// use spikelet_nn::learning::RULES;
    /// use spikelet_schema::document::Document;
    /// let layer = Document::from_toml("layer", "rule = { name = 'pair-stdp', a2_plus = 2e-3 }")?;
    /// let rule = RULES.read("rule", layer.root().get("rule").unwrap()).map_err(|error| layer.error(error))?;
    /// assert_eq!(rule.bounds(), Some([0.0, 1.0]));
    /// # Ok::<(), spikelet_schema::document::DocumentError>(())
    /// ```
    pub static RULES: dyn LearningRule = "learning rule" {
        Stdp, PairStdp, TripletStdp, RewardStdp, RewardTraceStdp,
    }
}
