//! Gradients against fourth-order finite differences of the exact loss.

use spikelet_eventprop::{
    CrossEntropy, FirstSpikeLoss, Functional, LifLayer, Loss, MeanSquare, Network, Readout, Rules,
    SpikeTrain, TimeConstants, Weights,
};

/// Random numbers in [0, 1) by a linear congruential generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn weights(&mut self, targets: usize, sources: usize, low: f64, high: f64) -> Weights {
        Weights::from_fn(targets, sources, |_, _| low + (high - low) * self.next())
    }

    fn samples(
        &mut self,
        samples: usize,
        inputs: usize,
        spikes: usize,
        until: f64,
    ) -> Vec<SpikeTrain> {
        let mut sample = || {
            let spikes =
                (0..spikes).map(|_| (until * self.next(), (self.next() * inputs as f64) as usize));
            SpikeTrain::new(spikes)
        };
        (0..samples).map(|_| sample()).collect()
    }
}

const TAU: TimeConstants = TimeConstants {
    tau_m: 20.0,
    tau_s: 5.0,
};
const STEP: f64 = 1e-5;

/// The loss and the units of all spikes, in order.
fn evaluate(network: &Network, samples: &[SpikeTrain], loss: &dyn Loss) -> (f64, Vec<Vec<usize>>) {
    let traces = network.forward(samples).expect("spikes");
    let mut sum = 0.0;
    let mut order = vec![];
    for (sample, trace) in traces.iter().enumerate() {
        let mut gradient = vec![0.0; trace.outputs().len()];
        sum += loss.sample(sample, trace.outputs(), &mut gradient);
        for k in 0..network.layers().len() {
            order.push(
                trace
                    .spikes(k)
                    .unwrap_or_default()
                    .iter()
                    .map(|spike| spike.unit)
                    .collect(),
            );
        }
    }
    (sum / samples.len() as f64, order)
}

/// Compares the gradient with finite differences and returns the number of spikes.
fn check(network: &Network, samples: &[SpikeTrain], loss: &dyn Loss) -> usize {
    let traces = network.forward(samples).expect("spikes");
    let gradients = network
        .gradient(samples, &traces, loss, &Rules::default())
        .expect("gradients");
    let (_, order) = evaluate(network, samples, loss);
    for (k, found) in gradients.parameters().into_iter().enumerate() {
        let largest = found.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        assert!(largest > 0.0, "parameter {k} has no gradient");
        for (at, found) in found.iter().enumerate() {
            if network.parameters()[k][at] == 0.0 {
                continue; // the diagonal of a recurrent matrix
            }
            let shifted = |steps: f64| {
                let mut network = network.clone();
                network.parameters_mut()[k][at] += steps * STEP;
                let (loss, shifted) = evaluate(&network, samples, loss);
                assert_eq!(
                    shifted, order,
                    "a spike appeared, vanished or changed its place"
                );
                loss
            };
            let near = (shifted(1.0) - shifted(-1.0)) / (2.0 * STEP);
            let far = (shifted(2.0) - shifted(-2.0)) / (4.0 * STEP);
            let difference = (4.0 * near - far) / 3.0;
            assert!(
                (found - difference).abs() < 2e-8 * largest + 2e-10,
                "parameter {k}, element {at}: {found} against {difference}"
            );
        }
    }
    order.iter().map(Vec::len).sum()
}

fn first_spikes(seed: u64, tau: TimeConstants, hidden: LifLayer, random: &mut Random) {
    let samples = random.samples(3, 5, 9, 15.0);
    let middle = LifLayer::new(tau, 0.9, random.weights(4, 4, 0.4, 2.0)).expect("valid");
    let output = LifLayer::new(TAU, 1.1, random.weights(3, 4, 0.8, 2.4)).expect("valid");
    let network = Network::new(40.0, vec![hidden, middle, output]).expect("valid");
    let loss = FirstSpikeLoss::new([0, 2, 1], 2.0)
        .expect("valid")
        .early(0.01, 10.0)
        .expect("valid");
    let spikes = check(&network, &samples, &loss);
    assert!(spikes > 30, "seed {seed} has {spikes} spikes");
}

#[test]
fn first_spikes_behind_three_feed_forward_layers_with_their_own_constants() {
    let mut random = Random(1);
    let tau = TimeConstants {
        tau_m: 12.0,
        tau_s: 12.0,
    };
    let hidden = LifLayer::new(TAU, 1.0, random.weights(4, 5, 0.5, 2.5)).expect("valid");
    first_spikes(1, tau, hidden, &mut random);
}

#[test]
fn first_spikes_behind_a_recurrent_layer_with_slower_synapses() {
    let mut random = Random(3);
    let tau = TimeConstants {
        tau_m: 8.0,
        tau_s: 16.0,
    };
    let recurrent = random.weights(4, 4, -0.8, 0.6);
    let recurrent = Weights::from_fn(4, 4, |to, from| {
        if to == from {
            0.0
        } else {
            recurrent.of_source(from)[to]
        }
    });
    let hidden = LifLayer::new(TAU, 1.0, random.weights(4, 5, 0.5, 2.5)).expect("valid");
    let hidden = hidden.recurrent(recurrent).expect("valid");
    first_spikes(3, tau, hidden, &mut random);
}

#[test]
fn connections_of_neurons_to_themselves() {
    let mut random = Random(5);
    let recurrent = random.weights(4, 4, -0.9, 0.5);
    let hidden = LifLayer::new(TAU, 1.0, random.weights(4, 5, 1.0, 4.0)).expect("valid");
    let hidden = hidden
        .recurrent_with_self_connections(recurrent)
        .expect("valid");
    first_spikes(5, TAU, hidden, &mut random);
}

#[test]
fn functionals_of_the_potential_of_a_readout() {
    for functional in [
        Functional::Mean,
        Functional::Sum,
        Functional::ExponentialMean { tau: 12.0 },
        Functional::Last,
        Functional::Maximum,
    ] {
        let mut random = Random(11);
        let samples = random.samples(3, 5, 9, 15.0);
        let hidden = LifLayer::new(TAU, 1.0, random.weights(4, 5, 0.5, 2.5)).expect("valid");
        let recurrent = random.weights(4, 4, -0.8, 0.6);
        let hidden = hidden
            .recurrent_with_self_connections(recurrent)
            .expect("valid");
        let tau = TimeConstants {
            tau_m: 15.0,
            tau_s: 4.0,
        };
        let readout =
            Readout::new(tau, functional, random.weights(3, 4, -1.0, 1.5)).expect("valid");
        let network = Network::new(30.0, vec![hidden])
            .expect("valid")
            .readout(readout)
            .expect("valid");
        check(&network, &samples, &CrossEntropy::new([0, 2, 1]));
        let targets: Vec<Vec<f64>> = (0..3)
            .map(|_| (0..3).map(|_| random.next()).collect())
            .collect();
        check(&network, &samples, &MeanSquare::new(targets));
    }
}

#[test]
fn the_maximum_moves_with_the_spike_that_ends_the_rise() {
    // Neuron 0 fires first and raises the readout's potential, neuron 1 fires during the rise and ends it.
    let hidden = LifLayer::new(
        TAU,
        1.0,
        Weights::from_fn(2, 1, |to, _| 9.0 - 1.5 * to as f64),
    )
    .expect("valid");
    let readout = Weights::from_fn(1, 2, |_, from| if from == 0 { 1.0 } else { -2.0 });
    let readout = Readout::new(TAU, Functional::Maximum, readout).expect("valid");
    let network = Network::new(40.0, vec![hidden])
        .expect("valid")
        .readout(readout)
        .expect("valid");
    let samples = [SpikeTrain::new([(1.0, 0)])];
    let traces = network.forward(&samples).expect("spikes");
    let (spikes, maximum) = (
        traces[0].spikes(0).expect("a layer"),
        traces[0].outputs()[0],
    );
    assert_eq!(
        spikes.iter().map(|spike| spike.unit).collect::<Vec<_>>(),
        [0, 1]
    );
    assert!((maximum - TAU.psp(spikes[1].time - spikes[0].time)).abs() < 1e-14);
    check(&network, &samples, &MeanSquare::new([vec![1.0]]));
}
