//! Measurement of the fastest of several plans.
//!
//! Plans run on a separate stream, so that another thread's capture of the GPU's stream is not
//! disturbed, and as in training: captured in a CUDA graph, without the host's launch time. A plan
//! that cannot be captured is thereby excluded.

use super::Convolution;
use super::api::ApiResult;
use super::problem::Plan;
use super::session::Running;
use crate::library::driver::{DriverError, Stream, TIMED};
use crate::memory::DeviceMemory;
use spikelet_graph::op::Operation;
use spikelet_graph::{DType, TensorType};
use std::sync::Arc;
use std::time::Instant;

/// Runs in a captured graph, and the number of timings.
const RUNS: usize = 3;
const TIMINGS: usize = 2;
/// Times within this ratio are equal.
const EQUAL_RATIO: f32 = 1.02;
/// A plan that takes this many times as long as the fastest is not measured further, with allowance
/// for the milliseconds of loading its code and of a launch.
const SLOW_RATIO: f32 = 2.0;
const LOADING_MS: f32 = 200.0;
const LAUNCH_MS: f32 = 0.1;
/// Multiplications and additions of f32 that a multiprocessor does in a millisecond at most, without its tensor cores:
/// 128 of each in a cycle, at 2 GHz.
const FLOPS_MS: f64 = 2.0 * 128.0 * 2e6;
/// A byte that gives ordinary values in every type: 0.011 in f32 and bf16, 1.06 in f16.
const FILL_BYTE: u8 = 0x3c;

/// Device memory for a measurement.
struct Buffers {
    tensors: [DeviceMemory; 3],
    workspace: DeviceMemory,
}

impl Buffers {
    fn new(
        running: &Running<'_>,
        c: &Convolution,
        workspace: usize,
    ) -> spikelet_graph::Result<Self> {
        let allocate = |bytes| DeviceMemory::new(running.gpu(), bytes, "measuring a convolution");
        let tensor =
            |dtype: DType, shape: Vec<usize>| allocate(TensorType::new(dtype, shape).bytes());
        let [a, b, y] = c.operand_shapes();
        Ok(Self {
            tensors: [
                tensor(c.operands, a)?,
                tensor(c.operands, b)?,
                tensor(c.result, y)?,
            ],
            workspace: allocate(workspace)?,
        })
    }

    fn fill(&self, stream: &Stream) -> ApiResult<()> {
        for memory in self.tensors.iter().chain([&self.workspace]) {
            // SAFETY: the memory has this size and is on the stream's GPU.
            let filled = unsafe { stream.fill(memory.pointer, FILL_BYTE, memory.bytes) };
            filled.map_err(message)?;
        }
        Ok(())
    }
}

fn message(error: DriverError) -> String {
    error.to_string()
}

/// The milliseconds that a convolution takes at least without tensor cores.
fn lowest_ms(running: &Running<'_>, c: &Convolution) -> f32 {
    let [a, b, _] = c.operand_shapes();
    let operands = [a, b].map(|shape| TensorType::new(c.operands, shape));
    let multiprocessors = running.gpu().properties.multiprocessors;
    (c.op.flops(&operands, &[]) as f64 / (FLOPS_MS * multiprocessors as f64)) as f32
}

/// The fastest plan, and whether it is known to be: without enough memory the first is returned.
pub(super) fn fastest(
    running: &Running<'_>,
    c: &Convolution,
    mut plans: Vec<Plan>,
) -> ApiResult<(Plan, bool)> {
    if plans.len() == 1 {
        return Ok((plans.swap_remove(0), true));
    }
    // Large convolutions take seconds in engines without tensor cores.
    plans.sort_by_key(|plan| !plan.on_tensor_cores);
    let lowest_ms = lowest_ms(running, c);
    let workspace = plans.iter().map(|plan| plan.workspace).max().unwrap_or(0);
    let Ok(buffers) = Buffers::new(running, c, workspace) else {
        return Ok((plans.swap_remove(0), false));
    };
    let stream = running.gpu().context.new_stream().map_err(message)?;
    let times = running.on(&stream, || {
        buffers.fill(&stream)?;
        let mut best = f32::INFINITY;
        let timed = plans.iter().map(|plan| {
            if !plan.on_tensor_cores && lowest_ms > best {
                return Ok(f32::INFINITY);
            }
            let time = time(running, &stream, plan, &buffers, best);
            best = time.as_ref().map_or(best, |time| best.min(*time));
            time
        });
        Ok(timed.collect::<Vec<_>>())
    })?;
    let best = times
        .iter()
        .flatten()
        .copied()
        .fold(f32::INFINITY, f32::min);
    let chosen = (0..plans.len())
        .filter(|k| matches!(times[*k], Ok(time) if time <= EQUAL_RATIO * best))
        .min_by_key(|k| plans[*k].workspace);
    match (chosen, times.into_iter().find_map(Result::err)) {
        (Some(k), _) => Ok((plans.swap_remove(k), true)),
        (None, Some(problem)) => Err(format!("every engine fails: {problem}")),
        (None, None) => Err("no engine can be measured".to_string()),
    }
}

/// The milliseconds that a plan takes; approximate for one that is much slower than the best.
fn time(
    running: &Running<'_>,
    stream: &Arc<Stream>,
    plan: &Plan,
    buffers: &Buffers,
    best: f32,
) -> ApiResult<f32> {
    let start = || {
        let addresses = buffers.tensors.each_ref().map(|memory| memory.pointer);
        // SAFETY: the buffers have the sizes of the convolution and of the largest workspace, and
        // live until all work is done.
        unsafe { plan.start(running, addresses, buffers.workspace.pointer) }
    };
    // The first run loads the code.
    let begun = Instant::now();
    start()?;
    stream.synchronize().map_err(message)?;
    let first = begun.elapsed().as_secs_f32() * 1e3;
    if first > SLOW_RATIO * best + LOADING_MS {
        return Ok(first);
    }
    let rough = timed(stream, start)?;
    if rough > SLOW_RATIO * best + LAUNCH_MS {
        return Ok(rough);
    }
    let graph = {
        let _capturing = running.gpu().captures.capturing();
        stream.capture(message, || (0..RUNS).try_for_each(|_| start()))?
    };
    let graph = graph.ok_or("the captured graph is empty")?;
    let launch = || graph.launch().map_err(message);
    launch()?;
    let mut min_ms = f32::INFINITY;
    for _ in 0..TIMINGS {
        min_ms = min_ms.min(timed(stream, launch)?);
    }
    Ok(min_ms / RUNS as f32)
}

/// The milliseconds of the work that `start` enqueues.
fn timed(stream: &Stream, start: impl FnOnce() -> ApiResult<()>) -> ApiResult<f32> {
    let event = || stream.record_event(TIMED).map_err(message);
    let before = event()?;
    start()?;
    before.elapsed_ms(&event()?).map_err(message)
}
