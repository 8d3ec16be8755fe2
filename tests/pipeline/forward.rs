//! Forward passes and evaluation.

use crate::pipeline::support::*;
use spikelet::pipeline::{ModelPipeline, PipelineStep, Reduce};
use spikelet::prelude::*;
use spikelet::runtime::{Program, VarStore};

#[test]
fn evaluation_through_stages_is_that_of_one_device() -> Result<()> {
    for case in [linear(), drawing(), convolutional()?] {
        let partitions = [
            (&[3][..], 7, None),
            (&[1, 4], 2, None),
            (&[2, 5], 3, Some(2)),
        ];
        assert_evaluates_as_one_device(&case, &partitions, "")?;
    }
    Ok(())
}

/// The result of the appended modules as one network on one device.
fn expected(x: &Tensor) -> Result<Tensor> {
    let net = Sequential::new()
        .add(Linear::new(6, 9).bias(false))
        .add(Lif::new(2.0).v_threshold(0.2))
        .add(
            Sequential::new()
                .add(Linear::new(9, 4).bias(false))
                .add(Lif::new(2.0).v_threshold(0.2)),
        );
    let cx = Context::new(Mode::EVAL, DType::F32);
    let input = cx.tracer().input("x", DType::F32, x.shape.clone());
    cx.tracer().output("y", &cx.trace(&net, input)?);
    let mut store = VarStore::new(devices(1)?.remove(0));
    store.initialize(&cx.traced(), DType::F32, 0)?;
    let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
    program.set("x", x.as_f32().expect("f32"))?;
    program.run()?;
    program.get("y")
}

#[test]
fn forward_gives_the_spikes_of_one_device_for_every_split() -> Result<()> {
    let x = sequence(10, 7);
    let whole = expected(&x)?;
    let fired: f64 = whole.to_f64().iter().sum();
    assert!(fired > 0.0 && fired < 280.0, "{fired}");
    for count in [1, 2, 3] {
        let devices = devices(count)?;
        let mut net = seeds_pipeline(&devices);
        for split in [1, 2, 3, 4, 7, 100] {
            assert_eq!(
                net.forward(&x, split)?,
                whole,
                "{count} devices, split {split}"
            );
            // Nothing is left of the run before.
            assert_eq!(net.forward(&x, split)?, whole, "again");
        }
    }
    Ok(())
}

#[test]
fn a_step_trains_what_forward_runs_and_is_drawn_task_by_task() -> Result<()> {
    let devices = devices(3)?;
    let mut net = ModelPipeline::new()
        .append(Flatten, &devices[0])
        .append(Linear::new(6, 4).bias(false), &devices[1])
        .append(Lif::new(2.0).v_threshold(0.2), &devices[2]);
    let x = sequence(10, 7);
    let before = net.forward(&x, 3)?;
    let settings = Settings {
        time_steps: 4,
        batch_size: 8,
        optimizer: Adam::new(0.1).into(),
        encoder: Direct.into(),
        ..Settings::default()
    };
    let partition = net.partition(3, Some(2))?;
    let mut step = PipelineStep::new(&partition, &settings, [1, 1, 6], net.store_mut()?)?;
    step.record_timeline();
    for k in 1..=5 {
        step.run(&batch(8, [1, 1, 6], k), k, 1.0)?;
    }
    assert_ne!(net.forward(&x, 3)?, before);
    // 3 stages, 3 micro-batches of 2 chunks, forward and backward; a loss for each micro-batch.
    let trace = step.timeline().expect("it is watched");
    assert_eq!(trace.len(), 3 * 3 * 2 * 2 + 3);
    assert_eq!(trace.to_svg().matches("<g><title>").count(), trace.len());
    Ok(())
}

#[test]
fn a_constant_input_runs_for_exactly_as_many_steps_as_were_asked_for() -> Result<()> {
    let devices = devices(3)?;
    let mut net = seeds_pipeline(&devices);
    let x = Tensor::f32([5, 6], sequence(1, 5).as_f32().expect("f32").to_vec());
    for time_steps in [1, 2, 7, 12, 50] {
        let repeated = x.as_f32().expect("f32").repeat(time_steps);
        let all = expected(&Tensor::f32([time_steps, 5, 6], repeated))?;
        assert_eq!(net.constant_forward(&x, time_steps, Reduce::Stack)?, all);
        let sums = net.constant_forward(&x, time_steps, Reduce::Sum)?.to_f64();
        for (k, sum) in sums.iter().enumerate() {
            let each = all.to_f64().into_iter().skip(k).step_by(20);
            assert_eq!(each.sum::<f64>(), *sum, "{time_steps} steps");
        }
    }
    Ok(())
}
