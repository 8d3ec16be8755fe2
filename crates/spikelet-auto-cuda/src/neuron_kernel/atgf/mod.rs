//! Neurons' kernels with a gradient: operations of a network like any other.
//!
//! An autograd function (ATGF) is a forward and a backward kernel as one operation on `Var`s. It
//! is part of the network's plan, trained with the rest of it, and recorded in its CUDA graph; the
//! kernels are printed and launched as everywhere in [`auto_cuda`](crate::auto_cuda). Where there
//! is no GPU the same steps run on the CPU, from the neuron's
//! [`equation`](super::NeuronForward::equation) and the surrogate's
//! [`expression`](crate::SurrogateCodes::expression).
//!
//! Forward it reads x_seq and v_init and makes spike_seq, v_v_seq (v_init, then the potential
//! after each step) and h_seq. Backward it reads the gradients of the first two, h_seq, and what
//! else the backward kernel has parameters for; nothing else is kept, and h_seq not either where
//! there is no backward pass.

mod apply;
mod backward;
mod base;
mod definition;
mod forward;
mod host;

pub use apply::{IFNodeATGF, LIFNodeATGF, NeuronATGF, OwnParameter, ParametricLIFNodeATGF};
pub use base::{NeuronATGFBase, PreBackward, PreForward};
