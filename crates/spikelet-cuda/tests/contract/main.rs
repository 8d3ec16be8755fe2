//! Plans on a GPU: every operation is compared with the CPU, bit for bit unless sums are involved. All
//! tests need a GPU and are ignored without `--include-ignored`.

mod harness;

mod all_reduce;
mod copies;
mod custom;
mod custom_errors;
mod custom_neuron;
mod delayed_matmul;
mod draw;
mod errors;
mod half;
mod images;
mod indices;
mod labels;
mod loops;
mod map;
mod matmul;
mod movement;
#[path = "../../../spikelet-graph/tests/contract/overlapping_layers.rs"]
mod overlapping_layers;
mod programs;
mod rank_update;
mod recorded_loops;
mod recurrent_scan;
mod reduce;
mod scan;
mod scan_grad;
mod spikes;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../spikelet-graph/tests/support/thread_process_group.rs"]
mod thread_ranks;
mod updates;
mod vocabulary;
