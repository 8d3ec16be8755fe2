//! Layers as a network uses them: against plain loops, and their gradients against differences.

#[path = "layers/normalization.rs"]
mod normalization;
use crate::probe;

use probe::{Probe, assert_close};
use spikelet::device;
use spikelet::layer::*;
use spikelet::neuron::Klif;
use spikelet::prelude::*;
use spikelet::{LayerError, LayerProblem};

/// Output and parameter shapes of a module on ones of a shape.
fn run(module: &dyn Module, mode: Mode, shape: &[usize]) -> Result<(Tensor, Vec<Vec<usize>>)> {
    let cx = Context::new(mode, DType::F32);
    let x = cx.tracer().input("x", DType::F32, shape.to_vec());
    let y = cx.trace(module, x)?;
    cx.tracer().output("y", &y);
    let traced = cx.traced();
    let mut store = VarStore::new(device::cpu()?);
    store.initialize(&traced, DType::F32, 1)?;
    let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
    program.set("x", &vec![1.0; shape.iter().product()])?;
    if program.has_input("generator") {
        program.set("generator", &[5, 1, 0, 0])?;
    }
    program.run()?;
    let shapes = traced.parameters.into_iter().map(|p| p.shape);
    Ok((program.get("y")?, shapes.collect()))
}

#[test]
fn dropout_scales_what_it_keeps_with_one_mask_for_all_steps() -> Result<()> {
    let (y, _) = run(&Dropout::new(0.25), Mode::TRAIN, &[3, 40, 50])?;
    let y = y.to_f64();
    let (first, rest) = y.split_at(2000);
    assert!(rest.chunks(2000).all(|step| step == first));
    assert!(
        first
            .iter()
            .all(|&v| v == 0.0 || (v - 4.0 / 3.0).abs() < 1e-6)
    );
    let kept = first.iter().filter(|v| **v != 0.0).count();
    assert!((1400..1600).contains(&kept), "{kept} of 2000 are kept");
    Ok(())
}

#[test]
fn dropout_does_nothing_in_evaluation() -> Result<()> {
    let (y, _) = run(&Dropout::new(0.25), Mode::EVAL, &[3, 4, 5])?;
    assert!(y.to_f64().iter().all(|&v| v == 1.0));
    Ok(())
}

#[test]
fn a_learnable_time_constant_is_one_number_one_a_channel_or_one_a_neuron() -> Result<()> {
    let granularities = [
        (Granularity::Layer, vec![]),
        (Granularity::Channel, vec![4]),
        (Granularity::Neuron, vec![4, 5]),
    ];
    for (granularity, expected) in granularities {
        let plif = Plif {
            granularity,
            ..Plif::new(3.0)
        };
        let (y, shapes) = run(&plif, Mode::TRAIN, &[6, 2, 4, 5])?;
        assert_eq!(shapes, [expected]);
        assert_eq!(y.shape, [6, 2, 4, 5]);
    }
    Ok(())
}

#[test]
fn time_containers_fold_split_and_reduce() -> Result<()> {
    let fold = TimeDistributed(|_: &Context, x: Var| -> Result<Var> {
        assert_eq!(x.shape(), [6, 4]);
        Ok(x * 2.0)
    });
    assert_eq!(run(&fold, Mode::EVAL, &[3, 2, 4])?.0.to_f64(), [2.0; 24]);
    let each = StepLoop(Linear::new(4, 7).bias(true));
    let (steps, shapes) = run(&each, Mode::EVAL, &[3, 2, 4])?;
    let (whole, _) = run(&Linear::new(4, 7).bias(true), Mode::EVAL, &[3, 2, 4])?;
    assert_eq!(shapes, [vec![7, 4], vec![7]]);
    assert_eq!(steps, whole);
    assert_eq!(run(&TimeMean, Mode::EVAL, &[3, 2, 4])?.0.shape, [1, 2, 4]);
    assert_eq!(run(&TimeLast, Mode::EVAL, &[3, 2, 4])?.0.shape, [1, 2, 4]);
    Ok(())
}

#[test]
fn a_layer_that_does_not_fit_says_which_and_what_to_do() {
    let net = Sequential::new()
        .add(Flatten)
        .add(Linear::new(784, 10).bias(false));
    let error = run(&net, Mode::EVAL, &[5, 2, 32, 32]).expect_err("refused");
    let error: &LayerError = error.downcast_ref().expect("a layer");
    assert_eq!(error.layer, "linear `1`");
    assert!(
        matches!(&error.problem, LayerProblem::Features { expected: 784, given, .. } if given.shape == [5, 2, 1024]),
        "{error}"
    );
    assert!(
        error.problem.help().contains("Linear::new(1024, 10)"),
        "{error}"
    );
}

#[test]
fn dropout_of_channels_drops_them_whole_and_at_all_steps() -> Result<()> {
    let shape = [3, 10, 40, 2, 3];
    let (y, parameters) = run(&Dropout2d::new(0.25), Mode::TRAIN, &shape)?;
    assert_eq!(parameters.len(), 0);
    let y = y.to_f64();
    let (first, rest) = y.split_at(2400);
    assert!(rest.chunks(2400).all(|step| step == first));
    let mut kept = 0;
    for channel in first.chunks(6) {
        assert!(channel.iter().all(|v| *v == channel[0]), "{channel:?}");
        assert!(channel[0] == 0.0 || (channel[0] - 4.0 / 3.0).abs() < 1e-6);
        kept += usize::from(channel[0] != 0.0);
    }
    assert!((260..340).contains(&kept), "{kept} of 400 are kept");
    let (y, _) = run(&Dropout2d::new(0.25), Mode::EVAL, &shape)?;
    assert!(y.to_f64().iter().all(|&v| v == 1.0));
    let mut whole = Probe::new(&Dropout2d::new(0.5), Mode::TRAIN, &[3, 2, 4, 2, 2])?;
    whole.check_gradients("dropout of channels")?;
    let steps = Propagation::StepByStep;
    let mut steps = Probe::propagated(&Dropout2d::new(0.5), Mode::TRAIN, &[3, 2, 4, 2, 2], steps)?;
    assert_eq!(whole.run("y")?, steps.run("y")?);
    Ok(())
}

#[test]
fn a_residual_block_joins_its_path_with_its_input() -> Result<()> {
    let shape = [2, 2, 3, 2, 3];
    let main = || BatchNorm2d::new(3);
    let path = Probe::new(&main(), Mode::EVAL, &shape)?.run("y")?;
    type Of = fn(f64, f64) -> f64;
    let joins: [(Join, Of); 3] = [
        (Join::Add, |a, b| a + b),
        (Join::And, |a, b| a * b),
        (Join::IAnd, |a, b| (1.0 - a) * b),
    ];
    for (join, of) in joins {
        let block = Residual::new(main()).join(join);
        let mut probe = Probe::new(&block, Mode::EVAL, &shape)?;
        assert_eq!(probe.parameters[0].0, "main.weight");
        let pairs = path.iter().zip(&probe.x);
        let expected: Vec<f64> = pairs.map(|(&a, &b)| of(a, b)).collect();
        assert_close(&format!("{join:?}"), &probe.run("y")?, &expected, 1e-12);
        probe.check_gradients(&format!("{join:?}"))?;
    }
    let mut sum = Probe::new(&Residual::new(main()), Mode::EVAL, &shape)?;
    let mut add = Probe::new(&Residual::new(main()).join(Join::Add), Mode::EVAL, &shape)?;
    assert_eq!(sum.run("y")?, add.run("y")?);
    Ok(())
}

#[test]
fn stochastic_depth_skips_the_branch_of_whole_samples_at_all_steps() -> Result<()> {
    let block = || Residual::new(BatchNorm1d::new(4).affine(false)).stochastic_depth(0.25);
    let identity = Dropout::new(0.0);
    let skipping = Residual::new(identity).stochastic_depth(0.25);
    let (y, _) = run(&skipping, Mode::TRAIN, &[3, 400, 4])?;
    let y = y.to_f64();
    let (first, rest) = y.split_at(1600);
    assert!(rest.chunks(1600).all(|step| step == first));
    let mut kept = 0;
    for sample in first.chunks(4) {
        assert!(sample.iter().all(|v| *v == sample[0]), "{sample:?}");
        assert!(sample[0] == 1.0 || (sample[0] - (1.0 + 4.0 / 3.0)).abs() < 1e-6);
        kept += usize::from(sample[0] != 1.0);
    }
    assert!((260..340).contains(&kept), "{kept} of 400 are kept");
    let (y, _) = run(&skipping, Mode::EVAL, &[3, 4, 4])?;
    assert!(y.to_f64().iter().all(|&v| v == 2.0));
    Probe::new(&block(), Mode::TRAIN, &[3, 6, 4])?.check_gradients("stochastic depth")?;
    let net = |p, join| Sequential::new().add(block().stochastic_depth(p).join(join));
    for (p, join) in [(1.0, Join::Add), (-0.1, Join::IAnd), (0.1, Join::And)] {
        let error = layer_error(Probe::new(&net(p, join), Mode::TRAIN, &[3, 2, 4]));
        assert!(error.to_string().contains("stochastic_depth"), "{error}");
    }
    Ok(())
}

#[test]
fn a_shortcut_brings_the_input_to_the_shape_of_the_path() -> Result<()> {
    let main = || Conv2d::new(3, 5, 3).bias(false).stride(2).padding(1);
    let shortcut = || Conv2d::new(3, 5, 1).bias(false).stride(2);
    let block = Residual::new(main()).shortcut(shortcut()).join(Join::And);
    let shape = [2, 2, 3, 4, 6];
    let mut probe = Probe::new(&block, Mode::TRAIN, &shape)?;
    let names: Vec<&str> = probe.parameters.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["main.weight", "shortcut.weight"]);
    assert_eq!(probe.shape, [2, 2, 5, 2, 3]);
    probe.check_gradients("a block with a shortcut")?;
    let net = Sequential::new().add(Residual::new(main()));
    let error = layer_error(Probe::new(&net, Mode::TRAIN, &shape));
    assert_eq!(error.layer, "residual `0`");
    let LayerProblem::Branches { main, shortcut } = error.problem else {
        panic!("another error: {error}");
    };
    assert_eq!(
        (&main.shape[..], &shortcut.shape[..]),
        (&[2, 2, 5, 2, 3][..], &shape[..])
    );
    Ok(())
}

#[test]
fn constant_input_runs_its_module_on_the_first_step() -> Result<()> {
    let shape = [4, 3, 2, 4, 4];
    let net = || {
        Sequential::new()
            .add(Conv2d::new(2, 3, 3).padding(1).bias(true))
            .add(BatchNorm2d::new(3).momentum(0.5))
    };
    let orders = [Propagation::LayerByLayer, Propagation::StepByStep];
    for propagation in orders {
        let constant = Static(net());
        let mut probe = Probe::propagated(&constant, Mode::TRAIN, &shape, propagation)?;
        let mut first = Probe::new(&net(), Mode::TRAIN, &[1, 3, 2, 4, 4])?;
        first.set_x(probe.x[..96].to_vec())?;
        assert_eq!(probe.shape, [4, 3, 3, 4, 4]);
        let once = first.run("y")?;
        let what = propagation.name();
        assert_close(what, &probe.run("y")?, &once.repeat(4), 1e-12);
        for name in first.buffers.clone() {
            assert_close(what, &probe.tensor(&name)?, &first.tensor(&name)?, 1e-12);
        }
        assert!(probe.run("grad x")?[96..].iter().all(|g| *g == 0.0));
        probe.check_gradients(what)?;
    }
    let error = layer_error(Probe::new(
        &Static(Conv2d::new(5, 3, 3).bias(false)),
        Mode::EVAL,
        &shape,
    ));
    assert!(
        matches!(error.problem, LayerProblem::Channels { expected: 5, .. }),
        "{error}"
    );
    Ok(())
}

/// The error of a layer that cannot be traced.
#[track_caller]
fn layer_error<T>(traced: Result<T>) -> LayerError {
    match traced.map(|_| ()).expect_err("it was accepted").downcast() {
        Ok(error) => error,
        Err(other) => panic!("another error: {other}"),
    }
}

#[test]
fn a_normalization_that_does_not_fit_says_which_and_what_to_do() {
    use LayerProblem::{Axes, Channels, Definition, Groups, NormalizedShape, Rank};
    let error = |layer: &str, module: Box<dyn Module>, shape: &[usize]| {
        let net = Sequential::new().add(Dropout::new(0.1)).add(module);
        let error = layer_error(Probe::new(&net, Mode::TRAIN, shape));
        assert_eq!(error.layer, layer);
        error.problem
    };
    let images = [2, 2, 3, 4, 4];
    let problem = error("batch norm `1`", Box::new(BatchNorm2d::new(8)), &images);
    assert!(matches!(&problem, Channels { expected: 8, given } if given.shape == images));
    assert_eq!(problem.help(), "build it for 3 channels");
    let problem = error("batch norm `1`", Box::new(BatchNorm1d::new(3)), &images);
    assert!(matches!(
        problem,
        Axes {
            expected: "[T, N, C, L]",
            ..
        }
    ));
    let problem = error("layer norm `1`", Box::new(LayerNorm::new([4, 5])), &images);
    assert!(matches!(&problem, NormalizedShape { expected, .. } if *expected == [4, 5]));
    assert_eq!(problem.help(), "use `LayerNorm::new([3, 4, 4])`");
    let problem = error("layer norm `1`", Box::new(LayerNorm::new([])), &images);
    assert!(matches!(problem, NormalizedShape { .. }));
    let all = LayerNorm::new([2, 3, 4, 4]);
    let problem = error("layer norm `1`", Box::new(all), &images);
    assert!(matches!(problem, Rank { expected: 6, .. }));
    for (groups, channels) in [(2, 3), (0, 3), (1, 4)] {
        let norm = Box::new(GroupNorm::new(groups, channels));
        let problem = error("group norm `1`", norm, &images);
        assert!(matches!(problem, Groups { .. }), "{problem}");
    }
    let problem = error("dropout `1`", Box::new(Dropout2d::new(0.5)), &[2, 2]);
    assert!(matches!(problem, Rank { .. }), "{problem}");
    for p in [1.0, -0.1, f64::NAN] {
        let problem = error("dropout `1`", Box::new(Dropout2d::new(p)), &images);
        assert!(matches!(problem, Definition(_)), "{problem}");
    }
}

#[test]
fn a_network_prints_as_a_tree() {
    struct Custom(Sequential);
    impl Module for Custom {
        fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
            self.0.forward(cx, x)
        }
    }
    let block = Sequential::new()
        .add(Conv2d::new(8, 8, 3).bias(false).padding(1))
        .add_named("lif", Lif::new(2.0).v_reset(None));
    let net = Sequential::new()
        .add(Static(BatchNorm2d::new(8)))
        .add(Residual::new(block).join(Join::And))
        .add(AdaptiveAvgPool2d::new(1))
        .add(StepLoop(Recurrent::new(Klif::default(), 4)))
        .add(Custom(Sequential::new()));
    let expected = "\
Sequential(
  (0): Static(
    BatchNorm(channels=8, epsilon=1e-5, momentum=0.1, affine=true, scale=1.0, time_steps=None, lengths=None)
  )
  (1): Residual(join=And
    (main): Sequential(
      (0): Conv(inputs=8, outputs=8, kernel=[3, 3], stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1, bias=false)
      (lif): Lif(tau=2.0, decay_input=true, v_threshold=1.0, v_reset=None, surrogate=Sigmoid(alpha=4.0), reset_grad=Surrogate)
    )
  )
  (2): AdaptiveAvgPool(outputs=[1, 1])
  (3): StepLoop(
    Recurrent(
      (feedback): Linear(inputs=4, outputs=4, bias=false)
      (neuron): Klif(tau=2.0, decay_input=true, v_threshold=1.0, v_reset=Some(0.0), surrogate=Sigmoid(alpha=4.0), reset_grad=Surrogate, scale_reset=false, granularity=Layer)
    )
  )
  (4): Custom
)";
    assert_eq!(net.to_string(), expected);
    let module: Box<dyn Module> = Box::new(net);
    assert_eq!(module.to_string(), expected);
}
