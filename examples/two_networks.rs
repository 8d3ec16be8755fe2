//! Two networks in one program: a teacher without spikes trains a spiking student.

use spikelet::prelude::*;
use spikelet::train::{Outputs, Step, metric};

const T: usize = 8;
const N: usize = 64;

fn main() -> Result<()> {
    let teacher = Sequential::new()
        .add(Linear::new(8, 64))
        .add(Relu)
        .add(Linear::new(64, 8));
    let student = Sequential::new()
        .add(Linear::new(8, 32))
        .add(Lif::new(2.0))
        .add(Linear::new(32, 8));
    let scores = |cx: &Context, name: &str, net: &Sequential, x: &Var| {
        cx.child(name, |cx| Ok(net.forward(cx, x)?.mean(&[0])))
    };

    // The teacher learns from labels.
    let lesson = inputs(Step::new(|cx, inputs| {
        let scores = scores(cx, "teacher", &teacher, &inputs["x"].repeat_over_time(1))?;
        Ok(
            Outputs::loss(loss::cross_entropy(&scores, &inputs["labels"]))
                .metric("accuracy", metric::accuracy(&scores, &inputs["labels"])),
        )
    }));
    // The student learns from the teacher's scores, which have no backward pass: the teacher is frozen.
    let distillation = inputs(Step::new(|cx, inputs| {
        let wanted = scores(cx, "teacher", &teacher, &inputs["x"].repeat_over_time(1))?;
        let found = scores(cx, "student", &student, &inputs["x"].repeat_over_time(T))?;
        let accuracy = metric::accuracy(&found, &inputs["labels"]);
        Ok(Outputs::loss(loss::kl_divergence(&found, &wanted, 2.0)).metric("accuracy", accuracy))
    }));

    // Both steps use the tensors of one store.
    let mut store = VarStore::new(spikelet::device::find("auto", 0)?);
    let mut teach = lesson.optimizer(Adam::new(1e-2)).compile(&mut store)?;
    let mut learn = distillation
        .optimizer(Adam::new(1e-2))
        .freeze("teacher.*")
        .compile(&mut store)?;
    for (name, step) in [("teacher", &mut teach), ("student", &mut learn)] {
        for k in 1..=300 {
            let (x, labels) = batch(k);
            let found = step.run((("x", &x), ("labels", &labels)))?;
            if k % 100 == 0 {
                println!("{name}, step {k}: {found}");
            }
        }
    }
    Ok(())
}

/// A step with its inputs.
fn inputs(step: Step<'_>) -> Step<'_> {
    step.batch_size(N)
        .input("x", DType::F32, [8])
        .input("labels", DType::I64, [])
}

/// max(x, 0).
#[derive(Debug)]
struct Relu;

impl Module for Relu {
    fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
        Ok(x.relu())
    }
}

/// Pseudo-random numbers, and the index of the largest of each eight.
fn batch(seed: u64) -> (Vec<f32>, Vec<i64>) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / 8_388_608.0 - 1.0
    };
    let x: Vec<f32> = std::iter::repeat_with(next).take(8 * N).collect();
    let largest = |row: &[f32]| {
        (0..8)
            .max_by(|&a, &b| row[a].total_cmp(&row[b]))
            .unwrap_or(0) as i64
    };
    let labels = x.chunks(8).map(largest).collect();
    (x, labels)
}
