//! Properties of every neuron of the list: the same bits at once, step by step,
//! taken apart, and from call to call; on the CPU and on a GPU; with its constants learned.

use crate::gpu;
use crate::probe;

use gpu::gpu;
use probe::Probe;
use serde_json::{Value, json};
use spikelet::device;
use spikelet::layer::spiking;
use spikelet::module::{TracedState, TracedTensor};
use spikelet::neuron::{
    self, Inputs, Izhikevich, OutputKind, Param, constants, derive, from_spec, is_parallel, run,
};
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::{DefinitionError, LayerError, LayerProblem};
use std::collections::BTreeMap;
use std::sync::Arc;

const STEPS: usize = 7;
const SHAPE: [usize; 3] = [STEPS, 3, 4];

/// A neuron as it comes, with the other reset, without a reset, firing on the potential before the step, and with all its
/// constants learned.
fn variants(name: &str) -> Vec<(String, Arc<dyn Neuron>)> {
    let build = |params: Value| {
        from_spec(&json!({"neuron": name, "params": params})).expect("known constants")
    };
    let plain = build(json!({}));
    let other = match plain.common().v_reset {
        Some(_) => Value::Null,
        None => json!(-0.1),
    };
    let shares = ["layer", "channel", "neuron"];
    let learn: BTreeMap<String, Value> = (constants(&*plain).expect("sound").into_iter())
        .zip(shares.into_iter().cycle())
        .map(|((constant, value), share)| {
            let (low, high) = (value - 0.05, value + 0.05);
            let how =
                json!({"granularity": share, "bound": {"between": {"low": low, "high": high}}});
            (constant, how)
        })
        .collect();
    let mut all = vec![
        (
            format!("{name} without a reset"),
            build(json!({"resets": false, "strict": !plain.common().strict})),
        ),
        (
            format!("{name}, v_reset {other}"),
            build(json!({"v_reset": other})),
        ),
    ];
    if plain.states().iter().any(|state| state.name == "v") {
        all.push((
            format!("{name} that fires on the potential before the step"),
            build(json!({"fire_on": "previous"})),
        ));
    }
    all.push((format!("{name} as it comes"), plain));
    all.push((
        format!("{name} with all constants learned"),
        build(json!({"trainable": learn})),
    ));
    all
}

fn all() -> impl Iterator<Item = (String, Arc<dyn Neuron>)> {
    neuron::NEURONS.names().flat_map(variants)
}

fn input(scale: f64) -> Tensor {
    let count: usize = SHAPE.iter().product();
    let value = |k: usize| scale * ((k * 73 + k / 11) % 41) as f64 / 14.0 - 0.6 * scale;
    Tensor::f64(SHAPE, (0..count).map(value).collect::<Vec<_>>()).cast(DType::F32)
}

/// Neurons differ in how much input makes them fire.
const SCALES: [f64; 2] = [1.0, 60.0];

/// Equal, or both no number.
fn same(a: &Tensor, b: &Tensor) -> bool {
    let equal = |(x, y): (f64, f64)| x == y || (x.is_nan() && y.is_nan());
    a.ty() == b.ty() && a.to_f64().into_iter().zip(b.to_f64()).all(equal)
}

/// How close two gradients have to be, element by element: `relative` of the element itself, and
/// `of_largest` of the largest element, or of `typical` if that is more.
#[derive(Clone, Copy)]
struct Tolerance {
    relative: f64,
    of_largest: f64,
    typical: f64,
}

impl Tolerance {
    /// The first element that is too far off. Elements that are not finite have to be so on both
    /// sides.
    fn first_off(self, found: &Tensor, expected: &Tensor) -> Option<String> {
        let (found, expected) = (found.to_f64(), expected.to_f64());
        assert_eq!(found.len(), expected.len());
        let finite = expected.iter().filter(|x| x.is_finite());
        let largest = finite.fold(self.typical, |most, x| most.max(x.abs()));
        let fits = |x: f64, y: f64| match (x.is_finite(), y.is_finite()) {
            (true, true) => (x - y).abs() <= self.relative * y.abs() + self.of_largest * largest,
            (x, y) => x == y,
        };
        let k = (0..found.len()).find(|&k| !fits(found[k], expected[k]))?;
        Some(format!(
            "element {k}: {} instead of {}",
            found[k], expected[k]
        ))
    }
}

#[test]
fn a_gradient_that_is_no_number_or_far_off_is_found() {
    let tolerance = Tolerance {
        relative: 1.0 / 128.0,
        of_largest: 2e-5,
        typical: 60.0,
    };
    let of = |values: [f64; 3]| Tensor::f64([3], values);
    let expected = of([1.0, 0.5, -0.25]);
    assert_eq!(
        tolerance.first_off(&of([1.001, 0.5, -0.25]), &expected),
        None
    );
    for wrong in [
        [1.0, f64::NAN, -0.25],
        [1.0, f64::INFINITY, -0.25],
        [1.0, 0.5, -0.26],
    ] {
        assert!(
            tolerance.first_off(&of(wrong), &expected).is_some(),
            "{wrong:?}"
        );
        assert!(
            tolerance.first_off(&expected, &of(wrong)).is_some(),
            "{wrong:?}"
        );
    }
}

/// Output, gradients of the input and of what is learned, and states where they are carried.
fn results(
    module: &dyn Module,
    mode: Mode,
    propagation: Propagation,
    x: &Tensor,
    backend: Arc<dyn Backend>,
) -> Result<BTreeMap<String, Tensor>> {
    let cx = Context::new(mode, DType::F32).propagation(propagation);
    let tracer = cx.tracer();
    let input = tracer.input("x", DType::F32, x.shape.clone());
    let y = cx.trace(module, input.clone())?;
    let traced = cx.traced();
    let mut wrt = vec![("grad x".to_string(), input)];
    for TracedTensor { name, .. } in &traced.parameters {
        let found = tracer.find_input(name).expect("a parameter is an input");
        wrt.push((format!("grad {name}"), found));
    }
    let weights = tracer.input("g", DType::F32, y.shape());
    let loss = (&y * &weights).sum_all();
    let grads = tracer.gradients(&loss, &wrt.iter().map(|(_, v)| v).collect::<Vec<_>>());
    let mut names = vec!["y".to_string()];
    tracer.output("y", &y);
    for ((name, _), grad) in wrt.iter().zip(&grads) {
        tracer.output(name, grad);
        names.push(name.clone());
    }
    let shape = y.shape().to_vec();
    let mut store = VarStore::new(backend);
    store.initialize(&traced, DType::F32, 2)?;
    let mut program = Program::new(tracer.finish()?, &mut store)?;
    let count: usize = shape.iter().product();
    let weights: Vec<f32> = (0..count)
        .map(|k| (k * 31 % 23) as f32 / 11.5 - 1.0)
        .collect();
    program.set("x", host(x))?;
    program.set("g", host(&Tensor::f32(shape, weights)))?;
    if program.has_input("generator") {
        program.set("generator", host(&Tensor::i64([4], [5, 1, 0, 0])))?;
    }
    program.run()?;
    let mut found = BTreeMap::new();
    for name in names {
        found.insert(name.clone(), program.get(&name)?);
    }
    for TracedState { name, .. } in &traced.states {
        found.insert(format!("state {name}"), store.get(name)?);
    }
    Ok(found)
}

#[test]
fn every_neuron_gives_the_same_step_by_step_and_taken_apart() -> Result<()> {
    // Sums over time are taken in another order.
    let sums = Tolerance {
        relative: 0.0,
        of_largest: 1e-5,
        typical: 0.0,
    };
    for (what, neuron) in all() {
        for (mode, scale) in [(Mode::TRAIN, SCALES[0]), (Mode::STREAM, SCALES[1])] {
            let run =
                |propagation| results(&neuron, mode, propagation, &input(scale), device::cpu()?);
            let whole = run(Propagation::LayerByLayer)?;
            for propagation in [Propagation::StepByStep, Propagation::StepByStepUnfused] {
                let steps = run(propagation);
                if is_parallel(&*neuron) {
                    let error = steps.expect_err("refused");
                    let error: &LayerError = error.downcast_ref().expect("a layer");
                    let problem = &error.problem;
                    assert!(
                        matches!(problem, LayerProblem::StepByStep),
                        "{what}: {error}"
                    );
                    continue;
                }
                for (name, value) in steps? {
                    let expected = &whole[&name];
                    let off = match name.starts_with("grad") {
                        true => sums.first_off(&value, expected),
                        false => (!same(&value, expected))
                            .then(|| format!("{value:?} instead of {expected:?}")),
                    };
                    assert_eq!(off, None, "{what}, {propagation}, {name}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_neuron_goes_on_where_the_last_call_ended() -> Result<()> {
    for (what, neuron) in all() {
        let by_step =
            |p: &Param| matches!(p.granularity, Granularity::Step | Granularity::StepChannel);
        if is_parallel(&*neuron) || neuron.params().iter().any(by_step) {
            continue;
        }
        for scale in SCALES {
            let x = input(scale);
            let stream = Propagation::LayerByLayer;
            let whole = results(&neuron, Mode::STREAM, stream, &x, device::cpu()?)?;
            let cx = Context::new(Mode::STREAM, DType::F32);
            let one = cx.tracer().input("x", DType::F32, [1, 3, 4]);
            let y = cx.trace(&neuron, one)?;
            cx.tracer().output("y", &y);
            let mut store = VarStore::new(device::cpu()?);
            store.initialize(&cx.traced(), DType::F32, 2)?;
            let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
            let mut made = vec![];
            for step in x.to_f64().chunks(12) {
                program.set("x", host(&Tensor::f64([1, 3, 4], step).cast(DType::F32)))?;
                program.run()?;
                made.extend(program.get("y")?.to_f64());
            }
            let made = Tensor::f64(SHAPE, made).cast(DType::F32);
            assert!(same(&made, &whole["y"]), "{what}");
            for TracedState { name, .. } in &cx.traced().states {
                assert!(
                    same(&store.get(name)?, &whole[&format!("state {name}")]),
                    "{what}, {name}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn every_neuron_fires_and_is_silent() -> Result<()> {
    for (what, neuron) in all() {
        let run = |scale| {
            let layer_by_layer = Propagation::LayerByLayer;
            results(
                &neuron,
                Mode::EVAL,
                layer_by_layer,
                &input(scale),
                device::cpu()?,
            )
        };
        let made = [run(SCALES[0])?, run(SCALES[1])?];
        let out: Vec<f64> = made.iter().flat_map(|m| m["y"].to_f64()).collect();
        assert!(out.iter().any(|s| *s > 0.0), "{what} never fires");
        let whole = |s: &f64| s.fract() == 0.0;
        let fits = match neuron.output_kind() {
            OutputKind::Spikes => out.iter().all(|s| *s == 0.0 || *s == 1.0) && out.contains(&0.0),
            OutputKind::Counts => out.iter().all(|s| whole(s) && *s >= 0.0) && out.contains(&0.0),
            OutputKind::Ternary => {
                out.contains(&-1.0) && out.iter().all(|s| whole(s) && s.abs() <= 1.0)
            }
            OutputKind::Real => true,
            kind => panic!("{kind:?} is not tested"),
        };
        assert!(fits, "{what}: {:?}", neuron.output_kind());
    }
    Ok(())
}

/// Whether a gradient passes from a step to the one before it.
fn has_gradient_through_time(neuron: &dyn Neuron) -> bool {
    let step = derive(neuron).expect("a sound neuron");
    let of_states = &step.step_gradients()[step.inputs.len()..][..step.states.len()];
    of_states.is_empty() || of_states.iter().any(|g| g.as_constant() != Some(0.0))
}

#[test]
fn every_constant_of_every_neuron_can_be_learnt() -> Result<()> {
    for name in neuron::NEURONS.names() {
        let (what, neuron) = variants(name).pop().expect("the last is learned");
        let cut = !has_gradient_through_time(&*neuron);
        let mut learn = neuron.common().trainable.clone();
        // Without a gradient through time, the initial states have none.
        learn.retain(|name, _| !(cut && name.ends_with("_start")));
        let spec = json!({
            "neuron": name, "params": {"spiking": false, "trainable": learn},
            "surrogate": "sigmoid", "reset_grad": "surrogate",
        });
        let smooth = from_spec(&spec).expect("known constants");
        let steps = if cut { 1 } else { STEPS };
        let mut probe = Probe::new(&smooth, Mode::TRAIN, &[steps, 3, 4])?;
        let learned = |name: &String| probe.parameters.iter().any(|(n, _)| n == name);
        assert!(learn.keys().all(learned), "{what}");
        probe.check_gradients(&what)?;
    }
    Ok(())
}

#[test]
fn what_cannot_be_learnt_is_refused_with_what_can() {
    let refused = |neuron: &dyn Neuron| derive(neuron).expect_err("refused");
    let lif = || Lif::new(2.0);
    let error = refused(&lif().trainable("tua", Trainable::default()));
    assert!(
        matches!(&error, DefinitionError::NotTrainable { constant, known, .. }
            if constant == "tua" && known[..2] == ["tau", "v_reset"]),
        "{error}"
    );
    let error = refused(&lif().trainable("tau", Trainable::default().above(2.0)));
    let above = Bound::Above { low: 2.0 };
    assert!(
        matches!(&error, DefinitionError::Bound { constant, source, .. }
            if constant == "tau" && source.value == 2.0 && source.bound == above),
        "{error}"
    );
    let error = refused(&lif().trainable("tau", Trainable::new(Granularity::Step)));
    assert!(
        matches!(&error, DefinitionError::PerStepConstant { constant, .. } if constant == "tau"),
        "{error}"
    );
}

#[test]
fn a_learnt_constant_starts_as_the_neuron_that_has_it_as_a_number() -> Result<()> {
    let run = |neuron: &dyn Module| {
        let layer_by_layer = Propagation::LayerByLayer;
        results(
            neuron,
            Mode::TRAIN,
            layer_by_layer,
            &input(1.0),
            device::cpu()?,
        )
    };
    let lif = Lif::new(4.0).v_reset(-0.25);
    let learned = (lif.clone())
        .trainable("tau", Trainable::new(Granularity::Neuron))
        .trainable(
            "v_threshold",
            Trainable::new(Granularity::Channel).clamp(0.0, 2.0),
        )
        .trainable("v_reset", Trainable::default())
        .trainable("v_start", Trainable::default());
    let (plain, learned) = (run(&lif)?, run(&learned)?);
    assert!(same(&plain["y"], &learned["y"]) && same(&plain["grad x"], &learned["grad x"]));
    let shape = |name: &str| learned[name].shape.clone();
    assert_eq!(shape("grad tau"), [4]);
    assert_eq!(shape("grad v_threshold"), [4]);
    assert_eq!(shape("grad v_start"), [0; 0]);
    assert!(learned["grad v_reset"].to_f64()[0] != 0.0);
    Ok(())
}

/// A neuron's results on a device, with sequences stored in a type.
fn stored_in(
    neuron: &dyn Neuron,
    scale: f64,
    dtype: DType,
    backend: Arc<dyn Backend>,
) -> Result<BTreeMap<String, Tensor>> {
    let x = input(scale).cast(dtype);
    let inputs = Inputs {
        grad_spike_seq: Some(input(0.7).cast(dtype)),
        x_seq: Some(x),
        ..Inputs::default()
    };
    run(neuron, &inputs, backend)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_neuron_has_the_bits_of_the_cpu_on_a_gpu_in_every_type() -> Result<()> {
    let gpu = gpu();
    let mut failures = vec![];
    for (what, neuron) in all() {
        // Half a unit in the last place on each side.
        let types = [
            (DType::F32, 2e-5),
            (DType::BF16, 1.0 / 128.0),
            (DType::F16, 1.0 / 1024.0),
        ];
        for ((dtype, relative), scale) in types.into_iter().flat_map(|t| SCALES.map(|s| (t, s))) {
            let expected = stored_in(&*neuron, scale, dtype, device::cpu()?)?;
            let made = stored_in(&*neuron, scale, dtype, gpu.clone())?;
            for (name, value) in &made {
                // Both devices compute in f32 and round when they store. The gradient that comes in
                // is about 1, and the gradient of a constant sums products with the input: far from
                // the threshold, where little is left of both, the terms' rounding remains.
                let tolerance = Tolerance {
                    relative,
                    of_largest: 2e-5,
                    typical: scale,
                };
                let off = match name.starts_with("grad") {
                    true => tolerance.first_off(value, &expected[name]),
                    false => (!same(value, &expected[name])).then(|| "other bits".to_string()),
                };
                failures.extend(
                    off.map(|off| format!("{what}, {dtype}, scale {scale}, {name}: {off}")),
                );
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

#[test]
fn the_states_of_a_neuron_come_out_with_its_spikes() -> Result<()> {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, SHAPE);
    let made = spiking(&Izhikevich::default(), &cx, &x)?;
    assert_eq!(made.state_seqs.len(), 2);
    assert_eq!(made.state_seq("w").map(Var::shape), Some(&SHAPE[..]));
    assert!(made.state_seq("u").is_none());
    Ok(())
}
