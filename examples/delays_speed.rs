//! A training step, or an evaluation, of a network with a learned delay for each synapse, on random spikes: its time and its
//! memory: `[train | eval | linear] [device] [precision] [time steps] [batch size] [neurons of a layer] [kernel size]`.
//!
//! The network is that of SNN-delays: three layers `Dcls1d`, the first two with batch norm and LIF neurons. `linear` is an
//! evaluation with linear layers in their place.

use spikelet::data::{Batch, BatchTensor, SampleRandom};
use spikelet::layer::{Dcls1d, PadTime, SoftmaxSum};
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::timing::Timing;
use spikelet::train::{Outputs, Step};

const INPUTS: usize = 140;
const CLASSES: usize = 35;

fn network(hidden: usize, taps: usize, delays: bool) -> Sequential {
    let lif = || {
        Lif {
            decay_input: false,
            ..Lif::new(1.005)
        }
        .detach_reset(true)
        .surrogate(Atan { alpha: 5.0 })
    };
    let weights = |inputs: usize, outputs: usize| -> Box<dyn Module> {
        match delays {
            true => Box::new(
                Dcls1d::new(inputs, outputs, taps)
                    .bias(false)
                    .width((taps / 2) as f64),
            ),
            false => Box::new(Linear::new(inputs, outputs).bias(false)),
        }
    };
    let readout = lif().fires(false);
    let mut net = Sequential::new();
    for inputs in [INPUTS, hidden] {
        net = net
            .add(PadTime::new((taps - 1) / 2))
            .add(weights(inputs, hidden))
            .add(BatchNorm1d::new(hidden))
            .add(lif())
            .add(Dropout::new(0.4));
    }
    net.add(PadTime::new((taps - 1) / 2))
        .add(weights(hidden, CLASSES))
        .add(readout)
        .add(SoftmaxSum)
}

/// The median time of a run in milliseconds.
fn time(program: &mut Program, device: &dyn Backend) -> Result<f64> {
    let found = Timing::default().measure(|| Ok(device.synchronize()?), || program.run())?;
    Ok(found.median.as_secs_f64() * 1e3)
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let mut word = |otherwise: &str| words.next().unwrap_or(otherwise.to_string());
    let mode = word("train");
    let device = spikelet::device::find(&word("auto"), 0)?;
    let precision: Precision = word("f32").parse().map_err(spikelet::Error::other)?;
    let mut size = |otherwise| {
        word(otherwise)
            .parse::<usize>()
            .map_err(spikelet::Error::other)
    };
    let (time_steps, samples, hidden) = (size("100")?, size("256")?, size("256")?);
    let taps = size("25")?.max(1);
    let net = network(hidden, taps, mode != "linear");
    let spikes = random_spikes(time_steps, samples);
    let mut store = VarStore::new(device.clone());
    let (ms, bytes, kernels) = if mode == "train" {
        let step = Step::new(|cx, inputs| {
            let scores = net.forward(cx, &inputs["spikes"])?;
            let scores = scores.reshape([samples, CLASSES]);
            let loss = loss::cross_entropy(&scores, &inputs["labels"]);
            Ok(Outputs::loss(loss))
        })
        .batch_size(samples)
        .sequence("spikes", DType::F32, [time_steps, INPUTS])
        .input("labels", DType::I64, [])
        .precision(precision)
        .optimizer(Adam::new(1e-3));
        let mut train = step.compile(&mut store)?;
        let labels = (0..samples).map(|n| (n % CLASSES) as i64).collect();
        let spikes = BatchTensor::f32(&[time_steps, samples, INPUTS], spikes).sequence();
        let batch = Batch::new((0..samples as u32).collect())
            .with("spikes", spikes)
            .with("labels", BatchTensor::i64(&[samples], labels));
        train.run_batch(&batch)?;
        let ms = time(train.program_mut(), &*device)?;
        (ms, train.plan().peak_bytes(), train.plan().kernels.len())
    } else {
        let cx = Context::new(Mode::EVAL, DType::F32).precision(precision);
        let shape = [time_steps, samples, INPUTS];
        let x = cx.tracer().input("spikes", DType::F32, shape);
        let scores = cx.trace(&net, x)?;
        cx.tracer().output("scores", &scores);
        let plan = cx.plan(&*device, None, 0)?;
        let (bytes, kernels) = (plan.plan().peak_bytes(), plan.plan().kernels.len());
        let mut program = plan.load(&mut store, 0)?;
        program.run_with([("spikes", host(&Tensor::f32(shape, spikes)))])?;
        (time(&mut program, &*device)?, bytes, kernels)
    };
    println!(
        "{mode}, T = {time_steps}, batch {samples}, {hidden} neurons, K = {taps}, {precision}, {}: {ms:.3} ms, {:.0} MiB, {kernels} kernels",
        device.name(),
        bytes as f64 / (1 << 20) as f64
    );
    Ok(())
}

/// Spikes of 2 % density.
fn random_spikes(time_steps: usize, samples: usize) -> Vec<f32> {
    let mut random = SampleRandom::of_batch(1, 0, 0);
    let spikes = (0..time_steps * samples * INPUTS).map(|_| f32::from(random.chance(0.02)));
    spikes.collect()
}
