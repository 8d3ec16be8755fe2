//! Layers as a network uses them.

use spikelet::device;
use spikelet::graph::op::HostTensor;
use spikelet::prelude::*;

/// Output and parameter shapes of a module on ones of a shape.
fn run(module: &dyn Module, mode: Mode, shape: &[usize]) -> Result<(Tensor, Vec<Vec<usize>>)> {
    let cx = Context::new(mode, DType::F32);
    let x = cx.tracer().input("x", DType::F32, shape.to_vec());
    let y = cx.trace(module, x)?;
    cx.tracer().output("y", &y);
    let traced = cx.traced();
    let mut store = Store::new(device::cpu()?);
    store.initialise(&traced, DType::F32, 1)?;
    let mut program = Compiled::new(cx.tracer().finish()?, &mut store)?;
    program.set("x", HostTensor::F32(&vec![1.0; shape.iter().product()]))?;
    if program.has_input("generator") {
        program.set("generator", HostTensor::I64(&[5, 1, 0]))?;
    }
    program.run()?;
    let shapes = traced.parameters.into_iter().map(|(_, shape, _)| shape);
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
    let shares = [
        (Share::Layer, vec![]),
        (Share::Channel, vec![4, 1]),
        (Share::Neuron, vec![4, 5]),
    ];
    for (share, expected) in shares {
        let plif = Plif {
            share,
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
    let fold = Function(|_: &Context, x: Var| -> Result<Var> {
        assert_eq!(x.shape(), [6, 4]);
        Ok(x * 2.0)
    });
    assert_eq!(run(&fold, Mode::EVAL, &[3, 2, 4])?.0.to_f64(), [2.0; 24]);
    let each = EachStep(Linear::new(4, 7).bias(true));
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
    let net = Sequential::new().add(Flatten).add(Linear::new(784, 10));
    let error = run(&net, Mode::EVAL, &[5, 2, 32, 32])
        .expect_err("refused")
        .to_string();
    assert!(error.contains("linear `1`"), "{error}");
    assert!(error.contains("1024") && error.contains("help:"), "{error}");
}
