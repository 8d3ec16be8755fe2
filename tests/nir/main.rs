//! NIR graphs on the engine: imports, simulations, training, exports.

mod errors;
mod golden;
mod refused;
mod round_trip;
mod support;
mod training;
