//! A two-layer network, trained on synthetic digits.

use spikelet::prelude::*;

fn main() -> Result<()> {
    let lif = || Lif::new(4.0).v_reset(None).surrogate(Atan::default());
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 196))
        .add(lif())
        .add(Linear::new(196, 10))
        .add(lif());
    let digits = spikelet::data::synthetic::digits(0);
    let settings = Settings {
        epochs: 3,
        ..Settings::default()
    };
    let outcome = Trainer::new(net, settings).fit(&digits)?;
    println!("test accuracy {:.1} %", 100.0 * outcome.test_accuracy());
    Ok(())
}
