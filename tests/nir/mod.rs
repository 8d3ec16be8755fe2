//! NIR graphs on the engine: imports, simulations, training, exports.

mod converted;
mod diff;
mod errors;
mod exported;
mod golden;
mod nested;
mod published;
mod refused;
mod round_trip;
mod support;
mod training;
