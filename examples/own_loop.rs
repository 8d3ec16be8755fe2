//! A training loop of one's own: a class and a speed from event frames, a frozen layer, two learning rates.

use spikelet::data::{Batch, BatchTensor};
use spikelet::prelude::*;
use spikelet::train::{Outputs, Step, metric};

const T: usize = 8; // time steps
const N: usize = 16; // samples of a batch
const PIXELS: usize = 2 * 34 * 34; // of a frame: polarities, height, width

/// One trunk, two output layers.
#[derive(Module)]
#[module(children)]
struct Net {
    trunk: Sequential,
    class: Linear,
    speed: Linear,
}

fn main() -> Result<()> {
    let block = Sequential::new()
        .add(Conv2d::new(8, 8, 3).padding(1))
        .add(If::new());
    let trunk = Sequential::new()
        .add_named("stem", Conv2d::new(2, 8, 3).bias(false).stride(4))
        .add_named("norm", BatchNorm2d::new(8))
        .add_named("if", If::new())
        .add_named("block", Residual::new(block))
        .add(AdaptiveAvgPool2d::new(2))
        .add(Flatten);
    let net = Net {
        trunk,
        class: Linear::new(32, 4),
        speed: Linear::new(32, 1),
    };
    let step = Step::new(|cx, inputs| {
        let h = net.trunk(cx, &inputs["frames"])?;
        let scores = net.class(cx, &h)?.mean(&[0]);
        let speed = net.speed(cx, &h)?.mean(&[0]);
        let error = loss::mse(&speed, &inputs["speeds"]);
        let loss = loss::cross_entropy(&scores, &inputs["labels"]) + error;
        Ok(Outputs::loss(loss)
            .metric("accuracy", metric::accuracy(&scores, &inputs["labels"]))
            .metric("firing rate", cx.recorded("trunk.if.spike_seq")?.mean_all())
            .output("speed", &speed))
    })
    .batch_size(N)
    .sequence("frames", DType::F32, [T, 2, 34, 34])
    .input("labels", DType::I64, [])
    .input("speeds", DType::F32, [1])
    .freeze("trunk.stem.*")
    .group("trunk.*", Adam::new(1e-2))
    .optimizer(Adam::new(3e-2))
    .read_gradients("class.weight");

    let mut store = VarStore::new(spikelet::device::find("auto", 0)?);
    let mut train = step.compile(&mut store)?;
    for k in 1..=40 {
        println!("step {k}: {}", train.run_batch(&moving_dots(k))?);
    }
    println!("gradient {:?}", train.gradient("class.weight")?.shape);

    let path = std::env::temp_dir().join("spikelet-own-loop.safetensors");
    train.save(&store, &path)?;
    train.load(&mut store, &path, true, &[])?; // strict: all tensors, and no others

    let mut stream = step.batch_size(1).compile_stream(&mut store)?; // one time step at a time
    for frame in moving_dots(0).f32("frames")?.chunks(N * PIXELS) {
        stream.predict([("frames", &frame[..PIXELS])])?;
        println!("speed {:.2}", stream.output("speed")?.to_f64()[0]);
    }
    Ok(())
}

/// A batch of dots that move in one of four directions by up to three pixels a step.
fn moving_dots(seed: u64) -> Batch {
    let (mut frames, mut labels, mut speeds) = (vec![0.0; T * N * PIXELS], vec![], vec![]);
    for n in 0..N {
        let draw = (seed * N as u64 + n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
        let (direction, speed) = (draw as usize % 4, 1 + draw as usize / 4 % 3);
        for t in 0..T {
            let along = if direction % 2 == 0 {
                t * speed
            } else {
                33 - t * speed
            };
            let [x, y] = if direction < 2 {
                [along, 16]
            } else {
                [16, along]
            };
            frames[(((t * N + n) * 2) + t % 2) * 34 * 34 + y * 34 + x] = 4.0;
        }
        labels.push(direction as i64);
        speeds.push(speed as f32);
    }
    Batch::new((0..N as u32).collect())
        .with(
            "frames",
            BatchTensor::f32(&[T, N, 2, 34, 34], frames).sequence(),
        )
        .with("labels", BatchTensor::i64(&[N], labels))
        .with("speeds", BatchTensor::f32(&[N, 1], speeds))
}
