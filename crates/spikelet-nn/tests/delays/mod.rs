//! Delays: gradients, plain sums over lags, streams, invalid settings, the schedule of the width.

use spikelet_nn::device;
use spikelet_nn::layer::*;
use spikelet_nn::module::{BEFORE, Chunk, TracedTensor};
use spikelet_nn::network::Layers;
use spikelet_nn::neuron::Lif;
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::host;

/// Numbers on [−1, 1).
fn values(count: usize, salt: u64) -> Vec<f64> {
    let mut state = salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def0;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Spikes in a sequence.
fn spikes(shape: [usize; 3], salt: u64) -> Tensor {
    let all = values(shape.iter().product(), salt);
    let spike = all.iter().map(|v| f64::from(u8::from(*v > 0.4)));
    Tensor::f64(shape, spike.collect::<Vec<_>>()).cast(DType::F32)
}

/// The values of a parameter or buffer: delays are between whole steps, widths 0.7.
fn start(name: &str, shape: &[usize], salt: u64) -> Vec<f64> {
    let random = values(shape.iter().product(), salt);
    match name.rsplit('.').next() {
        Some("delay") => random.iter().map(|v| 1.5 + v).collect(),
        Some("delay_width") => vec![0.7],
        _ => random,
    }
}

/// Compares the gradients of a module in f64 with central differences.
fn check_gradients(what: &str, module: &dyn Module, shape: [usize; 3]) -> Result<()> {
    const H: f64 = 1e-5;
    let cx = Context::new(Mode::TRAIN, DType::F64);
    let t = cx.tracer();
    let x = t.parameter("x", shape);
    let y = cx.trace(module, x.clone())?;
    let g = t.input("g", DType::F64, y.shape());
    let loss = (&y * &g).sum_all();
    let traced = cx.traced();
    let all = [("x".to_string(), shape.to_vec())];
    let parameters = traced.parameters.iter();
    let all: Vec<(String, Vec<usize>)> = (all.into_iter())
        .chain(parameters.map(|p| (p.name.clone(), p.shape.clone())))
        .collect();
    let wrt = all
        .iter()
        .map(|(name, _)| t.find_input(name).expect("an input"));
    let grads = t.gradients(&loss, &wrt.collect::<Vec<_>>().iter().collect::<Vec<_>>());
    t.output("loss", &loss);
    for ((name, _), grad) in all.iter().zip(&grads) {
        t.output(&format!("grad {name}"), grad);
    }
    let mut store = VarStore::new(device::cpu()?);
    store.insert("x", &Tensor::f64(shape, values(shape.iter().product(), 3)))?;
    let mut program = cx.compile(&mut store, 1)?;
    let tensors = traced.parameters.iter().chain(&traced.buffers);
    for (salt, TracedTensor { name, shape, .. }) in tensors.enumerate() {
        let value = start(name, shape, 20 + salt as u64);
        store.set(name, &Tensor::f64(shape.clone(), value))?;
    }
    let g = Tensor::f64(y.shape(), values(y.ty().len(), 7));
    program.run_with([("g", host(&g))])?;
    for (name, shape) in &all {
        let found = program.get(&format!("grad {name}"))?.to_f64();
        let at = store.get(name)?.to_f64();
        for k in (0..at.len()).step_by(at.len().div_ceil(25)) {
            let mut losses = [0.0; 2];
            for (loss, step) in losses.iter_mut().zip([H, -H]) {
                let mut moved = at.clone();
                moved[k] += step;
                store.set(name, &Tensor::f64(shape.clone(), moved))?;
                program.run()?;
                *loss = program.scalar("loss")?;
            }
            store.set(name, &Tensor::f64(shape.clone(), at.clone()))?;
            program.run()?;
            let expected = (losses[0] - losses[1]) / (2.0 * H);
            let error = (found[k] - expected).abs();
            assert!(
                error <= 1e-6 * (1.0 + expected.abs()),
                "{what}: gradient of {name}[{k}] is {}, expected {expected}",
                found[k]
            );
        }
    }
    Ok(())
}

#[test]
fn gradients_are_those_of_finite_differences() -> Result<()> {
    let shape = [6, 2, 3];
    for version in [DclsVersion::Gaussian, DclsVersion::Max, DclsVersion::V1] {
        for (size, count) in [(5, 1), (4, 2), (1, 1)] {
            let layer = Dcls1d::new(3, 4, size)
                .bias(false)
                .kernel_count(count)
                .version(version);
            check_gradients(&format!("{layer:?}"), &layer.bias(true), shape)?;
        }
    }
    let linear = DelayedLinear::new(3, 4, 3).bias(true);
    check_gradients("fixed delays", &linear, shape)?;
    check_gradients("axonal", &AxonalDelay::new(3, 4), shape)?;
    let gaussian = DelayInterpolation::Gaussian { sigma: 0.8 };
    let axonal = AxonalDelay::new(3, 4).interpolation(gaussian);
    check_gradients("axonal, Gaussian", &axonal, shape)?;
    let smooth = || Lif::new(2.0).spiking(false).v_threshold(0.3);
    for (synaptic, spread) in [(false, false), (false, true), (true, false), (true, true)] {
        let feedback = DelayedFeedback::new(3, 3)
            .synaptic(synaptic)
            .spread(spread)
            .width(1.0);
        let layer = Recurrent::through(smooth(), feedback);
        check_gradients(&format!("{feedback:?}"), &layer, shape)?;
    }
    Ok(())
}

/// The results of a module for a sequence that is passed in parts of `part` steps, in evaluation.
fn run(
    module: &dyn Module,
    mode: Mode,
    propagation: Propagation,
    x: &Tensor,
    part: usize,
) -> Result<(Vec<f64>, VarStore)> {
    let [steps, batch, features] = [x.shape[0], x.shape[1], x.shape[2]];
    let cx = Context::new(mode, DType::F32).propagation(propagation);
    let var = cx.tracer().input("x", DType::F32, [part, batch, features]);
    let y = cx.trace(module, var)?;
    cx.tracer().output("y", &y);
    let mut store = VarStore::new(device::cpu()?);
    let mut program = cx.compile(&mut store, 5)?;
    let row = part * batch * features;
    let mut out = vec![];
    for values in x.to_f64().chunks(row).take(steps / part) {
        let piece = Tensor::f64([part, batch, features], values).cast(DType::F32);
        program.run_with([("x", host(&piece))])?;
        out.extend(program.get("y")?.to_f64());
    }
    Ok((out, store))
}

/// Layers with delays, each behind 5 features.
fn layers() -> Vec<(&'static str, Box<dyn Module>)> {
    let feedback = |synaptic| {
        let delays = DelayedFeedback::new(5, 4).synaptic(synaptic).width(1.3);
        Recurrent::through(If::new().v_threshold(0.7), delays)
    };
    let lif = || Lif::new(2.0).v_threshold(0.2);
    vec![
        (
            "dcls",
            Box::new(
                Sequential::new()
                    .add(Dcls1d::new(5, 37, 7).bias(false))
                    .add(lif()),
            ),
        ),
        (
            "two taps",
            Box::new(Dcls1d::new(5, 37, 6).kernel_count(2).bias(true)),
        ),
        (
            "fixed",
            Box::new(
                Sequential::new()
                    .add(DelayedLinear::new(5, 37, 4).bias(false))
                    .add(lif()),
            ),
        ),
        ("axonal", Box::new(AxonalDelay::new(5, 6))),
        (
            "axonal, fixed",
            Box::new(AxonalDelay::new(5, 6).trainable(false)),
        ),
        ("recurrent", Box::new(feedback(false))),
        ("recurrent, synaptic", Box::new(feedback(true))),
    ]
}

#[test]
fn a_sequence_in_parts_has_the_bits_of_the_whole() -> Result<()> {
    let x = spikes([12, 3, 5], 1);
    for (name, module) in layers() {
        let at_once = Propagation::LayerByLayer;
        let (whole, _) = run(&*module, Mode::EVAL, at_once, &x, 12)?;
        assert!(whole.iter().any(|y| *y != 0.0), "{name}");
        for part in [12, 4, 1] {
            let (parts, _) = run(&*module, Mode::STREAM, at_once, &x, part)?;
            assert_eq!(parts, whole, "{name}, parts of {part} steps");
        }
        let (steps, _) = run(&*module, Mode::EVAL, Propagation::StepByStep, &x, 12)?;
        assert_eq!(steps, whole, "{name}, step by step");
    }
    Ok(())
}

/// One chunk of the time steps, with the states before it; the states after it are added to `states`.
fn run_chunk(
    module: &dyn Module,
    chunk: Chunk,
    x: &Tensor,
    states: &mut Vec<(String, Tensor)>,
) -> Result<Vec<f64>> {
    let cx = Context::new(Mode::EVAL, DType::F32).chunk(chunk);
    let var = cx.tracer().input("x", DType::F32, x.shape.clone());
    let y = cx.trace(module, var)?;
    cx.tracer().output("y", &y);
    let paths: Vec<String> = cx.chunk_states().into_iter().map(|s| s.path).collect();
    for state in cx.chunk_states().into_iter().filter(|_| !chunk.ends) {
        let after = state.after.expect("a state changes");
        cx.tracer().output(&format!("after {}", state.path), &after);
    }
    let mut store = VarStore::new(device::cpu()?);
    let mut program = cx.compile(&mut store, 5)?;
    let given = states.iter().filter(|(name, _)| program.has_input(name));
    let given: Vec<_> = given.map(|(name, t)| (name.as_str(), host(t))).collect();
    let given: Vec<_> = given.into_iter().chain([("x", host(x))]).collect();
    program.run_with(given)?;
    states.clear();
    for path in paths.iter().filter(|_| !chunk.ends) {
        let after = program.get(&format!("after {path}"))?;
        states.push((format!("{BEFORE}{path}"), after));
    }
    Ok(program.get("y")?.to_f64())
}

#[test]
fn chunks_of_a_sequence_have_the_bits_of_the_whole() -> Result<()> {
    let x = spikes([12, 3, 5], 1);
    for (name, module) in layers() {
        let (whole, _) = run(&*module, Mode::EVAL, Propagation::LayerByLayer, &x, 12)?;
        let (mut found, mut states) = (vec![], vec![]);
        for (k, values) in x.to_f64().chunks(4 * 15).enumerate() {
            let part = Tensor::f64([4, 3, 5], values).cast(DType::F32);
            let (begins, ends) = (k == 0, k == 2);
            found.extend(run_chunk(
                &*module,
                Chunk { begins, ends },
                &part,
                &mut states,
            )?);
        }
        assert_eq!(found, whole, "{name}");
    }
    Ok(())
}

#[test]
fn a_synapse_reads_the_step_of_its_delay() -> Result<()> {
    let ([steps, batch, inputs], outputs, most) = ([9, 2, 5], 4, 6);
    let x = spikes([steps, batch, inputs], 2);
    let sum = |weight: &[f64], lag: &dyn Fn(usize) -> usize| {
        let x = x.to_f64();
        let mut y = vec![];
        for (t, n, o) in (0..steps)
            .flat_map(|t| (0..batch).flat_map(move |n| (0..outputs).map(move |o| (t, n, o))))
        {
            let terms = (0..inputs).filter_map(|i| {
                let at = t.checked_sub(lag(o * inputs + i))?;
                Some(weight[o * inputs + i] * x[(at * batch + n) * inputs + i])
            });
            y.push(terms.sum::<f64>());
        }
        y
    };
    let close = |found: &[f64], expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-5;
        assert!(
            !found.iter().zip(expected).any(far),
            "{found:?} {expected:?}"
        );
    };
    for propagation in [Propagation::LayerByLayer, Propagation::StepByStep] {
        let layer = DelayedLinear::new(inputs, outputs, most).bias(false);
        for mode in [Mode::TRAIN, Mode::EVAL] {
            let (y, store) = run(&layer, mode, propagation, &x, steps)?;
            let delay = store.get("delay")?.to_f64();
            let lag = |k: usize| delay[k].round_ties_even() as usize;
            assert!((0..delay.len()).any(|k| lag(k) == 0));
            assert!((0..delay.len()).any(|k| lag(k) == most));
            close(&y, &sum(&store.get("weight")?.to_f64(), &lag));
        }
        let layer = Dcls1d::new(inputs, outputs, 7).bias(false);
        let (y, store) = run(&layer, Mode::EVAL, propagation, &x, steps)?;
        let position = store.get("position")?.to_f64();
        let lag = |k: usize| (3.0 - position[k].round_ties_even()) as usize;
        close(&y, &sum(&store.get("weight")?.to_f64(), &lag));
    }
    Ok(())
}

#[test]
fn wrong_settings_and_inputs_are_refused() -> Result<()> {
    let refused = |module: &dyn Module, shape: &[usize]| {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let x = cx.tracer().input("x", DType::F32, shape);
        let error = cx.child("delay", |cx| module.forward(cx, &x));
        let message = error.expect_err("it is wrong").to_string();
        assert!(message.contains("`delay`"), "{message}");
        message
    };
    let shape = [5, 2, 3];
    let dcls = Dcls1d::new(3, 4, 5).bias(false);
    for (module, name) in [
        (Dcls1d::new(3, 4, 0).bias(false), "kernel_size"),
        (Dcls1d::new(3, 4, 1 << 17).bias(false), "kernel_size"),
        (dcls.kernel_count(0), "kernel_count"),
        (dcls.width(-1.0), "width"),
        (dcls.width(f64::NAN), "width"),
        (Dcls1d::new(3, 0, 5).bias(false), "outputs"),
    ] {
        let message = refused(&module, &shape);
        assert!(message.contains(name), "{message}");
    }
    assert!(refused(&DelayedLinear::new(3, 4, 1 << 17).bias(false), &shape).contains("max_delay"));
    assert!(refused(&AxonalDelay::new(3, 1 << 17), &shape).contains("max_delay"));
    let gaussian = DelayInterpolation::Gaussian { sigma: 0.0 };
    let axonal = AxonalDelay::new(3, 4).interpolation(gaussian);
    assert!(refused(&axonal, &shape).contains("sigma"));
    let feedback = DelayedFeedback::new(3, 4);
    assert!(refused(&feedback.width(-0.5), &shape).contains("width"));
    assert!(refused(&DelayedFeedback::new(3, 1 << 17), &shape).contains("max_delay"));
    assert!(refused(&feedback.lags(0), &shape).contains("lags"));
    let modules: [&dyn Module; 4] = [
        &dcls,
        &DelayedLinear::new(3, 4, 2).bias(false),
        &feedback,
        &axonal,
    ];
    for module in modules {
        for shape in [&[5, 2][..], &[5, 2, 4], &[0, 2, 3], &[5, 0, 3]] {
            refused(module, shape);
        }
    }
    let images = refused(&dcls, &[5, 2, 3, 4, 4]);
    assert!(images.contains("[T, N, features]"), "{images}");
    Ok(())
}

#[test]
fn the_end_of_a_sequence_is_padded_but_not_a_stream() -> Result<()> {
    let x = spikes([4, 2, 5], 3);
    let at_once = Propagation::LayerByLayer;
    let (padded, _) = run(&PadTime::new(3), Mode::EVAL, at_once, &x, 4)?;
    assert_eq!(padded.len(), 7 * 10);
    assert_eq!(padded[..40], x.to_f64());
    assert!(padded[40..].iter().all(|y| *y == 0.0));
    let (stream, _) = run(&PadTime::new(3), Mode::STREAM, at_once, &x, 2)?;
    assert_eq!(stream, x.to_f64());
    let steps = run(&PadTime::new(3), Mode::EVAL, Propagation::StepByStep, &x, 4);
    assert!(steps.is_err());
    Ok(())
}

#[test]
fn the_width_of_the_kernels_follows_its_schedule() -> Result<()> {
    let net = Sequential::new()
        .add(Dcls1d::new(5, 4, 9).bias(false))
        .add(Lif::new(2.0).v_threshold(0.05))
        .add(Recurrent::through(
            Lif::new(2.0).v_threshold(0.05),
            DelayedFeedback::new(4, 3).width(2.0),
        ));
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [6, 2, 5]);
    let y = cx.trace(&net, x)?;
    cx.tracer().output("y", &y);
    let mut store = VarStore::new(device::cpu()?);
    let mut program = cx.compile(&mut store, 5)?;
    let x = spikes([6, 2, 5], 4);
    program.run_with([("x", host(&x))])?;
    let narrow = program.get("y")?;
    let schedule = DelayWidth::snn_delays(9, 40);
    assert_eq!(schedule.set(&mut store, 0)?, 2);
    assert_eq!(store.get("0.delay_width")?.to_f64(), [4.0]);
    program.run_with([("x", host(&x))])?;
    assert_ne!(program.get("y")?, narrow);
    schedule.set(&mut store, 10)?;
    let width = store.get("2.feedback.delay_width")?.to_f64();
    assert!((width[0] - 0.23).abs() < 1e-6);
    // As in the published loop, which multiplies after each epoch.
    let ratio = (0.23_f64 / 4.0).powf(1.0 / 10.0);
    let mut sigma = 4.0;
    for epoch in 0..10 {
        assert!((schedule.at(epoch) - sigma).abs() < 1e-12);
        sigma *= ratio;
    }
    let delrec = DelayWidth::delrec(150);
    assert!((delrec.at(75) - 10.0 * 0.95_f64.powi(50)).abs() < 1e-12);
    Ok(())
}

#[test]
fn layers_with_delays_are_read_from_files() -> Result<()> {
    let text = r#"
        [network]
        input = [20]
        layers = [
          { pad-time = 3 },
          { dcls = 16, kernel_size = 7, width = 3.0, kernel_count = 2, version = "max", bias = true },
          "batch-norm",
          "neuron",
          { axonal-delay = 5, sigma = 0.5 },
          { delayed-linear = 12, max_delay = 4 },
          { recurrent = "lif", max_delay = 3, synaptic = true, width = 1.0, dropout_p = 0.2 },
          { dcls = 10, kernel_size = 7 },
          "time-mean",
        ]
    "#;
    let network = Layers::from_toml("net.toml", text, &[])?;
    let module = network.module()?;
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [6, 2, 20]);
    assert_eq!(cx.trace(&*module, x)?.shape(), [1, 2, 10]);
    let cost = network.cost(6)?;
    let dcls = 2 * 2 * 20 * 16 + 16;
    let recurrent = 2 * 12 * 12;
    let others = 2 * 16 + 16 + 16 * 12;
    assert_eq!(cost.parameters(), dcls + others + recurrent + 2 * 12 * 10);
    for (wrong, expected) in [
        ("{ dcls = 10 }", "kernel_size"),
        ("{ dcls = 10, kernel_size = 0 }", "kernel_size"),
        ("{ dcls = 10, kernel_size = 5, width = -1.0 }", "width"),
        (
            "{ dcls = 10, kernel_size = 5, version = \"v2\" }",
            "version",
        ),
        ("{ delayed-linear = 10, max_delay = -1 }", "max_delay"),
        ("{ axonal-delay = 5, sigma = 0.0 }", "sigma"),
        ("{ recurrent = \"lif\", width = 1.0 }", "max_delay"),
        (
            "{ recurrent = \"lif\", max_delay = 3, bias = true }",
            "bias",
        ),
        ("{ delrec = \"lif\" }", "did you mean `recurrent`?"),
    ] {
        let text = format!("[network]\ninput = [20]\nlayers = [{wrong}]");
        let error = Layers::from_toml("net.toml", &text, &[]).expect_err("it is wrong");
        assert!(error.to_string().contains(expected), "{error}");
    }
    Ok(())
}
