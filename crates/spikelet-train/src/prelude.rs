//! The names of [`spikelet_nn::prelude`] and those that most training programs use:
//! `use spikelet_train::prelude::*;`.

pub use crate::optim::{Adam, Clip, LrSchedule, Sgd};
pub use crate::{Settings, Trainer};
#[doc(inline)]
pub use spikelet_nn::prelude::*;
