//! A network, trained on the embedded digits.

use spikelet::prelude::*;

fn main() -> Result<()> {
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 196))
        .add(Lif::new(2.0).surrogate(Atan::default()))
        .add(Linear::new(196, 10))
        .add(Lif::new(2.0).surrogate(Atan::default()));
    let digits = spikelet::data::synthetic::digits(0);
    let settings = Settings {
        epochs: 3,
        ..Settings::default()
    };
    let outcome = Trainer::new(net, settings).fit(&digits)?;
    println!("test accuracy {:.1} %", 100.0 * outcome.test_accuracy);
    Ok(())
}
