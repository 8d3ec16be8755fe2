//! A network with the weights that someone published is trained further and written as a NIR graph.
//!
//! Weights are a file, the folder of a model, or its address, `hf://OWNER/NAME`; here the example trains them itself.

use spikelet::data::{Split, synthetic};
use spikelet::network::Network;
use spikelet::nir::{self, ExportOptions};
use spikelet::prelude::*;
use spikelet::train::Checkpoint;
use std::path::Path;

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join("spikelet-published-model");
    let (published, tuned) = (folder.join("published"), folder.join("tuned"));
    let digits = synthetic::digits_of(0, 2048, 256);
    let trainer = Trainer::network(&network()?, settings(10, 1e-3))?;
    trainer.folder(&published).force(true).fit(&digits)?;
    fine_tune(&published, &digits, &tuned)
}

fn network() -> Result<Network> {
    Network::model("mnist-fc", [("hidden", 100.into())])
}

fn settings(epochs: usize, lr: f64) -> Settings {
    Settings {
        epochs,
        optimizer: Adam::new(lr).into(),
        time_steps: 8,
        ..Settings::default()
    }
}

fn fine_tune(weights: &Path, data: &Split, folder: &Path) -> Result<()> {
    let (net, module) = (network()?, network()?.module()?);
    let trainer = Trainer::network(&net, settings(1, 1e-4))?.init_from(weights);
    let report = trainer.folder(folder).force(true).fit(data)?;
    println!("test accuracy {:.1} %", 100.0 * report.test_accuracy());
    let mut store = VarStore::new(spikelet::device::find("cpu", 0)?);
    Checkpoint::read(folder)?.restore(&*module, net.image(), &mut store)?;
    let exported = nir::export(&*module, &store, &ExportOptions::new(net.image()))?;
    Ok(exported.graph.write(folder.join("tuned.nir"))?)
}
