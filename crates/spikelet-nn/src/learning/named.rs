//! Learning rules by name, as files have them.

use super::{LearningRule, PairStdp, RewardStdp, RewardTraceStdp, Stdp, TripletStdp};
use crate::DefinitionError;
use crate::domain;
use crate::registry::{self, Entry};
use serde_json::Value;
use std::sync::Arc;

/// The family in messages.
const FAMILY: &str = "learning rule";

/// The rules that files may have. The signal of those with a reward is that of [`Plastic::reward`](super::Plastic::reward);
/// rules with other signals are not among them.
pub fn rules() -> Vec<Entry<dyn LearningRule>> {
    vec![
        entry::<Stdp>(
            "stdp",
            "traces of both neurons; spikes of one step pair",
            include_str!("stdp.rs"),
        ),
        entry::<PairStdp>(
            "pair-stdp",
            "pairs of spikes, exponential traces; spikes of one step do not pair",
            include_str!("spike_pairs.rs"),
        ),
        entry::<TripletStdp>(
            "triplet-stdp",
            "pairs and triplets of spikes",
            include_str!("spike_pairs.rs"),
        ),
        entry::<RewardStdp>(
            "reward-stdp",
            "traces of both neurons, times a reward in the step after",
            include_str!("reward.rs"),
        ),
        entry::<RewardTraceStdp>(
            "reward-trace-stdp",
            "the same with an eligibility trace of each synapse",
            include_str!("reward.rs"),
        ),
    ]
}

/// The rule of a specification: a name, or an object with `name` and constants.
///
/// # Errors
/// For an unknown name or constant, or a value outside its domain.
///
/// ```
/// use spikelet_nn::learning;
/// let rule = learning::from_spec(&serde_json::json!({"name": "pair-stdp", "a2_plus": 2e-3}))?;
/// assert_eq!(rule.bounds(), Some([0.0, 1.0]));
/// # Ok::<(), spikelet_nn::DefinitionError>(())
/// ```
pub fn from_spec(spec: &Value) -> Result<Arc<dyn LearningRule>, DefinitionError> {
    registry::from_spec(FAMILY, |name| registry::find(FAMILY, rules(), name), spec)
}

/// A rule with a default whose constants are those of its serialized form.
trait Named: LearningRule + serde::Serialize + serde::de::DeserializeOwned + Default + 'static {}

impl<R> Named for R where
    R: LearningRule + serde::Serialize + serde::de::DeserializeOwned + Default + 'static
{
}

fn entry<R: Named>(
    name: &'static str,
    summary: &'static str,
    file: &'static str,
) -> Entry<dyn LearningRule> {
    let path = std::any::type_name::<R>();
    Entry {
        name,
        summary,
        type_name: path.rsplit("::").next().unwrap_or(path),
        defaults: || registry::fields(&R::default()),
        build: |given| {
            let default = R::default();
            let made: R = registry::from_fields(default.name(), given, &default.constants())?;
            domain::check(&made.constants(), &format!("the rule `{}`", made.name()))?;
            Ok(Arc::new(made))
        },
        file,
    }
}
