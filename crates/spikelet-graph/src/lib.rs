//! Tensor graphs for spiking networks.
//!
//! A network is traced once ([`Tracer`], [`Var`]) into a static [`Graph`], differentiated into a
//! graph ([`gradients`]), improved by passes ([`pass`]), laid out in memory ([`Plan`]) and handed
//! to a [`Backend`].

mod backend;
mod backward;
mod buffer;
mod error;
mod exchange;
mod graph;
mod local_exchange;
pub mod op;
pub mod pass;
mod plan;
mod precision;
mod tensor;
mod trace;
mod transfer;
mod types;

pub use backend::{Backend, DeviceKind, Executor, Memory, Pending, Target};
pub use backward::{Backward, gradients, pull_back};
pub use buffer::{Buffer, DeviceId, Storage};
pub use error::{Error, Refusal, Result};
pub use exchange::Exchange;
pub use graph::{Graph, Input, InputKind, Node, Output, ValueId};
/// The 16-bit floating-point types of [`Data`] and of buffers on the host.
pub use half::{bf16, f16};
pub use local_exchange::LocalExchange;
pub use plan::{Allocation, Bound, Halves, Kernel, Place, Plan};
pub use precision::{Precision, UnknownPrecision};
pub use tensor::{Data, Tensor};
pub use trace::{Buckets, Over, Tracer, Var};
pub use transfer::{AtOnce, Moment, OnHost, Parcel};
pub use types::{DType, ShapeText, TensorType, broadcast, broadcast_strides};
