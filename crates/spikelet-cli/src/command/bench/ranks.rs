//! A training step on several ranks, against one.

use crate::args::DeviceArgs;
use crate::command::{StepProgram, median};
use crate::failure::Failure;
use serde_json::json;
use spikelet::distributed::RankGroup;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet::network::Network;
use spikelet::train::step::RankInfo;
use spikelet::train::{SampleShape, Settings};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

/// Steps per timed group, so that the next step is submitted before one ends.
const GROUP: u32 = 10;
/// Number of timed groups.
const GROUPS: u32 = 10;

/// Measures on this rank; rank 0 prints the result.
pub fn measure(
    network: &Network,
    sample: SampleShape,
    settings: &Settings,
    (group, device): (Arc<RankGroup>, String),
    own: &DeviceArgs,
    console: &Console,
) -> Result<ExitCode, Failure> {
    let world = group.world();
    let (rank, ranks) = (world.rank, world.size);
    let own = own.clone().of_rank(device.clone(), world.ranks_on_host());
    let alone = match rank {
        0 => {
            let backend = spikelet::device::find(&device, own.threads)?;
            let program = StepProgram::compile(network, sample, settings, backend)?;
            time(program)?
        }
        _ => 0.0,
    };
    let backend = spikelet::device::open_in_group(&group, &device, own.threads)?;
    let program =
        StepProgram::compile_at(network, sample, settings, RankInfo { rank, ranks }, backend)?;
    group
        .process_group()
        .barrier()
        .map_err(spikelet::Error::from)?;
    let together = time(program)?;
    if rank > 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let speed = |ms: f64, images: usize| images as f64 / ms * 1e3;
    let one = speed(alone, settings.batch_size);
    let all = speed(together, settings.batch_size * ranks);
    console.say_json(&json!({
        "network": network, "ranks": ranks, "batch_size": settings.batch_size,
        "time_steps": settings.time_steps, "precision": settings.precision,
        "median_ms_one_rank": alone, "median_ms": together,
        "images_per_second_one_rank": one, "images_per_second": all, "speedup": all / one,
    }));
    console.say(format!(
        "{}, {} time steps, batches of {} a rank, {}",
        network.name(),
        settings.time_steps,
        settings.batch_size,
        settings.precision,
    ));
    console.say(format!(
        "1 rank: {alone:.3} ms a step, {} img/s · {ranks} ranks: {together:.3} ms, {} img/s, {:.2} times",
        thousands(one as u64),
        thousands(all as u64),
        all / one,
    ));
    Ok(ExitCode::SUCCESS)
}

/// Milliseconds per step. All ranks run the same number of steps.
fn time(mut program: StepProgram) -> Result<f64, Failure> {
    let mut group = || -> Result<f64, Failure> {
        let start = Instant::now();
        for _ in 0..GROUP {
            program.run()?;
        }
        program.finish()?;
        Ok(start.elapsed().as_secs_f64() * 1e3 / f64::from(GROUP))
    };
    group()?;
    let mut times = (0..GROUPS)
        .map(|_| group())
        .collect::<Result<Vec<f64>, _>>()?;
    Ok(median(&mut times))
}
