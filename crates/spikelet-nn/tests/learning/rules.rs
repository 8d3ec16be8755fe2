//! The ways in which a rule is computed give the same weights.

use crate::learning::common::{Traced, near, numbers, spikes, stdp};
use spikelet_expr::Expr;
use spikelet_graph::{DType, Tensor};
use spikelet_nn::learning::{
    Homeostasis, LearningRule, PairStdp, Plastic, RewardStdp, RewardTraceStdp, RuleScope, Stdp,
    Update,
};
use spikelet_nn::module::observer;
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::host;

const INPUTS: usize = 6;
const OUTPUTS: usize = 4;
const WEIGHT: &str = "synapses.weight";

/// STDP whose change is no sum of products of one factor of each neuron.
#[derive(Debug, Schema)]
struct Selected {
    #[schema(flatten)]
    stdp: Stdp,
}

impl LearningRule for Selected {
    fn change(&self, r: &RuleScope) -> Expr {
        let kept = 1.0 - 1.0 / self.stdp.tau_pre;
        let p = r.set_pre_trace("p", r.pre_trace("p") * kept + r.pre());
        let kept = 1.0 - 1.0 / self.stdp.tau_post;
        let q = r.set_post_trace("q", r.post_trace("q") * kept + r.post());
        let (up, down) = (
            self.stdp.f_post.of(&r.weight()),
            self.stdp.f_pre.of(&r.weight()),
        );
        Expr::select(r.post().gt(0.0), up * p, 0.0) - Expr::select(r.pre().gt(0.0), down * q, 0.0)
    }
}

/// A rule of one's own with two traces and a decay of the weight.
#[derive(Debug, Schema)]
struct Own;

impl LearningRule for Own {
    fn change(&self, r: &RuleScope) -> Expr {
        let p = r.set_pre_trace("p", r.pre_trace("p") * 0.9 + r.pre());
        let q = r.set_post_trace("q", r.post_trace("q") * 0.8 + r.post());
        (1.0 - r.weight()) * r.post() * p - r.weight() * (0.5 * r.pre() * q + 0.01)
    }
}

/// The weights after a run, and the context's recorded changes summed over the steps if it watches.
fn after(rule: impl LearningRule + 'static, update: Update, watches: bool) -> Vec<f64> {
    let cx = Context::new(Mode::TRAIN, DType::F64);
    let mut traced = Traced::new(if watches {
        cx.observer(observer::States)
    } else {
        cx
    });
    let x = traced.input("x", spikes(&[30, 3, INPUTS], 0.4, 1));
    let reward = traced.input("reward", numbers(&[30], 9));
    traced.cx.give_signal("reward", &reward);
    traced.set(WEIGHT, numbers(&[OUTPUTS, INPUTS], 2));
    let layer = Plastic::new(
        Linear::new(INPUTS, OUTPUTS).bias(false),
        Lif::new(2.0).v_threshold(0.2),
        rule,
    );
    let layer = layer.update(update).lr(0.01);
    let s = traced.cx.trace(&layer, x).expect("a layer");
    traced.output("s", &s);
    traced.run(&[WEIGHT])[WEIGHT].clone()
}

#[test]
fn products_over_all_steps_give_the_change_of_the_steps_one_by_one() {
    let all = after(stdp(), Update::EndOfCall, false);
    near(&all, &after(stdp(), Update::EndOfCall, true), 1e-13);
    let own = after(Own, Update::EndOfCall, true);
    // The decay is added once a step, and the products over all steps would add it once.
    near(&after(Own, Update::EndOfCall, false), &own, 1e-13);
}

#[test]
fn a_change_that_is_no_sum_of_products_is_computed_for_each_synapse() {
    for update in [Update::EachStep, Update::EndOfCall] {
        near(
            &after(Selected { stdp: stdp() }, update, false),
            &after(stdp(), update, false),
            1e-13,
        );
    }
}

/// Pair STDP with hard bounds whose change is no sum of products.
#[derive(Debug, Schema)]
struct SelectedPairs {
    #[schema(flatten)]
    pairs: PairStdp,
}

impl LearningRule for SelectedPairs {
    fn change(&self, r: &RuleScope) -> Expr {
        let decay = |tau: f64| (-1.0 / tau).exp();
        let r1 = r.pre_trace("r1") * decay(self.pairs.tau_plus);
        let o1 = r.post_trace("o1") * decay(self.pairs.tau_minus);
        r.set_pre_trace("r1", &r1 + r.pre());
        r.set_post_trace("o1", &o1 + r.post());
        Expr::select(r.post().gt(0.0), r1 * self.pairs.a2_plus, 0.0)
            - Expr::select(r.pre().gt(0.0), o1 * self.pairs.a2_minus, 0.0)
    }

    fn bounds(&self) -> Option<[f64; 2]> {
        self.pairs.bounds()
    }
}

#[test]
fn products_of_spikes_change_the_weights_of_each_step_in_place() {
    let rule = || PairStdp {
        a2_plus: 8.0,
        a2_minus: 5.0,
        w_min: -1.0,
        ..PairStdp::default()
    };
    let own = after(rule(), Update::EachStep, false);
    near(
        &own,
        &after(SelectedPairs { pairs: rule() }, Update::EachStep, false),
        1e-13,
    );
    near(&own, &after(rule(), Update::EachStep, true), 1e-13);
    let inside = own.iter().filter(|w| w.abs() < 0.9).count();
    assert!(own.contains(&1.0) && inside > 2, "{own:?}");
}

#[test]
fn a_reward_for_all_samples_is_that_reward_for_each_sample() {
    for (k, update) in [Update::EachStep, Update::EndOfCall]
        .into_iter()
        .enumerate()
    {
        let run = |by_sample: bool, trace: bool| {
            let mut traced = Traced::training();
            let x = traced.input("x", spikes(&[30, 3, INPUTS], 0.4, 1 + k as u64));
            let reward = traced.input("reward", numbers(&[30], 9));
            let reward = match by_sample {
                true => reward.unsqueeze(1).expand([30, 3]),
                false => reward,
            };
            traced.cx.give_signal("reward", &reward);
            traced.set(WEIGHT, numbers(&[OUTPUTS, INPUTS], 2));
            let (linear, lif) = (Linear::new(INPUTS, OUTPUTS).bias(false), Lif::new(2.0));
            let layer = match trace {
                true => Plastic::new(linear, lif, RewardTraceStdp::default()),
                false => Plastic::new(linear, lif, RewardStdp::default()),
            };
            let layer = layer.update(update).lr(0.05);
            traced.cx.trace(&layer, x).expect("a layer");
            traced.run(&[WEIGHT])[WEIGHT].clone()
        };
        for trace in [false, true] {
            near(&run(true, trace), &run(false, trace), 1e-13);
        }
    }
}

#[test]
fn the_change_is_subtracted_from_the_gradient_of_the_loss() {
    let mut traced = Traced::training();
    let x = traced.input("x", spikes(&[20, 3, INPUTS], 0.4, 3));
    let weight = numbers(&[OUTPUTS, INPUTS], 4);
    traced.set(WEIGHT, weight.clone());
    let layer = Plastic::new(
        Linear::new(INPUTS, OUTPUTS).bias(false),
        Lif::new(2.0),
        stdp(),
    );
    let s = traced
        .cx
        .trace(&layer.update(Update::Gradient), x)
        .expect("a layer");
    let outer = s.square().sum_all();
    let added = traced.cx.traced().losses.remove(0);
    let w = traced.cx.tracer().find_input(WEIGHT).expect("the weight");
    for (name, loss) in [
        ("outer", &outer),
        ("both", &(&outer + &added)),
        ("rule", &added),
    ] {
        let grad = traced.cx.tracer().gradients(loss, &[&w]).remove(0);
        traced.output(name, &grad);
    }
    traced.output("value", &added);
    let made = traced.run(&[]);
    assert_eq!(made["value"], [0.0]);
    let sum: Vec<f64> = made["outer"]
        .iter()
        .zip(&made["rule"])
        .map(|(a, b)| a + b)
        .collect();
    near(&made["both"], &sum, 1e-13);
    let mut expected = Traced::training();
    let x = expected.input("x", spikes(&[20, 3, INPUTS], 0.4, 3));
    expected.set(WEIGHT, weight.clone());
    let layer = Plastic::new(
        Linear::new(INPUTS, OUTPUTS).bias(false),
        Lif::new(2.0),
        stdp(),
    );
    expected
        .cx
        .trace(&layer.update(Update::EndOfCall), x)
        .expect("a layer");
    let after = &expected.run(&[WEIGHT])[WEIGHT];
    let change: Vec<f64> = after
        .iter()
        .zip(weight.to_f64())
        .map(|(a, b)| b - a)
        .collect();
    near(&made["rule"], &change, 1e-12);
}

#[test]
fn learning_continues_from_call_to_call() {
    let x = spikes(&[40, 2, INPUTS], 0.4, 5);
    let mode = Mode {
        training: true,
        carry_state: true,
    };
    let run = |steps: usize| {
        let mut traced = Traced::new(Context::new(mode, DType::F64));
        let input = traced
            .cx
            .tracer()
            .input("x", DType::F64, [steps, 2, INPUTS]);
        traced.set(WEIGHT, numbers(&[OUTPUTS, INPUTS], 6));
        let layer = Plastic::new(
            Linear::new(INPUTS, OUTPUTS).bias(false),
            Lif::new(2.0),
            stdp(),
        );
        let s = traced.cx.trace(&layer.lr(0.02), input).expect("a layer");
        traced.output("s", &s);
        let (store, mut program) = traced.compile();
        let size = steps * 2 * INPUTS;
        for part in x.to_f64().chunks(size) {
            let part = Tensor::f64([steps, 2, INPUTS], part);
            program.run_with(vec![("x", host(&part))]).expect("a run");
        }
        store.get(WEIGHT).expect("the weight").to_f64()
    };
    let whole = run(40);
    for steps in [20, 8, 1] {
        near(&run(steps), &whole, 1e-14);
    }
}

#[test]
fn weights_are_normalized_before_a_call_and_clamped_after_each_step() {
    let mut traced = Traced::training();
    let x = traced.input("x", spikes(&[20, 3, INPUTS], 0.0, 7));
    let weight: Vec<f64> = numbers(&[OUTPUTS, INPUTS], 8)
        .to_f64()
        .iter()
        .map(|w| w.abs())
        .collect();
    traced.set(WEIGHT, Tensor::f64([OUTPUTS, INPUTS], weight.clone()));
    let layer = Plastic::new(
        Linear::new(INPUTS, OUTPUTS).bias(false),
        Lif::new(2.0),
        stdp(),
    );
    traced.cx.trace(&layer.normalize(2.5), x).expect("a layer");
    let after = &traced.run(&[WEIGHT])[WEIGHT];
    for (row, before) in after.chunks(INPUTS).zip(weight.chunks(INPUTS)) {
        assert!((row.iter().sum::<f64>() - 2.5).abs() < 1e-12);
        assert!((row[0] / row[1] - before[0] / before[1]).abs() < 1e-12);
    }
    let mut traced = Traced::training();
    let x = traced.input("x", spikes(&[20, 3, INPUTS], 0.5, 7));
    traced.set(WEIGHT, Tensor::f64([OUTPUTS, INPUTS], weight));
    let layer = Plastic::new(
        Linear::new(INPUTS, OUTPUTS).bias(false),
        Lif::new(2.0),
        stdp(),
    );
    traced
        .cx
        .trace(&layer.bounds(0.1, 0.6), x)
        .expect("a layer");
    let after = &traced.run(&[WEIGHT])[WEIGHT];
    assert!(after.iter().all(|w| (0.1..=0.6).contains(w)), "{after:?}");
}

#[test]
fn nothing_is_learned_in_an_evaluation() {
    let mut traced = Traced::new(Context::new(Mode::EVAL, DType::F64));
    let x = traced.input("x", spikes(&[20, 3, INPUTS], 0.4, 3));
    let weight = numbers(&[OUTPUTS, INPUTS], 4);
    traced.set(WEIGHT, weight.clone());
    let layer = Plastic::new(
        Linear::new(INPUTS, OUTPUTS).bias(false),
        Lif::new(2.0),
        stdp(),
    );
    let s = traced.cx.trace(&layer, x).expect("a layer");
    traced.output("s", &s);
    assert_eq!(traced.run(&[WEIGHT])[WEIGHT], weight.to_f64());
}

/// The spikes of 30 steps, and the thresholds after them, of neurons that compete.
fn competing(prepare: impl FnOnce(Plastic) -> Plastic, mode: Mode) -> (Vec<f64>, Option<Vec<f64>>) {
    let mut traced = Traced::new(Context::new(mode, DType::F64));
    let x = traced.input("x", spikes(&[30, 2, INPUTS], 0.6, 1));
    let mut neuron = Lif::new(2.0);
    let each = Trainable::new(Granularity::Neuron);
    neuron
        .common
        .trainable
        .insert("v_threshold".to_string(), each);
    let weight: Vec<f64> = numbers(&[OUTPUTS, INPUTS], 2)
        .to_f64()
        .iter()
        .map(|w| w.abs())
        .collect();
    traced.set(WEIGHT, Tensor::f64([OUTPUTS, INPUTS], weight));
    let layer = Plastic::new(Linear::new(INPUTS, OUTPUTS).bias(false), neuron, stdp()).lr(0.0);
    let homeostasis = Homeostasis {
        increase: 0.1,
        tau: 1e7,
        v_threshold: 0.5,
    };
    let s = traced
        .cx
        .trace(&prepare(layer.homeostasis(homeostasis)), x)
        .expect("a layer");
    traced.output("s", &s);
    let made = traced.run(&["theta"]);
    (made["s"].clone(), Some(made["theta"].clone()))
}

#[test]
fn neurons_compete_by_inhibition_one_winner_and_thresholds() {
    let count = |s: &[f64]| s.iter().sum::<f64>();
    let (alone, theta) = competing(|layer| layer, Mode::TRAIN);
    let theta = theta.expect("thresholds");
    for (k, theta) in theta.iter().enumerate() {
        let fired: f64 = alone.iter().skip(k).step_by(OUTPUTS).sum();
        assert!(fired > 0.0);
        assert!(
            (theta - 0.1 * fired / 2.0).abs() < 1e-4,
            "{theta}, {fired} spikes"
        );
    }
    let (inhibited, _) = competing(|layer| layer.inhibition(5.0), Mode::TRAIN);
    assert!(count(&inhibited) < count(&alone));
    for mode in [Mode::TRAIN, Mode::EVAL] {
        let (single, theta) = competing(|layer| layer.single_winner(true), mode);
        assert!(single.chunks(OUTPUTS).all(|step| count(step) <= 1.0) && count(&single) > 0.0);
        let learned = theta.expect("thresholds").iter().any(|theta| *theta > 0.0);
        assert_eq!(learned, mode.training);
    }
}

#[test]
fn rewards_change_a_convolution_as_the_linear_layer_of_its_window() {
    const CHANNELS: usize = 4;
    let run = |convolution: bool, traces: bool, by_sample: bool| {
        let mut traced = Traced::training();
        let image = if convolution { vec![1, 5, 5] } else { vec![25] };
        let x = spikes(&[20, 3, 25], 0.4, 1).to_f64();
        let x = Tensor::f64([&[20, 3], &image[..]].concat(), x);
        let x = traced.input("x", x);
        let reward = if by_sample { vec![20, 3] } else { vec![20] };
        let reward = traced.input("reward", numbers(&reward, 9));
        traced.cx.give_signal("reward", &reward);
        let weight = numbers(&[CHANNELS, 25], 2).to_f64();
        let shape = if convolution {
            vec![CHANNELS, 1, 5, 5]
        } else {
            vec![CHANNELS, 25]
        };
        traced.set(WEIGHT, Tensor::f64(shape, weight));
        let neuron = Lif::new(2.0).v_threshold(0.2);
        let layer = match (convolution, traces) {
            (true, true) => Plastic::new(
                Conv2d::new(1, CHANNELS, 5).bias(false),
                neuron,
                RewardTraceStdp::default(),
            ),
            (true, false) => Plastic::new(
                Conv2d::new(1, CHANNELS, 5).bias(false),
                neuron,
                RewardStdp::default(),
            ),
            (false, true) => Plastic::new(
                Linear::new(25, CHANNELS).bias(false),
                neuron,
                RewardTraceStdp::default(),
            ),
            (false, false) => Plastic::new(
                Linear::new(25, CHANNELS).bias(false),
                neuron,
                RewardStdp::default(),
            ),
        };
        traced.cx.trace(&layer.lr(0.01), x).expect("a layer");
        traced.run(&[WEIGHT])[WEIGHT].clone()
    };
    for (traces, by_sample) in [(false, false), (false, true), (true, false)] {
        let linear = run(false, traces, by_sample);
        assert_ne!(linear, numbers(&[CHANNELS, 25], 2).to_f64());
        near(&run(true, traces, by_sample), &linear, 1e-12);
    }
}
