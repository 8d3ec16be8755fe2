//! Modules that run on one time step after the other.

use crate::probe;

use probe::{Probe, assert_close};
use spikelet::layer::{StepLoop, TimeMean};
use spikelet::neuron::Psn;
use spikelet::prelude::*;

const SHAPE: [usize; 3] = [5, 2, 4];

#[test]
fn a_neuron_goes_on_from_step_to_step() -> Result<()> {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [6, 1]);
    let y = cx.trace(&StepLoop(If::new()), x)?;
    cx.tracer().output("y", &y);
    let mut store = VarStore::new(spikelet::device::cpu()?);
    let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
    program.set("x", &[0.6; 6])?;
    program.run()?;
    assert_eq!(program.get("y")?.to_f64(), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    Ok(())
}

type Make = fn() -> Box<dyn Module>;

/// Networks with states, a mask that is drawn once, and parameters.
fn nets() -> Vec<(&'static str, Make)> {
    vec![
        ("if", || Box::new(If::new().v_threshold(0.3))),
        ("soft lif", || {
            Box::new(Lif::new(2.0).v_threshold(0.2).v_reset(None))
        }),
        ("two neurons", || {
            let net = Sequential::new()
                .add(Linear::new(4, 6).bias(false))
                .add(Plif::new(2.0));
            Box::new(
                net.add(Linear::new(6, 3).bias(false))
                    .add(If::new().v_threshold(0.1)),
            )
        }),
        ("smooth", || {
            let net = Sequential::new().add(Lif::new(2.0).spiking(false));
            Box::new(
                net.add(Linear::new(4, 3).bias(false))
                    .add(If::new().spiking(false)),
            )
        }),
        ("dropout", || {
            Box::new(Sequential::new().add(Dropout::new(0.5)).add(If::new()))
        }),
        ("recurrent", || {
            Box::new(Recurrent::new(Lif::new(2.0).v_threshold(0.2), 4))
        }),
    ]
}

/// Compares the gradients of the input and of all parameters.
#[track_caller]
fn assert_gradients_close(
    what: &str,
    found: &mut Probe,
    expected: &mut Probe,
    tolerance: f64,
) -> Result<()> {
    let learned = expected.parameters.iter().map(|(name, _)| name.clone());
    let names: Vec<String> = std::iter::once("x".to_string()).chain(learned).collect();
    for name in names {
        let grad = format!("grad {name}");
        let expected = expected.run(&grad)?;
        assert_close(
            &format!("{what}: {grad}"),
            &found.run(&grad)?,
            &expected,
            tolerance,
        );
    }
    Ok(())
}

#[test]
fn steps_one_by_one_are_the_sequence_forward_and_backward() -> Result<()> {
    for (what, net) in nets() {
        let mut whole = Probe::new(&net(), Mode::TRAIN, &SHAPE)?;
        let mut steps = Probe::new(&StepLoop(net()), Mode::TRAIN, &SHAPE)?;
        assert_eq!(steps.parameters, whole.parameters, "{what}");
        assert_eq!(steps.run("y")?, whole.run("y")?, "{what}");
        assert_gradients_close(what, &mut steps, &mut whole, 1e-12)?;
    }
    Ok(())
}

#[test]
fn gradients_go_back_through_the_steps() -> Result<()> {
    let smooth = || Lif::new(2.0).spiking(false).v_threshold(0.3);
    let net = StepLoop(
        Sequential::new()
            .add(smooth())
            .add(Linear::new(4, 3).bias(false))
            .add(smooth()),
    );
    Probe::new(&net, Mode::TRAIN, &SHAPE)?.check_gradients("each step")
}

#[test]
fn states_are_carried_between_calls_as_without_the_container() -> Result<()> {
    let net = || {
        Sequential::new()
            .add(Linear::new(4, 4).bias(false))
            .add(Lif::new(2.0).v_threshold(0.1))
    };
    let mut whole = Probe::new(&net(), Mode::STREAM, &SHAPE)?;
    let mut steps = Probe::new(&StepLoop(net()), Mode::STREAM, &SHAPE)?;
    for call in 0..3 {
        assert_eq!(steps.run("y")?, whole.run("y")?, "call {call}");
        assert_eq!(steps.tensor("1.v")?, whole.tensor("1.v")?, "call {call}");
    }
    Ok(())
}

/// y = (x − mean)/√(var + ε)·w + b with mean and variance of one step, and running statistics that
/// follow step by step.
#[test]
fn batch_norm_measures_each_step_by_itself() -> Result<()> {
    let mut probe = Probe::new(&StepLoop(BatchNorm1d::new(4)), Mode::TRAIN, &SHAPE)?;
    let [weight, bias] = [probe.tensor("weight")?, probe.tensor("bias")?];
    let [mut mean, mut var] = [probe.tensor("running_mean")?, probe.tensor("running_var")?];
    let mut expected = vec![];
    for step in probe.x.chunks(8) {
        let of = |c: usize| [step[c], step[4 + c]];
        let measured: Vec<(f64, f64)> = (0..4)
            .map(|c| {
                let m = (of(c)[0] + of(c)[1]) / 2.0;
                (m, of(c).iter().map(|x| (x - m).powi(2)).sum::<f64>() / 2.0)
            })
            .collect();
        for (k, x) in step.iter().enumerate() {
            let (m, v) = measured[k % 4];
            expected.push((x - m) / (v + 1e-5).sqrt() * weight[k % 4] + bias[k % 4]);
        }
        for (c, (m, v)) in measured.into_iter().enumerate() {
            mean[c] = 0.9 * mean[c] + 0.1 * m;
            var[c] = 0.9 * var[c] + 0.1 * 2.0 * v;
        }
    }
    assert_close("y", &probe.run("y")?, &expected, 1e-9);
    assert_close("mean", &probe.tensor("running_mean")?, &mean, 1e-12);
    assert_close("variance", &probe.tensor("running_var")?, &var, 1e-12);
    probe.check_gradients("batch norm of each step")
}

/// Compares a module with the same module in a loop over time, and its gradients with finite differences.
fn check_without_a_loop(
    what: &str,
    net: impl Module,
    looped: impl Module,
    shape: &[usize],
) -> Result<()> {
    for mode in [Mode::TRAIN, Mode::EVAL] {
        let mut whole = Probe::new(&net, mode, shape)?;
        let mut steps = Probe::new(&looped, mode, shape)?;
        assert_eq!(whole.parameters, steps.parameters, "{what}");
        assert_eq!(whole.buffers, steps.buffers, "{what}");
        // The second run starts from the running statistics of the first.
        for run in 0..2 {
            let what = format!("{what}, {mode:?}, run {run}");
            assert_close(&what, &whole.run("y")?, &steps.run("y")?, 1e-11);
            for name in whole.buffers.clone() {
                let expected = steps.tensor(&name)?;
                assert_close(
                    &format!("{what}: {name}"),
                    &whole.tensor(&name)?,
                    &expected,
                    1e-12,
                );
            }
        }
        assert_gradients_close(what, &mut whole, &mut steps, 1e-9)?;
    }
    Ok(())
}

#[test]
fn batch_norm_of_each_step_needs_no_loop() -> Result<()> {
    let norm = || BatchNorm1d::new(4).momentum(0.3);
    for shape in [&[5, 2, 4][..], &[5, 3, 4], &[3, 2, 4, 5], &[1, 3, 4]] {
        let each = norm().each_step(true);
        check_without_a_loop("1d", each, StepLoop(norm()), shape)?;
        Probe::new(&each, Mode::TRAIN, shape)?.check_gradients("1d")?;
        Probe::new(&each, Mode::EVAL, shape)?.check_gradients("1d")?;
        // Step by step it is the same.
        let order = Propagation::StepByStep;
        let mut steps = Probe::propagated(&each, Mode::TRAIN, shape, order)?;
        let mut whole = Probe::new(&each, Mode::TRAIN, shape)?;
        assert_close("step by step", &steps.run("y")?, &whole.run("y")?, 1e-11);
        let [a, b] = [steps.tensor("running_var")?, whole.tensor("running_var")?];
        assert_close("step by step", &a, &b, 1e-12);
    }
    let norm = || BatchNorm2d::threshold_dependent(3, 0.5, 0.8).affine(false);
    let shape = [4, 2, 3, 2, 3];
    check_without_a_loop("2d", norm().each_step(true), StepLoop(norm()), &shape)?;
    let norm = norm().each_step(true);
    Probe::new(&norm, Mode::TRAIN, &shape)?.check_gradients("2d")?;
    // Before a neuron, which takes normalization over all steps into its kernel.
    let net = |norm: Box<dyn Module>| Sequential::new().add(norm).add(If::new().v_threshold(0.3));
    let each = net(Box::new(BatchNorm1d::new(4).each_step(true)));
    let looped = net(Box::new(StepLoop(BatchNorm1d::new(4))));
    let mut each = Probe::new(&each, Mode::TRAIN, &SHAPE)?;
    let mut looped = Probe::new(&looped, Mode::TRAIN, &SHAPE)?;
    assert_eq!(each.run("y")?, looped.run("y")?);
    for name in ["grad x", "grad 0.weight", "grad 0.bias"] {
        assert_close(name, &each.run(name)?, &looped.run(name)?, 1e-9);
    }
    Ok(())
}

#[test]
fn what_needs_all_steps_at_once_is_refused() {
    let nets: [Box<dyn Module>; 3] = [
        Box::new(StepLoop(TimeMean)),
        Box::new(StepLoop(Psn::default())),
        Box::new(StepLoop(
            Sequential::new().add(BatchNorm1d::temporal_effective(4, 5)),
        )),
    ];
    for net in nets {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let x = cx.tracer().input("x", DType::F32, SHAPE);
        let error = cx.trace(&net, x).map(|_| ()).expect_err("it was accepted");
        let error: &spikelet::LayerError = error.downcast_ref().expect("a layer");
        assert!(
            matches!(error.problem, spikelet::LayerProblem::StepByStep),
            "{error}"
        );
    }
}
