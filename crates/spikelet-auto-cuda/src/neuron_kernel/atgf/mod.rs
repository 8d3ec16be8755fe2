//! Neurons' kernels as differentiable operations of a network.
//!
//! An autograd function (ATGF) is a forward and a backward kernel as one operation on `Var`s. It is part of
//! the network's plan and of its CUDA graph. On the CPU the same steps are computed from the neuron's
//! [`equation`](super::NeuronForward::equation) and the surrogate's
//! [`expression`](crate::SurrogateCodes::expression).
//!
//! The forward pass reads x_seq and v_init and writes spike_seq, v_v_seq (v_init, then the potential after
//! each step) and h_seq. The backward pass reads the gradients of the first two, h_seq, and the other
//! tensors for which the backward kernel has parameters. Only those are saved, and none without a backward
//! pass.

mod apply;
mod backward;
mod base;
mod definition;
mod forward;
mod host;

pub use apply::{IFNodeATGF, LIFNodeATGF, NeuronATGF, OwnParameter, ParametricLIFNodeATGF};
pub use base::{NeuronATGFBase, PreBackward, PreForward};
