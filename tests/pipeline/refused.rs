//! What is refused.

use crate::support::*;
use spikelet::pipeline::{ModelPipeline, PipelineSchedule, Reduce};
use spikelet::prelude::*;
use std::sync::Arc;

#[test]
fn what_cannot_be_run_is_refused_with_a_reason() -> Result<()> {
    let devices = devices(2)?;
    let mut net = seeds_pipeline(&devices);
    let x = Tensor::f32([5, 6], vec![0.0; 30]);
    let refused = |made: Result<Tensor>, word: &str| {
        let message = made.expect_err(word).to_string();
        assert!(message.contains(word), "{message}");
    };
    refused(net.constant_forward(&x, 0, Reduce::Sum), "time steps");
    refused(net.forward(&sequence(3, 4), 0), "split size");
    refused(net.forward(&sequence(0, 4), 2), "time steps");
    refused(net.forward(&Tensor::f32([], vec![0.0]), 2), "[T, N, …]");
    refused(
        net.forward(&Tensor::f32([2, 3, 5], vec![0.0; 30]), 2),
        "linear `0`",
    );
    refused(ModelPipeline::new().forward(&sequence(3, 4), 2), "append");
    let case = linear();
    let mut spread = Spread::of(&[3], 4, PipelineSchedule::Auto);
    spread.chunk = Some(4);
    let message = through(&case, &spread).expect_err("6 steps").to_string();
    assert!(message.contains("divisor"), "{message}");
    let spread = Spread::of(&[5, 5], 4, PipelineSchedule::Auto);
    let error = through(&case, &spread).expect_err("empty stage");
    assert!(
        matches!(&error, Error::Invalid { what, .. } if what == "stages"),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_network_that_needs_all_steps_at_once_is_not_cut_in_time() -> Result<()> {
    let mut case = linear();
    case.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(16, CLASSES))
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
fn what_counts_all_steps_is_not_cut_in_time() -> Result<()> {
    let mut early = linear();
    early.settings.encoder = "latency".to_string();
    let mut step_loop = linear();
    step_loop.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(Linear::new(16, CLASSES))
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
