//! Tensor graphs for spiking networks.
//!
//! A network is traced once ([`Tracer`], [`Var`]) into a static [`Graph`], differentiated into a
//! graph ([`gradients`]), improved by passes ([`pass`]), laid out in memory ([`Plan`]) and handed
//! to a [`Backend`].

mod backend;
mod backward;
mod error;
mod graph;
pub mod op;
pub mod pass;
mod plan;
mod trace;
mod types;

pub use backend::{Backend, Buffer, Executor, Target};
pub use backward::{Backward, gradients};
pub use error::{Error, Refusal, Result};
pub use graph::{Graph, Input, InputKind, Node, Output, ValueId};
pub use plan::{Allocation, Kernel, Place, Plan};
pub use trace::{Tracer, Var};
pub use types::{DType, Data, ShapeText, Tensor, TensorType, broadcast, broadcast_strides};
