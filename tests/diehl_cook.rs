//! The program `diehl_cook` on a few images: what it learns, its state, its options.

#[path = "../examples/diehl_cook/experiment.rs"]
mod experiment;
#[path = "../examples/diehl_cook/labels.rs"]
mod labels;
#[path = "../examples/diehl_cook/network.rs"]
mod network;
#[path = "../examples/diehl_cook/neurons.rs"]
mod neurons;
#[path = "../examples/diehl_cook/options.rs"]
#[expect(dead_code, reason = "the text of --help is printed by the program")]
mod options;

use experiment::{Experiment, Phase, Progress};
use labels::{Responses, prediction};
use options::Options;
use spikelet::Result;
use spikelet::graph::Tensor;
use std::path::Path;

fn small() -> Options {
    Options {
        neurons: 20,
        images: 12,
        batch_size: 2,
        label_images: Some(12),
        test_images: 10,
        ..Options::default()
    }
}

fn experiment(options: &Options) -> Result<Experiment> {
    let digits = spikelet::data::synthetic::digits_of(0, 20, 10);
    Experiment::new(options, digits, spikelet::device::cpu()?)
}

/// Runs to the end; after `stop` batches the state is written, and another experiment continues from it.
fn run(
    options: &Options,
    stop: Option<(usize, &Path)>,
) -> Result<(Progress, Vec<(String, Tensor)>)> {
    let mut run = experiment(options)?;
    let mut steps = 0;
    while run.progress.phase != Phase::Done {
        if run.step()? {
            run.next_phase();
        }
        steps += 1;
        if let Some((_, path)) = stop.filter(|(stop, _)| *stop == steps) {
            run.save(path)?;
            run = experiment(options)?;
            run.load(path)?;
        }
    }
    Ok((run.progress, run.network.tensors()?))
}

#[test]
fn a_run_that_continues_from_a_state_has_the_same_bits() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.safetensors");
    let whole = run(&small(), None)?;
    assert_eq!(whole.0.responses.images.iter().sum::<u64>(), 12);
    assert!(
        whole.0.responses.spikes.iter().flatten().sum::<u64>() >= 60,
        "5 spikes an image"
    );
    for stop in [3, 8] {
        assert!(whole == run(&small(), Some((stop, &path)))?, "{stop}");
    }
    // A state of another run is refused.
    let other = Options { seed: 1, ..small() };
    let error = experiment(&other)?.load(&path).unwrap_err().to_string();
    assert!(
        error.contains("--seed 0") && error.contains("--seed 1"),
        "{error}"
    );
    Ok(())
}

#[test]
fn weights_are_learned_and_thresholds_rise_until_training_ends() -> Result<()> {
    let mut run = experiment(&small())?;
    assert_eq!(run.progress.phase.name(), "learn");
    let tensor = |run: &Experiment, name: &str| -> Result<Vec<f64>> {
        let all = run.network.tensors()?;
        let found = all.iter().find(|(known, _)| known == name);
        Ok(found.expect("a tensor").1.to_f64())
    };
    let before = tensor(&run, "synapses.weight")?;
    while !run.step()? {}
    assert_eq!((run.progress.images, run.total()), (12, 12));
    let progress = &run.progress;
    assert!(
        progress.presentations >= 12 && progress.spikes >= 60,
        "{progress:?}"
    );
    let (weight, theta) = (
        tensor(&run, "synapses.weight")?,
        tensor(&run, "neuron.theta")?,
    );
    assert!(weight != before && weight.iter().all(|w| (0.0..=1.0).contains(w)));
    // θ rises by 0.05 with each spike, those of presentations with too few spikes as well.
    let rise: f64 = theta.iter().map(|theta| theta - 20.0).sum();
    assert!(
        rise >= 0.049 * progress.spikes as f64,
        "{rise} {}",
        progress.spikes
    );
    run.next_phase();
    while run.progress.phase != Phase::Done {
        if run.step()? {
            run.next_phase();
        }
    }
    assert!(weight == tensor(&run, "synapses.weight")? && theta == tensor(&run, "neuron.theta")?);
    Ok(())
}

#[test]
fn neurons_that_never_fire_have_no_class_and_images_without_spikes_no_prediction() {
    let mut responses = Responses::new(4);
    // Two images of class 3 and one of class 7: means are compared, not sums.
    responses.add(3, &[2, 1, 0, 1]);
    responses.add(3, &[2, 0, 0, 1]);
    responses.add(7, &[3, 0, 0, 1]);
    let classes = responses.classes();
    assert_eq!(classes, [Some(7), Some(3), None, Some(3)]);
    // The spikes of a class are averaged over its neurons; the third one is not asked.
    assert_eq!(prediction(&classes, &[3, 2, 9, 2]), Some(7));
    assert_eq!(prediction(&classes, &[1, 2, 9, 2]), Some(3));
    assert_eq!(prediction(&classes, &[0, 0, 9, 0]), None);
}

#[test]
fn wrong_options_are_named() {
    let parse = |words: &str| Options::parse(words.split(' ').map(String::from));
    for (words, parts) in [
        ("--neuron 4", vec!["--neuron", "did you mean --neurons?"]),
        ("--neurons 1", vec!["--neurons is 1", "from 2"]),
        ("--images many", vec!["--images is many", "whole number"]),
        ("--batch-size", vec!["--batch-size has no value"]),
        ("--seed=-1", vec!["--seed is -1"]),
    ] {
        let error = parse(words).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    let options = parse("--neurons=100 --images 5 --json").expect("options");
    assert_eq!(
        (options.neurons, options.images, options.json),
        (100, 5, true)
    );
}
