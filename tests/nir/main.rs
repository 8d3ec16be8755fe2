//! NIR graphs on the engine: imports, simulations, training, exports.

mod errors;
mod golden;
mod support;
mod training;
