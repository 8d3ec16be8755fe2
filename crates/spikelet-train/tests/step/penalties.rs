//! Penalties on spikes in the loss of a classifier's step, against sums over the recorded spikes.

use super::support::store;
use spikelet_data::{Batch, DataLoader, LoaderConfig, synthetic};
use spikelet_schema::{Member, to_json};
use spikelet_train::penalty::{
    Penalty, PenaltyKind, RateBounds, RateLimits, RateTarget, SpikeCount, SpikeCountSquared,
    SynapticOperations,
};
use spikelet_train::prelude::*;
use spikelet_train::{BatchShape, Step, StepError};

const N: usize = 16;
const T: usize = 6;
const HIDDEN: usize = 20;
const SHAPE: BatchShape = BatchShape {
    batch: N,
    image: [1, 28, 28],
};

/// The thresholds are low, so that both layers fire before training.
fn net() -> Sequential {
    let neurons = || Lif {
        common: Common {
            v_threshold: 0.1,
            ..Common::default()
        },
        ..Lif::new(2.0)
    };
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, HIDDEN).bias(false))
        .add_named("hidden", neurons())
        .add(Linear::new(HIDDEN, 10).bias(false))
        .add_named("output", neurons())
}

fn settings(lr: f64, penalties: Vec<Penalty>) -> Settings {
    Settings {
        time_steps: T,
        batch_size: N,
        optimizer: Adam::new(lr).into(),
        encoder: Direct.into(),
        loss: loss::CrossEntropy::new().into(),
        penalties,
        ..Settings::default()
    }
}

fn batch() -> Result<Batch> {
    let config = LoaderConfig {
        batch_size: N,
        shuffle: false,
        ..LoaderConfig::default()
    };
    let loader = DataLoader::new(synthetic::digits_of(0, N, 1).train, config)?;
    Ok(loader.epoch(0, 0).next().expect("a batch")?)
}

/// The penalty of spikes `[T, N, neurons]` by its definition.
fn by_hand(kind: &dyn PenaltyKind, spikes: &[f64]) -> f64 {
    let neurons = spikes.len() / (T * N);
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    // Spikes of each neuron of each sample, of each sample, and for each neuron and step.
    let mut counts = vec![0.0; N * neurons];
    for step in spikes.chunks(N * neurons) {
        counts.iter_mut().zip(step).for_each(|(c, s)| *c += s);
    }
    let samples: Vec<f64> = counts.chunks(neurons).map(|c| c.iter().sum()).collect();
    let rate = |k: usize| {
        let spikes: f64 = counts.iter().skip(k).step_by(neurons).sum();
        spikes / (T * N) as f64
    };
    let rates: Vec<f64> = (0..neurons).map(rate).collect();
    let outside = |low: f64, high: f64, power: i32| -> Vec<f64> {
        let each = rates.iter();
        each.map(|r| (low - r).max(0.0).powi(power) + (r - high).max(0.0).powi(power))
            .collect()
    };
    let constants = to_json(kind);
    let constant = |key: &str| constants[key].as_f64().expect("a number");
    match kind.declaration().name {
        "spike-count" => mean(&counts),
        "spike-count-squared" => mean(
            &samples
                .iter()
                .map(|count| count * count)
                .collect::<Vec<_>>(),
        ),
        "rate-target" => (mean(&rates) - constant("target")).powi(2),
        "rate-bounds" => mean(&outside(constant("low"), constant("high"), 2)),
        "rate-limits" => outside(constant("low"), constant("high"), 1).iter().sum(),
        "synaptic-operations" => mean(&samples) * constant("fan_out"),
        other => panic!("{other} is not defined here"),
    }
}

#[test]
fn the_loss_of_training_has_the_penalties_of_the_spikes_and_that_of_evaluations_has_not()
-> Result<()> {
    let (net, batch) = (net(), batch()?);
    let kinds: [Member<dyn PenaltyKind>; 6] = [
        SpikeCount.into(),
        SpikeCountSquared.into(),
        RateTarget { target: 0.2 }.into(),
        RateBounds {
            low: 0.05,
            high: 0.1,
        }
        .into(),
        RateLimits {
            low: 0.05,
            high: 0.1,
        }
        .into(),
        SynapticOperations { fan_out: 10.0 }.into(),
    ];
    for (kind, propagation) in kinds.into_iter().zip(Propagation::ALL.into_iter().cycle()) {
        for (layers, pattern) in [(&["hidden"][..], "hid*"), (&["hidden", "output"], "*")] {
            let settings = Settings {
                propagation,
                ..settings(0.0, vec![Penalty::new(kind.clone(), pattern, 0.25)])
            };
            let mut store = store()?;
            let step = Step::classifier(&net, &settings, SHAPE)?.read_activations("*.spike_seq");
            let mut step = step.compile(&mut store)?;
            let trained = step.run_batch(&batch)?;
            let mut expected = 0.0;
            for layer in layers {
                let spikes = step.activation(&format!("{layer}.spike_seq"))?.to_f64();
                assert!(spikes.contains(&1.0), "{layer} fires");
                expected += 0.25 * by_hand(&*kind, &spikes);
            }
            let penalty = trained.get("penalty").expect("a metric of training");
            let near = |a: f64, b: f64| (a - b).abs() <= 2e-6 * (1.0 + b.abs());
            let name = kind.declaration().name;
            assert!(near(penalty, expected), "{name}: {penalty} {expected}");
            // The learning rate is 0.
            let eval = Step::classifier_eval(&net, &settings, SHAPE)?;
            let evaluated = eval.compile_eval(&mut store)?.run_batch(&batch)?;
            assert_eq!(evaluated.get("penalty"), None);
            let loss = evaluated.loss + expected;
            assert!(near(trained.loss, loss), "{name}: {} {loss}", trained.loss);
        }
    }
    Ok(())
}

#[test]
fn gradients_are_those_of_the_loss_and_of_the_penalty() -> Result<()> {
    let (net, batch) = (net(), batch()?);
    let gradient = |weight: f64| {
        let penalty = Penalty::new(SpikeCountSquared, "hidden", weight);
        let step = Step::classifier(&net, &settings(0.0, vec![penalty]), SHAPE)?;
        let mut step = step.read_gradients("*").compile(&mut store()?)?;
        step.run_batch(&batch)?;
        let of = |name: &str| Ok::<_, Error>(step.gradient(name)?.to_f64());
        Ok::<_, Error>([of("1.weight")?, of("3.weight")?])
    };
    let [none, once, twice] = [gradient(0.0)?, gradient(1e-3)?, gradient(2e-3)?];
    // Layers behind the spikes have no gradient of the penalty.
    assert_eq!(none[1], once[1]);
    assert!(none[0].iter().zip(&once[0]).any(|(a, b)| a != b));
    for ((none, once), twice) in none[0].iter().zip(&once[0]).zip(&twice[0]) {
        assert!((2.0 * (once - none) - (twice - none)).abs() < 1e-5);
    }
    Ok(())
}

#[test]
fn penalties_lower_the_number_of_spikes() -> Result<()> {
    let (net, batch) = (net(), batch()?);
    let spikes_after = |weight: f64| {
        let penalty = Penalty::new(SpikeCount, "hidden", weight);
        let settings = settings(1e-3, vec![penalty]);
        let step = Step::classifier(&net, &settings, SHAPE)?.read_activations("hidden.spike_seq");
        let mut step = step.compile(&mut store()?)?;
        for _ in 0..40 {
            step.run_batch(&batch)?;
        }
        let spikes = step.activation("hidden.spike_seq")?.to_f64();
        Ok::<_, Error>(spikes.iter().sum::<f64>())
    };
    let (free, penalized) = (spikes_after(0.0)?, spikes_after(1.0)?);
    assert!(penalized < 0.7 * free, "{penalized} {free}");
    Ok(())
}

#[test]
fn a_pattern_without_a_layer_is_answered_with_the_layers() -> Result<()> {
    let net = net();
    let penalty = Penalty::new(SpikeCount, "fc*", 1.0);
    let settings = settings(0.0, vec![penalty]);
    let step = Step::classifier(&net, &settings, SHAPE)?;
    let compiled = step.compile(&mut store()?);
    let error = compiled.expect_err("it is refused");
    assert_eq!(
        error.to_string(),
        "penalty spike-count: no layer of neurons matches `fc*`\n  help: the layers of neurons are `hidden`, `output`"
    );
    assert!(matches!(
        error.downcast_ref(),
        Some(StepError::PenaltyLayers { .. })
    ));
    // Evaluations have no penalties.
    Step::classifier_eval(&net, &settings, SHAPE)?.compile_eval(&mut store()?)?;
    Ok(())
}
