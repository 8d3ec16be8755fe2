//! A convolutional spiking network, built from layers and trained briefly on synthetic digits.

use spikelet::layer::Static;
use spikelet::prelude::*;

/// The architecture of SpikingJelly's Fashion-MNIST network with fewer channels: the first
/// convolution processes the image once, all later layers process spikes.
fn csnn(channels: usize) -> Sequential {
    let neuron = || If::new().surrogate(Atan::default());
    let encoder = Sequential::new()
        .add(Conv2d::new(1, channels, 3).bias(false).padding(1))
        .add(BatchNorm2d::new(channels));
    Sequential::new()
        .add_named("encoder", Static(encoder)) // [T, N, C, 28, 28], computed for one step
        .add(neuron())
        .add(MaxPool2d::new(2)) // 14 × 14
        .add(Conv2d::new(channels, channels, 3).bias(false).padding(1))
        .add(BatchNorm2d::new(channels))
        .add(neuron())
        .add(MaxPool2d::new(2)) // 7 × 7
        .add(Flatten)
        .add(Linear::new(channels * 7 * 7, 64))
        .add(neuron())
        .add(Linear::new(64, 10))
        .add(neuron())
}

fn main() -> Result<()> {
    let device = spikelet::device::find("auto", 0)?;
    let name = device.name();
    let digits = spikelet::data::synthetic::digits_of(0, 3_200, 500);
    let settings = Settings {
        time_steps: 4,
        batch_size: 32,
        epochs: 3,
        optimizer: Adam::new(5e-3).into(),
        encoder: Direct.into(),
        ..Settings::default()
    };
    let trainer = Trainer::new(csnn(8), settings).backend(device);
    let outcome = trainer.fit(&digits)?;
    for epoch in &outcome.history {
        let (loss, accuracy) = (epoch.train.loss, 100.0 * epoch.test_accuracy());
        println!(
            "epoch {}: loss {loss:.3}, test accuracy {accuracy:.1} %",
            epoch.epoch
        );
    }
    println!(
        "{:.0} images a second on {name}",
        outcome.samples_per_second
    );
    Ok(())
}
