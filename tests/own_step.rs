//! Steps of one's own: two outputs, every option, every precision, on a GPU against the CPU.

use spikelet::graph::Backend;
use spikelet::optim::{AdamW, Clip};
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step, metric};
use std::sync::Arc;

const T: usize = 6;
const N: usize = 16;

fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) + 1;
    let next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as f32 / 16_777_216.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// The losses of a step with everything on, and the weights after it.
fn trained(
    device: &Arc<dyn Backend>,
    precision: Precision,
    resume: bool,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let trunk = Sequential::new()
        .add_named("stem", Conv2d::new(2, 8, 3).bias(false).padding(1))
        .add_named("norm", BatchNorm2d::new(8))
        .add_named("if", If::new())
        .add(AdaptiveAvgPool2d::new(2))
        .add(Flatten);
    let (class, value) = (
        Linear::new(32, 3).bias(true),
        Linear::new(32, 1).bias(false),
    );
    let step = Step::new(|cx, inputs| {
        let h = cx.child("trunk", |cx| trunk.forward(cx, &inputs["frames"]))?;
        let scores = cx.child("class", |cx| class.forward(cx, &h))?.mean(&[0]);
        let value = cx.child("value", |cx| value.forward(cx, &h))?.mean(&[0]);
        let error = loss::mse(&value, &inputs["values"]);
        Ok(
            Outputs::loss(loss::cross_entropy(&scores, &inputs["labels"]) + error)
                .metric("accuracy", metric::accuracy(&scores, &inputs["labels"]))
                .output("value", &value),
        )
    })
    .batch_size(N)
    .sequence("frames", DType::F32, [T, 2, 9, 9])
    .input("labels", DType::I64, [])
    .input("values", DType::F32, [1])
    .optimizer(AdamW::new(1e-2))
    .group(
        "class.*",
        Sgd {
            momentum: 0.9,
            ..Sgd::new(0.05)
        },
    )
    .no_weight_decay_on_vectors()
    .accumulate(2)
    .clip(Clip::Norm(1.0))
    .ema(0.9)
    .precision(precision);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.safetensors");
    let mut store = VarStore::new(device.clone());
    let mut train = step.compile(&mut store)?;
    let mut losses = vec![];
    for k in 0..10 {
        if resume && k == 5 {
            train.save_state(&store, &path)?;
            store = VarStore::new(device.clone());
            train = step.clone().seed(9).compile(&mut store)?;
            train.resume(&mut store, &path)?;
        }
        let frames = numbers(k, T * N * 2 * 81);
        let labels: Vec<i64> = (0..N as i64).map(|n| (n + k as i64) % 3).collect();
        let values = numbers(k + 100, N);
        let found = train.run((
            ("frames", &frames),
            ("labels", &labels),
            ("values", &values),
        ))?;
        losses.push(found.loss);
    }
    let averaged = train.averaged(&store)?;
    Ok((losses, averaged.get("trunk.stem.weight")?.to_f64()))
}

fn gpu() -> Arc<dyn Backend> {
    spikelet::device::find("cuda:0", 0).expect("a GPU")
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_step_on_a_gpu_trains_as_on_the_cpu() -> Result<()> {
    let cpu = spikelet::device::cpu()?;
    let (expected, weights) = trained(&cpu, Precision::F32, false)?;
    let (losses, found) = trained(&gpu(), Precision::F32, false)?;
    for (a, b) in losses
        .iter()
        .zip(&expected)
        .chain(found.iter().zip(&weights))
    {
        assert!((a - b).abs() < 2e-3, "{losses:?} {expected:?}");
    }
    for precision in [Precision::Bf16, Precision::F16, Precision::Tf32] {
        let (losses, _) = trained(&gpu(), precision, false)?;
        for (a, b) in losses.iter().zip(&expected) {
            assert!(
                (a - b).abs() < 0.2,
                "{precision:?}: {losses:?} {expected:?}"
            );
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_step_on_a_gpu_resumes_with_the_same_bits() -> Result<()> {
    for precision in [Precision::F32, Precision::F16] {
        assert_eq!(
            trained(&gpu(), precision, true)?,
            trained(&gpu(), precision, false)?
        );
    }
    Ok(())
}

#[test]
fn a_step_resumes_with_the_same_bits_in_every_precision() -> Result<()> {
    let cpu = spikelet::device::cpu()?;
    for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
        assert_eq!(
            trained(&cpu, precision, true)?,
            trained(&cpu, precision, false)?
        );
    }
    Ok(())
}
