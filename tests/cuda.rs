//! Whole networks on a GPU: the reference case, training, and the same spikes as on the CPU.

use crate::golden;
use crate::gpu;
use crate::largest;

use golden::golden;
use gpu::gpu;
use largest::larger;
use spikelet::data::{DataLoader, LoaderConfig, synthetic};
use spikelet::device;
use spikelet::network::Network;
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::tensors::TensorFile;
use spikelet::train::{BatchShape, Step};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_mnist_network_gives_the_reference_loss_and_gradients_on_a_gpu() -> Result<()> {
    let gpu = gpu();
    let sums = gpu.determinism().sums.tolerance();
    let lif = || Lif::new(100.0).surrogate(Sigmoid { alpha: 4.0 });
    let case = TensorFile::read(golden("net_mnist_fc.safetensors"))?;
    let net = Sequential::new()
        .add(Flatten)
        .add_named("fc1", Linear::new(784, 196).bias(false))
        .add_named("lif1", lif())
        .add_named("fc2", Linear::new(196, 10).bias(false))
        .add_named("lif2", lif());
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let tracer = cx.tracer();
    let x = tracer.input("x_seq", DType::F32, case.get("x_seq")?.shape.clone());
    let label = tracer.input("label", DType::I64, [4]);
    let spike_seq = cx.trace(&net, x)?;
    let logits = spike_seq.mean(&[0]);
    let loss = loss::cross_entropy(&logits, &label);
    let names = ["fc1.weight", "fc2.weight"];
    let weights = names.map(|name| tracer.find_input(name).expect("a weight"));
    let grads = tracer.gradients(&loss, &[&weights[0], &weights[1]]);
    for (name, grad) in names.iter().zip(&grads) {
        tracer.output(&format!("grad_{name}"), grad);
    }
    tracer.output("spike_seq", &spike_seq);
    tracer.output("logits", &logits);
    tracer.output("loss", &loss);

    let mut store = VarStore::new(gpu);
    for name in names {
        store.insert(name, case.get(name)?)?;
    }
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    let labels = case.get("label")?.to_f64();
    let labels: Vec<i64> = labels.iter().map(|&l| l as i64).collect();
    // The first run goes kernel by kernel, later ones replay a recording.
    for _ in 0..3 {
        program.set("x_seq", host(case.get("x_seq")?))?;
        program.set("label", &labels)?;
        program.run()?;
        assert_eq!(
            program.get("spike_seq")?,
            *case.get("spike_seq")?,
            "spikes are identical"
        );
        for (name, tolerance) in [
            ("logits", 1e-6),
            ("loss", 1e-6),
            ("grad_fc1.weight", sums),
            ("grad_fc2.weight", sums),
        ] {
            let (given, expected) = (program.get(name)?.to_f64(), case.get(name)?.to_f64());
            let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let pairs = given.iter().zip(&expected);
            let apart = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, larger);
            assert!(
                apart <= tolerance * largest,
                "{name}: apart by {apart}, largest {largest}"
            );
        }
    }
    Ok(())
}

const SHAPE: BatchShape = BatchShape {
    batch: 32,
    image: [1, 28, 28],
};

fn small() -> Sequential {
    Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 64).bias(true))
        .add(Lif::new(2.0).v_threshold(0.2))
        .add(Dropout::new(0.1))
        .add(Linear::new(64, 10).bias(false))
        .add(Plif::new(2.0).v_threshold(0.2))
}

/// The losses of the first steps of training, and the weights after them.
fn train_steps(
    backend: Arc<dyn Backend>,
    settings: &Settings,
    steps: usize,
) -> Result<(Vec<f64>, Vec<Tensor>)> {
    let mut store = VarStore::new(backend);
    let mut step = Step::classifier(&small(), settings, SHAPE)?.compile(&mut store)?;
    let data = synthetic::digits_of(2, 32 * steps, 10);
    let config = LoaderConfig {
        batch_size: SHAPE.batch,
        shuffle: true,
        drop_last: true,
        ..Default::default()
    };
    let loader = DataLoader::new(data.train.clone(), config)?;
    let mut losses = vec![];
    for batch in loader.epoch(0, 0) {
        losses.push(step.run_batch(&batch?)?.loss);
    }
    let names: Vec<String> = step.model().map(String::from).collect();
    let weights: Result<Vec<Tensor>> = names.iter().map(|name| store.get(name)).collect();
    Ok((losses, weights?))
}

fn step_settings() -> Settings {
    Settings {
        batch_size: SHAPE.batch,
        ..Settings::default()
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn training_twice_on_a_gpu_gives_the_same_bits() -> Result<()> {
    let gpu = gpu();
    for propagation in Propagation::ALL {
        let settings = Settings {
            propagation,
            ..step_settings()
        };
        let one = train_steps(gpu.clone(), &settings, 12)?;
        let other = train_steps(gpu.clone(), &settings, 12)?;
        assert_eq!(one, other, "{propagation}");
        assert!(one.0[11] < one.0[0], "{propagation}: {:?}", one.0);
    }
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn the_first_losses_on_a_gpu_are_those_of_the_cpu() -> Result<()> {
    let gpu = gpu();
    for encoder in ["direct", "poisson"] {
        let settings = Settings {
            encoder: encoder.parse().expect("an encoder"),
            ..step_settings()
        };
        let (on_gpu, _) = train_steps(gpu.clone(), &settings, 5)?;
        let (on_cpu, _) = train_steps(device::cpu()?, &settings, 5)?;
        for (a, b) in on_gpu.iter().zip(&on_cpu) {
            let near = (a - b).abs() <= 1e-4 * b.abs();
            assert!(near, "{encoder}: {on_gpu:?}, on the CPU {on_cpu:?}");
        }
    }
    Ok(())
}

/// Multiples of 1/256 between −1/2 and 1/2: their sums are exact in any order.
fn exact(shape: [usize; 2], seed: usize) -> Tensor {
    let count = shape[0] * shape[1];
    let values = (0..count).map(|k| ((k * 73 + seed * 41 + k / 7 * 29) % 257) as f32 - 120.0);
    Tensor::f32(shape, values.map(|w| w / 256.0).collect::<Vec<f32>>())
}

fn poisson_spikes(backend: Arc<dyn Backend>, time_steps: usize) -> Result<Vec<Tensor>> {
    const BATCH: usize = 9;
    let net = Sequential::new()
        .add_named("fc1", Linear::new(196, 75).bias(false))
        .add_named("lif1", Lif::new(2.0).v_threshold(0.5))
        .add_named("fc2", Linear::new(75, 40).bias(false))
        .add_named("lif2", Lif::new(5.0).v_threshold(0.1));
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [BATCH, 196]);
    let spikes = cx.trace_encoded(&net, &Poisson, &x, time_steps)?.join();
    cx.tracer().output("spikes", &spikes);
    let mut store = VarStore::new(backend);
    store.insert("fc1.weight", &exact([75, 196], 1))?;
    store.insert("fc2.weight", &exact([40, 75], 2))?;
    let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
    let image: Vec<f32> = (0..BATCH * 196)
        .map(|k| (k * 31 % 97) as f32 / 97.0)
        .collect();
    let mut made = vec![];
    for step in 0..3 {
        program.set("x", &image)?;
        program.set("generator", &[12, step, 0, 0])?;
        program.run()?;
        made.push(program.get("spikes")?);
    }
    Ok(made)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_poisson_encoded_network_has_the_spikes_of_the_cpu_where_sums_are_exact() -> Result<()> {
    let gpu = gpu();
    for time_steps in [1, 7, 50] {
        let expected = poisson_spikes(device::cpu()?, time_steps)?;
        let fired = expected.iter().flat_map(Tensor::to_f64).sum::<f64>();
        assert!(time_steps == 1 || fired > 0.0, "something fires");
        assert_ne!(expected.first(), expected.last(), "draws differ by step");
        assert_eq!(poisson_spikes(gpu.clone(), time_steps)?, expected);
    }
    Ok(())
}

fn network() -> Network {
    Network::model("mnist-fc", [("hidden", 24.into())]).expect("it is sound")
}

fn train(gpu: &Arc<dyn Backend>, folder: &Path, epochs: usize, resume: bool) -> Result<f64> {
    let settings = Settings {
        epochs,
        time_steps: 3,
        batch_size: 32,
        schedule: LrSchedule::default(),
        ..Settings::default()
    };
    let outcome = Trainer::network(&network(), settings)?
        .backend(gpu.clone())
        .folder(folder)
        .resume(resume)
        .checkpoint_every(Duration::ZERO)
        .fit(&synthetic::digits_of(0, 512, 128))?;
    Ok(outcome.test_accuracy())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_run_that_was_stopped_and_resumed_on_a_gpu_ends_with_the_bits_of_the_unbroken_one() -> Result<()>
{
    let gpu = gpu();
    let folder = tempfile::tempdir().expect("a folder");
    let (unbroken, broken) = (folder.path().join("a"), folder.path().join("b"));
    let expected = train(&gpu, &unbroken, 3, false)?;
    for epochs in 1..=3 {
        let accuracy = train(&gpu, &broken, epochs, epochs > 1)?;
        assert!(epochs < 3 || accuracy == expected);
    }
    let tensors =
        |folder: &Path| -> Result<TensorFile> { TensorFile::read(folder.join("last.safetensors")) };
    assert_eq!(tensors(&broken)?.tensors, tensors(&unbroken)?.tensors);
    Ok(())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_state_that_is_carried_from_call_to_call_is_that_of_the_whole_sequence() -> Result<()> {
    let gpu = gpu();
    const STEPS: usize = 6;
    let (batch, inputs) = (3, 40);
    let mut store = VarStore::new(gpu);
    let net = Sequential::new()
        .add_named("fc", Linear::new(inputs, 24).bias(false))
        .add_named("lif", Lif::new(2.0));
    let compile = |time_steps: usize, store: &mut VarStore| -> Result<Program> {
        let cx = Context::new(Mode::STREAM, DType::F32);
        let shape = [time_steps, batch, inputs];
        let x = cx.tracer().input("x_seq", DType::F32, shape);
        let spikes = cx.trace(&net, x)?;
        cx.tracer().output("spike_seq", &spikes);
        store.initialize(&cx.traced(), DType::F32, 3)?;
        store.insert("fc.weight", &exact([24, inputs], 3))?;
        store.reset(&cx.traced(), DType::F32)?;
        Program::new(cx.tracer().finish()?, store)
    };
    let x: Vec<f32> = (0..STEPS * batch * inputs)
        .map(|k| (k * 7 % 31) as f32 / 4.0)
        .collect();
    let mut whole = compile(STEPS, &mut store)?;
    whole.set("x_seq", &x)?;
    whole.run()?;
    let (spikes, v) = (whole.get("spike_seq")?.to_f64(), store.get("lif.v")?);
    assert!(spikes.contains(&1.0), "something fires");

    let mut single = compile(1, &mut store)?;
    let mut one_by_one = vec![];
    for step in x.chunks(batch * inputs) {
        single.set("x_seq", step)?;
        single.run()?;
        one_by_one.extend(single.get("spike_seq")?.to_f64());
    }
    assert_eq!(one_by_one, spikes);
    assert_eq!(store.get("lif.v")?, v);
    Ok(())
}
