//! The tests of event files, their transforms and frames.

mod archives;
mod common;
mod fixtures;
mod fixtures_hdf5;
mod frames;
mod mutations;
mod packs;
mod previews;
mod round_trips;
mod sets;
mod synthetic;
mod transforms;
mod verify;
