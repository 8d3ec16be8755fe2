//! Times calls of plastic layers of 784 inputs and 400 neurons, T = 350: `[DEVICE]`, cpu by default. Compare with
//! `tools/baselines/learning.py`.

use spikelet::data::{Batch, BatchTensor};
use spikelet::learning::{LearningRule, Plastic, RewardTraceStdp, Stdp, Update};
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step};
use std::time::Instant;

const T: usize = 350;
const INPUTS: usize = 784;
const NEURONS: usize = 400;

fn main() -> Result<()> {
    let device = std::env::args().nth(1).unwrap_or("cpu".to_string());
    println!(
        "ms a call (MiB without inputs): 350 steps, 784 inputs, 400 neurons, 2 % of the inputs fire"
    );
    let stdp = Stdp {
        tau_pre: 20.0,
        tau_post: 20.0,
        scale: 1e-6,
        ..Stdp::default()
    };
    let reward = RewardTraceStdp::default();
    for batch in [1, 64] {
        for update in [Update::EndOfCall, Update::EachStep] {
            time(&device, &format!("stdp, {update:?}"), stdp, update, batch)?;
        }
    }
    time(
        &device,
        "reward and eligibility, EachStep",
        reward,
        Update::EachStep,
        1,
    )
}

fn time(
    device: &str,
    name: &str,
    rule: impl LearningRule + 'static,
    update: Update,
    batch: usize,
) -> Result<()> {
    let synapses = Linear::new(INPUTS, NEURONS)
        .bias(false)
        .weight_init(Init::Between {
            low: 0.0,
            high: 0.3,
        });
    let net = Plastic::new(synapses, Lif::new(20.0), rule)
        .update(update)
        .lr(1e-6);
    let step = Step::new(|cx, inputs| {
        cx.give_signal("reward", &inputs["reward"]);
        let spikes = cx.child("plastic", |cx| net.forward(cx, &inputs["x"]))?;
        // A step trains something.
        let readout = Linear::new(NEURONS, 1).bias(false);
        let y = cx.child("readout", |cx| {
            readout.forward(cx, &spikes.mean(&[0]).detach())
        })?;
        Ok(Outputs::loss(y.mean_all()))
    })
    .batch_size(batch)
    .sequence("x", DType::F32, [T, INPUTS])
    .sequence("reward", DType::F32, [T])
    .optimizer(Sgd::new(0.0));
    let mut store = VarStore::new(spikelet::device::find(device, 0)?);
    let mut train = step.compile(&mut store)?;
    let mut state = 1_u64;
    let mut spike = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        f32::from(u8::from((state >> 33).is_multiple_of(50)))
    };
    let x = (0..T * batch * INPUTS).map(&mut spike).collect();
    let given = Batch::new((0..batch as u32).collect())
        .with("x", BatchTensor::f32(&[T, batch, INPUTS], x).sequence())
        .with(
            "reward",
            BatchTensor::f32(&[T, batch], vec![0.1; T * batch]).sequence(),
        );
    let mut ms: Vec<f64> = vec![];
    for k in 0..12 {
        let begun = Instant::now();
        train.run_batch(&given)?;
        if k >= 2 {
            ms.push(1e3 * begun.elapsed().as_secs_f64());
        }
    }
    ms.sort_by(f64::total_cmp);
    let mib = train.plan().arena_bytes as f64 / f64::from(1 << 20);
    println!("{name}, batch {batch}: {:.2} ({mib:.1})", ms[ms.len() / 2]);
    Ok(())
}
