//! The networks with recipes of their own, narrow, on the CPU: a few steps on one batch reduce the loss.

use spikelet_data::Batch;
use spikelet_nn::network::{Network, PlifNet, ResNet18};
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::VarStore;
use spikelet_train::{BatchShape, Settings, Step};

/// Images of four classes: bars at four positions.
fn batch([channels, height, width]: [usize; 3], count: usize) -> Batch {
    let labels: Vec<i64> = (0..count as i64).map(|k| k % 4).collect();
    let mut images = vec![];
    for label in &labels {
        for pixel in 0..channels * height * width {
            let column = pixel % width * 4 / width;
            images.push(if column as i64 == *label { 1.0 } else { 0.1 });
        }
    }
    Batch::of_images([channels, height, width], images, labels)
}

/// The losses of some steps on the same batch.
fn losses(network: &Network, settings: &Settings, steps: u64) -> Result<Vec<f64>> {
    let module = network.module()?;
    let shape = BatchShape {
        batch: 8,
        image: network.image(),
    };
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    let mut step = Step::classifier(&*module, settings, shape)?.compile(&mut store)?;
    let batch = batch(shape.image, shape.batch);
    (0..steps)
        .map(|_| Ok(step.run_batch(&batch)?.loss))
        .collect()
}

fn assert_learns(network: &Network, settings: &Settings) -> Result<()> {
    let losses = losses(network, settings, 60)?;
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    assert!(last < 0.5 * first, "{losses:?}");
    Ok(())
}

#[test]
fn a_narrow_resnet18_learns() -> Result<()> {
    let network = Network::ResNet18(ResNet18 {
        size: 16,
        channels: 4,
        classes: 4,
        ..ResNet18::default()
    });
    let settings = Settings {
        label_smoothing: 0.0,
        ..Settings::of_network(&network)
    };
    assert_learns(&network, &settings)
}

#[test]
fn a_narrow_plif_net_learns() -> Result<()> {
    let network = Network::PlifNet(PlifNet {
        size: 16,
        channels: 8,
        classes: 4,
        ..PlifNet::default()
    });
    assert_learns(&network, &Settings::of_network(&network))
}

#[test]
fn step_by_step_propagation_has_the_loss_of_layer_by_layer() -> Result<()> {
    let network = Network::ResNet18(ResNet18 {
        size: 16,
        channels: 4,
        ..ResNet18::default()
    });
    let loss = |propagation| {
        let settings = Settings {
            propagation,
            ..Settings::of_network(&network)
        };
        Ok::<_, Error>(losses(&network, &settings, 1)?[0])
    };
    let seq = loss(Propagation::LayerByLayer)?;
    for propagation in Propagation::ALL {
        // Batch norm of each step has statistics of its own.
        let difference = (loss(propagation)? - seq).abs();
        assert!(difference < 0.3 * seq, "{propagation:?}: {difference}");
    }
    Ok(())
}
