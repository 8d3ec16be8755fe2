//! The reference case of a whole network: spikes, scores, loss, every gradient.

use spikelet::device;
use spikelet::graph::op::HostTensor;
use spikelet::model::host;
use spikelet::prelude::*;
use spikelet::tensors::TensorFile;
use std::path::Path;

fn lif() -> Lif {
    Lif::new(100.0).surrogate(Sigmoid { alpha: 4.0 })
}

#[test]
fn the_mnist_network_gives_the_reference_loss_and_gradients() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/net_mnist_fc.safetensors");
    let case = TensorFile::read(&path)?;
    let net = Sequential::new()
        .add(Flatten)
        .add_named("fc1", Linear::new(784, 196))
        .add_named("lif1", lif())
        .add_named("fc2", Linear::new(196, 10))
        .add_named("lif2", lif());
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx
        .tracer()
        .input("x_seq", DType::F32, case.get("x_seq")?.shape.clone());
    let label = cx.tracer().input("label", DType::I64, [4]);
    let spike_seq = cx.trace(&net, x)?;
    let logits = spike_seq.mean(&[0]);
    let loss = loss::cross_entropy(&logits, &label);
    let names = ["fc1.weight", "fc2.weight"];
    let weights: Vec<Var> = names
        .iter()
        .filter_map(|n| cx.tracer().find_input(n))
        .collect();
    let grads = cx
        .tracer()
        .gradients(&loss, &weights.iter().collect::<Vec<_>>());
    for (name, grad) in names.iter().zip(&grads) {
        cx.tracer().output(&format!("grad_{name}"), grad);
    }
    cx.tracer().output("spike_seq", &spike_seq);
    cx.tracer().output("logits", &logits);
    cx.tracer().output("loss", &loss);

    let mut store = Store::new(device::cpu()?);
    for name in names {
        store.set(name, case.get(name)?)?;
    }
    let mut program = Compiled::new(cx.tracer().finish()?, &mut store)?;
    program.set("x_seq", host(case.get("x_seq")?))?;
    let labels: Vec<i64> = case
        .get("label")?
        .to_f64()
        .iter()
        .map(|&l| l as i64)
        .collect();
    program.set("label", HostTensor::I64(&labels))?;
    program.run()?;

    assert_eq!(
        program.get("spike_seq")?,
        *case.get("spike_seq")?,
        "spikes are identical"
    );
    for (name, tolerance) in [
        ("logits", 1e-6),
        ("loss", 1e-6),
        ("grad_fc1.weight", 1e-5),
        ("grad_fc2.weight", 1e-5),
    ] {
        let (given, expected) = (program.get(name)?.to_f64(), case.get(name)?.to_f64());
        let largest = expected.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        let apart = given
            .iter()
            .zip(&expected)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(
            apart <= tolerance * largest,
            "{name}: apart by {apart}, largest {largest}"
        );
    }
    Ok(())
}
