//! Recurrent layers and blocks: plain loops, gradients, initial states, streaming, the size of plans.

use crate::probe;

use probe::{Probe, assert_close, values};
use spikelet::device;
use spikelet::graph::Plan;
use spikelet::graph::op::{HostTensor, Operation};
use spikelet::layer::{RLif, RadLif, RecurrentBlock};
use spikelet::module::observer;
use spikelet::network::Network;
use spikelet::neuron::SparchLif;
use spikelet::prelude::*;

const STEPS: usize = 6;
const BATCH: usize = 2;
const SHAPE: [usize; 3] = [STEPS, BATCH, 4];

fn spiking() -> impl Module {
    If::new().v_threshold(0.4)
}

fn smooth() -> impl Module {
    Lif::new(2.0).spiking(false).v_threshold(0.3)
}

/// Three layers with a lateral, a top-down and a skip connection.
fn block<N: Module + 'static>(neuron: impl Fn() -> N) -> RecurrentBlock {
    RecurrentBlock::new()
        .layer("a", Linear::new(4, 3).bias(false), neuron())
        .layer("b", Linear::new(3, 2).bias(true), neuron())
        .layer("c", Linear::new(2, 5).bias(false), neuron())
        .connect("a", "a", Linear::new(3, 3).bias(false))
        .connect("c", "a", Linear::new(5, 3).bias(false))
        .connect("a", "c", Linear::new(3, 5).bias(false))
}

/// `weight · x` for `[out, in]` and the rows of `x`.
fn product(weight: &[f64], x: &[f64], inputs: usize) -> Vec<f64> {
    let rows = x.chunks(inputs);
    rows.flat_map(|x| {
        let dot = |w: &[f64]| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        weight.chunks(inputs).map(dot).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn a_block_is_a_plain_loop_over_its_layers() -> Result<()> {
    let mut probe = Probe::new(&block(spiking), Mode::TRAIN, &SHAPE)?;
    let names: Vec<&str> = probe
        .parameters
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let expected = [
        "a.input.weight",
        "a.from_a.weight",
        "a.from_c.weight",
        "b.input.weight",
        "b.input.bias",
        "c.input.weight",
        "c.from_a.weight",
    ];
    assert_eq!(names, expected);
    let w: Vec<Vec<f64>> = (expected.iter())
        .map(|name| probe.tensor(name))
        .collect::<Result<_>>()?;
    let fire = |v: &mut Vec<f64>, x: &[f64]| -> Vec<f64> {
        let mut spikes = vec![];
        for (v, x) in v.iter_mut().zip(x) {
            *v += x;
            let spike = f64::from(u8::from(*v >= 0.4));
            *v *= 1.0 - spike;
            spikes.push(spike);
        }
        spikes
    };
    let zeros = |n: usize| vec![0.0; BATCH * n];
    let (mut a, mut c) = (zeros(3), zeros(5));
    let (mut va, mut vb, mut vc) = (zeros(3), zeros(2), zeros(5));
    let add =
        |x: Vec<f64>, y: Vec<f64>| -> Vec<f64> { x.iter().zip(&y).map(|(x, y)| x + y).collect() };
    let mut spikes = vec![];
    for x in probe.x.clone().chunks(BATCH * 4) {
        let into_a = add(product(&w[0], x, 4), product(&w[1], &a, 3));
        a = fire(&mut va, &add(into_a, product(&w[2], &c, 5)));
        let bias: Vec<f64> = (0..BATCH).flat_map(|_| w[4].clone()).collect();
        let b = fire(&mut vb, &add(product(&w[3], &a, 3), bias));
        c = fire(&mut vc, &add(product(&w[5], &b, 2), product(&w[6], &a, 3)));
        spikes.extend(c.clone());
    }
    assert!(spikes.contains(&1.0) && spikes.contains(&0.0));
    assert_close("spikes", &probe.run("y")?, &spikes, 0.0);
    Ok(())
}

#[test]
fn gradients_of_recurrent_layers_are_those_of_finite_differences() -> Result<()> {
    Probe::new(&block(smooth), Mode::TRAIN, &SHAPE)?.check_gradients("block")?;
    Probe::new(&block(smooth).last(), Mode::TRAIN, &SHAPE)?.check_gradients("last step")?;
    let rnn = Rnn::new(smooth(), 4, 3).bias(true);
    Probe::new(&rnn, Mode::TRAIN, &SHAPE)?.check_gradients("rnn")?;
    let images = RecurrentBlock::new()
        .layer("a", Conv2d::new(2, 3, 3).bias(false).padding(1), smooth())
        .layer("b", Conv2d::new(3, 2, 1).bias(false), smooth())
        .connect("b", "a", Conv2d::new(2, 3, 3).bias(false).padding(1));
    Probe::new(&images, Mode::TRAIN, &[3, 1, 2, 4, 4])?.check_gradients("images")?;
    let nested = Recurrent::new(
        Sequential::new()
            .add(BatchNorm1d::new(4))
            .add(Dropout::new(0.3))
            .add(smooth()),
        4,
    );
    Probe::new(&nested, Mode::TRAIN, &[3, 4, 4])?.check_gradients("modules inside")
}

#[test]
fn the_last_step_is_that_of_the_sequence() -> Result<()> {
    let whole = Probe::new(&Rnn::new(spiking(), 4, 3), Mode::TRAIN, &SHAPE)?.run("y")?;
    let mut last = Probe::new(&Rnn::new(spiking(), 4, 3).last(), Mode::TRAIN, &SHAPE)?;
    assert_eq!(last.shape, [1, BATCH, 3]);
    assert_eq!(last.run("y")?, whole[whole.len() - BATCH * 3..]);
    Ok(())
}

/// Runs the steps of a sequence with these states before the first, those of spikes and potentials, and returns spikes
/// and last states.
fn run_from(
    (net, names): (&dyn Module, [&str; 2]),
    x: &[f64],
    start: Option<[&[f64]; 2]>,
) -> Result<(Vec<f64>, [Vec<f64>; 2])> {
    let steps = x.len() / (BATCH * 4);
    let cx = Context::new(Mode::EVAL, DType::F64).observer(observer::States);
    let t = cx.tracer();
    let input = t.input("x", DType::F64, [steps, BATCH, 4]);
    if start.is_some() {
        for name in names {
            cx.start_from(name, &t.input(name, DType::F64, [BATCH, 3]));
        }
    }
    let y = cx.trace(net, input)?;
    t.output("y", &y);
    t.output("v_seq", &cx.recorded("neuron.v_seq")?);
    let mut store = VarStore::new(device::cpu()?);
    for (salt, parameter) in cx.traced().parameters.iter().enumerate() {
        let random = values(parameter.shape.iter().product(), 20 + salt as u64);
        store.insert(
            &parameter.name,
            &Tensor::f64(parameter.shape.clone(), random),
        )?;
    }
    let mut program = Program::new(t.finish()?, &mut store)?;
    program.set("x", HostTensor::F64(x))?;
    for (name, value) in names.iter().zip(start.into_iter().flatten()) {
        program.set(name, HostTensor::F64(value))?;
    }
    program.run()?;
    let (y, v) = (program.get("y")?.to_f64(), program.get("v_seq")?.to_f64());
    let last = |seq: &[f64]| seq[seq.len() - BATCH * 3..].to_vec();
    let states = [last(&y), last(&v)];
    Ok((y, states))
}

#[test]
fn a_sequence_continues_from_given_states_with_the_same_bits() -> Result<()> {
    let x: Vec<f64> = values(STEPS * BATCH * 4, 3)
        .iter()
        .map(|x| x + 0.5)
        .collect();
    let own = Rnn::new(Lif::new(2.0).v_threshold(0.2), 4, 3);
    let of_the_neuron = RLif::new(4, 3).normalize(false).neuron(|cell| {
        let cell = SparchLif {
            random_start: false,
            ..cell
        };
        cell.v_threshold(0.02)
    });
    let layers: [(&dyn Module, [&str; 2]); 2] = [
        (&own, ["spikes", "neuron.v"]),
        (&of_the_neuron, ["neuron.fired", "neuron.v"]),
    ];
    for layer in layers {
        let (whole, _) = run_from(layer, &x, None)?;
        assert!(whole.contains(&1.0) && whole.contains(&0.0));
        // In parts of any length, single steps among them.
        for length in [1, 2, 4] {
            let mut found = vec![];
            let mut states: Option<[Vec<f64>; 2]> = None;
            for part in x.chunks(length * BATCH * 4) {
                let start = states.as_ref().map(|[s, v]| [&s[..], &v[..]]);
                let (y, last) = run_from(layer, part, start)?;
                found.extend(y);
                states = Some(last);
            }
            assert_eq!(found, whole, "{:?} in parts of {length}", layer.1);
        }
    }
    Ok(())
}

/// In a mode that carries states, single steps and a sequence give the same.
#[test]
fn the_state_that_is_fed_back_is_carried_from_call_to_call() -> Result<()> {
    let net = RadLif::new(4, 3).normalize(false);
    let run = |steps: usize, x: &[f64]| -> Result<Vec<f64>> {
        let cx = Context::new(Mode::STREAM, DType::F64);
        let t = cx.tracer();
        let input = t.input("x", DType::F64, [steps, BATCH, 4]);
        t.output("y", &cx.trace(&net, input)?);
        let mut store = VarStore::new(device::cpu()?);
        store.initialize(&cx.traced(), DType::F64, 5)?;
        let states: Vec<String> = cx.traced().states.iter().map(|s| s.name.clone()).collect();
        assert_eq!(states, ["neuron.fired", "neuron.v", "neuron.w"]);
        let mut program = Program::new(t.finish()?, &mut store)?;
        let mut found = vec![];
        for part in x.chunks(steps * BATCH * 4) {
            program.set("x", HostTensor::F64(part))?;
            program.run()?;
            found.extend(program.get("y")?.to_f64());
        }
        Ok(found)
    };
    let x: Vec<f64> = values(STEPS * BATCH * 4, 3)
        .iter()
        .map(|x| 60.0 * x)
        .collect();
    let whole = run(STEPS, &x)?;
    assert!(whole.contains(&1.0) && whole.contains(&0.0));
    assert_eq!(run(1, &x)?, whole);
    Ok(())
}

#[test]
fn the_state_of_an_unknown_module_is_an_error() {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx.tracer().input("x", DType::F32, SHAPE);
    cx.start_from("neuron.u", &x.sum_all());
    let error = cx
        .trace(&Rnn::new(spiking(), 4, 3), x)
        .map(|_| ())
        .expect_err("refused");
    assert!(error.to_string().contains("neuron.u"), "{error}");
}

#[test]
fn connections_that_do_not_fit_are_errors() {
    let trace = |net: RecurrentBlock| {
        let cx = Context::new(Mode::EVAL, DType::F32);
        let x = cx.tracer().input("x", DType::F32, SHAPE);
        cx.trace(&net, x)
            .map(|_| ())
            .expect_err("refused")
            .to_string()
    };
    let unknown = trace(block(spiking).connect("d", "a", Linear::new(3, 3).bias(false)));
    assert!(
        unknown.contains("no layer `d`") && unknown.contains("a, b, c"),
        "{unknown}"
    );
    let twice = trace(block(spiking).connect("a", "a", Linear::new(3, 3).bias(false)));
    assert!(twice.contains("`a.from_a`"), "{twice}");
    let shape = trace(block(spiking).connect("b", "a", Linear::new(2, 4).bias(false)));
    assert!(
        shape.contains("from `b` to `a`") && shape.contains("f32[1, 2, 4]"),
        "{shape}"
    );
    let empty = trace(RecurrentBlock::new());
    assert!(empty.contains("recurrent block"), "{empty}");
}

#[test]
fn the_plan_of_a_recurrent_layer_has_one_size_for_any_number_of_steps() -> Result<()> {
    let kernels = |steps: usize| -> Result<Vec<String>> {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let t = cx.tracer();
        let x = t.input("x", DType::F32, [steps, 1, 4]);
        let y = cx.trace(&block(spiking), x.clone())?;
        let grad = t.gradients(&y.sum_all(), &[&x]).remove(0);
        t.output("grad", &grad);
        let plan = Plan::new(t.finish()?, &*device::cpu()?);
        let bodies = plan
            .kernels
            .iter()
            .filter_map(|kernel| kernel.body.as_deref());
        let name = |plan: &Plan| -> Vec<String> {
            let nodes = plan.kernels.iter().map(|k| &plan.graph.nodes[k.node]);
            nodes.map(|node| node.op.name()).collect()
        };
        Ok(std::iter::once(&plan)
            .chain(bodies)
            .flat_map(name)
            .collect())
    };
    let short = kernels(10)?;
    assert_eq!(short, kernels(10_000)?);
    assert_eq!(
        short.iter().filter(|name| *name == "loop").count(),
        2,
        "{short:?}"
    );
    Ok(())
}

#[test]
fn recurrent_layers_in_a_file_are_those_of_rust() -> Result<()> {
    let text = r#"
        [network]
        input = [4]
        neuron = { name = "lif", tau = 3.0 }
        layers = [
            { rnn = 6, bias = true },
            "recurrent",
            { layer = "batch-norm", each_step = true },
            { rlif = 5, normalize_each_step = true },
            { rnn = 3, cell = "plif", last = true, local_gradient = true },
        ]
    "#;
    let network = Network::from_toml("net.toml", text, &[])?;
    let net = Sequential::new()
        .add_named("0", Rnn::new(Lif::new(3.0), 4, 6).bias(true))
        .add_named("1", Recurrent::new(Lif::new(3.0), 6))
        .add_named("2", BatchNorm1d::new(6).each_step(true))
        .add_named("3", RLif::new(6, 5).normalize_each_step(true))
        .add_named("4", Rnn::new(Plif::new(2.0), 5, 3).last().local_gradient());
    let traced = |module: &dyn Module| -> Result<_> {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let x = cx.tracer().input("x", DType::F32, [5, 2, 1, 1, 4]);
        let y = cx.trace(module, x)?;
        Ok((y.shape().to_vec(), cx.traced().parameters))
    };
    let module = network.module()?;
    let text = module.tree().to_string();
    assert_eq!(text.matches("each_step=true").count(), 2, "{text}");
    assert_eq!(text.matches("local_gradient=true").count(), 1, "{text}");
    let (shape, parameters) = traced(&*module)?;
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [5, 2, 4]);
    let y = cx.trace(&net, x)?;
    assert_eq!(
        (shape, parameters),
        (y.shape().to_vec(), cx.traced().parameters)
    );
    Ok(())
}

#[test]
fn recurrent_layers_run_in_every_precision() -> Result<()> {
    let train = |precision: Precision| -> Result<Vec<f64>> {
        let cx = Context::new(Mode::TRAIN, DType::F32).precision(precision);
        let t = cx.tracer();
        let x = t.input("x", DType::F32, SHAPE);
        let net = Sequential::new()
            .add(Rnn::new(smooth(), 4, 8))
            .add(Recurrent::new(smooth(), 8))
            .add(block_of(8));
        let y = cx.trace(&net, x)?;
        let traced = cx.traced();
        let parameters = traced
            .parameters
            .iter()
            .filter_map(|p| t.find_input(&p.name));
        let parameters: Vec<Var> = parameters.collect();
        let grads = t.gradients(
            &y.square().sum_all(),
            &parameters.iter().collect::<Vec<_>>(),
        );
        t.output("y", &y);
        for (k, grad) in grads.iter().enumerate() {
            t.output(&format!("grad {k}"), grad);
        }
        let mut store = VarStore::new(device::cpu()?);
        store.initialize(&traced, DType::F32, 3)?;
        let mut program = Program::new(t.finish()?, &mut store)?;
        let values: Vec<f32> = values(STEPS * BATCH * 4, 3)
            .iter()
            .map(|x| *x as f32)
            .collect();
        program.set("x", &values)?;
        program.run()?;
        let mut found = program.get("y")?.to_f64();
        for k in 0..grads.len() {
            found.extend(program.get(&format!("grad {k}"))?.to_f64());
        }
        Ok(found)
    };
    let expected = train(Precision::F32)?;
    let largest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for precision in [Precision::Tf32, Precision::Bf16, Precision::F16] {
        for (a, b) in train(precision)?.iter().zip(&expected) {
            assert!((a - b).abs() < 0.03 * largest, "{precision:?}: {a} {b}");
        }
    }
    Ok(())
}

fn block_of(features: usize) -> RecurrentBlock {
    RecurrentBlock::new()
        .layer("a", Linear::new(features, 8).bias(false), smooth())
        .layer("b", Linear::new(8, 8).bias(true), smooth())
        .connect("b", "a", Linear::new(8, 8).bias(false))
}
