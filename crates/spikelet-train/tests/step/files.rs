//! Files of weights and of the complete state.

use super::support::{N, linear_net, regression, store, tensors, train};
use spikelet_nn::tensors::TensorFile;
use spikelet_train::optim::{AdamW, Clip};
use spikelet_train::prelude::*;
use spikelet_train::{Step, StepError};

fn with_everything(net: &Sequential) -> Step<'_> {
    regression(net, N)
        .optimizer(Adam::new(1e-2))
        .group(
            "first.*",
            AdamW {
                weight_decay: 0.1,
                ..AdamW::new(2e-2)
            },
        )
        .no_weight_decay_on_vectors()
        .accumulate(2)
        .ema(0.9)
        .clip(Clip::Norm(1.0))
}

#[test]
fn a_resumed_step_continues_with_the_same_bits() -> Result<()> {
    let net = linear_net();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.safetensors");
    let mut whole = store()?;
    let mut step = with_everything(&net).compile(&mut whole)?;
    let mut losses = vec![];
    for k in 0..9 {
        // Between the two batches of an update.
        if k == 5 {
            step.save_state(&whole, &path)?;
        }
        losses.push(train(&mut step, k)?.loss);
    }
    let mut resumed = store()?;
    let mut step = with_everything(&net).seed(7).compile(&mut resumed)?;
    step.resume(&mut resumed, &path)?;
    assert_eq!((step.step(), step.accumulated_batches()), (2, 1));
    for k in 5..9 {
        assert_eq!(train(&mut step, k)?.loss, losses[k as usize]);
    }
    assert_eq!(tensors(&resumed)?, tensors(&whole)?);
    Ok(())
}

#[test]
fn weights_are_saved_alone_and_loaded_strictly() -> Result<()> {
    let net = linear_net();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("weights.safetensors");
    let mut first = store()?;
    let mut step = with_everything(&net).compile(&mut first)?;
    (0..4).try_for_each(|k| train(&mut step, k).map(|_| ()))?;
    step.save(&first, &path)?;
    let names: Vec<String> = TensorFile::read(&path)?.tensors.into_keys().collect();
    assert_eq!(names, ["first.weight", "second.bias", "second.weight"]);

    let mut second = store()?;
    let step = with_everything(&net).seed(3).compile(&mut second)?;
    step.load(&mut second, &path, true, &[])?;
    for name in ["first.weight", "second.weight", "second.bias"] {
        assert_eq!(second.get(name)?, first.get(name)?);
        assert_eq!(second.get(&format!("ema.{name}"))?, first.get(name)?);
    }
    // A state file has the same weights.
    step.save_state(&second, &path)?;
    step.load(&mut second, &path, true, &[]).map(drop)
}

#[test]
fn a_file_that_differs_is_refused_with_all_differences() -> Result<()> {
    let net = linear_net();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("weights.safetensors");
    let mut store = store()?;
    let step = with_everything(&net).compile(&mut store)?;
    let before = tensors(&store)?;
    let mut file = TensorFile::default();
    let tensor = |shape: [usize; 2]| Tensor::f32(shape, vec![0.5; shape[0] * shape[1]]);
    file.tensors.insert("first.weight".into(), tensor([5, 4]));
    file.tensors.insert("second.weight".into(), tensor([1, 5]));
    file.tensors.insert("third.weight".into(), tensor([1, 1]));
    file.write(&path)?;
    let error = step
        .load(&mut store, &path, true, &[])
        .expect_err("it differs");
    let Some(StepError::Weights {
        missing,
        unknown,
        types,
        ..
    }) = error.downcast_ref()
    else {
        panic!("{error}")
    };
    assert_eq!(missing, &["second.bias"]);
    assert_eq!(unknown, &["third.weight"]);
    assert_eq!(types.len(), 1);
    assert_eq!(types[0].name, "first.weight");
    assert_eq!(tensors(&store)?, before, "nothing was changed");
    Ok(())
}

#[test]
fn matching_tensors_are_loaded_under_other_prefixes() -> Result<()> {
    let net = linear_net();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("weights.safetensors");
    let mut store = store()?;
    let step = with_everything(&net).compile(&mut store)?;
    let kept = store.get("second.weight")?;
    let pretrained = Tensor::f32([5, 3], vec![0.25; 15]);
    let mut file = TensorFile::default();
    file.tensors
        .insert("backbone.0.weight".into(), pretrained.clone());
    file.tensors
        .insert("head.weight".into(), Tensor::f32([10, 5], vec![0.0; 50]));
    file.write(&path)?;
    let report = step.load(&mut store, &path, false, &[("backbone.0.", "first.")])?;
    assert_eq!(report.loaded, ["first.weight"]);
    assert_eq!(report.kept, ["second.bias", "second.weight"]);
    assert_eq!(report.unused, ["head.weight"]);
    assert_eq!(store.get("first.weight")?, pretrained);
    assert_eq!(store.get("second.weight")?, kept);
    let none = step
        .load(&mut store, &path, false, &[])
        .expect_err("no name matches");
    assert!(matches!(
        none.downcast_ref(),
        Some(StepError::NothingLoaded { .. })
    ));
    let other = step
        .load(&mut store, &path, false, &[("head.", "second.")])
        .expect_err("another shape");
    assert!(matches!(
        other.downcast_ref(),
        Some(StepError::Weights { .. })
    ));
    Ok(())
}

#[test]
fn a_state_of_another_step_is_refused() -> Result<()> {
    let net = linear_net();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.safetensors");
    let mut first = store()?;
    let mut step = with_everything(&net).compile(&mut first)?;
    train(&mut step, 0)?;
    step.save_state(&first, &path)?;
    let mut second = store()?;
    let mut other = regression(&net, N)
        .optimizer(Adam::new(1e-2))
        .compile(&mut second)?;
    let error = other
        .resume(&mut second, &path)
        .expect_err("it accumulates");
    assert!(
        matches!(error.downcast_ref(), Some(StepError::State { .. })),
        "{error}"
    );
    step.save(&first, &path)?;
    let error = step.resume(&mut first, &path).expect_err("weights alone");
    assert!(
        matches!(error.downcast_ref(), Some(StepError::State { .. })),
        "{error}"
    );
    Ok(())
}
