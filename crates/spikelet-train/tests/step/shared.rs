//! Two steps over shared weights, against a reference that alternates by hand.

use super::support::{N, Reference, batch, linear_net, regression, store, train};
use spikelet_train::optim::Sgd;
use spikelet_train::prelude::*;

#[test]
fn two_steps_on_shared_weights_alternate() -> Result<()> {
    let net = linear_net();
    let mut store = store()?;
    // The first step trains the first layer, the second one the second layer with momentum.
    let mut lower = regression(&net, N)
        .optimizer(Sgd::new(0.05))
        .freeze("second.*")
        .name("lower")
        .compile(&mut store)?;
    let momentum = Sgd {
        momentum: 0.5,
        ..Sgd::new(0.1)
    };
    let mut upper = regression(&net, 2 * N)
        .optimizer(momentum)
        .freeze("first.*")
        .name("upper")
        .compile(&mut store)?;
    let mut expected = Reference::of(&store)?;
    let mut velocity = vec![0.0; expected.second.len() + 1];
    for k in 0..5 {
        train(&mut lower, 2 * k)?;
        let (_, grads) = expected.gradients(&batch(2 * k, N));
        for (w, g) in expected.first.iter_mut().zip(&grads.first) {
            *w -= 0.05 * g;
        }
        train(&mut upper, 2 * k + 1)?;
        let (_, grads) = expected.gradients(&batch(2 * k + 1, 2 * N));
        let weights = expected.second.iter_mut().chain([&mut expected.bias]);
        let grads = grads.second.iter().chain([&grads.bias]);
        for ((w, g), v) in weights.zip(grads).zip(&mut velocity) {
            *v = 0.5 * *v + g;
            *w -= 0.1 * *v;
        }
        expected.assert_close(&store, "alternating steps")?;
    }
    assert!(
        store
            .names()
            .any(|name| name.starts_with("optimizer.upper."))
    );
    Ok(())
}

#[test]
fn a_prediction_needs_no_target_and_a_stream_carries_states() -> Result<()> {
    let net = Sequential::new()
        .add_named("fc", Linear::new(3, 6).bias(false))
        .add_named("lif", Lif::new(2.0));
    let definition = spikelet_train::Step::new(|cx, inputs| {
        let spikes = net.forward(cx, &inputs["x"])?;
        let loss = (spikes.mean(&[0]) - &inputs["target"]).square().mean_all();
        Ok(spikelet_train::Outputs::loss(&loss).output("spike_seq", &spikes))
    })
    .batch_size(2)
    .sequence("x", DType::F32, [4, 3])
    .input("target", DType::F32, [6])
    .optimizer(Sgd::new(0.1));
    let mut store = store()?;
    definition.compile(&mut store)?;
    let x: Vec<f32> = super::support::numbers(3, 4 * 2 * 3)
        .iter()
        .map(|x| 3.0 * x)
        .collect();
    let mut predict = definition.compile_predict(&mut store)?;
    predict.predict([("x", &x)])?;
    let whole = predict.output("spike_seq")?;
    assert_eq!(whole.shape, [4, 2, 6]);
    let mut stream = definition.compile_stream(&mut store)?;
    for round in 0..2 {
        let mut steps = vec![];
        for t in 0..4 {
            stream.predict([("x", &x[t * 6..(t + 1) * 6])])?;
            steps.extend(stream.output("spike_seq")?.to_f64());
        }
        assert_eq!(steps, whole.to_f64(), "round {round}");
        stream.reset(&mut store)?;
    }
    assert!(whole.to_f64().contains(&1.0));
    Ok(())
}
