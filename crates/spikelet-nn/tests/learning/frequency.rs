//! Pairs of spikes repeated at a frequency: potentiation by the triplet rule grows with it, that by the pair rule does not.
//!
//! Source: Pfister and Gerstner, Journal of Neuroscience 2006; Sjöström, Turrigiano and Nelson, Neuron 2001: 60 pairs, the
//! postsynaptic spike 10 ms after the presynaptic one, at 0.1 to 50 Hz.

use crate::learning::common::Traced;
use spikelet_graph::Tensor;
use spikelet_nn::learning::{LearningRule, PairStdp, RuleInputs, TripletStdp, run_rule};
use spikelet_nn::prelude::*;

const PAIRS: usize = 20;

/// The change of one weight by pairs every `period` steps of 1 ms.
fn change(rule: &dyn LearningRule, period: usize) -> f64 {
    let steps = PAIRS * period + 200;
    let at = |delay: usize| {
        let fired = (0..steps).map(|t| t % period == delay && t / period < PAIRS);
        Tensor::f64(
            [steps, 1, 1],
            fired.map(|f| f64::from(u8::from(f))).collect::<Vec<_>>(),
        )
    };
    let mut traced = Traced::training();
    let (pre, post) = (traced.input("pre", at(0)), traced.input("post", at(10)));
    let weight = traced.input("weight", Tensor::f64([1, 1], [0.5]));
    let inputs = RuleInputs {
        synapses: &Linear::new(1, 1).bias(false),
        weight: &weight,
        pre: &pre,
        post: &post,
        values: &[],
    };
    let made = run_rule(&traced.cx, rule, inputs).expect("a rule");
    traced.output("change", &made.change);
    traced.run(&[])["change"][0]
}

#[test]
fn potentiation_by_triplets_grows_with_the_frequency_of_pairs() {
    // Visual cortex, all to all.
    let pair = PairStdp {
        a2_plus: 5.0e-10,
        a2_minus: 7.0e-3,
        ..PairStdp::default()
    };
    let triplet = TripletStdp {
        pair,
        tau_x: 101.0,
        tau_y: 125.0,
        a3_plus: 6.2e-3,
        a3_minus: 2.3e-4,
    };
    let at: Vec<f64> = [1000, 100, 50, 25, 20]
        .map(|period| change(&triplet, period))
        .to_vec();
    assert!(at.windows(2).all(|pair| pair[0] < pair[1]), "{at:?}");
    assert!(at[0] < 0.05 * at[4], "{at:?}");
    // Depression of the pair rule grows with the frequency, since each spike also follows the one before.
    let pair = PairStdp {
        a2_plus: 5.0e-3,
        a2_minus: 5.0e-3,
        ..PairStdp::default()
    };
    let at: Vec<f64> = [1000, 50, 20].map(|period| change(&pair, period)).to_vec();
    assert!(at.windows(2).all(|pair| pair[0] > pair[1]), "{at:?}");
}
