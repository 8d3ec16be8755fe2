//! Optimizers, gradient clipping and learning rate schedules.
//!
//! Each optimizer has its own file and one line in `config.rs`. One of your own is an implementation of
//! [`Optimizer`], whose documentation has an example.

mod adam;
mod clip;
mod config;
mod constants;
mod lamb;
mod limited;
mod lion;
mod muon;
mod optimizer;
mod rmsprop;
mod schedule;
mod sgd;
mod update;

pub use adam::Adam;
pub use clip::{Clip, grad_norm, squares};
pub use config::OptimizerConfig;
pub use lamb::Lamb;
pub use limited::Limited;
pub use lion::Lion;
pub use muon::Muon;
pub(crate) use optimizer::decays;
pub use optimizer::{Optimizer, StateSpec, constants_of};
pub use rmsprop::RmsProp;
pub use schedule::{LrSchedule, OneCycle, Plateau};
pub use sgd::Sgd;
pub use update::{
    ElementUpdate, STATE_PREFIX, Update, Updated, feed_scalars, feed_scalars_of, scalar_inputs,
    scalar_inputs_of, state_name, update, update_with_prefix,
};
