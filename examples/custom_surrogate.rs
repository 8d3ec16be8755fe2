//! A custom surrogate in about ten lines: a triangle, with its primitive.
//!
//! g′(x) = max(0, 1 − |x|)

use spikelet::prelude::*;

/// A triangle.
#[derive(Debug, Schema)]
struct Triangle;

impl Surrogate for Triangle {
    fn derivative(&self, x: &Expr) -> Expr {
        (1.0 - x.abs()).max(0.0)
    }

    fn primitive(&self, x: &Expr) -> Option<Expr> {
        let x = x.clamp(-1.0, 1.0);
        Some(0.5 + &x - 0.5 * &x * x.abs())
    }
}

fn main() -> Result<()> {
    // `derivative` must be the derivative of `primitive`: compare with central differences in f64.
    let x = Expr::symbol("x");
    let slope = Triangle.derivative(&x);
    let primitive = Triangle.primitive(&x).unwrap_or_else(|| x.clone());
    let program = spikelet::expr::Program::compile(&[slope, primitive], &[], &["x"])
        .map_err(|e| Error::invalid("surrogate", e.to_string(), "use x alone"))?;
    let mut work = program.workspace::<f64>(1);
    let mut at = |x: f64| {
        let (mut slope, mut value) = ([0.0], [0.0]);
        program.step(&mut work, &[&[x]], &mut [&mut slope, &mut value]);
        (slope[0], value[0])
    };
    for x in [-1.5, -0.7, -0.1, 0.3, 0.9, 2.0] {
        let difference = (at(x + 1e-6).1 - at(x - 1e-6).1) / 2e-6;
        println!(
            "x = {x:+.1}: g′ {:.6}, differences {difference:.6}",
            at(x).0
        );
        assert!((at(x).0 - difference).abs() < 1e-6);
    }

    // It can be used in training like any other surrogate.
    let lif = Lif::new(2.0).surrogate(Triangle);
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 10))
        .add(lif);
    let digits = spikelet::data::synthetic::digits_of(0, 10_000, 2_000);
    let settings = Settings {
        epochs: 2,
        ..Settings::default()
    };
    let outcome = Trainer::new(net, settings).fit(&digits)?;
    println!(
        "one layer, two epochs: test accuracy {:.1} %",
        100.0 * outcome.test_accuracy()
    );
    Ok(())
}
