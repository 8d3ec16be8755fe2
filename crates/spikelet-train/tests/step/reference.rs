//! Groups, frozen parameters, weight decay, accumulation, clipping and averages, against f64 by hand.

use super::support::{HIDDEN, N, Reference, batch, linear_net, regression, store, train};
use spikelet_train::optim::{Clip, Sgd};
use spikelet_train::prelude::*;
use spikelet_train::{Outputs, Step};

/// The learning rates of the two layers.
const RATES: [f64; 2] = [0.02, 0.05];

const DECAY: f64 = 0.1;

#[test]
fn groups_have_their_own_learning_rates_and_vectors_no_weight_decay() -> Result<()> {
    let net = linear_net();
    let momentum = Sgd {
        momentum: 0.9,
        weight_decay: DECAY,
        ..Sgd::new(RATES[0])
    };
    let plain = Sgd {
        weight_decay: DECAY,
        ..Sgd::new(RATES[1])
    };
    let mut store = store()?;
    let mut step = regression(&net, N)
        .group("first.*", momentum)
        .optimizer(plain)
        .no_weight_decay_on_vectors()
        .compile(&mut store)?;
    let mut expected = Reference::of(&store)?;
    let mut velocity = vec![0.0; expected.first.len()];
    for k in 0..6 {
        let found = train(&mut step, k)?;
        let (loss, mut grads) = expected.gradients(&batch(k, N));
        assert!(
            (found.loss - loss).abs() < 1e-6,
            "{} and {loss}",
            found.loss
        );
        for ((w, g), v) in expected
            .first
            .iter_mut()
            .zip(&grads.first)
            .zip(&mut velocity)
        {
            *v = 0.9 * *v + g + DECAY * *w;
            *w -= RATES[0] * *v;
        }
        for (w, g) in expected.second.iter_mut().zip(&mut grads.second) {
            *w -= RATES[1] * (*g + DECAY * *w);
        }
        expected.bias -= RATES[1] * grads.bias;
        expected.assert_close(&store, "groups")?;
    }
    Ok(())
}

#[test]
fn frozen_parameters_keep_their_values_and_have_no_gradient_in_the_program() -> Result<()> {
    let net = linear_net();
    let mut store = store()?;
    let definition = regression(&net, N).optimizer(Sgd::new(0.1));
    let all = definition.compile(&mut store)?.plan().graph.nodes.len();
    let mut step = definition.freeze("first.*").compile(&mut store)?;
    assert!(step.plan().graph.nodes.len() < all);
    assert_eq!(
        step.trained().collect::<Vec<_>>(),
        ["second.weight", "second.bias"]
    );
    let before = store.get("first.weight")?;
    let other = store.get("second.weight")?;
    train(&mut step, 0)?;
    assert_eq!(store.get("first.weight")?, before);
    assert_ne!(store.get("second.weight")?, other);
    Ok(())
}

#[test]
fn accumulated_batches_update_like_one_large_batch() -> Result<()> {
    let net = linear_net();
    let definition = || {
        regression(&net, N)
            .optimizer(Sgd::new(0.1))
            .clip(Clip::Norm(0.5))
    };
    let mut store_of_parts = store()?;
    let mut parts = definition().accumulate(3).compile(&mut store_of_parts)?;
    let mut expected = Reference::of(&store_of_parts)?;
    for update in 0..4 {
        let mut sum: Option<Reference> = None;
        for part in 0..3 {
            let seed = 3 * update + part;
            assert_eq!(parts.accumulated_batches(), part as usize);
            assert_eq!(parts.step(), update);
            train(&mut parts, seed)?;
            let (_, mut grads) = expected.gradients(&batch(seed, N));
            match &mut sum {
                None => sum = Some(grads),
                Some(sum) => {
                    for (sum, grad) in sum.parts().into_iter().zip(grads.parts()) {
                        sum.iter_mut()
                            .zip(grad)
                            .for_each(|(sum, grad)| *sum += *grad);
                    }
                }
            }
        }
        let mut grads = sum.expect("there were batches");
        let squares = |part: &mut [f64]| part.iter().map(|g| (g / 3.0).powi(2)).sum::<f64>();
        let norm = grads.parts().into_iter().map(squares).sum::<f64>().sqrt();
        let factor = (0.5 / (norm + 1e-6)).min(1.0) / 3.0;
        for (w, g) in expected.parts().into_iter().zip(grads.parts()) {
            w.iter_mut()
                .zip(g)
                .for_each(|(w, g)| *w -= 0.1 * factor * *g);
        }
        expected.assert_close(&store_of_parts, "accumulation")?;
    }
    Ok(())
}

#[test]
fn averages_follow_the_weights_and_are_evaluated_in_a_store_of_their_own() -> Result<()> {
    let net = linear_net();
    let mut store = store()?;
    let definition = regression(&net, N).optimizer(Sgd::new(0.1)).ema(0.8);
    let mut step = definition.compile(&mut store)?;
    let mut expected = store.get("second.weight")?.to_f64();
    for k in 0..5 {
        train(&mut step, k)?;
        let now = store.get("second.weight")?.to_f64();
        expected
            .iter_mut()
            .zip(&now)
            .for_each(|(e, w)| *e += 0.2 * (w - *e));
    }
    let mut averaged = step.averaged(&store)?;
    let found = averaged.get("second.weight")?.to_f64();
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-6);
    }
    assert_ne!(found, store.get("second.weight")?.to_f64());
    let (x, target) = batch(9, N);
    let values = || [("x", &x), ("target", &target)];
    let with_average = definition.compile_eval(&mut averaged)?.run(values())?.loss;
    let (expected, _) = Reference::of(&averaged)?.gradients(&(x.clone(), target.clone()));
    assert!((with_average - expected).abs() < 1e-6);
    let with_weights = definition.compile_eval(&mut store)?.run(values())?.loss;
    assert_ne!(with_average, with_weights);
    Ok(())
}

#[test]
fn gradients_activations_and_outputs_can_be_read() -> Result<()> {
    let net = Sequential::new()
        .add_named("fc", Linear::new(3, HIDDEN).bias(false))
        .add_named("lif", Lif::new(2.0))
        .add_named("readout", Linear::new(HIDDEN, 1).bias(false));
    let mut store = store()?;
    let mut step = regression(&net, N)
        .optimizer(Sgd::new(0.1))
        .read_gradients("readout.*")
        .read_activations("*.spike_seq")
        .outputs(true)
        .compile(&mut store)?;
    train(&mut step, 0)?;
    assert_eq!(step.gradient("readout.weight")?.shape, [1, HIDDEN]);
    assert_eq!(step.activation("lif.spike_seq")?.shape, [1, N, HIDDEN]);
    assert_eq!(step.output("y")?.shape, [N, 1]);
    assert!(step.gradient("fc.weight").is_err());
    Ok(())
}

#[test]
fn noise_on_gradients_has_the_variance_of_its_step_and_falls() -> Result<()> {
    let net = Linear::new(64, 256).bias(false);
    let moved = |eta: Option<f64>| -> Result<Vec<Vec<f64>>> {
        let step = Step::new(|cx, inputs| {
            let y = net.forward(cx, &inputs["x"].repeat_over_time(1))?;
            Ok(Outputs::loss(y.mean_all() * 0.0))
        });
        let step = step.batch_size(1).input("x", DType::F32, [64]);
        let step = step.optimizer(Sgd::new(1.0)).gradient_noise(eta);
        let mut store = store()?;
        let mut train = step.compile(&mut store)?;
        let mut weights = vec![store.get("weight")?.to_f64()];
        for _ in 0..4 {
            train.run([("x", &[1.0; 64])])?;
            weights.push(store.get("weight")?.to_f64());
        }
        let steps = weights.windows(2);
        let steps = steps.map(|pair| pair[0].iter().zip(&pair[1]).map(|(a, b)| a - b).collect());
        Ok(steps.collect())
    };
    assert!(moved(None)?.concat().iter().all(|moved| *moved == 0.0));
    let (first, again) = (moved(Some(0.04))?, moved(Some(0.04))?);
    assert_eq!(first, again);
    for (t, noise) in first.iter().enumerate() {
        let count = noise.len() as f64;
        let mean = noise.iter().sum::<f64>() / count;
        let variance = noise.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let expected = 0.04 / (1.0 + t as f64).powf(0.55);
        let near = (variance / expected - 1.0).abs() < 0.05 && mean.abs() < 0.01;
        assert!(
            near,
            "step {t}: mean {mean}, variance {variance}, expected {expected}"
        );
    }
    Ok(())
}
