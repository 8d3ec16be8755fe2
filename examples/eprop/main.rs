//! e-prop beside back-propagation through time: the same network, weights and data, trained by each; `--help` lists the
//! options.
//!
//! | method | gradient | memory |
//! |---|---|---|
//! | `bptt` | complete | grows with the number of steps |
//! | `eprop` | e-prop, by back-propagation in a network whose spikes have no gradient between neurons | grows with the number of steps |
//! | `online` | e-prop, forward in time | does not; grows with the number of synapses |
//!
//! The last two are the same gradient.
//!
//! Source: Bellec et al., A solution to the learning dilemma for recurrent networks of spiking neurons, Nature
//! Communications 2020: pattern generation, evidence accumulation.

mod network;
mod options;
mod tasks;

use network::Method;
use options::{HELP, Options};
use spikelet::prelude::*;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let options = Options::parse(std::env::args().skip(1))?;
    if options.help {
        print!("{HELP}");
        return Ok(());
    }
    match options.memory {
        true => memory(&options),
        false => Method::ALL
            .into_iter()
            .try_for_each(|method| train(&options, method)),
    }
}

fn train(options: &Options, method: Method) -> Result<(), Box<dyn Error>> {
    let task = &options.task;
    let mut store = VarStore::new(spikelet::device::find(&options.device, 0)?);
    let mut step = network::step(options, method).compile(&mut store)?;
    network::start(options, method, &mut store)?;
    let mut seconds = 0.0;
    for k in 1..=options.iterations {
        let batch = task.batch(options.seed, k);
        let begun = Instant::now();
        let metrics = step.run_batch(&batch)?;
        // The first one loads and records.
        if k > 1 {
            seconds += begun.elapsed().as_secs_f64();
        }
        if k % options.iterations.div_ceil(10) != 0 && k != options.iterations {
            continue;
        }
        let (name, value) = (
            task.metric(),
            metrics.get(task.metric()).unwrap_or(f64::NAN),
        );
        let ms = 1e3 * seconds / (k - 1).max(1) as f64;
        let mut out = std::io::stdout().lock();
        match options.json {
            true => writeln!(
                out,
                r#"{{"task":"{}","method":"{}","iteration":{k},"{name}":{value:.6},"ms":{ms:.3}}}"#,
                task.name(),
                method.name()
            )?,
            false => writeln!(
                out,
                "{:8} iteration {k:5}: {name} {value:.4}, {ms:.2} ms an iteration",
                method.name()
            )?,
        }
    }
    Ok(())
}

/// The memory of a training step, without inputs, by the number of time steps.
fn memory(options: &Options) -> Result<(), Box<dyn Error>> {
    for time_steps in [100, 1_000, 10_000] {
        let task = options.task.clone().time_steps(time_steps);
        let options = Options {
            task,
            ..options.clone()
        };
        for method in Method::ALL {
            let mut store = VarStore::new(spikelet::device::find(&options.device, 0)?);
            let step = network::step(&options, method).compile(&mut store)?;
            let mib = step.plan().arena_bytes as f64 / f64::from(1 << 20);
            let name = method.name();
            match options.json {
                true => {
                    println!(r#"{{"method":"{name}","time_steps":{time_steps},"mib":{mib:.3}}}"#)
                }
                false => println!("{name:8} T = {time_steps:5}: {mib:9.2} MiB"),
            }
        }
    }
    Ok(())
}
