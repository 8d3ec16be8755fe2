//! The limits of networks in files: a file costs bounded time and memory.

/// The deepest nesting of layers.
pub(super) const MAX_DEPTH: usize = 32;

/// The largest number of layers, repeated ones included.
pub(crate) const MAX_LAYERS: usize = 4096;

/// The largest number of elements of one sequence at one time step of one image.
pub(super) const MAX_ELEMENTS: usize = 1 << 32;

/// The largest number of weights of a network.
pub(super) const MAX_WEIGHTS: usize = 1 << 36;
