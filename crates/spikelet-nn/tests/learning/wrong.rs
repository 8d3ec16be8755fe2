//! Rules and settings that cannot be used are refused by name.

use crate::learning::common::Traced;
use spikelet_expr::Expr;
use spikelet_graph::DType;
use spikelet_nn::learning::{
    Eprop, Homeostasis, LearningRule, Plastic, PlasticRecurrent, RewardStdp, RewardTraceStdp,
    RuleScope, Stdp, TripletStdp, Update,
};
use spikelet_nn::module::{Context, Propagation};
use spikelet_nn::prelude::*;

/// A rule with any equation.
#[derive(Schema)]
struct With {
    #[schema(skip)]
    name: &'static str,
    #[schema(skip, default = |_| Expr::constant(0.0))]
    change: fn(&RuleScope) -> Expr,
}

impl std::fmt::Debug for With {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

fn with(name: &'static str, change: fn(&RuleScope) -> Expr) -> With {
    With { name, change }
}

impl LearningRule for With {
    fn name(&self) -> &'static str {
        self.name
    }

    fn change(&self, r: &RuleScope) -> Expr {
        (self.change)(r)
    }
}

/// The error of a layer on a sequence.
fn error(layer: &Plastic, shape: &[usize], prepare: impl FnOnce(&Context)) -> String {
    let traced = Traced::training();
    let x = traced.cx.tracer().input("x", DType::F64, shape);
    prepare(&traced.cx);
    let refused = traced.cx.trace(layer, x).expect_err("refused");
    refused.to_string()
}

fn linear(rule: impl LearningRule + 'static) -> Plastic {
    Plastic::new(Linear::new(6, 4).bias(false), Lif::new(2.0), rule)
}

#[track_caller]
fn says(message: &str, parts: &[&str]) {
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn constants_outside_their_domains_are_named() {
    let stdp = |tau_pre, scale| Stdp {
        tau_pre,
        scale,
        ..Stdp::default()
    };
    let reward = |tau_post| RewardStdp {
        tau_post,
        ..RewardStdp::default()
    };
    let trace = |tau_trace| RewardTraceStdp {
        tau_trace,
        ..RewardTraceStdp::default()
    };
    let triplet = |tau_y| TripletStdp {
        tau_y,
        ..TripletStdp::default()
    };
    let eprop = Eprop::of(&Lif::new(2.0)).expect("a rule");
    for (layer, constant) in [
        (linear(stdp(0.5, 1.0)), "tau_pre"),
        (linear(stdp(2.0, f64::NAN)), "scale"),
        (linear(reward(0.0)), "tau_post"),
        (linear(trace(-1.0)), "tau_trace"),
        (linear(triplet(f64::INFINITY)), "tau_y"),
        (linear(eprop.readout_decay(1.0)), "kappa"),
    ] {
        says(&error(&layer, &[8, 2, 6], |_| {}), &[constant]);
    }
    says(
        &error(&linear(Stdp::default()).lr(f64::NAN), &[8, 2, 6], |_| {}),
        &["lr"],
    );
    says(
        &error(
            &linear(Stdp::default()).bounds(1.0, 0.0),
            &[8, 2, 6],
            |_| {},
        ),
        &["upper bound"],
    );
    says(
        &error(&linear(Stdp::default()).normalize(0.0), &[8, 2, 6], |_| {}),
        &["normalize"],
    );
}

#[test]
fn signals_that_are_missing_or_have_another_shape_are_named() {
    let layer = linear(RewardStdp::default());
    says(
        &error(&layer, &[8, 2, 6], |_| {}),
        &["reward-stdp", "`reward`", "give_signal"],
    );
    for shape in [&[7][..], &[8, 3], &[8, 2, 4], &[]] {
        let message = error(&layer, &[8, 2, 6], |cx| {
            let reward = cx.tracer().input("reward", DType::F64, shape);
            cx.give_signal("reward", &reward);
        });
        says(&message, &["reward", "[8, 2]"]);
    }
}

#[test]
fn equations_that_cannot_be_computed_are_named() {
    let cases: [(With, &[&str]); 6] = [
        (
            with("unset", |r| r.pre_trace("p") * r.post()),
            &["unset", "`p`", "set_pre_trace"],
        ),
        (
            with("other-side", |r| {
                r.set_pre_trace("p", r.pre_trace("p") + r.post()) * r.post()
            }),
            &["other-side", "`p`", "`post`"],
        ),
        (
            with("twice", |r| {
                r.set_pre_trace("p", r.pre());
                r.set_post_trace("p", r.post())
            }),
            &["twice", "`p`"],
        ),
        (
            with("reserved", |r| r.set_pre_trace("weight", r.pre())),
            &["reserved", "`weight`"],
        ),
        (
            with("unknown", |r| r.pre() * Expr::symbol("sigma")),
            &["unknown", "`sigma`"],
        ),
        (
            with("absent", |r| r.neuron("v") * r.pre()),
            &["absent", "`v`"],
        ),
    ];
    for (rule, parts) in cases {
        says(&error(&linear(rule), &[8, 2, 6], |_| {}), parts);
    }
}

#[test]
fn layers_and_orders_that_a_rule_cannot_use_are_named() {
    let conv = |conv: Conv2d| Plastic::new(conv, Lif::new(2.0), Stdp::default());
    let shape = [8, 2, 3, 9, 9];
    says(
        &error(
            &conv(Conv2d::new(3, 6, 3).bias(false).dilation(2)),
            &shape,
            |_| {},
        ),
        &["dilation", "2"],
    );
    says(
        &error(
            &conv(Conv2d::new(3, 6, 3).bias(false).groups(3)),
            &shape,
            |_| {},
        ),
        &["groups", "3"],
    );
    let dense = Plastic::new(
        Conv2d::new(3, 6, 3).bias(false),
        Lif::new(2.0),
        with("dense", |r| (r.pre() * r.post()).exp()),
    );
    says(&error(&dense, &shape, |_| {}), &["dense", "convolution"]);
    let cx = Context::new(Mode::TRAIN, DType::F32).propagation(Propagation::StepByStep);
    let x = cx.tracer().input("x", DType::F32, [8, 2, 6]);
    let layer = linear(Stdp::default()).update(Update::EndOfCall);
    let refused = cx.trace(&layer, x).expect_err("refused").to_string();
    says(&refused, &["step by step", "EachStep"]);
    let cx = Context::new(Mode::TRAIN, DType::F32).in_group(2, false);
    let x = cx.tracer().input("x", DType::F32, [8, 2, 6]);
    let refused = cx
        .trace(&linear(Stdp::default()), x)
        .expect_err("refused")
        .to_string();
    says(&refused, &["stdp", "2 ranks", "Gradient"]);
}

#[test]
fn weights_of_an_outer_loop_do_not_wait_for_its_end() {
    let neurons = PlasticRecurrent::new(
        Linear::new(4, 4).bias(false),
        Lif::new(2.0),
        Stdp::default(),
    );
    let neurons = neurons.update(Update::EndOfCall);
    let layer = Plastic::new(Linear::new(6, 4).bias(false), neurons, Stdp::default());
    let refused = error(&layer, &[8, 2, 6], |_| {});
    says(&refused, &["`neuron`", "step by step", "EachStep"]);
}

#[test]
fn homeostasis_needs_a_threshold_that_it_can_set() {
    let homeostasis = Homeostasis {
        increase: 0.1,
        tau: 1e4,
        v_threshold: 1.0,
    };
    let neuron = || Lif::new(2.0).trainable("v_threshold", Trainable::new(Granularity::Neuron));
    let hidden = PlasticRecurrent::new(Linear::new(4, 4).bias(false), neuron(), Stdp::default());
    let layers = [
        linear(Stdp::default()),
        Plastic::new(Linear::new(6, 4).bias(false), hidden, Stdp::default()),
    ];
    for layer in layers {
        let refused = error(&layer.homeostasis(homeostasis), &[8, 2, 6], |_| {});
        says(
            &refused,
            &["no trainable constant `v_threshold`", "Granularity::Neuron"],
        );
    }
}
