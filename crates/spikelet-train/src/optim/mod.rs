//! Optimizers, gradient clipping and learning rate schedules.
//!
//! An optimizer or a schedule is a file and a line of [`OPTIMIZERS`] or [`SCHEDULES`]. One of your own is an implementation of
//! [`Optimizer`], whose documentation has an example.

mod clip;
mod gradient_noise;
mod limited;
mod optimizer;
pub mod schedule;
mod update;

pub use clip::{Clip, grad_norm, squares};
pub(crate) use gradient_noise::GradientNoise;
pub use limited::Limited;
pub(crate) use optimizer::decays;
pub use optimizer::{Optimizer, StateSpec};
pub use schedule::{LrSchedule, SCHEDULES};
pub use update::{
    ElementUpdate, STATE_PREFIX, Update, Updated, feed_scalars, feed_scalars_of, scalar_inputs,
    scalar_inputs_of, update, update_with_prefix,
};

spikelet_schema::members! {
    /// All optimizers.
    pub static OPTIMIZERS: dyn Optimizer = "optimizer" {
        adafactor: Adafactor;
        adam: Adam;
        adamw: AdamW;
        lamb: Lamb;
        lion: Lion;
        muon: Muon;
        rmsprop: RmsProp;
        sgd: Sgd;
    }
}
