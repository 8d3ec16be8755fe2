//! NIR graphs on the engine: imports, simulations, training, exports.

mod golden;
mod support;
