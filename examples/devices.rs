//! The same network on the CPU and, if available, on a GPU gives the same spikes.

use spikelet::prelude::*;

/// The spikes of a layer with Poisson-encoded input. Its weights are multiples of 1/64, so every
/// sum is exact, in any order of summation.
fn spikes(device: &str) -> Result<(String, Vec<f64>)> {
    let backend = spikelet::device::find(device, 0)?;
    let name = backend.name();
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [8, 64]);
    let net = Sequential::new()
        .add_named("fc", Linear::new(64, 32))
        .add_named("lif", Lif::new(2.0).v_threshold(0.5));
    let made = cx.trace_encoded(&net, &Poisson, &x, 20)?.join();
    cx.tracer().output("spike_seq", &made);

    let mut store = VarStore::new(backend);
    let weight: Vec<f32> = (0..32 * 64).map(|k| (k % 17) as f32 / 64.0 - 0.1).collect();
    let weight: Vec<f32> = weight.iter().map(|w| (w * 64.0).round() / 64.0).collect();
    store.insert("fc.weight", &Tensor::f32([32, 64], weight))?;
    let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
    let image: Vec<f32> = (0..8 * 64).map(|k| (k % 10) as f32 / 10.0).collect();
    program.set("x", &image)?;
    program.set("generator", &[0, 1, 0, 0])?;
    program.run()?;
    Ok((name, program.get("spike_seq")?.to_f64()))
}

fn main() -> Result<()> {
    let (_, expected) = spikes("cpu")?;
    let (name, found) = spikes("auto")?;
    assert_eq!(expected, found);
    let fired: f64 = found.iter().sum();
    println!("{fired} spikes, the same on cpu and {name}");
    Ok(())
}
