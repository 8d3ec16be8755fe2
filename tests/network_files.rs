//! Networks that are lists of layers train, and end with the bits of the same networks in Rust.

use spikelet::data::{Split, synthetic};
use spikelet::layer::{Branches, Combine};
use spikelet::network::{Layers, Network};
use spikelet::optim::LrSchedule;
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use std::path::Path;

const TIME_STEPS: usize = 3;

fn settings() -> Settings {
    Settings {
        epochs: 2,
        time_steps: TIME_STEPS,
        batch_size: 32,
        optimizer: Adam::new(1e-2).into(),
        schedule: LrSchedule::default(),
        ..Settings::default()
    }
}

/// Trains and returns the loss of each epoch.
fn losses(trainer: Trainer, data: &Split, folder: &Path) -> Result<Vec<f64>> {
    let cpu = spikelet::device::find("cpu", 2)?;
    let report = trainer.backend(cpu).folder(folder).fit(data)?;
    Ok(report
        .history
        .iter()
        .map(|epoch| epoch.train.loss)
        .collect())
}

/// Trains both and compares losses and tensors.
fn train_both(text: &str, net: Sequential) -> Result<()> {
    let data = synthetic::digits_of(0, 512, 64);
    let folder = tempfile::tempdir().expect("a folder");
    let [a, b] = ["file", "rust"].map(|name| folder.path().join(name));
    let network = Network::from_toml("net.toml", text, &[])?;
    let from_file = losses(Trainer::network(&network, settings())?, &data, &a)?;
    assert!(from_file[1] < 0.9 * from_file[0], "{from_file:?}");
    assert_eq!(losses(Trainer::new(net, settings()), &data, &b)?, from_file);
    let tensors = |folder: &Path| TensorFile::read(folder.join("last.safetensors"));
    assert_eq!(tensors(&a)?.tensors, tensors(&b)?.tensors);
    // The checkpoint has the network: it is evaluated and resumed without the file.
    let checkpoint = spikelet::train::Checkpoint::read(a.join("last.safetensors"))?;
    assert_eq!(checkpoint.network(), Some(&network));
    let resumed = Trainer::network(
        &network,
        Settings {
            epochs: 3,
            ..settings()
        },
    )?;
    let report = resumed.folder(&a).resume(true).fit(&data)?;
    assert_eq!(report.epochs_trained, 1);
    Ok(())
}

#[test]
fn a_residual_network_from_a_file_trains_as_the_same_in_rust() -> Result<()> {
    let main = Sequential::new()
        .add(Conv2d::new(8, 8, 3).bias(false).padding(1))
        .add(BatchNorm2d::new(8))
        .add(Lif::new(2.0));
    let net = Sequential::new()
        .add(Conv2d::new(1, 8, 3).bias(false).padding(1).stride(2))
        .add(BatchNorm2d::new(8))
        .add(Lif::new(2.0))
        .add_named("block", Residual::new(main))
        .add(MaxPool2d::new(2))
        .add(Flatten)
        .add(Linear::new(8 * 7 * 7, 10).bias(false))
        .add(Lif::new(2.0));
    let text = r#"
        [network]
        name = "small-residual"
        input = [1, 28, 28]
        neuron = { name = "lif", tau = 2.0 }
        layers = [
          { conv = 8, kernel = 3, padding = 1, stride = 2 },
          "batch-norm",
          "neuron",
          { name = "block", residual = [{ conv = 8, kernel = 3, padding = 1 }, "batch-norm", "neuron"] },
          { max-pool = 2 },
          "flatten",
          { linear = 10 },
          "neuron",
        ]
    "#;
    train_both(text, net)
}

#[test]
fn factors_of_time_steps_and_stochastic_depth_from_a_file_train_as_the_same_in_rust() -> Result<()>
{
    let main = Sequential::new()
        .add(Conv2d::new(4, 4, 3).bias(false).padding(1))
        .add(BatchNorm2d::temporal_effective(4, TIME_STEPS))
        .add(Lif::new(2.0));
    let net = Sequential::new()
        .add(Conv2d::new(1, 4, 3).bias(false).padding(1).stride(2))
        .add(BatchNorm2d::threshold_dependent(4, 1.0, 0.5))
        .add(Lif::new(2.0))
        .add(Residual::new(main).stochastic_depth(0.25))
        .add(Flatten)
        .add(Linear::new(4 * 14 * 14, 10).bias(false));
    let text = format!(
        r#"
        [network]
        name = "factors"
        input = [1, 28, 28]
        neuron = {{ name = "lif", tau = 2.0 }}
        layers = [
          {{ conv = 4, kernel = 3, padding = 1, stride = 2 }},
          {{ layer = "batch-norm", scale = 0.5 }},
          "neuron",
          {{ stochastic_depth = 0.25, residual = [
            {{ conv = 4, kernel = 3, padding = 1 }},
            {{ layer = "batch-norm", time_steps = {TIME_STEPS} }},
            "neuron",
          ] }},
          "flatten",
          {{ linear = 10 }},
        ]
    "#
    );
    train_both(&text, net)
}

#[test]
fn a_branched_network_from_a_file_trains_as_the_same_in_rust() -> Result<()> {
    let branch = |kernel: usize| {
        Sequential::new()
            .add(
                Conv2d::new(1, 4, kernel)
                    .bias(false)
                    .padding(kernel / 2)
                    .stride(2),
            )
            .add(BatchNorm2d::new(4))
            .add(Plif::new(2.0))
    };
    let net = Sequential::new()
        .add(
            Branches::new(branch(3))
                .branch(branch(5))
                .combine(Combine::Concat),
        )
        .add(AvgPool2d::new(2))
        .add(Flatten)
        .add(Linear::new(8 * 7 * 7, 10).bias(true))
        .add(Plif::new(2.0));
    let text = r#"
        [network]
        input = [1, 28, 28]
        neuron = { name = "plif", init_tau = 2.0 }
        layers = [
          { combine = "concat", branches = [
            [{ conv = 4, kernel = 3, padding = 1, stride = 2 }, "batch-norm", "neuron"],
            [{ conv = 4, kernel = 5, padding = 2, stride = 2 }, "batch-norm", "neuron"],
          ] },
          { avg-pool = 2 },
          "flatten",
          { linear = 10, bias = true },
          "neuron",
        ]
    "#;
    train_both(text, net)
}

#[test]
fn concatenated_branches_train_in_16_bits_and_step_by_step() -> Result<()> {
    let text = "[network]\ninput = [1, 28, 28]\nlayers = [\"flatten\", { branches = [{ linear = 20 }, \
                [{ linear = 20 }, \"neuron\"]], combine = \"concat\" }, { linear = 10 }, \"neuron\"]\n";
    let layers = Layers::from_toml("net.toml", text, &[])?;
    let data = synthetic::digits_of(0, 64, 16);
    for (precision, propagation) in [
        (Precision::Bf16, spikelet::module::Propagation::default()),
        (Precision::F32, spikelet::module::Propagation::StepByStep),
    ] {
        let settings = Settings {
            epochs: 1,
            precision,
            propagation,
            ..settings()
        };
        Trainer::new(layers.module()?, settings).fit(&data)?;
    }
    Ok(())
}
