//! The network of SpikingFlow's CIFAR-10 tutorial, on CIFAR-10's files below `$SPIKELET_DATA`.
//!
//! Channels and epochs can be given: `cargo run --release --example cifar10 -- 64 10`.

use spikelet::data::{Augment, Normalize, cifar10};
use spikelet::log::Output;
use spikelet::network::Network;
use spikelet::prelude::*;

fn main() -> Result<()> {
    let number = |k: usize| std::env::args().nth(k).and_then(|text| text.parse().ok());
    let folder = std::env::var("SPIKELET_DATA").unwrap_or_else(|_| "data".to_string());
    let data = match cifar10::load(&folder) {
        Ok(data) => data,
        Err(problem) => {
            println!("{problem}");
            println!("`spikelet train cifar10-net --download` fetches them into ./data");
            return Ok(());
        }
    };
    let options = [
        ("channels", number(1).unwrap_or(256).into()),
        ("bias", false.into()), // batch norm subtracts it again
    ];
    let network = Network::model("cifar10-net", options)?;
    let settings = Settings {
        epochs: number(2).unwrap_or(30),
        augment: Augment {
            crop_padding: 4,
            flip: true,
            ..Augment::default()
        },
        normalize: Some(Normalize {
            mean: vec![0.4914, 0.4822, 0.4465],
            std: vec![0.2470, 0.2435, 0.2616],
        })
        .into(),
        ..Settings::of_network(&network)
    };
    let outcome = Trainer::network(&network, settings)?
        .backend(spikelet::device::find("auto", 0)?)
        .new_folder_in("runs/cifar10-net")
        .output(Output::Text)
        .fit(&data)?;
    if let Some(best) = outcome.best() {
        let test = 100.0 * best.test_accuracy();
        println!(
            "best by validation: epoch {}, test accuracy {test:.1} %",
            best.epoch
        );
    }
    Ok(())
}
