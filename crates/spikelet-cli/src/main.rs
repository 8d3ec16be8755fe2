//! The spikelet program.
fn main() {}
