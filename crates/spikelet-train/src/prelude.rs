//! The names of [`spikelet_nn::prelude`] and those that most training programs use:
//! `use spikelet_train::prelude::*;`. All others are in their modules, such as [`optim`](crate::optim).

pub use crate::optim::{Adam, LrSchedule, Sgd};
pub use crate::{Settings, Trainer};
#[doc(inline)]
pub use spikelet_nn::prelude::*;

#[cfg(test)]
mod tests {
    /// The number of names behind the paths of `pub use`.
    fn names(source: &str) -> usize {
        let exports = source
            .split("\npub use ")
            .skip(1)
            .flat_map(|rest| rest.split(';').next());
        let lists = exports.flat_map(|export| export.rsplit("::").next());
        let words = lists.flat_map(|list| list.split(|c: char| !c.is_alphanumeric()));
        words.filter(|word| !word.is_empty()).count()
    }

    #[test]
    fn the_prelude_has_at_most_60_names() {
        let below = names(include_str!("../../spikelet-nn/src/prelude.rs"));
        assert!((50..=60).contains(&(names(include_str!("prelude.rs")) + below)));
    }
}
