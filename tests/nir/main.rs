//! NIR graphs on the engine: imports, simulations, training, exports.

mod diff;
mod golden;
mod support;
