//! Every kind of layer of a file: the checkpoint of a training is read, and evaluates as before.

use spikelet_data::{DType, Dataset, Field, InMemory, Split};
use spikelet_nn::network::{Network, layer_kinds};
use spikelet_train::prelude::*;
use spikelet_train::{Checkpoint, SampleShape, evaluate};
use std::sync::Arc;

const T: usize = 4;
const CLASSES: usize = 3;

/// Sequences of time steps of this shape.
fn sequences(step: &[usize], samples: usize) -> Result<Arc<dyn Dataset>> {
    let row = T * step.iter().product::<usize>();
    let x: Vec<f32> = (0..samples * row)
        .map(|k| ((k * 7919 + k / row * 31) % 29) as f32 / 12.0)
        .collect();
    let labels: Vec<i64> = (0..samples).map(|k| (k % CLASSES) as i64).collect();
    let field = Field::new("x", DType::F32, [&[T], step].concat()).sequence();
    let data = InMemory::new("waves")
        .with(field, x)?
        .with(Field::new("labels", DType::I64, []), labels)?;
    let names = ["a", "b", "c"].map(String::from).into();
    Ok(Arc::new(data.classes("labels", names)))
}

/// Trains a network with this layer for an epoch, and compares the evaluation of its checkpoint.
fn check(input: &[usize], layer: &str) -> Result<()> {
    let text = format!(
        "[network]\ninput = {input:?}\nneuron = \"lif\"\nlayers = [{layer}, \"flatten\", {{ linear = {CLASSES} }}]\n"
    );
    let network = Network::from_toml("net.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let split = Split::new(sequences(input, 6)?, sequences(input, 5)?);
    let mut settings = Settings {
        batch_size: 3,
        epochs: 1,
        validation: 0.0,
        optimizer: Adam::new(0.02).into(),
        evaluation_batch: Some(5),
        ..Settings::default()
    };
    settings.use_sequences(T);
    let folder = tempfile::tempdir().expect("a folder");
    let report = Trainer::network(&network, settings.clone())?
        .folder(folder.path())
        .fit(&split)?;
    let expected = report.last().and_then(|epoch| epoch.test.clone());
    let checkpoint = Checkpoint::read(folder.path().join("last.safetensors"))?;
    let module = network.module()?;
    let sample = SampleShape::of_dataset(&*split.test)?;
    let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    checkpoint.restore(&*module, sample, &mut store)?;
    // Nothing of the network is lost.
    for name in checkpoint.model_tensors().into_keys() {
        assert!(store.ty(name).is_some(), "{name}");
    }
    let found = evaluate(&*module, &settings, &split.test, &mut store)?;
    assert_eq!(Some(found.loss), expected.map(|test| test.loss));
    Ok(())
}

#[test]
fn the_checkpoint_of_every_kind_of_layer_evaluates_as_in_its_run() {
    let mut failed = vec![];
    let kinds = layer_kinds().iter();
    let variants = [
        "{ dcls = 6, kernel_size = 5, version = \"max\" }",
        "{ dcls = 6, kernel_size = 5, version = \"v1\" }",
        "{ recurrent = \"lif\", max_delay = 3, spread = true, synaptic = true, width = 1.0 }",
    ];
    let variants = variants.into_iter().map(|layer| (&[8_usize][..], layer));
    for (input, layer) in kinds.map(|kind| (kind.input, kind.example)).chain(variants) {
        if let Err(error) = check(input, layer) {
            failed.push(format!("{layer}: {error}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
