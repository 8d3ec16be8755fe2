//! Lists of layers and the same networks in Rust.

use crate::networks::{layers, traced};
use spikelet_nn::layer::{
    AdaptiveMaxPool2d, Branches, Combine, ConvTransposed2d, Dropout2d, Feedback, GroupNorm, Join,
    LayerNorm, TraceLearning, Voting,
};
use spikelet_nn::learning::{
    Bound, ClassReward, EpropError, EpropFeedback, Homeostasis, OnlineEprop, PairStdp, Plastic,
    PlasticRecurrent, RateRegularization, RewardStdp, RewardTraceStdp, Stdp, TripletStdp, Update,
    WeightFunction,
};
use spikelet_nn::network::{Layers, Network};
use spikelet_nn::neuron::{EpropAlif, OtttLif};
use spikelet_nn::prelude::*;

/// Compares a list of layers with a module, in training and evaluation.
fn same(file: &Layers, net: &dyn Module) {
    let module = file.module().expect("sound");
    let mut input = vec![3, 2];
    input.extend(&file.input);
    for mode in [Mode::TRAIN, Mode::EVAL] {
        assert_eq!(traced(&*module, mode, &input), traced(net, mode, &input));
    }
}

fn lif() -> Lif {
    Lif::new(2.0)
}

#[test]
fn residual_blocks_and_branches_are_those_of_rust() {
    let block = |inputs| {
        let main = Sequential::new()
            .add(Conv2d::new(inputs, 8, 3).bias(false).padding(1))
            .add(BatchNorm2d::new(8))
            .add(lif());
        Residual::new(main)
            .shortcut(Conv2d::new(inputs, 8, 1).bias(false))
            .join(Join::IAnd)
    };
    let a = Sequential::new()
        .add(Conv2d::new(8, 4, 1).bias(false))
        .add(lif());
    let b = Sequential::new()
        .add(Conv2d::new(8, 6, 3).bias(false).padding(1))
        .add(lif());
    let net = Sequential::new()
        .add_named(
            "block",
            Sequential::new()
                .add_named("0", Sequential::new().add(block(2)))
                .add_named("1", Sequential::new().add(block(8))),
        )
        .add(
            Branches::new(a)
                .branch(b)
                .branch(Sequential::new())
                .combine(Combine::Concat),
        )
        .add(Flatten)
        .add(Linear::new(18 * 25, 10).bias(true))
        .add(lif());
    let file = layers(
        "[2, 5, 5]",
        r#"[
          { name = "block", repeat = 2, layers = [
            { residual = [{ conv = 8, kernel = 3, padding = 1 }, "batch-norm", "neuron"], shortcut = { conv = 8, kernel = 1 }, join = "iand" },
          ] },
          { branches = [[{ conv = 4, kernel = 1 }, "neuron"], [{ conv = 6, kernel = 3, padding = 1 }, "neuron"], []], combine = "concat" },
          "flatten",
          { linear = 10, bias = true },
          "neuron",
        ]"#,
    );
    same(&file, &net);
}

#[test]
fn every_kind_of_layer_is_that_of_rust() {
    let net = Sequential::new()
        .add(
            Conv2d::new(4, 8, [3, 1])
                .padding([1, 0])
                .stride(2)
                .dilation([1, 2])
                .groups(2)
                .bias(true),
        )
        .add(GroupNorm::new(2, 8))
        .add(Plif::new(3.0))
        .add(
            ConvTransposed2d::new(Conv2d::new(8, 4, 2).bias(false).stride(2))
                .output_padding([1, 0]),
        )
        .add(
            MaxPool2d::new([3, 2])
                .stride(2)
                .padding([1, 0])
                .dilation(1)
                .ceil(true),
        )
        .add(LayerNorm::new([4, 5, 4]))
        .add(LayerNorm::new([4]))
        .add(Dropout2d::new(0.25))
        .add(AvgPool2d::new(2).stride(1).padding(1).count_padding(false))
        .add(BatchNorm2d {
            epsilon: 1e-3,
            momentum: 0.5,
            affine: false,
            scale: 0.5,
            ..BatchNorm2d::new(4)
        })
        .add(AdaptiveMaxPool2d::new([3, 2]))
        .add(AdaptiveAvgPool2d::new(1))
        .add(Flatten)
        .add(BatchNorm1d::new(4))
        .add(Dropout::new(0.5))
        .add(Linear::new(4, 20).bias(false))
        .add(lif())
        .add(Voting::new(10))
        .add(TimeMean)
        .add(TimeLast);
    let file = layers(
        "[4, 8, 8]",
        r#"[
          { conv = 8, kernel = [3, 1], padding = [1, 0], stride = 2, dilation = [1, 2], groups = 2, bias = true },
          { group-norm = 2 },
          { neuron = { name = "plif", init_tau = 3.0 } },
          { conv-transposed = 4, kernel = 2, stride = 2, output_padding = [1, 0] },
          { max-pool = [3, 2], stride = 2, padding = [1, 0], dilation = 1, ceil = true },
          "layer-norm",
          { layer = "layer-norm", axes = 1 },
          { dropout2d = 0.25 },
          { avg-pool = 2, stride = 1, padding = 1, count_padding = false },
          { layer = "batch-norm", epsilon = 1e-3, momentum = 0.5, affine = false, scale = 0.5 },
          { adaptive-max-pool = [3, 2] },
          { adaptive-avg-pool = 1 },
          "flatten",
          "batch-norm",
          { dropout = 0.5 },
          { linear = 20 },
          "neuron",
          { voting = 10 },
          "time-mean",
          "time-last",
        ]"#,
    );
    same(&file, &net);
}

#[test]
fn plastic_layers_are_those_of_rust() {
    let by_channel = Trainable::new(Granularity::Channel);
    let homeostasis = Homeostasis {
        increase: 0.02,
        tau: 1e4,
        v_threshold: 0.5,
    };
    let weight = Init::Between {
        low: 0.0,
        high: 0.3,
    };
    let lower = WeightFunction::Lower {
        a: 1.0,
        w_min: 0.0,
        mu: 1.0,
    };
    let conv = Conv2d {
        weight_init: Some(weight),
        ..Conv2d::new(2, 4, 3).bias(false)
    };
    let neuron = Lif {
        common: Common {
            v_threshold: 0.5,
            ..Common::default()
        },
        ..lif()
    };
    let net = Sequential::new()
        .add(
            Plastic::new(
                conv,
                neuron.trainable("v_threshold", by_channel),
                PairStdp {
                    a2_plus: 2e-3,
                    ..PairStdp::default()
                },
            )
            .lr(0.5)
            .bounds(-1.0, 2.0)
            .normalize(8.0)
            .inhibition(2.0)
            .single_winner(true)
            .homeostasis(homeostasis),
        )
        .add(Flatten)
        .add(
            Plastic::new(
                Linear::new(144, 8).bias(true),
                lif(),
                Stdp {
                    tau_pre: 3.0,
                    f_pre: lower,
                    ..Stdp::default()
                },
            )
            .update(Update::EndOfCall),
        )
        .add(
            Plastic::new(
                Linear::new(8, 3).bias(false),
                Plif::new(3.0),
                TripletStdp {
                    pair: PairStdp {
                        bound: Bound::Soft,
                        ..PairStdp::default()
                    },
                    tau_x: 50.0,
                    ..TripletStdp::default()
                },
            )
            .update(Update::Gradient),
        );
    let file = layers(
        "[2, 8, 8]",
        r#"[
          { plastic = { conv = 4, kernel = 3, init = { uniform = [0.0, 0.3] } }, rule = { name = "pair-stdp", a2_plus = 2e-3 },
            cell = { name = "lif", v_threshold = 0.5 }, lr = 0.5, bounds = [-1, 2], normalize = 8, inhibition = 2.0,
            single_winner = true, homeostasis = { increase = 0.02, tau = 1e4 } },
          "flatten",
          { plastic = { linear = 8, bias = true }, update = "end-of-call",
            rule = { name = "stdp", tau_pre = 3, f_pre = { name = "lower", a = 1, w_min = 0, mu = 1 } } },
          { plastic = { linear = 3 }, rule = { name = "triplet-stdp", tau_x = 50, bound = "soft" }, update = "gradient",
            cell = { name = "plif", init_tau = 3.0 } },
        ]"#,
    );
    same(&file, &net);
    // A file keeps its notation: what is saved is read as the same network.
    let json = serde_json::to_value(&file).expect("a network");
    let saved: Layers = serde_json::from_value(json).expect("the same network");
    same(&saved, &net);
    let rows = file.cost(1).expect("sound").rows;
    assert_eq!(rows[0].macs, 18 * 144);
}

#[test]
fn rules_with_a_reward_are_those_of_rust() {
    let one = WeightFunction::Constant { c: 1.0 };
    let stdp = RewardStdp {
        f_post: one,
        ..RewardStdp::default()
    };
    let traces = RewardTraceStdp {
        stdp: RewardStdp {
            tau_pre: 5.0,
            ..RewardStdp::default()
        },
        tau_trace: 20.0,
    };
    let reward = |wrong| ClassReward {
        classes: 2,
        right: 1.0,
        wrong,
    };
    let net = Sequential::new()
        .add(Plastic::new(Conv2d::new(1, 4, 3).bias(false), lif(), stdp).reward(reward(-1.0)))
        .add(Flatten)
        .add(Plastic::new(Linear::new(64, 6).bias(false), lif(), traces).reward(reward(-0.5)))
        .add(Voting::new(3));
    let file = layers(
        "[1, 6, 6]",
        r#"[
          { plastic = { conv = 4, kernel = 3 }, rule = { name = "reward-stdp", f_post = { name = "constant", c = 1 } },
            reward = { classes = 2 } },
          "flatten",
          { plastic = { linear = 6 }, rule = { name = "reward-trace-stdp", tau_pre = 5, tau_trace = 20 },
            reward = { classes = 2, right = 1.0, wrong = -0.5 } },
          { voting = 3 },
        ]"#,
    );
    same(&file, &net);
}

#[test]
fn a_program_may_give_the_reward_of_a_rule_in_a_file() {
    let file = layers(
        "[8]",
        "[{ plastic = { linear = 6 }, rule = \"reward-stdp\", reward = \"signal\" }]",
    );
    let net = file.module().expect("sound");
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x_seq", DType::F32, [5, 2, 8]);
    cx.give_signal("reward", &cx.tracer().input("reward", DType::F32, [5, 2]));
    assert_eq!(cx.trace(&*net, x).expect("a network").shape(), [5, 2, 6]);
}

#[test]
fn layers_that_learn_online_are_those_of_rust() {
    let keeps = RateRegularization {
        strength: 1e-3,
        rate: 0.02,
        tau: 100.0,
    };
    let ottt = || OtttLif::default();
    let net = Sequential::new()
        .add(Linear::new(8, 12).bias(false))
        .add(TraceLearning::new(
            ottt(),
            Sequential::new().add(Linear::new(12, 6).bias(true)),
        ))
        .add(TraceLearning::new(ottt(), Linear::new(6, 5).bias(false)))
        .add(
            OnlineEprop::new([5, 7, 3], EpropAlif::default())
                .readout_decay(0.9)
                .error(EpropError::CrossEntropy)
                .feedback(EpropFeedback::Adaptive)
                .regularization(keeps),
        )
        .add(
            OnlineEprop::new([3, 4, 2], lif())
                .error(EpropError::Squared)
                .update(Update::EachStep)
                .lr(0.1),
        );
    let file = layers(
        "[8]",
        r#"[
          { linear = 12 },
          { trace-learning = [{ linear = 6, bias = true }], cell = "ottt_lif" },
          { trace-learning = { linear = 5 }, cell = "ottt_lif" },
          { online-eprop = 7, outputs = 3, cell = "eprop_alif", readout_decay = 0.9, feedback = "adaptive",
            regularization = { strength = 1e-3, rate = 0.02, tau = 100 } },
          { online-eprop = 4, outputs = 2, error = "squared", update = "each-step", lr = 0.1 },
        ]"#,
    );
    same(&file, &net);
}

#[test]
fn recurrent_connections_with_a_rule_are_those_of_rust() {
    let init = Init::Between {
        low: 0.0,
        high: 0.1,
    };
    let connections = Feedback::new(8).zero_diagonal(true).weight_init(init);
    let net = Sequential::new()
        .add(Linear::new(12, 8).bias(false))
        .add(
            PlasticRecurrent::new(connections, Lif::new(2.0), PairStdp::default())
                .lr(0.5)
                .bounds(-1.0, 2.0)
                .normalize(8.0),
        )
        .add(
            PlasticRecurrent::new(Feedback::new(8), Plif::new(3.0), Stdp::default())
                .update(Update::Gradient),
        );
    let file = layers(
        "[12]",
        r#"[
          { linear = 8 },
          { plastic-recurrent = "lif", rule = "pair-stdp", zero_diagonal = true, init = { uniform = [0.0, 0.1] },
            lr = 0.5, bounds = [-1, 2], normalize = 8 },
          { plastic-recurrent = { name = "plif", init_tau = 3.0 }, rule = "stdp", update = "gradient" },
        ]"#,
    );
    same(&file, &net);
}

#[test]
fn inputs_have_one_to_four_axes_and_are_images_too() {
    for (input, text, image) in [
        ("[12]", "[{ linear = 3 }, \"neuron\"]", [1, 1, 12]),
        (
            "[2, 6]",
            "[{ conv = 3, kernel = 3 }, \"batch-norm\", { max-pool = 2 }]",
            [1, 2, 6],
        ),
        (
            "[2, 3, 4, 5]",
            "[{ conv = 3, kernel = [1, 2, 3] }, \"batch-norm\", { conv-transposed = 2, kernel = 2 }, { avg-pool = 2 }, { adaptive-max-pool = 1 }]",
            [6, 4, 5],
        ),
    ] {
        let file = layers(input, text);
        assert_eq!(file.image(), image);
        let module = file.module().expect("sound");
        let own = [&[4, 2], &file.input[..]].concat();
        let images = [&[4, 2], &image[..]].concat();
        let [(_, a), (_, b)] = [own, images].map(|input| traced(&*module, Mode::TRAIN, &input));
        assert_eq!(a, b);
        assert!(a[0].name.starts_with("0."), "{}", a[0].name);
    }
}

#[test]
fn a_file_without_a_neuron_has_lif() {
    let text = "[network]\ninput = [4]\nlayers = [\"neuron\"]\n";
    let mut network = Network::from_toml("folder/small.toml", text, &[]).expect("sound");
    assert_eq!(network.name(), "small");
    assert_eq!(network.neuron_mut()["neuron"], "lif");
}

#[test]
fn fields_that_were_changed_in_a_program_are_checked() {
    let file = layers("[4]", "[{ linear = 3 }]");
    for wrong in [
        Layers {
            input: vec![],
            ..file.clone()
        },
        Layers {
            input: vec![0],
            ..file.clone()
        },
        Layers {
            input: vec![usize::MAX; 3],
            ..file.clone()
        },
        Layers {
            input: vec![1; 5],
            ..file.clone()
        },
        Layers {
            layers: vec![],
            ..file.clone()
        },
        Layers {
            layers: vec![serde_json::json!(3)],
            ..file.clone()
        },
        Layers {
            neuron: serde_json::Value::Null,
            ..file.clone()
        },
    ] {
        assert!(wrong.module().is_err(), "{wrong:?}");
        assert!(wrong.cost(1).is_err(), "{wrong:?}");
        assert_eq!(wrong.image().len(), 3);
    }
}
