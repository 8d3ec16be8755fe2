//! Training through stages.

use crate::pipeline::support::*;
use spikelet::pipeline::{Partition, PipelineConfig, PipelineSchedule, PipelineStep};
use spikelet::prelude::*;
use spikelet::runtime::VarStore;

/// Cuts into two to five stages: of the linear network anywhere, of the other one behind neurons.
fn cuts(case: &Case) -> [&'static [usize]; 4] {
    match case.image {
        [1, ..] => [&[3], &[1, 4], &[2, 3, 5], &[1, 2, 4, 6]],
        _ => [&[7], &[3, 14], &[7, 10, 17], &[3, 7, 10, 14]],
    }
}

#[test]
fn any_stages_train_to_the_same_bits_as_one_that_takes_the_same_micro_batches() -> Result<()> {
    for case in [linear(), convolutional()?] {
        for split in [1, 2, 3, 4, 8] {
            let one = through(&case, &Spread::of(&[], split, PipelineSchedule::Auto))?;
            assert!(one.losses.iter().all(|loss| loss.is_finite()));
            let changes = one.losses.iter().any(|loss| *loss != one.losses[0]);
            assert!(changes, "something fires and learns");
            for firsts in cuts(&case) {
                for schedule in [
                    PipelineSchedule::FillDrain,
                    PipelineSchedule::OneForwardOneBackward,
                ] {
                    let spread = Spread::of(firsts, split, schedule);
                    assert!(through(&case, &spread)? == one, "{spread:?}");
                }
            }
        }
    }
    Ok(())
}

/// A bias or a normalization and its neuron are one kernel unless they are cut apart: the same sums
/// in another order.
#[test]
fn a_cut_before_a_neuron_changes_the_last_bits_at_most() -> Result<()> {
    let case = convolutional()?;
    for split in [2, 6] {
        let one = through(&case, &Spread::of(&[], split, PipelineSchedule::Auto))?;
        for firsts in [&[2][..], &[2, 3, 6, 7]] {
            let spread = Spread::of(firsts, split, PipelineSchedule::Auto);
            assert_close(
                &through(&case, &spread)?,
                &one,
                1e-5,
                &format!("{spread:?}"),
            );
        }
    }
    Ok(())
}

#[test]
fn a_device_that_comes_again_changes_nothing() -> Result<()> {
    let case = convolutional()?;
    let mut spread = Spread::of(&[2, 3, 6, 7], 2, PipelineSchedule::Auto);
    let apart = through(&case, &spread)?;
    spread.stage_devices = [0, 1, 2, 0, 3].map(|d| vec![d]).to_vec();
    assert_eq!(through(&case, &spread)?, apart);
    spread.stage_devices = [0, 1, 0, 1, 0].map(|d| vec![d]).to_vec();
    assert_eq!(through(&case, &spread)?, apart);
    Ok(())
}

#[test]
fn devices_of_one_stage_take_turns_and_keep_the_same_parameters() -> Result<()> {
    for case in [linear(), convolutional()?] {
        let cut = cuts(&case)[0];
        // Of two micro-batches each device sums one: the same additions as on one device.
        let half = case.settings.batch_size / 2;
        let one = through(&case, &Spread::of(&[], half, PipelineSchedule::Auto))?;
        let close = through(&case, &Spread::of(&[], 2, PipelineSchedule::Auto))?;
        for stage_devices in [
            vec![vec![0, 1], vec![2]],
            vec![vec![0], vec![1, 2]],
            vec![vec![0, 1], vec![1, 0]],
        ] {
            for schedule in [
                PipelineSchedule::FillDrain,
                PipelineSchedule::OneForwardOneBackward,
            ] {
                let mut spread = Spread::of(cut, half, schedule);
                spread.stage_devices = stage_devices.clone();
                let made = through(&case, &spread)?;
                for (a, b) in made.losses.iter().zip(&one.losses) {
                    // The devices' shares are added on the host.
                    assert!((a - b).abs() < 1e-7, "{spread:?}: {a} and {b}");
                }
                for ((name, a), (_, b)) in made.tensors.iter().zip(&one.tensors) {
                    // Running statistics are means over the devices.
                    assert!(a == b || name.contains("running"), "{spread:?}: {name}");
                }
                spread.split = 2;
                let made = through(&case, &spread)?;
                for (a, b) in made.losses.iter().zip(&close.losses) {
                    assert!((a - b).abs() < 1e-5, "{spread:?}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn micro_batches_add_up_to_the_batch_of_a_network_without_batch_norm() -> Result<()> {
    let case = linear();
    let whole = alone(&case)?;
    // One micro-batch is the batch: nothing is added in another order.
    let one = through(&case, &Spread::of(&[3], 8, PipelineSchedule::Auto))?;
    assert_close(&one, &whole, 0.0, "whole");
    for split in [1, 3, 4] {
        let parts = through(&case, &Spread::of(&[3], split, PipelineSchedule::Auto))?;
        assert_close(&parts, &whole, 1e-5, &format!("split {split}"));
    }
    Ok(())
}

#[test]
fn a_whole_batch_with_batch_norm_is_what_one_device_makes_of_it() -> Result<()> {
    let case = convolutional()?;
    let one = through(&case, &Spread::of(&[2, 7], 6, PipelineSchedule::Auto))?;
    assert_close(&one, &alone(&case)?, 1e-5, "whole");
    Ok(())
}

#[test]
fn chunks_of_time_hand_their_states_and_gradients_on() -> Result<()> {
    let case = linear();
    let whole = alone(&case)?;
    for chunk in [1, 2, 3] {
        for split in [3, 8] {
            for schedule in [
                PipelineSchedule::FillDrain,
                PipelineSchedule::OneForwardOneBackward,
            ] {
                let mut spread = Spread::of(&[2, 5], split, schedule);
                spread.chunk = Some(chunk);
                let made = through(&case, &spread)?;
                assert_close(&made, &whole, 1e-5, &format!("{spread:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn gradients_are_clipped_by_the_norm_of_all_stages() -> Result<()> {
    let mut case = linear();
    case.settings.clip_norm = Some(0.05);
    let made = through(&case, &Spread::of(&[2, 4], 8, PipelineSchedule::Auto))?;
    assert_close(&made, &alone(&case)?, 1e-6, "clipped");
    Ok(())
}

#[test]
fn a_scaled_loss_trains_as_on_one_device() -> Result<()> {
    let mut case = linear();
    case.settings.precision = Precision::F16;
    for clip in [[None, None], [Some(0.05), None], [None, Some(0.001)]] {
        [case.settings.clip_norm, case.settings.clip_value] = clip;
        let whole = alone(&case)?;
        let made = through(&case, &Spread::of(&[2, 4], 8, PipelineSchedule::Auto))?;
        // Values sent between devices are rounded to 16 bits.
        assert_close(&made, &whole, 1e-4, &format!("{clip:?}"));
        let steps = made.tensors.iter().find(|(n, _)| n == "loss_scale_steps");
        assert_eq!(steps.map(|(_, steps)| steps[0]), Some(STEPS as f64));
        let parts = through(
            &case,
            &Spread::of(&[3, 5, 6], 3, PipelineSchedule::FillDrain),
        )?;
        assert_close(&parts, &whole, 1e-4, &format!("{clip:?}, parts"));
    }
    Ok(())
}

#[test]
fn a_loss_that_was_scaled_too_much_updates_no_stage_and_halves_the_scale() -> Result<()> {
    let mut case = linear();
    case.settings.precision = Precision::F16;
    let partition = Spread::of(&[3, 5], 3, PipelineSchedule::Auto).partition(&case)?;
    let mut store = VarStore::new(partition.devices()[0].clone());
    let mut step = PipelineStep::new(&partition, &case.settings, case.image, &mut store)?;
    store.set("loss_scale", &Tensor::f32([], [1e24]))?;
    let before = tensors(&store)?;
    step.run(&batch(8, case.image, 1), 1, 1.0)?;
    for ((name, before), (_, after)) in before.iter().zip(&tensors(&store)?) {
        match name.as_str() {
            "loss_scale" => assert_eq!(after[0], before[0] / 2.0),
            _ => assert_eq!(before, after, "{name}"),
        }
    }
    store.set("loss_scale", &Tensor::f32([], [1024.0]))?;
    step.run(&batch(8, case.image, 2), 2, 1.0)?;
    assert_eq!(store.get("loss_scale_steps")?.to_f64(), [1.0]);
    assert_ne!(tensors(&store)?, before);
    Ok(())
}

#[test]
fn any_stages_and_parts_draw_what_one_device_draws_for_the_whole_batch() -> Result<()> {
    let case = drawing();
    let whole = through(&case, &Spread::of(&[], 8, PipelineSchedule::Auto))?;
    assert_close(
        &whole,
        &alone(&case)?,
        0.0,
        "one stage draws what one device draws",
    );
    for firsts in [&[4][..], &[1, 4], &[1, 2, 4, 5]] {
        let spread = Spread::of(firsts, 8, PipelineSchedule::Auto);
        assert_close(
            &through(&case, &spread)?,
            &whole,
            1e-5,
            &format!("{spread:?}"),
        );
    }
    for (split, chunk) in [(8, Some(2)), (1, None), (3, None), (4, Some(3))] {
        let mut spread = Spread::of(&[3, 4], split, PipelineSchedule::Auto);
        spread.chunk = chunk;
        assert_close(
            &through(&case, &spread)?,
            &whole,
            1e-5,
            &format!("{spread:?}"),
        );
    }
    Ok(())
}

#[test]
fn a_network_is_cut_where_the_stages_have_about_as_much_to_do() -> Result<()> {
    let case = convolutional()?;
    let backends: Vec<_> = (0..3)
        .map(|k| spikelet::device::find(&format!("cpu:{k}"), 1))
        .collect::<Result<_>>()?;
    let partition = Partition::auto(
        &case.module,
        &case.settings,
        case.image,
        &backends,
        PipelineConfig::new(2),
    )?;
    let report = partition.report();
    assert_eq!(report.len(), 3);
    let modules: usize = report.iter().map(|stage| stage.modules.len()).sum();
    assert_eq!(modules, case.module.chain().len());
    assert!(
        report[0].modules.len() < report[2].modules.len(),
        "{report:?}"
    );
    Ok(())
}
