//! Tensor graphs for spiking networks.
//!
//! A network is traced once ([`Tracer`], [`Var`]) into a static [`Graph`], differentiated into a
//! graph ([`gradients`]), improved by passes ([`pass`]), laid out in memory ([`Plan`]) and handed
//! to a [`Backend`].

mod arena;
mod backend;
mod backward;
mod buffer;
mod determinism;
mod device_code;
mod error;
mod graph;
mod host_tensor;
mod liveness;
mod notes;
pub mod op;
pub mod pass;
mod plan;
mod precision;
mod process_group;
pub mod rewrite;
pub mod semantics;
mod size_limit;
mod target;
mod tensor;
mod text;
mod time_invariance;
mod trace;
mod transfer;
mod types;

pub use backend::{Backend, DeviceKind, Executor, HostFuture, Memory};
pub use backward::{Backward, gradients, vjp};
pub use buffer::{Buffer, DeviceId, Storage};
pub use determinism::{Agreement, Determinism};
pub use error::{Error, InvalidOp, Result};
pub use graph::{Graph, Input, InputKind, Node, Output, ValueId};
/// The 16-bit floating-point types of [`Data`] and of buffers on the host.
pub use half::{bf16, f16};
pub use notes::{DeviceShare, Notes};
pub use plan::{Allocation, Bound, ForwardBackwardPlans, Kernel, Location, Plan};
pub use precision::Precision;
pub use process_group::ProcessGroup;
pub use target::{InPlaceUpdates, SchedulingPolicy, SpikeStorage, Target, WorkspaceQuery};
pub use tensor::{Data, Tensor};
pub use text::Text;
pub use trace::{Buckets, LoopResults, LoopTrace, Operand, RandomAxes, Tracer, Var};
pub use transfer::{DeviceTransfer, Event, OnHost, ReadyEvent};
pub use types::{DType, ShapeText, TensorType, broadcast, broadcast_strides, dense_strides};
