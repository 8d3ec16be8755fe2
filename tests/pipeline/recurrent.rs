//! Recurrent layers in stages: both those that become one kernel and those that stay loops.

use crate::pipeline::support::*;
use spikelet::layer::{RadLif, RecurrentBlock};
use spikelet::pipeline::PipelineSchedule;
use spikelet::prelude::*;
use std::sync::Arc;

fn lif() -> Lif {
    Lif::new(2.0).v_threshold(0.2)
}

/// Layers whose loops become recurrent scans.
fn fused() -> Case {
    let mut case = linear();
    case.module = Arc::new(
        Sequential::new()
            .add(Flatten)
            .add(
                RadLif::new(16, 12)
                    .normalize(false)
                    .neuron(|cell| cell.v_threshold(0.02)),
            )
            .add(Rnn::new(lif(), 12, 10))
            .add(Linear::new(10, CLASSES).bias(false))
            .add(lif()),
    );
    case
}

/// Images through a block of two layers with feedback, whose body stays a loop.
fn looped() -> Case {
    let mut case = linear();
    let block = RecurrentBlock::new()
        .layer("a", Conv2d::new(1, 3, 3).bias(false).padding(1), lif())
        .layer("b", Conv2d::new(3, 2, 1).bias(true), lif())
        .connect("b", "a", Conv2d::new(2, 3, 3).bias(false).padding(1))
        .connect("a", "a", Conv2d::new(3, 3, 1).bias(false));
    let body = Sequential::new()
        .add(Linear::new(8, 8).bias(false))
        .add(lif());
    case.module = Arc::new(
        Sequential::new()
            .add(block)
            .add(Flatten)
            .add(Linear::new(32, 8).bias(false))
            .add(Recurrent::new(body, 8))
            .add(Linear::new(8, CLASSES).bias(false))
            .add(lif()),
    );
    case
}

/// The cases with their names and partitions into two and more stages.
fn cases() -> [(&'static str, Case, [&'static [usize]; 2]); 2] {
    [
        ("fused", fused(), [&[2], &[1, 2, 3]]),
        ("looped", looped(), [&[2], &[1, 3, 4]]),
    ]
}

#[test]
fn stages_of_recurrent_layers_train_to_the_bits_of_one_stage() -> Result<()> {
    for (name, case, cuts) in cases() {
        let whole = alone(&case)?;
        let first = whole.losses[0];
        assert!(whole.losses.iter().any(|loss| *loss != first), "{name}");
        for split in [2, 3, 8] {
            let one = through(&case, &Spread::of(&[], split, PipelineSchedule::Auto))?;
            for firsts in cuts {
                for schedule in [
                    PipelineSchedule::FillDrain,
                    PipelineSchedule::OneForwardOneBackward,
                ] {
                    let spread = Spread::of(firsts, split, schedule);
                    assert!(through(&case, &spread)? == one, "{name}: {spread:?}");
                }
            }
            assert_close(&one, &whole, 1e-5, &format!("{name}, split {split}"));
        }
    }
    Ok(())
}

#[test]
fn chunks_of_time_hand_on_what_recurrent_layers_feed_back() -> Result<()> {
    for (name, case, cuts) in cases() {
        let whole = alone(&case)?;
        for chunk in [1, 2, 3] {
            for split in [3, 8] {
                let mut spread = Spread::of(cuts[0], split, PipelineSchedule::Auto);
                spread.chunk = Some(chunk);
                let made = through(&case, &spread)?;
                assert_close(&made, &whole, 1e-5, &format!("{name}: {spread:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn evaluation_of_recurrent_layers_through_stages_is_that_of_one_device() -> Result<()> {
    for (name, case, cuts) in cases() {
        let partitions = [(cuts[0], 2, None), (cuts[1], 3, Some(2))];
        assert_evaluates_as_one_device(&case, &partitions, name)?;
    }
    Ok(())
}
