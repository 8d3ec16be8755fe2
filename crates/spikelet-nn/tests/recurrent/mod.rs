//! Layers of recurrent networks: directions, random starts, masks, readouts, feedback, files.

use spikelet_nn::device;
use spikelet_nn::layer::*;
use spikelet_nn::module::TracedTensor;
use spikelet_nn::network::Layers;
use spikelet_nn::neuron::{AdLifCell, LeakyIntegrator, RLeakyCell, SeAdLifCell, SparchLif};
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::host;
use std::collections::BTreeMap;

/// A sequence of numbers that are all different.
fn sequence(shape: [usize; 3]) -> Tensor {
    let count: usize = shape.iter().product();
    let value = |k: usize| ((k * 37 + k / 7) % 29) as f32 / 9.0 - 0.8;
    Tensor::f32(shape, (0..count).map(value).collect::<Vec<f32>>())
}

/// The output of a module for a sequence, with the generator at a step.
fn run(
    module: &dyn Module,
    mode: Mode,
    propagation: Propagation,
    x: &Tensor,
    step: i64,
) -> Result<Tensor> {
    let cx = Context::new(mode, DType::F32).propagation(propagation);
    let var = cx.tracer().input("x", DType::F32, x.shape.clone());
    let y = cx.trace(module, var)?;
    cx.tracer().output("y", &y);
    let mut store = VarStore::new(device::cpu()?);
    let mut program = cx.compile(&mut store, 1)?;
    let generator = Tensor::i64([4], [3, step, 0, 0]);
    let given = [("x", x), ("generator", &generator)];
    let given = given.into_iter().filter(|(n, _)| program.has_input(n));
    let given: Vec<_> = given.map(|(name, t)| (name, host(t))).collect();
    program.run_with(given)?;
    program.get("y")
}

fn layer_by_layer(module: &dyn Module, mode: Mode, x: &Tensor) -> Result<Vec<f64>> {
    Ok(run(module, mode, Propagation::LayerByLayer, x, 0)?.to_f64())
}

fn radlif() -> RadLif {
    let neuron = |cell: AdLifCell| AdLifCell {
        random_start: false,
        ..cell.v_threshold(0.1)
    };
    RadLif::new(5, 4).normalize(false).neuron(neuron)
}

#[test]
fn a_bidirectional_layer_joins_the_sequence_and_its_reverse() -> Result<()> {
    let [t, n, h] = [6, 2, 4];
    let x = sequence([t, n, 5]);
    let values = x.to_f64();
    let row = n * 5;
    let reversed: Vec<f64> = (values.chunks(row).rev()).flatten().copied().collect();
    let reversed = Tensor::f64([t, n, 5], reversed).cast(DType::F32);
    let forward = layer_by_layer(&radlif(), Mode::TRAIN, &x)?;
    let backward = layer_by_layer(&radlif(), Mode::TRAIN, &reversed)?;
    let both = layer_by_layer(&radlif().bidirectional(true), Mode::TRAIN, &x)?;
    assert!(both.contains(&1.0) && both.contains(&0.0));
    for k in 0..t * n {
        let (step, sample) = (k / n, k % n);
        let back = (t - 1 - step) * n + sample;
        let row = &both[k * 2 * h..][..2 * h];
        assert_eq!(row[..h], forward[k * h..][..h], "step {step}");
        assert_eq!(row[h..], backward[back * h..][..h], "step {step}");
    }
    let steps = run(
        &radlif().bidirectional(true),
        Mode::TRAIN,
        Propagation::StepByStep,
        &x,
        0,
    );
    assert!(steps.is_err());
    Ok(())
}

#[test]
fn layers_give_the_same_in_every_order() -> Result<()> {
    let x = sequence([6, 2, 5]);
    let layers: [Box<dyn Module>; 4] = [
        Box::new(radlif()),
        Box::new(SeAdLif::new(5, 4).neuron(|cell| cell.v_threshold(0.05))),
        Box::new(
            RLif::new(5, 4)
                .normalize(false)
                .neuron(|cell| cell.v_threshold(0.1)),
        ),
        Box::new(
            CSiLif::new(5, 4)
                .normalize(false)
                .neuron(|cell| cell.v_threshold(0.1))
                .dropout(0.5),
        ),
    ];
    for layer in layers {
        let whole = run(&*layer, Mode::TRAIN, Propagation::LayerByLayer, &x, 0)?;
        let steps = run(&*layer, Mode::TRAIN, Propagation::StepByStep, &x, 0)?;
        assert_eq!(whole, steps, "{:?}", layer.tree());
        let fired = whole.to_f64();
        assert!(fired.iter().any(|s| *s > 0.0) && fired.contains(&0.0));
    }
    Ok(())
}

#[test]
fn random_starts_are_uniform_and_new_in_each_run() -> Result<()> {
    let zeros = Tensor::f32([3, 20, 50], vec![0.0; 3000]);
    // Without decay, the output is the initial value.
    let integrator = LeakyIntegrator {
        alpha: 1.0,
        random_start: true,
        ..LeakyIntegrator::default()
    };
    for mode in [Mode::TRAIN, Mode::EVAL] {
        let at = |step| run(&integrator, mode, Propagation::LayerByLayer, &zeros, step);
        let first = at(0)?.to_f64();
        assert_eq!(first, at(0)?.to_f64());
        assert_ne!(first, at(1)?.to_f64());
        assert!(first.iter().all(|v| (0.0..1.0).contains(v)));
        let mean = first.iter().sum::<f64>() / 3000.0;
        assert!((mean - 0.5).abs() < 0.04, "{mean}");
        assert_eq!(first[..1000], first[1000..2000]);
        let mut different = first[..1000].to_vec();
        different.sort_by(f64::total_cmp);
        different.dedup();
        assert!(different.len() > 990);
    }
    let carried = run(
        &integrator,
        Mode::STREAM,
        Propagation::LayerByLayer,
        &zeros,
        0,
    )?;
    assert!(carried.to_f64().iter().all(|v| *v == 0.0));
    Ok(())
}

#[test]
fn dropout_has_a_mask_for_each_step_or_for_the_sequence() -> Result<()> {
    let ones = Tensor::f32([2, 10, 100], vec![1.0; 2000]);
    let sequence = layer_by_layer(&Dropout::new(0.25), Mode::TRAIN, &ones)?;
    let steps = layer_by_layer(&Dropout::new(0.25).each_step(true), Mode::TRAIN, &ones)?;
    assert_eq!(sequence[..1000], sequence[1000..]);
    assert_ne!(steps[..1000], steps[1000..]);
    for values in [sequence, steps] {
        let kept = values.iter().filter(|v| **v > 0.0).count() as f64 / 2000.0;
        assert!((kept - 0.75).abs() < 0.06, "{kept}");
        assert!(
            values
                .iter()
                .all(|v| *v == 0.0 || (*v - 4.0 / 3.0).abs() < 1e-6)
        );
    }
    Ok(())
}

#[test]
fn feedback_has_no_self_connections_if_asked() -> Result<()> {
    let mut identity = vec![0.0; 9];
    (0..3).for_each(|k| identity[k * 4] = 1.0);
    let x = Tensor::f32([1, 3, 3], identity);
    let with = layer_by_layer(&Feedback::new(3), Mode::TRAIN, &x)?;
    let without = layer_by_layer(&Feedback::new(3).zero_diagonal(true), Mode::TRAIN, &x)?;
    for k in 0..9 {
        let expected = if k % 4 == 0 { 0.0 } else { with[k] };
        assert_eq!(without[k], expected);
    }
    assert!((0..3).any(|k| with[k * 4] != 0.0));
    Ok(())
}

#[test]
fn readouts_reduce_time() -> Result<()> {
    let x = Tensor::f32([2, 1, 2], [1.0, 2.0, 3.0, 0.0]);
    let of = |module: &dyn Module| layer_by_layer(module, Mode::EVAL, &x);
    assert_eq!(of(&TimeSum)?, [4.0, 2.0]);
    assert_eq!(of(&TimeMax)?, [3.0, 2.0]);
    let share = |a: f64, b: f64| a.exp() / (a.exp() + b.exp());
    let softmax = of(&SoftmaxSum)?;
    assert!((softmax[0] - share(1.0, 2.0) - share(3.0, 0.0)).abs() < 1e-6);
    assert!((softmax[0] + softmax[1] - 2.0).abs() < 1e-6);
    Ok(())
}

#[test]
fn neurons_of_recurrent_networks_are_silent_at_the_threshold() -> Result<()> {
    let mut lif = SparchLif {
        alpha: 0.5,
        ..SparchLif::default()
    };
    lif.common.trainable.clear();
    assert_eq!(lif.run(&[[2.0, 2.0001]])?, [[0.0, 1.0]]);
    let mut leaky = RLeakyCell::default();
    assert_eq!(leaky.run(&[[1.0, 1.0001]])?, [[0.0, 1.0]]);
    // The reset of the same step, to zero, and late.
    leaky.beta = 1.0;
    leaky.common.v_reset = Some(0.0);
    assert_eq!(leaky.run(&[[1.5], [0.6], [0.6]])?, [[1.0], [0.0], [0.0]]);
    leaky.reset_delay = false;
    assert_eq!(leaky.run(&[[1.5], [0.6], [0.6]])?, [[1.0], [0.0], [1.0]]);
    Ok(())
}

#[test]
fn limits_of_updates_are_known_for_each_parameter() -> Result<()> {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [2, 3, 5]);
    cx.trace(&SeAdLif::new(5, 4), x)?;
    let parameters = cx.traced().parameters;
    let limits: BTreeMap<&str, Option<[f64; 2]>> = parameters
        .iter()
        .map(|p| (p.name.as_str(), p.limits))
        .collect();
    assert_eq!(limits["neuron.tau_u"], Some([0.0, 1.0]));
    assert_eq!(limits["neuron.b"], Some([0.0, 2.0]));
    assert_eq!(limits["linear.weight"], None);
    for TracedTensor {
        name,
        shape,
        init,
        limits,
    } in &parameters
    {
        let values = init.values(name, 1, shape.iter().product());
        let [low, high] = limits.unwrap_or([-10.0, 10.0]);
        assert!(
            values.iter().all(|v| (low..=high).contains(&f64::from(*v))),
            "{name}"
        );
    }
    let wrong = Trainable::new(Granularity::Neuron)
        .project(0.0, 1.0)
        .uniform(0.0, 2.0);
    let lif = SeAdLifCell::default().trainable("a", wrong);
    assert!(spikelet_nn::neuron::derive(&lif).is_err());
    Ok(())
}

#[test]
fn layers_of_neurons_are_built_from_files() -> Result<()> {
    let text = r#"
        [network]
        input = [10]
        layers = [
          { radlif = 8, dropout_p = 0.1, bidirectional = true },
          { se-adlif = 6, feedback = false },
          { silif = 6, normalize = false },
          { dropout = 0.2, each_step = true },
          { li-readout = 4 },
          "softmax-sum",
        ]
    "#;
    let network = Layers::from_toml("net.toml", text, &[])?;
    let cost = network.cost(3)?;
    let outputs: Vec<&[usize]> = cost.rows.iter().map(|row| &row.output[..]).collect();
    assert_eq!(outputs, [[16], [6], [6], [6], [4], [4]]);
    // Weights, batch norm, four constants, feedback.
    assert_eq!(cost.rows[0].parameters, 80 + 16 + 32 + 64);
    assert_eq!(cost.rows[1].parameters, 16 * 6 + 6 + 24);
    for (wrong, said) in [
        ("{ radlif = 8, dropout_p = 1.0 }", "dropout_p"),
        ("{ radlif = 8, bias = 1 }", "bias"),
        ("\"radlif\"", "radlif"),
    ] {
        let text = format!("[network]\ninput = [10]\nlayers = [{wrong}]");
        let error = Layers::from_toml("net.toml", &text, &[]).expect_err("refused");
        assert!(error.to_string().contains(said), "{error}");
    }
    Ok(())
}
