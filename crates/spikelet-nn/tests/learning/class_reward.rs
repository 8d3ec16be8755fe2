//! A reward by classes is the signal that a program would compute from the spikes.

use crate::learning::common::{Traced, near, numbers, spikes};
use spikelet_graph::{DType, Tensor};
use spikelet_nn::learning::{
    ClassReward, LearningRule, PairStdp, Plastic, RewardStdp, RewardTraceStdp, Update,
    WeightFunction,
};
use spikelet_nn::module::Context;
use spikelet_nn::prelude::*;
use std::collections::BTreeMap;

const STEPS: usize = 30;
const BATCH: usize = 3;
const INPUTS: usize = 6;
const CLASSES: usize = 3;
const OUTPUTS: usize = 6;
const WEIGHT: &str = "synapses.weight";
const LABELS: [i64; BATCH] = [2, 0, 1];
const REWARD: ClassReward = ClassReward {
    classes: CLASSES,
    right: 1.5,
    wrong: -0.5,
};

fn rule() -> RewardStdp {
    let one = WeightFunction::Constant { c: 1.0 };
    RewardStdp {
        f_pre: one,
        f_post: one,
        ..RewardStdp::default()
    }
}

fn layer(rule: impl LearningRule + 'static, update: Update) -> Plastic {
    let neuron = Lif::new(2.0).v_threshold(0.2);
    let layer = Plastic::new(Linear::new(INPUTS, OUTPUTS).bias(false), neuron, rule);
    layer.update(update).lr(0.01)
}

/// The spikes and the weights of a layer after one call.
fn run(layer: &Plastic, prepare: impl FnOnce(&mut Traced)) -> BTreeMap<String, Vec<f64>> {
    let mut traced = Traced::training();
    let x = traced.input("x", spikes(&[STEPS, BATCH, INPUTS], 0.4, 1));
    traced.set(WEIGHT, numbers(&[OUTPUTS, INPUTS], 2));
    prepare(&mut traced);
    let s = traced.cx.trace(layer, x).expect("a layer");
    traced.output("s", &s);
    traced.run(&[WEIGHT])
}

fn by_label(traced: &mut Traced) {
    let label = traced.input("label", Tensor::i64([BATCH], LABELS.to_vec()));
    traced.cx.give_label(&label);
}

/// The rewards `[T, N]` of these spikes, computed one by one.
fn rewards(spikes: &[f64]) -> Vec<f64> {
    let of_step = |t: usize, n: usize| {
        let first = (t * BATCH + n) * OUTPUTS;
        let groups = spikes[first..first + OUTPUTS].chunks(OUTPUTS / CLASSES);
        let votes: Vec<f64> = groups.map(|group| group.iter().sum()).collect();
        let most = votes.iter().fold(0.0_f64, |most, v| most.max(*v));
        let decided = votes.iter().position(|v| *v == most);
        match decided == Some(LABELS[n] as usize) {
            _ if most == 0.0 => 0.0,
            true => REWARD.right,
            false => REWARD.wrong,
        }
    };
    let all = (0..STEPS).flat_map(|t| (0..BATCH).map(move |n| (t, n)));
    all.map(|(t, n)| if t == 0 { 0.0 } else { of_step(t - 1, n) })
        .collect()
}

/// Checks a rule against the same rule with the signal of these rewards.
fn same_as_signal(rule: impl LearningRule + Copy + 'static, update: Update) {
    let found = run(&layer(rule, update).reward(REWARD), by_label);
    let rewards = rewards(&found["s"]);
    for reward in [0.0, REWARD.right, REWARD.wrong] {
        assert!(rewards.contains(&reward), "no reward of {reward}");
    }
    let given = run(&layer(rule, update), |traced| {
        let reward = traced.input("reward", Tensor::f64([STEPS, BATCH], rewards));
        traced.cx.give_signal("reward", &reward);
    });
    assert_eq!(found["s"], given["s"]);
    near(&found[WEIGHT], &given[WEIGHT], 1e-13);
}

#[test]
fn weights_are_those_with_the_rewards_as_a_signal() {
    for update in [Update::EachStep, Update::EndOfCall] {
        same_as_signal(rule(), update);
        let traces = RewardTraceStdp {
            stdp: rule(),
            tau_trace: 4.0,
        };
        same_as_signal(traces, update);
    }
}

#[test]
fn probabilities_of_classes_give_the_expected_reward() {
    let found = run(&layer(rule(), Update::EachStep).reward(REWARD), by_label);
    let soft = |certain: f64| {
        run(
            &layer(rule(), Update::EachStep).reward(REWARD),
            move |traced| {
                let other = (1.0 - certain) / (CLASSES - 1) as f64;
                let probability = |label: i64, class: usize| match label as usize == class {
                    true => certain,
                    false => other,
                };
                let all = LABELS
                    .iter()
                    .flat_map(|label| (0..CLASSES).map(|class| probability(*label, class)));
                let label = Tensor::f64([BATCH, CLASSES], all.collect::<Vec<_>>());
                let label = traced.input("label", label);
                traced.cx.give_label(&label);
            },
        )
    };
    assert_eq!(found[WEIGHT], soft(1.0)[WEIGHT]);
    assert_ne!(found[WEIGHT], soft(0.5)[WEIGHT]);
}

#[test]
fn channels_of_a_convolution_are_groups_too() {
    let mut traced = Traced::training();
    let x = traced.input("x", spikes(&[8, 2, 1, 5, 5], 0.5, 3));
    let label = traced.input("label", Tensor::i64([2], vec![0, 1]));
    traced.cx.give_label(&label);
    let reward = ClassReward {
        classes: 2,
        ..REWARD
    };
    let neuron = Lif::new(2.0).v_threshold(0.1);
    let layer = Plastic::new(Conv2d::new(1, 4, 3).bias(false), neuron, rule()).reward(reward);
    traced.set(WEIGHT, numbers(&[4, 1, 3, 3], 2));
    traced.cx.trace(&layer, x).expect("a layer");
    let before = numbers(&[4, 1, 3, 3], 2).to_f64();
    assert_ne!(traced.run(&[WEIGHT])[WEIGHT], before);
}

#[test]
fn evaluations_need_no_labels() {
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [8, 2, INPUTS]);
    let layer = layer(rule(), Update::EachStep).reward(REWARD);
    assert_eq!(cx.trace(&layer, x).expect("a layer").shape(), [8, 2, 6]);
}

#[test]
fn rewards_that_cannot_be_computed_are_refused_by_name() {
    let message = |layer: Plastic, label: Option<&[usize]>| {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let x = cx.tracer().input("x", DType::F32, [8, 2, INPUTS]);
        if let Some(shape) = label {
            let dtype = if shape.len() == 1 {
                DType::I64
            } else {
                DType::F32
            };
            cx.give_label(&cx.tracer().input("label", dtype, shape));
        }
        cx.trace(&layer, x).expect_err("refused").to_string()
    };
    let of = |classes| layer(rule(), Update::EachStep).reward(ClassReward { classes, ..REWARD });
    let other_rule = layer(PairStdp::default(), Update::EachStep).reward(REWARD);
    let infinite = ClassReward {
        right: f64::INFINITY,
        ..REWARD
    };
    let infinite = layer(rule(), Update::EachStep).reward(infinite);
    let cases = [
        (message(of(CLASSES), None), "give_label"),
        (message(of(CLASSES), Some(&[3])), "i64 [2]"),
        (message(of(CLASSES), Some(&[2, 4])), "f32 [2, 3]"),
        (
            message(of(4), Some(&[2])),
            "6 neurons or channels cannot be divided among 4 classes",
        ),
        (message(of(1), Some(&[2])), "classes"),
        (message(other_rule, Some(&[2])), "`pair-stdp` does not read"),
        (message(infinite, Some(&[2])), "right"),
    ];
    for (message, part) in cases {
        assert!(message.contains(part), "{message}");
    }
}
