//! Reference cases of whole networks: spikes, scores, loss, every gradient, running statistics;
//! on the CPU and on a GPU.

use crate::golden;
use crate::gpu;
use crate::largest;

use golden::golden;
use gpu::gpu;
use largest::larger;
use spikelet::device;
use spikelet::document::Document;
use spikelet::layer::Static;
use spikelet::module::TracedTensor;
use spikelet::prelude::*;
use spikelet::recipes;
use spikelet::runtime::host;
use spikelet::tensors::TensorFile;
use std::sync::Arc;

/// A case: the network, the names of what is given, and the loss of its scores.
struct Case {
    file: TensorFile,
    net: Box<dyn Module>,
    /// The input sequence, or the image that is given at every step.
    input: &'static str,
    time_steps: usize,
    /// The name of the scores among the expected tensors.
    scores: &'static str,
    loss: fn(&Var, &Var) -> Var,
}

fn read(name: &str) -> Result<TensorFile> {
    TensorFile::read(golden(name))
}

fn mnist_fc() -> Result<Case> {
    let lif = || Lif::new(100.0).surrogate(Sigmoid { alpha: 4.0 });
    let net = Sequential::new()
        .add(Flatten)
        .add_named("fc1", Linear::new(784, 196).bias(false))
        .add_named("lif1", lif())
        .add_named("fc2", Linear::new(196, 10).bias(false))
        .add_named("lif2", lif());
    Ok(Case {
        file: read("net_mnist_fc.safetensors")?,
        net: Box::new(net),
        input: "x_seq",
        time_steps: 0,
        scores: "logits",
        loss: loss::cross_entropy,
    })
}

/// Convolution and batch norm of an image that is the same at all steps.
struct Encoder;

impl Module for Encoder {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let x = cx.child("conv1", |cx| {
            Conv2d::new(1, 8, 3).bias(false).padding(1).forward(cx, x)
        })?;
        cx.child("bn1", |cx| BatchNorm2d::new(8).forward(cx, &x))
    }
}

/// A module whose parameters are named as if it stood by itself.
struct Csnn(Sequential);

impl Module for Csnn {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let x = Static(Encoder).forward(cx, x)?;
        self.0.forward(cx, &x)
    }
}

fn csnn() -> Result<Case> {
    let spiking = || If::new().surrogate(Atan { alpha: 2.0 });
    let rest = Sequential::new()
        .add_named("if1", spiking())
        .add(MaxPool2d::new(2))
        .add_named("conv2", Conv2d::new(8, 8, 3).bias(false).padding(1))
        .add_named("bn2", BatchNorm2d::new(8))
        .add_named("if2", spiking())
        .add(MaxPool2d::new(2))
        .add(Flatten)
        .add_named("fc1", Linear::new(72, 32).bias(false))
        .add_named("if3", spiking())
        .add_named("fc2", Linear::new(32, 10).bias(false))
        .add_named("if4", spiking());
    Ok(Case {
        file: read("net_csnn.safetensors")?,
        net: Box::new(Csnn(rest)),
        input: "x",
        time_steps: 4,
        scores: "output",
        loss: loss::mse_one_hot,
    })
}

/// The network of this crate, smaller: SpikingFlow's soft reset gradient, biases, pooling before
/// batch norm. `golden/net_cifar10.py` makes the case.
fn cifar10_net() -> Result<Case> {
    let recipe = recipes::find("cifar10-net-spikingflow").expect("it is known");
    let changes = "network = { size = 8, channels = 4 }";
    let mut experiment = recipe.experiment()?;
    experiment.change(&Document::from_toml("changes", changes)?)?;
    let net = experiment.network;
    Ok(Case {
        file: read("net_cifar10.safetensors")?,
        net: Box::new(net.module()?),
        input: "x_seq",
        time_steps: 0,
        scores: "logits",
        loss: loss::cross_entropy,
    })
}

fn check(case: &Case, backend: Arc<dyn Backend>, propagation: Propagation) -> Result<()> {
    let device = backend.name();
    let cx = Context::new(Mode::TRAIN, DType::F32).propagation(propagation);
    let tracer = cx.tracer().clone();
    let given = case.file.get(case.input)?;
    let x = tracer.input(case.input, DType::F32, given.shape.clone());
    let labels = case.file.get("label")?.to_f64();
    let label = tracer.input("label", DType::I64, [labels.len()]);
    let x_seq = match case.time_steps {
        0 => x.clone(),
        steps => x.repeat_over_time(steps),
    };
    let spike_seq = cx.trace(&*case.net, x_seq)?;
    let scores = spike_seq.mean(&[0]);
    let loss = (case.loss)(&scores, &label);
    let traced = cx.traced();
    let mut names: Vec<String> = traced.parameters.iter().map(|p| p.name.clone()).collect();
    let mut wrt: Vec<Var> = names.iter().filter_map(|n| tracer.find_input(n)).collect();
    if case.file.get(&format!("grad_{}", case.input)).is_ok() {
        names.push(case.input.to_string());
        wrt.push(x);
    }
    let grads = tracer.gradients(&loss, &wrt.iter().collect::<Vec<_>>());
    let determinism = backend.determinism();
    let mut tolerances = vec![(case.scores.to_string(), 1e-6), ("loss".to_string(), 1e-6)];
    for (name, grad) in names.iter().zip(&grads) {
        tracer.output(&format!("grad_{name}"), grad);
        tolerances.push((format!("grad_{name}"), determinism.sums.tolerance()));
    }
    tracer.output("spike_seq", &spike_seq);
    tracer.output(case.scores, &scores);
    tracer.output("loss", &loss);

    let mut store = VarStore::new(backend);
    store.initialize(&traced, DType::F32, 0)?;
    for TracedTensor { name, .. } in &traced.parameters {
        store.insert(name, case.file.get(name)?)?;
    }
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    program.set(case.input, host(given))?;
    let labels: Vec<i64> = labels.iter().map(|&l| l as i64).collect();
    program.set("label", &labels)?;
    program.run()?;

    let (spikes, expected) = (program.get("spike_seq")?, case.file.get("spike_seq")?);
    let different = determinism
        .elementwise
        .first_difference(&spikes.to_f64(), &expected.to_f64());
    assert_eq!(different, None, "first wrong spike on {device}");
    let compare = |name: &str, given: Tensor, expected: &Tensor, tolerance: f64| {
        assert_eq!(given.shape, expected.shape, "{name}");
        let (given, expected) = (given.to_f64(), expected.to_f64());
        let size = |values: &[f64]| values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        // Batch norm takes a bias before it away again: its gradient is zero but for rounding, which
        // is as large as that of the weight beside it.
        let largest = match size(&expected) {
            rounding if rounding < 1e-15 => {
                let weight = name.replace(".bias", ".weight");
                case.file.get(&weight).map_or(0.0, |w| size(&w.to_f64()))
            }
            largest => largest,
        };
        let apart = given.iter().zip(&expected).map(|(a, b)| (a - b).abs());
        let apart = apart.fold(0.0, larger);
        assert!(
            apart <= tolerance * largest,
            "{name} on {device}: apart by {apart}, largest {largest}"
        );
    };
    for (name, tolerance) in tolerances {
        compare(&name, program.get(&name)?, case.file.get(&name)?, tolerance);
    }
    if !propagation.is_step_by_step() {
        for TracedTensor { name, .. } in &traced.buffers {
            let expected = case.file.get(&format!("{name}_after"))?;
            compare(name, store.get(name)?, expected, 1e-6);
        }
    }
    Ok(())
}

#[test]
fn the_mnist_network_gives_the_reference_loss_and_gradients() -> Result<()> {
    check(&mnist_fc()?, device::cpu()?, Propagation::default())
}

#[test]
fn the_convolutional_network_gives_the_reference_gradients_and_statistics() -> Result<()> {
    check(&csnn()?, device::cpu()?, Propagation::default())
}

#[test]
fn the_cifar10_network_gives_the_reference_gradients_and_statistics() -> Result<()> {
    check(&cifar10_net()?, device::cpu()?, Propagation::default())
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn all_networks_give_the_reference_on_a_gpu() -> Result<()> {
    check(&mnist_fc()?, gpu(), Propagation::default())?;
    check(&cifar10_net()?, gpu(), Propagation::default())?;
    check(&csnn()?, gpu(), Propagation::default())
}
