//! Errors, the spike budget, rules for silent neurons, and results that do not depend on the number of threads.

use spikelet_eventprop::{
    Adam, CountPenalty, CrossEntropy, Error, FirstSpikeLoss, Functional, LifLayer, MeanSquare,
    Network, PhantomSpike, Readout, Rules, SilentPush, SpikeTrain, TimeConstants, Weights,
};

const TAU: TimeConstants = TimeConstants {
    tau_m: 20.0,
    tau_s: 5.0,
};

fn layer(targets: usize, sources: usize, weight: f64) -> LifLayer {
    LifLayer::new(TAU, 1.0, Weights::from_fn(targets, sources, |_, _| weight)).expect("valid")
}

fn message(error: Error) -> String {
    let text = error.to_string();
    assert!(text.contains("\n  help: "), "{text}");
    text
}

#[test]
fn wrong_constants_and_sizes_are_named() {
    for (tau_m, tau_s, name) in [
        (0.0, 5.0, "tau_m"),
        (20.0, -1.0, "tau_s"),
        (f64::NAN, 5.0, "tau_m"),
    ] {
        let tau = TimeConstants { tau_m, tau_s };
        let error =
            LifLayer::new(tau, 1.0, Weights::from_fn(2, 2, |_, _| 0.0)).expect_err("refused");
        assert!(message(error).starts_with(name));
    }
    let refused = |threshold| {
        LifLayer::new(TAU, threshold, Weights::from_fn(2, 2, |_, _| 0.0)).expect_err("refused")
    };
    assert!(message(refused(0.0)).contains("v_threshold is 0"));
    let inf = LifLayer::new(
        TAU,
        1.0,
        Weights::from_fn(2, 3, |to, from| {
            if (to, from) == (1, 2) {
                f64::INFINITY
            } else {
                0.0
            }
        }),
    );
    assert!(message(inf.expect_err("refused")).contains("target 1, source 2 is inf"));
    let none = LifLayer::new(TAU, 1.0, Weights::from_fn(0, 3, |_, _| 0.0));
    assert!(message(none.expect_err("refused")).contains("0 targets"));
    assert!(message(layer(2, 2, 1.0).max_spikes(0).expect_err("refused")).contains("max_spikes"));
    let square = layer(2, 3, 1.0).recurrent(Weights::from_fn(3, 3, |_, _| 0.0));
    assert!(message(square.expect_err("refused")).contains("expected 2 of each"));
    let diagonal = layer(2, 3, 1.0).recurrent(Weights::from_fn(2, 2, |_, _| 0.5));
    assert!(message(diagonal.expect_err("refused")).contains("neuron 0 to itself is 0.5"));
    assert!(
        message(Weights::from_rows(2, 3, &[0.0; 5]).expect_err("refused")).contains("5 elements")
    );
    assert!(message(Network::new(30.0, vec![]).expect_err("refused")).contains("no layer"));
    assert!(
        message(Network::new(0.0, vec![layer(2, 2, 1.0)]).expect_err("refused")).contains("t_end")
    );
    let sizes = Network::new(30.0, vec![layer(4, 2, 1.0), layer(3, 5, 1.0)]);
    assert!(message(sizes.expect_err("refused")).contains("layer 1 has 5 inputs, expected 4"));
    let tau = Functional::ExponentialMean { tau: 0.0 };
    assert!(
        message(Readout::new(TAU, tau, Weights::from_fn(2, 2, |_, _| 0.0)).expect_err("refused"))
            .contains("exponential mean")
    );
    assert!(message(FirstSpikeLoss::new([0], 0.0).expect_err("refused")).contains("tau_0"));
}

#[test]
fn wrong_spikes_losses_and_labels_are_named() {
    let network = Network::new(30.0, vec![layer(3, 2, 9.0)]).expect("valid");
    for (spike, part) in [
        ((31.0, 0), "its time is 31"),
        ((f64::NAN, 0), "NaN"),
        ((-1.0, 0), "-1"),
        ((1.0, 2), "of input 2"),
    ] {
        let error = network
            .forward(&[SpikeTrain::default(), SpikeTrain::new([spike])])
            .expect_err("refused");
        let text = message(error);
        assert!(
            text.starts_with("sample 1, input spike 0") && text.contains(part),
            "{text}"
        );
    }
    let samples = [SpikeTrain::new([(1.0, 0)])];
    let traces = network.forward(&samples).expect("spikes");
    let rules = Rules::default();
    let loss = |labels: Vec<usize>| FirstSpikeLoss::new(labels, 1.0).expect("valid");
    let refused = |result: Result<_, Error>| {
        message(
            result
                .map(|_: spikelet_eventprop::Gradients| ())
                .expect_err("refused"),
        )
    };
    assert!(
        refused(network.gradient(&samples, &traces, &loss(vec![3]), &rules))
            .contains("label of sample 0 is 3")
    );
    assert!(
        refused(network.gradient(&samples, &traces, &loss(vec![]), &rules))
            .contains("0 labels for 1 samples")
    );
    assert!(
        refused(network.gradient(&samples, &[], &loss(vec![0]), &rules))
            .contains("number of traces has 0")
    );
    assert!(
        refused(network.gradient(&[], &[], &loss(vec![]), &rules))
            .contains("number of samples has 0")
    );
    let other = CrossEntropy::new([0]);
    assert!(refused(network.gradient(&samples, &traces, &other, &rules)).contains("Potential"));
    let silent = Rules {
        silent: Some(SilentPush {
            active: 1.5,
            strength: 1.0,
        }),
        ..rules
    };
    assert!(refused(network.gradient(&samples, &traces, &loss(vec![0]), &silent)).contains("1.5"));
    let readout =
        Readout::new(TAU, Functional::Mean, Weights::from_fn(2, 3, |_, _| 1.0)).expect("valid");
    let read = network.clone().readout(readout).expect("valid");
    let traces = read.forward(&samples).expect("spikes");
    let targets = MeanSquare::new([vec![1.0]]);
    assert!(refused(read.gradient(&samples, &traces, &targets, &rules)).contains("1 targets"));
    let gradients = read
        .gradient(&samples, &traces, &other, &rules)
        .expect("valid");
    let mut network = network;
    let error = Adam::new()
        .step(&mut network, &gradients, 0.1, 0.0)
        .expect_err("refused");
    assert!(message(error).contains("the gradients"));
}

#[test]
fn a_full_spike_buffer_is_an_error_and_never_a_dropped_spike() {
    let excited = Weights::from_fn(4, 4, |to, from| if to == from { 0.0 } else { 9.0 });
    let recurrent = layer(4, 1, 20.0).recurrent(excited).expect("valid");
    let samples = [SpikeTrain::default(), SpikeTrain::new([(1.0, 0)])];
    for hidden in [layer(4, 1, 200.0), recurrent] {
        let fits = |budget| {
            Network::new(
                30.0,
                vec![hidden.clone().max_spikes(budget).expect("valid")],
            )
            .expect("valid")
        };
        let error = fits(3).forward(&samples).expect_err("full");
        assert!(
            matches!(
                error,
                Error::SpikeBudget {
                    sample: 1,
                    layer: 0,
                    budget: 3,
                    ..
                }
            ),
            "{error}"
        );
        assert!(message(error).contains("max_spikes"));
    }
    let network = |budget| {
        Network::new(
            30.0,
            vec![layer(4, 1, 20.0).max_spikes(budget).expect("valid")],
        )
        .expect("valid")
    };
    let needed = network(1_000).forward(&samples).expect("spikes")[1]
        .spikes(0)
        .expect("a layer")
        .len();
    assert!(needed > 0 && network(needed).forward(&samples).is_ok());
    assert!(network(needed - 1).forward(&samples).is_err());
}

#[test]
fn huge_weights_are_an_error() {
    let network = Network::new(30.0, vec![layer(2, 1, -f64::MAX)]).expect("valid");
    let error = network
        .forward(&[SpikeTrain::new([(1.0, 0), (1.0, 0), (2.0, 0)])])
        .expect_err("refused");
    assert!(
        matches!(error, Error::NotFinite { sample: 0, .. }),
        "{error}"
    );
    let network = Network::new(30.0, vec![layer(2, 1, f64::MAX)]).expect("valid");
    assert!(
        network
            .forward(&[SpikeTrain::new([(1.0, 0), (1.0, 0), (2.0, 0)])])
            .is_err()
    );
}

#[test]
fn silent_neurons_have_no_gradient_and_the_push_lets_them_fire() {
    let samples = [SpikeTrain::new([(1.0, 0), (2.0, 1)])];
    let loss = FirstSpikeLoss::new([0], 1.0).expect("valid");
    let rules = Rules {
        silent: Some(SilentPush {
            active: 0.5,
            strength: 0.1,
        }),
        ..Rules::default()
    };
    let mut network = Network::new(30.0, vec![layer(2, 2, 1.0), layer(2, 2, 1.0)]).expect("valid");
    let traces = network.forward(&samples).expect("spikes");
    let plain = network
        .gradient(&samples, &traces, &loss, &Rules::default())
        .expect("valid");
    assert!(plain.parameters().concat().iter().all(|grad| *grad == 0.0));
    assert_eq!(plain.activity[0].active, [0.0, 0.0]);
    let mut adam = Adam::new();
    for _ in 0..200 {
        let traces = network.forward(&samples).expect("spikes");
        let gradients = network
            .gradient(&samples, &traces, &loss, &rules)
            .expect("valid");
        adam.step(&mut network, &gradients, 0.1, 0.0)
            .expect("valid");
    }
    assert_eq!(
        network.forward(&samples).expect("spikes")[0].prediction(),
        Some(0)
    );
}

#[test]
fn a_phantom_spike_raises_the_weights_of_a_silent_label() {
    let samples = [SpikeTrain::new([(1.0, 0)])];
    let output = Weights::from_fn(2, 2, |to, _| if to == 0 { 1.0 } else { 9.0 });
    let output = LifLayer::new(TAU, 1.0, output).expect("valid");
    let network = Network::new(30.0, vec![layer(2, 1, 9.0), output]).expect("valid");
    let traces = network.forward(&samples).expect("spikes");
    let loss = FirstSpikeLoss::new([0], 1.0).expect("valid");
    let gradient = |rules: &Rules| {
        network
            .gradient(&samples, &traces, &loss, rules)
            .expect("valid")
            .layers[1]
            .input
            .to_rows()
    };
    let rules = Rules {
        phantom: Some(PhantomSpike { strength: 1.0 }),
        ..Rules::default()
    };
    let (plain, phantom) = (gradient(&Rules::default()), gradient(&rules));
    assert_eq!(plain[..2], [0.0, 0.0]);
    assert!(phantom[..2].iter().all(|grad| *grad < 0.0));
    assert_eq!(plain[2..], phantom[2..]);
}

#[test]
fn the_penalty_on_counts_lowers_the_weights_of_busy_neurons() {
    let samples = [SpikeTrain::new([(1.0, 0)])];
    let readout =
        Readout::new(TAU, Functional::Mean, Weights::from_fn(2, 2, |_, _| 0.0)).expect("valid");
    let network = Network::new(30.0, vec![layer(2, 1, 40.0)])
        .expect("valid")
        .readout(readout)
        .expect("valid");
    let traces = network.forward(&samples).expect("spikes");
    let gradient = |target| {
        let counts = Some(CountPenalty {
            target,
            strength: 0.1,
        });
        let rules = Rules {
            counts,
            ..Rules::default()
        };
        network
            .gradient(&samples, &traces, &CrossEntropy::new([0]), &rules)
            .expect("valid")
            .layers[0]
            .input
            .to_rows()
    };
    assert!(gradient(1.0).iter().all(|grad| *grad > 0.0));
    assert!(gradient(100.0).iter().all(|grad| *grad == 0.0));
}

#[test]
fn the_gradient_does_not_depend_on_the_number_of_threads() {
    let weights = |targets, sources, scale: f64| {
        let weights = Weights::from_fn(targets, sources, |to, from| {
            scale * (1.5 + ((to * 7 + from * 13) as f64).sin())
        });
        LifLayer::new(TAU, 1.0, weights).expect("valid")
    };
    let network =
        Network::new(30.0, vec![weights(20, 10, 1.0), weights(3, 20, 0.4)]).expect("valid");
    let sample = |k: usize| {
        SpikeTrain::new((0..30).map(|n| (((k * 31 + n * 17) % 200) as f64 * 0.1, (k + n * 3) % 10)))
    };
    let samples: Vec<SpikeTrain> = (0..37).map(sample).collect();
    let loss = FirstSpikeLoss::new((0..37).map(|k| k % 3).collect::<Vec<_>>(), 1.0).expect("valid");
    let run = || {
        let traces = network.forward(&samples).expect("spikes");
        let gradients = network
            .gradient(&samples, &traces, &loss, &Rules::default())
            .expect("valid");
        (gradients.loss, gradients.parameters().concat())
    };
    let with = |threads| {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads")
            .install(run)
    };
    assert!(with(1).1.iter().any(|grad| *grad != 0.0));
    assert_eq!(with(1), with(2));
    assert_eq!(with(1), with(5));
}
