//! The network of Diehl and Cook, which learns digits by STDP without labels: `--help` lists the options.
//!
//! Poisson inputs excite neurons whose synapses learn. Each of them excites an inhibitory neuron, which inhibits all others,
//! and raises its own threshold with each spike. After training, weights and thresholds are fixed, neurons get the classes
//! of the training images for which they fire most, and the test images are read once. With `--checkpoint` a killed program
//! continues when it is started again with the same options; the results have the same bits.
//!
//! Source: Diehl and Cook, Unsupervised learning of digit recognition using spike-timing-dependent plasticity, Frontiers
//! in Computational Neuroscience 2015; constants of the authors' program. Inputs reach all synapses without a delay, where
//! the authors draw delays of up to 10 ms.

mod experiment;
mod labels;
mod network;
mod neurons;
mod options;

use experiment::{Experiment, Phase};
use options::Options;
use std::error::Error;
use std::io::{IsTerminal, Write};
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
        print!("{}", options::HELP);
        return Ok(());
    }
    let digits = match &options.data {
        Some(folder) => spikelet::data::mnist::load(folder)?,
        None => spikelet::data::synthetic::digits(options.seed),
    };
    let device = spikelet::device::find(&options.device, options.threads)?;
    let mut experiment = Experiment::new(&options, digits, device)?;
    let state = options.checkpoint.as_ref();
    let state = state.map(|folder| folder.join("state.safetensors"));
    match state.as_deref() {
        Some(path) if path.exists() => experiment.load(path)?,
        // A folder that cannot be written is reported before the run.
        Some(path) => experiment.save(path)?,
        None => {}
    }
    while experiment.progress.phase != Phase::Done {
        let complete = advance(&mut experiment, options.save_every)?;
        report(&experiment, options.json);
        if complete {
            experiment.next_phase();
        }
        if let Some(path) = &state {
            experiment.save(path)?;
        }
    }
    summary(&experiment, options.json);
    Ok(())
}

/// Shows at least this many more images, fewer at the end of a phase. Returns whether it is complete.
fn advance(experiment: &mut Experiment, images: usize) -> Result<bool, Box<dyn Error>> {
    let terminal = std::io::stderr().is_terminal();
    let start = Instant::now();
    let (first, total) = (experiment.progress.images, experiment.total());
    let complete = loop {
        let complete = experiment.step()?;
        let done = experiment.progress.images;
        if terminal {
            let phase = experiment.progress.phase.name();
            eprint!("\r{phase}: {done} of {total} images");
            std::io::stderr().flush()?;
        }
        if complete || done >= first + images {
            break complete;
        }
    };
    if terminal {
        eprint!("\r\x1b[K");
    }
    experiment.progress.seconds += start.elapsed().as_secs_f64();
    Ok(complete)
}

fn report(experiment: &Experiment, json: bool) {
    let (p, total) = (&experiment.progress, experiment.total());
    let images = p.images.max(1) as f64;
    let (spikes, shown) = (p.spikes as f64 / images, p.presentations as f64 / images);
    let (phase, done) = (p.phase.name(), p.images);
    let milliseconds = 1000.0 * p.seconds / images;
    match json {
        true => println!(
            "{{\"phase\": \"{phase}\", \"images\": {done}, \"of\": {total}, \"spikes_per_image\": {spikes:.3}, \
             \"presentations_per_image\": {shown:.4}, \"ms_per_image\": {milliseconds:.3}, \"seconds\": {:.1}}}",
            p.seconds
        ),
        false => println!(
            "{phase}: {done} of {total} images, {spikes:.1} spikes and {shown:.2} presentations an image, {milliseconds:.2} ms \
             an image"
        ),
    }
}

fn summary(experiment: &Experiment, json: bool) {
    let (p, total) = (&experiment.progress, experiment.total());
    let classes = p.responses.classes();
    let silent_neurons = classes.iter().filter(|class| class.is_none()).count();
    let accuracy = p.correct as f64 / total.max(1) as f64;
    match json {
        true => println!(
            "{{\"test_accuracy\": {accuracy:.6}, \"test_images\": {total}, \"images_without_spikes\": {}, \"neurons\": {}, \
             \"neurons_without_class\": {silent_neurons}}}",
            p.silent,
            classes.len()
        ),
        false => println!(
            "test accuracy {:.2} % of {total} images; {silent_neurons} of {} neurons never fired and have no class",
            100.0 * accuracy,
            classes.len()
        ),
    }
}
