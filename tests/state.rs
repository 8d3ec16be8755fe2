//! State is a value: nothing to reset, nothing that depends on how time is cut.

use spikelet::device;
use spikelet::module::Traced;
use spikelet::prelude::*;

#[test]
fn a_network_run_step_by_step_has_the_bits_of_the_network_run_at_once() -> Result<()> {
    const STEPS: usize = 6;
    for (batch, inputs, hidden) in [(1, 32, 24), (3, 200, 150), (2, 784, 196)] {
        let mut store = VarStore::new(device::cpu()?);
        let compile = |time_steps: usize, store: &mut VarStore| -> Result<(Program, Traced)> {
            let net = Sequential::new()
                .add(Linear::new(inputs, hidden).bias(false))
                .add(Lif::new(2.0))
                .add(Linear::new(hidden, 10).bias(false))
                .add(If::new());
            let cx = Context::new(Mode::STREAM, DType::F32);
            let x = cx
                .tracer()
                .input("x_seq", DType::F32, [time_steps, batch, inputs]);
            let spikes = cx.trace(&net, x)?;
            cx.tracer().output("spike_seq", &spikes);
            let traced = cx.traced();
            store.initialize(&traced, DType::F32, 3)?;
            Ok((Program::new(cx.tracer().finish()?, store)?, traced))
        };
        let x: Vec<f32> = (0..STEPS * batch * inputs)
            .map(|k| (k * 7 % 31) as f32 / 4.0)
            .collect();
        let (mut whole, traced) = compile(STEPS, &mut store)?;
        whole.set("x_seq", &x)?;
        whole.run()?;
        let (spikes, v) = (whole.get("spike_seq")?.to_f64(), store.get("1.v")?);
        assert!(spikes.contains(&1.0), "something fires");

        let (mut single, _) = compile(1, &mut store)?;
        store.reset(&traced, DType::F32)?;
        let mut one_by_one = vec![];
        for step in x.chunks(batch * inputs) {
            single.set("x_seq", step)?;
            single.run()?;
            one_by_one.extend(single.get("spike_seq")?.to_f64());
        }
        assert_eq!(one_by_one, spikes);
        assert_eq!(store.get("1.v")?, v);
    }
    Ok(())
}

#[test]
fn a_state_is_reset_to_what_was_learnt() -> Result<()> {
    let shares = [
        (Granularity::Layer, vec![0.75]),
        (Granularity::Channel, vec![0.5, 0.25]),
        (Granularity::Neuron, vec![0.5, 0.25, 1.0, 0.75, 0.0, -0.5]),
    ];
    for (share, learned) in shares {
        let net = If::new().trainable("v_start", Trainable::new(share).clamp(0.0, 2.0));
        let cx = Context::new(Mode::STREAM, DType::F32);
        let x = cx.tracer().input("x_seq", DType::F32, [1, 2, 2, 3]);
        let y = cx.trace(&net, x)?;
        cx.tracer().output("y", &y);
        let mut store = VarStore::new(device::cpu()?);
        store.initialize(&cx.traced(), DType::F32, 0)?;
        assert_eq!(store.get("v")?.to_f64(), [0.0; 12]);
        let shape = store.ty("v_start").expect("it is learned").shape.clone();
        store.set(
            "v_start",
            &Tensor::f64(shape, learned.clone()).cast(DType::F32),
        )?;
        store.reset(&cx.traced(), DType::F32)?;
        let of = |k: usize| match share {
            Granularity::Channel => learned[k / 3 % 2],
            _ => learned[k % learned.len()],
        };
        let expected: Vec<f64> = (0..12).map(|k| of(k).max(0.0)).collect();
        assert_eq!(store.get("v")?.to_f64(), expected, "{share:?}");
    }
    Ok(())
}
