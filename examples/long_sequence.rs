//! Trains a recurrent network on sequences of 100,000 time steps in windows, with truncated back-propagation through
//! time: the memory is that of one window: `[device] [time steps] [steps of a window]`.
//!
//! One of four inputs fires now and then, among noise on twelve others. At each step the network says which of the four
//! fired last, so it has to remember it. A window continues the states of the one before; its gradient ends at its
//! first step.

use spikelet::data::SampleRandom;
use spikelet::human::bytes;
use spikelet::layer::{CadLif, LiReadout};
use spikelet::optim::Clip;
use spikelet::prelude::*;
use spikelet::train::step::StepPlan;
use spikelet::train::{Outputs, Step, metric};
use std::time::Instant;

const N: usize = 16; // sequences of a batch
const CUES: usize = 4;
const INPUTS: usize = 16;
const HIDDEN: usize = 128;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let device = spikelet::device::find(&words.next().unwrap_or("auto".to_string()), 0)?;
    let mut size = |default| match words.next() {
        Some(word) => word.parse::<usize>().map_err(spikelet::Error::other),
        None => Ok(default),
    };
    let (time_steps, window) = (size(100_000)?, size(250)?.max(1));
    let net = Sequential::new()
        .add(CadLif::new(INPUTS, HIDDEN).recurrent(true))
        .add(LiReadout::new(HIDDEN, CUES));
    let step = |window: usize| {
        let net = &net;
        Step::new(move |cx, inputs| {
            let scores = net.forward(cx, &inputs["spikes"])?; // [window, N, CUES]
            // Each time step counts as a sample.
            let scores = scores.reshape([window * N, CUES]);
            let labels = &inputs["labels"].reshape([window * N]);
            let loss = loss::cross_entropy(&scores, labels);
            Ok(Outputs::loss(loss).metric("correct steps", metric::accuracy(&scores, labels)))
        })
        .batch_size(N)
        .sequence("spikes", DType::F32, [window, INPUTS])
        .sequence("labels", DType::I64, [window])
        .carry_states(true)
        .clip(Clip::Norm(1.0))
        .optimizer(Adam::new(5e-3))
    };
    let mut store = VarStore::new(device.clone());
    let mut train = step(window).compile(&mut store)?;
    let memory = |step: &StepPlan| bytes(step.plan().peak_bytes() as u64);
    println!(
        "{}: a plan of {}; for all {time_steps} steps at once it would be {}",
        device.name(),
        memory(&step(window).plan(&*device)?),
        memory(&step(time_steps).plan(&*device)?)
    );

    let mut signal = Signal::new();
    train.reset(&mut store)?; // a new sequence
    let windows = time_steps / window;
    let (mut loss, mut right, mut start) = (0.0, 0.0, Instant::now());
    let each = windows.div_ceil(10).max(1);
    for k in 1..=windows {
        let (spikes, labels) = signal.window(window);
        let found = train.run((("spikes", &spikes), ("labels", &labels)))?;
        loss += found.loss / each as f64;
        right += found.get("correct steps").unwrap_or(0.0) / (each * window) as f64;
        if k % each == 0 {
            println!(
                "step {:6}: loss {loss:.3}, accuracy {:.1} %, {:.0} steps a second, resident memory {}",
                k * window,
                100.0 * right,
                (each * window) as f64 / start.elapsed().as_secs_f64(),
                resident().unwrap_or("unknown".to_string())
            );
            (loss, right, start) = (0.0, 0.0, Instant::now());
        }
    }
    Ok(())
}

/// Sequences without an end.
struct Signal {
    random: SampleRandom,
    /// The last cue of each sequence.
    last: [usize; N],
}

impl Signal {
    fn new() -> Self {
        let random = SampleRandom::of_batch(1, 0, 0);
        Self {
            random,
            last: [0; N],
        }
    }

    /// The next time steps: spikes `[window, N, INPUTS]` and labels `[window, N]`.
    fn window(&mut self, window: usize) -> (Vec<f32>, Vec<i64>) {
        let (mut spikes, mut labels) = (vec![0.0; window * N * INPUTS], vec![]);
        for inputs in spikes.chunks_mut(INPUTS) {
            let sample = labels.len() % N;
            if self.random.chance(0.02) {
                self.last[sample] = self.random.below(CUES);
                inputs[self.last[sample]] = 1.0;
            }
            for noise in &mut inputs[CUES..] {
                *noise = f32::from(self.random.chance(0.02));
            }
            labels.push(self.last[sample] as i64);
        }
        (spikes, labels)
    }
}

/// The memory of this process on the host, on Linux.
fn resident() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(bytes(kib << 10))
}
