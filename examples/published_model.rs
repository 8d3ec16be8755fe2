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
    let digits = synthetic::digits_of(0, 512, 128);
    let settings = Settings {
        epochs: 2,
        ..Settings::default()
    };
    let published = Trainer::network(&network()?, settings)?
        .folder(folder.join("published"))
        .force(true)
        .fit(&digits)?;
    println!("published: {:.1} %", 100.0 * published.test_accuracy());
    fine_tune(&folder.join("published"), &digits, &folder)
}

fn network() -> Result<Network> {
    let small = [("width", 16.into()), ("blocks", [1, 1, 1].into())];
    let digits = [("inputs", 1.into()), ("size", 28.into())];
    Network::model("resnet19", small.into_iter().chain(digits))
}

fn fine_tune(weights: &Path, data: &Split, folder: &Path) -> Result<()> {
    let (net, mut settings) = (network()?, Settings::default());
    (settings.epochs, settings.optimizer) = (1, Adam::new(1e-4).into());
    let trainer = Trainer::network(&net, settings)?.init_from(weights);
    let report = trainer.folder(folder.join("tuned")).force(true).fit(data)?;
    let (module, mut store) = (
        net.module()?,
        VarStore::new(spikelet::device::find("cpu", 0)?),
    );
    Checkpoint::read(folder.join("tuned"))?.restore(&*module, net.image(), &mut store)?;
    let exported = nir::export(&*module, &store, &ExportOptions::new(net.image()))?;
    exported.graph.write(folder.join("tuned.nir"))?;
    println!("tuned: {:.1} %", 100.0 * report.test_accuracy());
    Ok(())
}
