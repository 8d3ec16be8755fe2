//! Recurrent connections, and layers that learn from traces.

use crate::gpu;
use crate::probe;

use gpu::gpu;
use probe::{Probe, assert_close, values};
use spikelet::device;
use spikelet::layer::*;
use spikelet::module::{Trace, TracedState, TracedTensor};
use spikelet::neuron::{EpropAlif, Izhikevich, OtttLif, State};
use spikelet::prelude::*;
use spikelet::runtime::host;
use std::collections::BTreeMap;
use std::sync::Arc;

const STEPS: usize = 5;
const BATCH: usize = 3;
const FEATURES: usize = 4;
const SHAPE: [usize; 3] = [STEPS, BATCH, FEATURES];

fn neurons() -> Vec<Box<dyn Fn() -> Box<dyn Module>>> {
    vec![
        Box::new(|| Box::new(Lif::new(2.0).v_threshold(0.3))),
        Box::new(|| {
            Box::new(
                Izhikevich {
                    b: 0.2,
                    ..Izhikevich::default()
                }
                .v_reset(None),
            )
        }),
        Box::new(|| Box::new(Plif::new(3.0).v_threshold(0.2))),
    ]
}

/// Makes `y` and the gradients of Σ y·x with respect to `x` and all parameters outputs, and returns the names of the
/// gradients.
fn output_gradients(cx: &Trace, x: Var, y: &Var) -> Vec<String> {
    let tracer = cx.tracer();
    let loss = (y * &x.detach()).sum_all();
    let mut wrt = vec![("grad x".to_string(), x)];
    for TracedTensor { name, .. } in cx.traced().parameters {
        let parameter = tracer.find_input(&name).expect("an input");
        wrt.push((format!("grad {name}"), parameter));
    }
    let grads = tracer.gradients(&loss, &wrt.iter().map(|(_, v)| v).collect::<Vec<_>>());
    tracer.output("y", y);
    let output = |((name, _), grad): ((String, Var), &Var)| {
        tracer.output(&name, grad);
        name
    };
    wrt.into_iter().zip(&grads).map(output).collect()
}

/// Spikes, gradients and states on exact numbers.
fn results(
    module: &dyn Module,
    mode: Mode,
    propagation: Propagation,
    backend: Arc<dyn Backend>,
) -> Result<BTreeMap<String, Tensor>> {
    let cx = Context::new(mode, DType::F32).propagation(propagation);
    let tracer = cx.tracer();
    let x = tracer.input("x", DType::F32, SHAPE);
    let y = cx.trace(module, x.clone())?;
    let traced = cx.traced();
    let names = output_gradients(&cx, x, &y);
    let mut store = VarStore::new(backend);
    for (salt, TracedTensor { name, shape, .. }) in traced.parameters.iter().enumerate() {
        // Multiples of 1/64: sums of products with spikes are exact in any order.
        let count = shape.iter().product();
        let weights = values(count, salt as u64)
            .into_iter()
            .map(|w| (w * 64.0).round() / 64.0);
        let weights: Vec<f64> = weights.collect();
        store.insert(name, &Tensor::f64(shape.clone(), weights).cast(DType::F32))?;
    }
    store.initialize(&traced, DType::F32, 0)?;
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    let x: Vec<f64> = values(SHAPE.iter().product(), 9)
        .iter()
        .map(|x| x + 0.4)
        .collect();
    program.set("x", host(&Tensor::f64(SHAPE, x).cast(DType::F32)))?;
    program.run()?;
    let mut found = BTreeMap::from([("y".to_string(), program.get("y")?)]);
    for name in names {
        let value = program.get(&name)?;
        found.insert(name, value);
    }
    for TracedState { name, .. } in &traced.states {
        found.insert(format!("state {name}"), store.get(name)?);
    }
    Ok(found)
}

fn close(a: &Tensor, b: &Tensor) -> bool {
    let (a, b) = (a.to_f64(), b.to_f64());
    let largest = b.iter().fold(1e-30, |most: f64, x| most.max(x.abs()));
    a.iter()
        .zip(&b)
        .all(|(x, y)| (x - y).abs() <= 1e-5 * largest)
}

#[test]
fn recurrent_neurons_give_the_same_in_every_order() -> Result<()> {
    check_orders(&device::cpu()?)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn recurrent_neurons_give_the_same_on_a_gpu() -> Result<()> {
    check_orders(&gpu())
}

/// Compares every order of propagation on this device with layer by layer on the CPU.
fn check_orders(backend: &Arc<dyn Backend>) -> Result<()> {
    let plain = neurons()
        .into_iter()
        .map(|neuron| Recurrent::new(neuron(), FEATURES));
    let local = neurons()
        .into_iter()
        .map(|neuron| Recurrent::new(neuron(), FEATURES).local_gradient());
    for net in plain.chain(local) {
        for mode in [Mode::TRAIN, Mode::STREAM] {
            let layer_by_layer = Propagation::LayerByLayer;
            let expected = results(&net, mode, layer_by_layer, device::cpu()?)?;
            let fired = expected["y"].to_f64();
            assert!(fired.contains(&1.0) && fired.contains(&0.0));
            let states = expected.keys().filter(|k| k.starts_with("state")).count();
            assert!(states == 0 || expected.contains_key("state spikes"));
            for propagation in Propagation::ALL {
                let made = results(&net, mode, propagation, backend.clone())?;
                assert_eq!(made.len(), expected.len());
                for (name, value) in &made {
                    let fits = match name.starts_with("grad") {
                        true => close(value, &expected[name]),
                        false => value == &expected[name],
                    };
                    assert!(fits, "{propagation}, {}, {name}", backend.name());
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_recurrent_neuron_is_that_of_a_plain_loop() -> Result<()> {
    let net = Recurrent::new(Lif::new(2.0).v_threshold(0.3), FEATURES);
    let mut probe = Probe::new(&net, Mode::TRAIN, &SHAPE)?;
    let weight = probe.tensor("feedback.weight")?;
    let (mut v, mut s) = (vec![0.0; BATCH * FEATURES], vec![0.0; BATCH * FEATURES]);
    let mut expected = vec![];
    for x in probe.x.clone().chunks(BATCH * FEATURES) {
        let fed = |k: usize| -> f64 {
            let (n, out) = (k / FEATURES, k % FEATURES);
            (0..FEATURES)
                .map(|i| weight[out * FEATURES + i] * s[n * FEATURES + i])
                .sum()
        };
        let h: Vec<f64> = (0..v.len())
            .map(|k| v[k] + (x[k] + fed(k) - v[k]) / 2.0)
            .collect();
        s = h.iter().map(|h| f64::from(u8::from(*h >= 0.3))).collect();
        v = h.iter().zip(&s).map(|(h, s)| h * (1.0 - s)).collect();
        expected.extend(s.clone());
    }
    assert_close("spikes", &probe.run("y")?, &expected, 0.0);
    assert!(expected.contains(&1.0));
    Ok(())
}

#[test]
fn gradients_go_back_through_recurrent_connections() -> Result<()> {
    let smooth = Lif::new(2.0).spiking(false).v_threshold(0.3);
    let mut probe = Probe::new(&Recurrent::new(smooth, FEATURES), Mode::TRAIN, &SHAPE)?;
    probe.check_gradients("recurrent")?;
    let named: Vec<&str> = probe
        .parameters
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(named, ["feedback.weight"]);
    probe.set_x(vec![0.5; SHAPE.iter().product()])?;
    assert!(probe.run("grad feedback.weight")?.iter().any(|g| *g != 0.0));
    Ok(())
}

#[test]
fn a_layer_on_a_trace_has_the_spikes_results_and_the_traces_gradient() -> Result<()> {
    let neuron = || OtttLif::default().v_threshold(0.4);
    let then = || Linear::new(FEATURES, 2).bias(false);
    let mut plain = Probe::new(
        &Sequential::new()
            .add_named("neuron", neuron())
            .add_named("then", then()),
        Mode::TRAIN,
        &SHAPE,
    )?;
    let mut traced = Probe::new(&TraceLearning::new(neuron(), then()), Mode::TRAIN, &SHAPE)?;
    assert_close("y", &traced.run("y")?, &plain.run("y")?, 1e-12);
    assert_close(
        "grad x",
        &traced.run("grad x")?,
        &plain.run("grad x")?,
        1e-12,
    );

    // dW = Σ g ⊗ A, with A[t] = A[t−1]·(1 − 1/τ) + S[t].
    let mut spikes = Probe::new(&neuron(), Mode::TRAIN, &SHAPE)?;
    let (s, g) = (spikes.run("y")?, values(STEPS * BATCH * 2, 7));
    let mut a = [0.0; BATCH * FEATURES];
    let mut expected = [0.0; 2 * FEATURES];
    for (s, g) in s.chunks(a.len()).zip(g.chunks(2 * BATCH)) {
        a.iter_mut().zip(s).for_each(|(a, s)| *a = *a * 0.5 + s);
        for (n, out, i) in
            (0..BATCH).flat_map(|n| (0..2 * FEATURES).map(move |k| (n, k / FEATURES, k % FEATURES)))
        {
            expected[out * FEATURES + i] += g[2 * n + out] * a[n * FEATURES + i];
        }
    }
    assert!(expected.iter().any(|w| *w != 0.0));
    assert_close(
        "grad weight",
        &traced.run("grad then.weight")?,
        &expected,
        1e-12,
    );
    Ok(())
}

#[test]
fn a_neuron_without_a_trace_is_refused() {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, SHAPE);
    let net = TraceLearning::new(Lif::new(2.0), Linear::new(FEATURES, 2).bias(false));
    let error = cx.trace(&net, x).expect_err("refused");
    let error: &spikelet::LayerError = error.downcast_ref().expect("a layer");
    assert!(
        matches!(&error.problem, spikelet::LayerProblem::NoTrace { neuron } if neuron == "lif"),
        "{error}"
    );
}

#[test]
fn constants_stay_within_their_limits_while_a_network_trains() -> Result<()> {
    use spikelet::train::{Outputs, Step};
    let net = Sequential::new()
        .add(RadLif::new(FEATURES, 6).neuron(|cell| cell.v_threshold(0.3)))
        .add(SeAdLif::new(6, 6).neuron(|cell| cell.v_threshold(0.05)))
        .add(LiReadout::new(6, 3))
        .add(SoftmaxSum);
    let step = Step::new(|cx, inputs| {
        let scores = net.forward(cx, &inputs["x"])?.reshape([BATCH, 3]);
        let loss = loss::cross_entropy(&scores, &inputs["labels"]);
        Ok(Outputs::loss(loss))
    })
    .batch_size(BATCH)
    .sequence("x", DType::F32, [STEPS, FEATURES])
    .input("labels", DType::I64, [])
    .optimizer(Adam::new(0.3));
    let mut store = VarStore::new(device::cpu()?);
    let mut train = step.compile(&mut store)?;
    let x: Vec<f32> = values(SHAPE.iter().product(), 9)
        .iter()
        .map(|x| *x as f32 + 0.6)
        .collect();
    let limits = [
        ("tau_u", [0.0, 1.0]),
        ("tau_w", [0.0, 1.0]),
        ("a", [0.0, 1.0]),
        ("b", [0.0, 2.0]),
    ];
    let mut at_a_limit = 0;
    for _ in 0..10 {
        let found = train.run((("x", &x), ("labels", &[0, 1, 2])))?;
        assert!(found.loss.is_finite());
        for (name, [low, high]) in limits {
            let held = store.get(&format!("1.neuron.{name}"))?.to_f64();
            assert!(
                held.iter().all(|p| (low..=high).contains(p)),
                "{name}: {held:?}"
            );
            at_a_limit += held.iter().filter(|p| [low, high].contains(p)).count();
        }
    }
    assert!(at_a_limit > 0);
    Ok(())
}

/// A neuron of two states, defined by a user.
#[derive(Clone, Debug, Schema)]
struct Adapting {
    #[schema(flatten)]
    common: Common,
}

impl Neuron for Adapting {
    fn states(&self) -> Vec<State> {
        vec![State::v(&self.common), State::new("w", 0.1)]
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        let w = n.state("w") * 0.8 + n.state("v") * 0.1;
        n.set_state("w", w.clone());
        n.state("v") * 0.7 + x - w
    }
}

/// Layers whose loop is one kernel.
fn fused_layers() -> Vec<(&'static str, Box<dyn Module>)> {
    let features = FEATURES;
    vec![
        (
            "lif",
            Box::new(Recurrent::new(Lif::new(2.0).v_threshold(0.3), features)),
        ),
        (
            "plif",
            Box::new(Recurrent::new(Plif::new(3.0).v_threshold(0.2), features)),
        ),
        (
            "two states",
            Box::new(Recurrent::new(
                Adapting::default().v_threshold(0.3),
                features,
            )),
        ),
        (
            "rnn",
            Box::new(Rnn::new(Lif::new(2.0).v_threshold(0.3), features, features)),
        ),
        ("radlif", Box::new(RadLif::new(features, features))),
        ("rlif", Box::new(RLif::new(features, features))),
        ("se-adlif", Box::new(SeAdLif::new(features, features))),
        ("rleaky", Box::new(RLeaky::new(features, features))),
        ("rsynaptic", Box::new(RSynaptic::new(features, features))),
    ]
}

/// The kernels of a training step of T steps by name, and the results of the plan in f64.
fn step_of(
    layer: &dyn Module,
    time_steps: usize,
    fused: bool,
) -> Result<(Vec<String>, BTreeMap<String, Tensor>)> {
    let cx = Context::new(Mode::TRAIN, DType::F64);
    let tracer = cx.tracer();
    tracer.hoist_from_loops(fused);
    let x = tracer.input("x", DType::F64, [time_steps, BATCH, FEATURES]);
    let y = cx.trace(layer, x.clone())?;
    let traced = cx.traced();
    let names = output_gradients(&cx, x, &y);
    let mut store = VarStore::new(device::cpu()?);
    store.initialize(&traced, DType::F64, 3)?;
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    let kernels = program.plan().kernels.iter();
    let kernels = kernels
        .map(|k| program.plan().graph.nodes[k.node].op.describe())
        .collect();
    let values = values(time_steps * BATCH * FEATURES, 9);
    let x = Tensor::f64(
        [time_steps, BATCH, FEATURES],
        values.iter().map(|x| x + 0.4).collect::<Vec<f64>>(),
    );
    program.set("x", host(&x))?;
    if program
        .plan()
        .graph
        .inputs
        .iter()
        .any(|i| i.name == "generator")
    {
        program.set("generator", host(&Tensor::i64([4], vec![1, 0, 0, 0])))?;
    }
    program.run()?;
    let mut found = BTreeMap::new();
    for name in names.iter().map(String::as_str).chain(["y"]) {
        found.insert(name.to_string(), program.get(name)?);
    }
    Ok((kernels, found))
}

#[test]
fn a_recurrent_layer_is_one_kernel_for_all_steps_and_equals_its_loop() -> Result<()> {
    for (name, layer) in fused_layers() {
        let (kernels, fused) = step_of(&*layer, 12, true)?;
        let count = |what: &str| kernels.iter().filter(|k| k.starts_with(what)).count();
        assert_eq!(count("loop"), 0, "{name}: {kernels:#?}");
        assert_eq!(count("recurrent_scan["), 1, "{name}");
        if name == "radlif" {
            // The neuron's own state is fed back.
            assert!(kernels.iter().any(|k| k.ends_with("feeds fired]")));
        }
        assert_eq!(count("recurrent_scan_grad["), 1, "{name}");
        let (longer, _) = step_of(&*layer, 120, true)?;
        assert_eq!(kernels.len(), longer.len(), "{name}");
        equals_its_loop(name, &*layer, &fused)?;
    }
    Ok(())
}

/// Compares results with those of the layer's loop.
fn equals_its_loop(name: &str, layer: &dyn Module, fused: &BTreeMap<String, Tensor>) -> Result<()> {
    let (unfused, plain) = step_of(layer, 12, false)?;
    assert!(unfused.iter().any(|k| k.starts_with("loop")), "{name}");
    for (key, value) in fused {
        if key == "y" {
            assert_eq!(value.to_f64(), plain[key].to_f64(), "{name}: {key}");
        } else {
            assert_close(
                &format!("{name}: {key}"),
                &value.to_f64(),
                &plain[key].to_f64(),
                1e-10,
            );
        }
    }
    Ok(())
}

/// A recurrent layer whose first spikes are values with a gradient.
struct Started(Recurrent);

impl Module for Started {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.start_from("spikes", &x.slice(0, 0..1).squeeze(0).square());
        self.0.forward(cx, x)
    }

    fn tree(&self) -> spikelet::module::Tree {
        self.0.tree()
    }
}

#[test]
fn with_a_local_gradient_it_is_one_kernel_and_a_backward_scan_without_feedback() -> Result<()> {
    let neuron = || Lif::new(2.0).v_threshold(0.3);
    let layers: [(&str, Box<dyn Module>); 4] = [
        (
            "recurrent",
            Box::new(Recurrent::new(neuron(), FEATURES).local_gradient()),
        ),
        (
            "rnn",
            Box::new(
                Rnn::new(Plif::new(3.0).v_threshold(0.2), FEATURES, FEATURES).local_gradient(),
            ),
        ),
        (
            "first spikes",
            Box::new(Started(Recurrent::new(neuron(), FEATURES).local_gradient())),
        ),
        (
            "eprop_alif",
            Box::new(Recurrent::new(EpropAlif::default(), FEATURES).local_gradient()),
        ),
    ];
    for (name, layer) in layers {
        let (kernels, fused) = step_of(&*layer, 12, true)?;
        let count = |what: &str| kernels.iter().filter(|k| k.starts_with(what)).count();
        let counts = [
            "loop",
            "recurrent_scan[",
            "recurrent_scan_grad[",
            "scan_grad[",
        ]
        .map(count);
        assert_eq!(counts, [0, 1, 0, 1], "{name}: {kernels:#?}");
        assert!(
            kernels.iter().any(|k| k.contains("local gradient")),
            "{name}"
        );
        equals_its_loop(name, &*layer, &fused)?;
    }
    Ok(())
}
