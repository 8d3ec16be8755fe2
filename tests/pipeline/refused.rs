//! Errors of pipelines.

use crate::pipeline::support::*;
use spikelet::encoder::Latency;
use spikelet::neuron::{GatedLif, Psn};
use spikelet::pipeline::{ModelPipeline, PipelineError, PipelineSchedule, Reduce};
use spikelet::prelude::*;
use std::sync::Arc;

#[test]
fn invalid_inputs_and_partitions_are_errors() -> Result<()> {
    let two = devices(2)?;
    let mut net = seeds_pipeline(&two);
    let x = Tensor::f32([5, 6], vec![0.0; 30]);
    let typed = |result: Result<Tensor>| {
        let error = result.expect_err("an error");
        error
            .downcast::<PipelineError>()
            .expect("an error of pipelines")
    };
    use PipelineError::{InputAxes, NoTimeSteps, SplitSize, StageBounds, StageCount, TimeChunk};
    assert_eq!(typed(net.constant_forward(&x, 0, Reduce::Sum)), NoTimeSteps);
    let (batch, split) = (4, 0);
    assert_eq!(
        typed(net.forward(&sequence(3, 4), 0)),
        SplitSize { batch, split }
    );
    assert_eq!(typed(net.forward(&sequence(0, 4), 2)), NoTimeSteps);
    let scalar = net.forward(&Tensor::f32([], vec![0.0]), 2);
    assert!(matches!(typed(scalar), InputAxes { .. }));
    let message = net
        .forward(&Tensor::f32([2, 3, 5], vec![0.0; 30]), 2)
        .expect_err("5 features")
        .to_string();
    assert!(message.contains("linear `0`"), "{message}");
    let empty = ModelPipeline::new().forward(&sequence(3, 4), 2);
    let (modules, devices) = (0, 0);
    assert_eq!(typed(empty), StageCount { modules, devices });
    let case = linear();
    let mut spread = Spread::of(&[3], 4, PipelineSchedule::Auto);
    spread.chunk = Some(4);
    let error = through(&case, &spread).expect_err("6 steps");
    let (time_steps, chunk) = (6, 4);
    let expected = TimeChunk { time_steps, chunk };
    assert_eq!(error.downcast_ref(), Some(&expected), "{error}");
    let spread = Spread::of(&[5, 5], 4, PipelineSchedule::Auto);
    let error = through(&case, &spread).expect_err("empty stage");
    let found = error.downcast_ref::<PipelineError>();
    assert!(matches!(found, Some(StageBounds { .. })), "{error}");
    Ok(())
}

#[test]
fn a_network_that_needs_all_steps_at_once_is_not_split_in_time() -> Result<()> {
    let mut case = linear();
    case.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(16, CLASSES).bias(false))
            .add(Psn::default()),
    );
    let mut spread = Spread::of(&[2], 4, PipelineSchedule::Auto);
    assert!(through(&case, &spread).is_ok());
    spread.chunk = Some(3);
    let message = through(&case, &spread).expect_err("psn").to_string();
    assert!(
        message.contains("needs all time steps at once"),
        "{message}"
    );
    Ok(())
}

#[test]
fn modules_that_count_all_steps_are_not_split_in_time() -> Result<()> {
    let mut early = linear();
    early.settings.encoder = Latency::default().into();
    let mut step_loop = linear();
    step_loop.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(16, CLASSES).bias(false))
            .add(GatedLif::default()),
    );
    for case in [early, step_loop] {
        let mut spread = Spread::of(&[2], 4, PipelineSchedule::Auto);
        assert!(through(&case, &spread).is_ok());
        spread.chunk = Some(3);
        let message = through(&case, &spread).expect_err("chunk").to_string();
        assert!(message.contains("number of time steps"), "{message}");
    }
    Ok(())
}
