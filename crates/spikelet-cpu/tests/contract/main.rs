//! The results of plans on the CPU: every operation against plain loops, every gradient against
//! central differences, and what must not change the result.

mod harness;

mod all_reduce;
mod attention;
#[cfg(target_os = "linux")]
mod callable;
mod conv;
mod cumprod;
mod custom;
mod delayed_matmul;
mod draw;
mod elementwise;
mod errors;
mod fuzzed_graphs;
mod half;
mod indices;
mod labels;
#[path = "../../../spikelet-graph/tests/contract/long_program.rs"]
mod long_program;
mod loops;
mod map;
mod matmul;
mod mean_var;
mod movement;
#[path = "../../../spikelet-graph/tests/contract/overlapping_layers.rs"]
mod overlapping_layers;
mod planning_time;
mod plans;
mod pool;
mod precision;
mod rank_update;
mod recurrent_scan;
mod reduce;
mod running;
mod scan;
mod scan_pool;
mod second_order;
mod semantics;
mod shapes;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../spikelet-graph/tests/support/thread_process_group.rs"]
mod thread_ranks;
mod threads;
mod time;
mod updates;
