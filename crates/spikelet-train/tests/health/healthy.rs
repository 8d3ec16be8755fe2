//! Healthy runs: other networks, neurons, encoders, losses and seeds. None has a finding, from the first epoch on.

use crate::health::support::{digits, settings, table};
use spikelet_nn::encoder::Latency;
use spikelet_nn::network::{Layers, Network};
use spikelet_nn::neuron::{Alif, Izhikevich, Psn, TernaryIf};
use spikelet_train::FitReport;
use spikelet_train::health::{Evidence, findings};
use spikelet_train::prelude::*;
use std::sync::Arc;

/// Neither the run nor its first epochs have findings.
fn assert_healthy(report: &FitReport) {
    assert!(report.findings.is_empty(), "{}", table(report));
    assert!(!report.evidence.probes.is_empty());
    assert!(
        report
            .evidence
            .probes
            .iter()
            .all(|probe| !probe.parameters.is_empty())
    );
    for epochs in 1..report.history.len() {
        let early = Evidence {
            run: report.evidence.run.clone(),
            history: report.history[..epochs].to_vec(),
            probes: (report.evidence.probes.iter())
                .filter(|probe| probe.epoch <= epochs)
                .cloned()
                .collect(),
        };
        let found = findings(&early);
        assert!(
            found.is_empty(),
            "after epoch {epochs}: {found:?}\n{}",
            table(report)
        );
    }
}

/// Trains a network of the program for a few epochs.
fn network(network: &Network, settings: Settings, seed: u64) -> Result<()> {
    let trainer = Trainer::network(network, settings)?;
    assert_healthy(&trainer.fit(&digits(seed))?);
    Ok(())
}

/// Trains a network of two hidden layers with a neuron.
fn hidden(neuron: impl Module + Clone + 'static, settings: Settings, seed: u64) -> Result<()> {
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 56).bias(false))
        .add(neuron.clone())
        .add(Linear::new(56, 40).bias(true))
        .add(neuron)
        .add(Linear::new(40, 10).bias(false));
    assert_healthy(&Trainer::new(net, settings).fit(&digits(seed))?);
    Ok(())
}

fn few(epochs: usize, seed: u64) -> Settings {
    Settings {
        epochs,
        seed,
        ..settings()
    }
}

#[test]
fn mnist_fc_with_poisson_spikes() -> Result<()> {
    let settings = Settings {
        encoder: Poisson.into(),
        time_steps: 8,
        validation: 0.1,
        ..few(4, 11)
    };
    network(&Network::find("mnist-fc")?, settings, 11)
}

#[test]
fn csnn_for_two_epochs() -> Result<()> {
    let small = Network::model("csnn", [("channels", 6.into()), ("hidden", 48.into())])?;
    let settings = Settings {
        epochs: 2,
        batch_size: 32,
        validation: 0.0,
        ..Settings::of_network(&small)
    };
    network(&small, settings, 12)
}

#[test]
fn plif_net_for_two_epochs() -> Result<()> {
    let small = Network::model(
        "plif-net",
        [
            ("inputs", 1.into()),
            ("size", 28.into()),
            ("channels", 6.into()),
            ("hidden", 40.into()),
        ],
    )?;
    let settings = Settings {
        epochs: 2,
        batch_size: 32,
        validation: 0.0,
        time_steps: 4,
        ..Settings::of_network(&small)
    };
    network(&small, settings, 13)
}

#[test]
fn resnet18_for_two_epochs() -> Result<()> {
    let small = Network::model(
        "resnet18",
        [
            ("inputs", 1.into()),
            ("size", 28.into()),
            ("channels", 4.into()),
        ],
    )?;
    let settings = Settings {
        epochs: 2,
        batch_size: 32,
        validation: 0.0,
        ..Settings::of_network(&small)
    };
    network(&small, settings, 14)
}

#[test]
fn a_network_from_toml_with_latency_spikes() -> Result<()> {
    let text = r#"
        [network]
        name = "tiny"
        input = [1, 28, 28]
        neuron = { name = "lif", tau = 3.0, decay_input = false, v_reset = "none" }
        layers = [
          { conv = 6, kernel = 5, stride = 2 }, "batch-norm", "neuron",
          { avg-pool = 2 }, "flatten",
          { linear = 10 },
        ]
    "#;
    let tiny = Network::Layers(Layers::from_toml("tiny.toml", text, &[]).map_err(Error::other)?);
    let settings = Settings {
        encoder: Latency::default().into(),
        loss: loss::CrossEntropy::new().into(),
        ..few(5, 15)
    };
    network(&tiny, settings, 15)
}

#[test]
fn if_neurons_with_sgd() -> Result<()> {
    let settings = Settings {
        loss: loss::CrossEntropy::new().into(),
        optimizer: Sgd {
            momentum: 0.9,
            ..Sgd::new(0.1)
        }
        .into(),
        ..few(6, 16)
    };
    hidden(If::default(), settings, 16)
}

#[test]
fn lif_with_soft_reset_and_gradients_through_time() -> Result<()> {
    let neuron = Lif {
        decay_input: false,
        common: Common {
            v_reset: None,
            reset_grad: ResetGrad::Detach,
            surrogate: Arc::new(Atan::default()),
            ..Common::default()
        },
        ..Lif::new(2.0)
    };
    let settings = Settings {
        loss: loss::Tet::default().into(),
        time_steps: 6,
        ..few(5, 17)
    };
    hidden(neuron, settings, 17)
}

#[test]
fn izhikevich_neurons() -> Result<()> {
    let neuron = Izhikevich {
        b: 0.1,
        ..Izhikevich::default()
    };
    let settings = Settings {
        loss: loss::CrossEntropy::new().into(),
        ..few(6, 18)
    };
    hidden(neuron, settings, 18)
}

#[test]
fn adaptive_thresholds() -> Result<()> {
    let neuron = Alif {
        tau: 4.0,
        ..Alif::default()
    };
    let settings = Settings {
        loss: loss::CrossEntropy::new().into(),
        optimizer: Adam::new(5e-3).into(),
        time_steps: 8,
        ..few(5, 19)
    };
    hidden(neuron, settings, 19)
}

#[test]
fn ternary_spikes() -> Result<()> {
    let settings = Settings {
        loss: loss::CrossEntropy::new().into(),
        ..few(5, 20)
    };
    hidden(TernaryIf::default(), settings, 20)
}

#[test]
fn a_parallel_neuron_with_augmented_and_mixed_images() -> Result<()> {
    let settings = Settings {
        loss: loss::CrossEntropy::new().into(),
        mixup: Some(0.2),
        optimizer: Adam::new(5e-3).into(),
        ..few(6, 21)
    };
    hidden(Psn::default(), settings, 21)
}

#[test]
fn one_hundred_images_learned_by_heart() -> Result<()> {
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 100).bias(false))
        .add(Lif::new(2.0))
        .add(Linear::new(100, 10).bias(false));
    let data = spikelet_data::synthetic::digits_of(22, 100, 200);
    let settings = Settings {
        batch_size: 20,
        loss: loss::CrossEntropy::new().into(),
        optimizer: Adam::new(2e-3).into(),
        ..few(40, 22)
    };
    assert_healthy(&Trainer::new(net, settings).fit(&data)?);
    Ok(())
}
