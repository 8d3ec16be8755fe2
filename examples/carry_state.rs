//! State is a value: T steps at once, and T times one step, give the same bits.

use spikelet::prelude::*;

fn compile(time_steps: usize, store: &mut VarStore) -> Result<(Program, spikelet::module::Traced)> {
    let net = Sequential::new()
        .add(Linear::new(16, 32))
        .add(Lif::new(3.0))
        .add(Linear::new(32, 4))
        .add(If::new().v_threshold(0.1));
    let cx = Context::new(Mode::STREAM, DType::F32);
    let x = cx.tracer().input("x_seq", DType::F32, [time_steps, 2, 16]);
    let spikes = cx.trace(&net, x)?;
    cx.tracer().output("spike_seq", &spikes);
    Ok((cx.compile(store, 7)?, cx.traced()))
}

fn main() -> Result<()> {
    const STEPS: usize = 20;
    let x: Vec<f32> = (0..STEPS * 2 * 16).map(|k| (k % 23) as f32 / 2.0).collect();
    let mut store = VarStore::new(spikelet::device::cpu()?);

    let (mut whole, traced) = compile(STEPS, &mut store)?;
    whole.set("x_seq", &x)?;
    whole.run()?;
    let at_once = whole.get("spike_seq")?.to_f64();
    let v_at_once = store.get("1.v")?;

    store.reset(&traced, DType::F32)?;
    let (mut single, _) = compile(1, &mut store)?;
    let mut one_by_one = vec![];
    for step in x.chunks(2 * 16) {
        single.set("x_seq", step)?;
        single.run()?;
        one_by_one.extend(single.get("spike_seq")?.to_f64());
    }
    assert_eq!(at_once, one_by_one);
    assert_eq!(v_at_once, store.get("1.v")?);
    let spikes: f64 = at_once.iter().sum();
    println!("{spikes} spikes in {STEPS} steps, the same both ways, and the same potentials");
    Ok(())
}
