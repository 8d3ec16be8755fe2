//! Runs a spikelet plan on NVIDIA GPUs.
