//! The tasks: their sequences and what the outputs should be.

use spikelet::data::{Batch, BatchTensor};
use spikelet_random::{Generator, Stream};
use std::f32::consts::TAU;

/// A task and its sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    kind: Kind,
    pub time_steps: usize,
    pub batch_size: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Three sums of four sines, from the spikes of a clock.
    Pattern,
    /// The side on which more of seven cues appeared, asked for after a pause.
    Evidence,
}

/// Evidence accumulation, in steps: a cue, the gap behind it, the pause, the question.
const CUE: usize = 20;
const GAP: usize = 10;
const PAUSE: usize = 100;
const QUESTION: usize = 30;
const CUES: usize = 7;

/// Input neurons of each of the four groups of evidence accumulation: left, right, question, noise.
const GROUP: usize = 10;

impl Task {
    pub fn pattern() -> Self {
        Self {
            kind: Kind::Pattern,
            time_steps: 1_000,
            batch_size: 1,
        }
    }

    pub fn evidence() -> Self {
        Self {
            kind: Kind::Evidence,
            time_steps: CUES * (CUE + GAP) + PAUSE + QUESTION,
            batch_size: 32,
        }
    }

    pub fn time_steps(mut self, time_steps: usize) -> Self {
        self.time_steps = time_steps;
        self
    }

    pub fn is_pattern(&self) -> bool {
        self.kind == Kind::Pattern
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Pattern => "pattern",
            Kind::Evidence => "evidence",
        }
    }

    /// The name of what is reported.
    pub fn metric(&self) -> &'static str {
        match self.kind {
            Kind::Pattern => "normalized error",
            Kind::Evidence => "accuracy",
        }
    }

    pub fn inputs(&self) -> usize {
        match self.kind {
            Kind::Pattern => 20,
            Kind::Evidence => 4 * GROUP,
        }
    }

    pub fn outputs(&self) -> usize {
        match self.kind {
            Kind::Pattern => 3,
            Kind::Evidence => 2,
        }
    }

    /// The batch of an iteration: input spikes `x`, the targets of each step, the weight of a step's error. Pattern
    /// generation has the same sequence in each.
    pub fn batch(&self, seed: u64, iteration: u64) -> Batch {
        let step = match self.kind {
            Kind::Pattern => 0,
            Kind::Evidence => iteration as u32,
        };
        let mut random = Generator::new(Stream { seed, id: 1, step });
        let [t, n] = [self.time_steps, self.batch_size];
        let (inputs, outputs) = (self.inputs(), self.outputs());
        let mut x = vec![0.0; t * n * inputs];
        let mut target = vec![0.0; t * n * outputs];
        let mut weight = vec![1.0; t * n];
        match self.kind {
            Kind::Pattern => self.write_pattern(&mut random, &mut x, &mut target),
            Kind::Evidence => self.write_evidence(&mut random, &mut x, &mut target, &mut weight),
        }
        Batch::new((0..n as u32).collect())
            .with("x", BatchTensor::f32(&[t, n, inputs], x).sequence())
            .with(
                "target",
                BatchTensor::f32(&[t, n, outputs], target).sequence(),
            )
            .with("weight", BatchTensor::f32(&[t, n], weight).sequence())
    }

    fn write_pattern(&self, random: &mut Generator, x: &mut [f32], target: &mut [f32]) {
        let t = self.time_steps;
        for (time, row) in x.chunks_mut(self.inputs()).enumerate() {
            // Four neurons for each fifth of the time.
            for (k, spike) in row.iter_mut().enumerate() {
                let fires = random.unit() < 0.05;
                *spike = f32::from(u8::from(fires && k / 4 == 5 * time / t));
            }
        }
        for output in 0..self.outputs() {
            for cycles in [1.0, 2.0, 3.0, 5.0] {
                let (height, phase) = (0.5 + 1.5 * random.unit(), TAU * random.unit());
                for (time, row) in target.chunks_mut(self.outputs()).enumerate() {
                    let angle = TAU * cycles * time as f32 / t as f32 + phase;
                    row[output] += 0.25 * height * angle.sin();
                }
            }
        }
    }

    fn write_evidence(
        &self,
        random: &mut Generator,
        x: &mut [f32],
        target: &mut [f32],
        weight: &mut [f32],
    ) {
        let n = self.batch_size;
        let (inputs, question) = (self.inputs(), self.time_steps - QUESTION);
        for sample in 0..n {
            let sides: Vec<usize> = (0..CUES).map(|_| random.below(2) as usize).collect();
            let label = usize::from(2 * sides.iter().sum::<usize>() > CUES);
            for time in 0..self.time_steps {
                let row = time * n + sample;
                let cue = sides
                    .get(time / (CUE + GAP))
                    .filter(|_| time % (CUE + GAP) < CUE);
                for input in 0..inputs {
                    let probability = match input / GROUP {
                        side @ (0 | 1) if cue == Some(&side) => 0.2,
                        2 if time >= question => 0.2,
                        3 => 0.05,
                        _ => 0.0,
                    };
                    let fires = random.unit() < probability;
                    x[row * inputs + input] = f32::from(u8::from(fires));
                }
                target[row * 2 + label] = 1.0;
                weight[row] = f32::from(u8::from(time >= question)) / QUESTION as f32;
            }
        }
    }
}
