//! Encoders: from a value to a sequence.

mod direct;
mod poisson;

pub use direct::Direct;
pub use poisson::Poisson;

use crate::error::{Error, Result};
use crate::module::Context;
use spikelet_graph::Var;
use std::sync::Arc;

/// Turns what is constant, `[N, …]`, into a sequence `[T, N, …]`.
pub trait Encoder: Send + Sync {
    /// The sequence of `time_steps` steps.
    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var;
}

/// The encoder of this name.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<Arc<dyn Encoder>> {
    match name {
        "poisson" => Ok(Arc::new(Poisson)),
        "direct" => Ok(Arc::new(Direct)),
        _ => Err(Error::invalid(
            "encoder",
            format!("`{name}` is not known"),
            "use poisson or direct",
        )),
    }
}
