//! The tests of the whole library, on each backend.

#[cfg(feature = "auto-cuda")]
mod auto_cuda;
#[path = "../crates/spikelet-train/tests/health/changed_images.rs"]
mod changed_images;
mod convolution;
mod cuda;
mod data_parallel;
mod diehl_cook;
mod divergence;
#[path = "support/dividing.rs"]
mod dividing;
mod documentation;
mod domains;
mod each_step;
mod encoders;
mod event_frames;
mod event_stream;
mod every_neuron;
#[path = "support/feedback_block.rs"]
mod feedback_block;
#[path = "support/golden.rs"]
mod golden;
mod golden_network;
mod golden_neurons;
#[path = "support/gpu.rs"]
mod gpu;
mod gradients;
mod guide_examples;
#[path = "support/largest.rs"]
mod largest;
mod layers;
mod live_stream;
mod losses_and_metrics;
mod memory_budget;
mod network_files;
#[cfg(feature = "nir")]
mod nir;
mod not_finite;
mod observed;
mod optimizers;
mod overlap;
mod own_step;
mod parts;
mod pipeline;
mod plastic;
mod precision;
#[path = "layers/probe.rs"]
mod probe;
mod propagation;
mod ranks;
#[path = "support/ranks.rs"]
mod ranks_support;
mod recurrence;
mod recurrent_layers;
mod recurrent_memory;
mod recurrent_parts;
mod resume;
mod resume_data;
mod run_memory;
#[path = "support/sequence_training.rs"]
mod sequence_training;
mod short_programs;
mod state;
mod step_ranks;
mod surrogates;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../crates/spikelet-graph/tests/support/thread_process_group.rs"]
mod thread_ranks;
mod wrong_values;
