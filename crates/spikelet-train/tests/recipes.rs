//! The networks with recipes of their own, narrow, on the CPU: a few steps on one batch reduce the loss. Recipes of
//! sequences train an epoch on generated data of their shape.

use spikelet_data::{Batch, DType, Field, InMemory, Split};
use spikelet_nn::network::Network;
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::VarStore;
use spikelet_train::experiment::Experiment;
use spikelet_train::{BatchShape, Settings, Step, Trainer};
use std::path::Path;
use std::sync::Arc;

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
    let network = Network::model(
        "resnet18",
        [
            ("size", 16.into()),
            ("channels", 4.into()),
            ("classes", 4.into()),
        ],
    )?;
    let settings = Settings {
        loss: spikelet_nn::loss::Tet::default().into(),
        ..Settings::of_network(&network)
    };
    assert_learns(&network, &settings)
}

#[test]
fn a_narrow_plif_net_learns() -> Result<()> {
    let network = Network::model(
        "plif-net",
        [
            ("size", 16.into()),
            ("channels", 8.into()),
            ("classes", 4.into()),
        ],
    )?;
    assert_learns(&network, &Settings::of_network(&network))
}

#[test]
fn step_by_step_propagation_has_the_loss_of_layer_by_layer() -> Result<()> {
    let network = Network::model("resnet18", [("size", 16.into()), ("channels", 4.into())])?;
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

/// A few sequences with these fields, `x` and `labels`: of each class, other channels at other times.
fn generated(fields: &[Field], classes: &[String], samples: usize) -> Result<Arc<InMemory>> {
    let [x, labels] = fields else {
        panic!("{fields:?}");
    };
    let shape: Vec<usize> = x.shape.iter().copied().flatten().collect();
    let (steps, channels) = (shape[0], shape[1..].iter().product());
    let names = classes.to_vec();
    let classes = classes.len();
    let (mut values, mut classes_of) = (vec![], vec![]);
    for sample in 0..samples {
        let of_step = |step: usize| (sample + step * classes / steps) % classes;
        for step in 0..steps {
            let class = of_step(step);
            let value = |c| u8::from((c + step + class) % (classes + 3) == class);
            values.extend((0..channels).map(value));
        }
        match labels.unlabeled {
            Some(unlabeled) => {
                let label = |step: usize| match step % 10 {
                    0 => unlabeled.label,
                    _ => of_step(step) as i64,
                };
                classes_of.extend((0..steps).map(label));
            }
            None => classes_of.push((sample % classes) as i64),
        }
    }
    let made = InMemory::new("generated")
        .with(Field::new("x", DType::U8, shape).sequence(), values)?
        .with(labels.clone(), classes_of)?;
    Ok(Arc::new(made.classes("labels", names)))
}

#[test]
fn recipes_of_sequences_train_an_epoch_on_generated_data() -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes");
    let mut trained = vec![];
    for entry in folder.read_dir().expect("the folder is there") {
        let path = entry.expect("a file").path();
        let mut experiment = Experiment::read(&path)?;
        let dataset = experiment.data.dataset.clone();
        let Some(named) = experiment.data.named() else {
            continue;
        };
        let options = experiment.data_options("");
        let fields = named.fields(&options)?;
        if fields.iter().any(|field| field.image) {
            continue;
        }
        let classes = named.classes(&options)?;
        let part = |samples| generated(&fields, &classes, samples);
        let data = Split::new(part(4)?, part(2)?).with_validation(Some(part(2)?));
        let settings = &mut experiment.settings;
        assert!(
            settings.validation > 0.0,
            "the epoch is selected by validation samples"
        );
        (settings.epochs, settings.batch_size) = (1, 2);
        // Changes of events are made of recordings, before there are frames.
        settings.augment.events.clear();
        let report = Trainer::network(&experiment.network, settings.clone())?.fit(&data)?;
        let epoch = report.best().expect("an epoch");
        let test = epoch.test.as_ref().expect("there are test samples");
        assert!(
            test.loss.is_finite() && epoch.train.loss.is_finite(),
            "{}",
            path.display()
        );
        let labeled = test.get("labeled_accuracy");
        assert_eq!(labeled.is_some(), dataset.as_deref() == Some("qtdb"));
        trained.push(experiment.network.name().to_string());
    }
    trained.sort();
    assert!(trained.len() >= 4, "{trained:?}");
    Ok(())
}
