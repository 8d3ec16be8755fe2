//! The tests of neurons, layers and networks.

mod activations;
mod delays;
mod derive_module;
mod eventprop;
mod learning;
mod losses;
mod networks;
mod recurrent;
mod sequences;
