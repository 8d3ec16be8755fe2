//! Wrong network files: all messages in one snapshot.

use crate::networks::file;
use spikelet_nn::network::Network;
use std::fmt::Write;

/// A file with `[1, 8, 8]` images and these layers.
fn wrong_layers() -> Vec<(&'static str, String)> {
    let of = |name, layers: &str| (name, file("[1, 8, 8]", layers));
    vec![
        of("a misspelt layer", "[{ max-pol = 2 }]"),
        of("a misspelt layer as a string", "[\"flaten\"]"),
        of("a name of another library", "[{ conv2d = 8, kernel = 3 }]"),
        of("an unknown layer", "[{ transformer = 12 }]"),
        of("an unknown layer by `layer`", "[{ layer = \"batchnorm\" }]"),
        of("a table without a layer", "[{ kernel = 3 }]"),
        of("an empty table", "[{}]"),
        of(
            "two layers in a table",
            "[{ conv = 8, kernel = 3, max-pool = 2 }]",
        ),
        of("a number as a layer", "[3]"),
        of("a list as a layer", "[[\"flatten\"]]"),
        of("a misspelt key", "[{ conv = 8, kernal = 3 }]"),
        of("a key of another layer", "[{ max-pool = 2, groups = 2 }]"),
        of("a missing key", "[{ conv = 8 }]"),
        of("a missing value", "[\"linear\"]"),
        of("a value that is not used", "[{ flatten = true }]"),
        of("a size of 0", "[{ conv = 0, kernel = 3 }]"),
        of("a negative size", "[{ conv = -8, kernel = 3 }]"),
        of("a size as text", "[{ conv = \"8\", kernel = 3 }]"),
        of("a fraction as a size", "[{ conv = 8, kernel = 1.5 }]"),
        of("too many sizes", "[{ conv = 8, kernel = [3, 3, 3] }]"),
        of(
            "a size that is too large",
            "[{ conv = 8, kernel = 3, padding = 9999999 }]",
        ),
        of("a number as a flag", "[{ conv = 8, kernel = 3, bias = 1 }]"),
        of(
            "an unknown word",
            "[{ conv = 8, kernel = 3, init = \"kaiming\" }]",
        ),
        of(
            "groups that do not divide the input",
            "[{ conv = 8, kernel = 3, groups = 2 }]",
        ),
        of(
            "a window larger than the image",
            "[{ conv = 8, kernel = 9 }]",
        ),
        of(
            "pooling to nothing",
            "[{ max-pool = 2 }, { max-pool = 2 }, { max-pool = 2 }, { max-pool = 2 }]",
        ),
        of(
            "padding of more than half a window",
            "[{ max-pool = 2, padding = 2 }]",
        ),
        of("linear without flatten", "[{ linear = 10 }]"),
        of(
            "a convolution after flatten",
            "[\"flatten\", { conv = 8, kernel = 3 }]",
        ),
        of(
            "votes that do not divide the features",
            "[\"flatten\", { voting = 10 }]",
        ),
        of(
            "groups of a group norm",
            "[{ conv = 6, kernel = 3 }, { group-norm = 4 }]",
        ),
        of("a probability of 1", "[{ dropout = 1.0 }]"),
        of(
            "a constant outside its domain",
            "[{ layer = \"batch-norm\", epsilon = -1 }]",
        ),
        of(
            "branches of a residual block",
            "[{ residual = [{ conv = 8, kernel = 3 }] }]",
        ),
        of(
            "a shortcut of another size",
            "[{ residual = [{ conv = 8, kernel = 3, stride = 2, padding = 1 }], shortcut = { conv = 4, kernel = 1 } }]",
        ),
        of(
            "one branch of one time step",
            "[{ residual = [\"time-mean\"] }]",
        ),
        of("an unknown join", "[{ residual = [], join = \"xor\" }]"),
        of(
            "branches that cannot be added",
            "[{ branches = [[], [{ max-pool = 2 }]] }]",
        ),
        of(
            "branches that cannot be concatenated",
            "[{ branches = [[], [{ max-pool = 2 }]], combine = \"concat\" }]",
        ),
        of("no branches", "[{ branches = [] }]"),
        of(
            "two layers of one name",
            "[{ name = \"a\", layer = \"flatten\" }, { name = \"a\", linear = 3 }]",
        ),
        of(
            "a name with a point",
            "[{ name = \"a.b\", layer = \"flatten\" }]",
        ),
        of(
            "a name of a single shortcut",
            "[{ residual = [], shortcut = { name = \"a\", layer = \"neuron\" } }]",
        ),
        of(
            "a wrong layer in a block",
            "[{ name = \"block\", repeat = 2, layers = [{ residual = [\"neuron\", \"neurn\"] }] }]",
        ),
        of("an unknown neuron", "[{ neuron = \"liff\" }]"),
        of(
            "an unknown constant",
            "[{ neuron = { name = \"lif\", tua = 2.0 } }]",
        ),
        of(
            "a constant of a wrong type",
            "[{ neuron = { name = \"lif\", tau = \"long\" } }]",
        ),
        of(
            "a constant of a neuron outside its domain",
            "[{ neuron = { name = \"lif\", tau = 0.5 } }]",
        ),
        of(
            "an unknown surrogate",
            "[{ neuron = { name = \"lif\", surrogate = \"atn\" } }]",
        ),
        of(
            "a constant of a surrogate",
            "[{ neuron = { name = \"lif\", surrogate = { name = \"atan\", beta = 1.0 } } }]",
        ),
        of("a neuron without a name", "[{ neuron = { tau = 2.0 } }]"),
        of(
            "too many repetitions",
            "[{ layers = [\"neuron\"], repeat = 99999 }]",
        ),
        of(
            "repetitions of repetitions",
            "[{ repeat = 4000, layers = [{ repeat = 4000, layers = [] }] }]",
        ),
        of(
            "too many weights",
            "[{ adaptive-avg-pool = 1000 }, \"flatten\", { linear = 1000000 }]",
        ),
        of(
            "an output that is too large",
            "[{ adaptive-avg-pool = 1000000 }]",
        ),
        of("no layers", "[]"),
    ]
}

/// A file with `[1, 8, 8]` images, and a plastic layer with these keys.
fn wrong_plastic_layers() -> Vec<(&'static str, String)> {
    let of = |name, keys: &str| {
        let layers = format!("[\"flatten\", {{ plastic = {{ linear = 4 }}, {keys} }}]");
        (name, file("[1, 8, 8]", &layers))
    };
    let with_rule = |name, keys: &str| of(name, &format!("rule = \"pair-stdp\", {keys}"));
    vec![
        of("a plastic layer without a rule", "inhibition = 1.0"),
        of("a misspelt rule", "rule = \"pair-sdtp\""),
        of(
            "a rule with a reward, without one",
            "rule = \"reward-stdp\"",
        ),
        of(
            "neurons that classes cannot share",
            "rule = \"reward-stdp\", reward = { classes = 3 }",
        ),
        of(
            "a reward without classes",
            "rule = \"reward-stdp\", reward = { right = 2.0 }",
        ),
        of(
            "an unknown reward",
            "rule = \"reward-stdp\", reward = \"accuracy\"",
        ),
        of("e-prop as a rule of synapses", "rule = \"eprop\""),
        with_rule(
            "a reward that the rule does not read",
            "reward = { classes = 2 }",
        ),
        of("a rule without a name", "rule = { a2_plus = 1.0 }"),
        of(
            "a misspelt constant of a rule",
            "rule = { name = \"pair-stdp\", a2_puls = 1.0 }",
        ),
        of(
            "a constant of a rule outside its domain",
            "rule = { name = \"triplet-stdp\", tau_x = 0 }",
        ),
        of(
            "a constant of a rule of a wrong type",
            "rule = { name = \"stdp\", tau_pre = \"long\" }",
        ),
        of(
            "an unknown function of the weight",
            "rule = { name = \"stdp\", f_pre = { name = \"linear\" } }",
        ),
        with_rule("an unknown update", "update = \"each_step\""),
        with_rule("bounds in the wrong order", "bounds = [1.0, 0.0]"),
        with_rule("a sum of weights of 0", "normalize = 0"),
        with_rule("a negative inhibition", "inhibition = -1.0"),
        with_rule(
            "a rate beside the optimizer's",
            "update = \"gradient\", lr = 0.1",
        ),
        with_rule(
            "competition with changes at the end",
            "update = \"end-of-call\", inhibition = 1.0",
        ),
        with_rule(
            "homeostasis without tau",
            "homeostasis = { increase = 0.1 }",
        ),
        with_rule(
            "a wrong homeostasis",
            "homeostasis = { increase = -0.1, tau = 1e4 }",
        ),
        with_rule(
            "homeostasis without a threshold",
            "cell = \"psn\", homeostasis = { increase = 0.1, tau = 1e4 }",
        ),
        with_rule(
            "a neuron of a plastic layer",
            "cell = { name = \"lif\", tau = 0 }",
        ),
        (
            "pooling with a rule",
            file(
                "[1, 8, 8]",
                "[{ plastic = { max-pool = 2 }, rule = \"stdp\" }]",
            ),
        ),
        (
            "a number with a rule",
            file("[8]", "[{ plastic = 12, rule = \"stdp\" }]"),
        ),
        (
            "a plastic convolution with dilation",
            file(
                "[1, 8, 8]",
                "[{ plastic = { conv = 4, kernel = 3, dilation = 2 }, rule = \"stdp\" }]",
            ),
        ),
        (
            "a misspelt key of a plastic convolution",
            file(
                "[1, 8, 8]",
                "[{ plastic = { conv = 4, kernal = 3 }, rule = \"stdp\" }]",
            ),
        ),
        (
            "e-prop on images",
            file("[1, 8, 8]", "[{ online-eprop = 4, outputs = 2 }]"),
        ),
        (
            "e-prop without outputs",
            file("[8]", "[{ online-eprop = 4 }]"),
        ),
        (
            "an unknown feedback",
            file(
                "[8]",
                "[{ online-eprop = 4, outputs = 2, feedback = \"fixed\" }]",
            ),
        ),
        (
            "a rate beside the optimizer's in e-prop",
            file("[8]", "[{ online-eprop = 4, outputs = 2, lr = 0.1 }]"),
        ),
        (
            "a rate to be kept without tau",
            file(
                "[8]",
                "[{ online-eprop = 4, outputs = 2, regularization = { strength = 1.0, rate = 0.1 } }]",
            ),
        ),
        (
            "a neuron without a trace",
            file(
                "[8]",
                "[{ trace-learning = { linear = 4 }, cell = \"lif\" }]",
            ),
        ),
        (
            "no neuron with a trace",
            file("[8]", "[{ trace-learning = { linear = 4 } }]"),
        ),
        (
            "a layer with statistics after a trace",
            file(
                "[8]",
                "[{ trace-learning = [{ linear = 4 }, \"batch-norm\"], cell = \"ottt_lif\" }]",
            ),
        ),
        (
            "initial weights in the wrong order",
            file("[8]", "[{ linear = 4, init = { uniform = [1, 0] } }]"),
        ),
    ]
}

/// Other wrong files.
fn wrong_files() -> Vec<(&'static str, String)> {
    let of = |name, text: &str| (name, text.to_string());
    vec![
        of("an empty file", ""),
        of("not TOML", "[network]\ninput = [1, 28, 28\nlayers = []\n"),
        of(
            "a layer without a comma",
            &file("[4]", "[\"flatten\" \"neuron\"]"),
        ),
        of("a key twice", "[network]\ninput = [4]\ninput = [5]\n"),
        of("a misspelt table", "[netwrok]\ninput = [4]\n"),
        of(
            "an unknown table",
            "[network]\ninput = [4]\nlayers = [\"neuron\"]\n\n[trainer]\nepochs = 3\n",
        ),
        of("no input", "[network]\nlayers = [\"neuron\"]\n"),
        of("no layers and no name", "[network]\ninput = [4]\n"),
        of(
            "an input of text",
            "[network]\ninput = \"mnist\"\nlayers = [\"neuron\"]\n",
        ),
        of(
            "an input of 0",
            "[network]\ninput = [1, 0, 28]\nlayers = [\"neuron\"]\n",
        ),
        of(
            "an input of five axes",
            "[network]\ninput = [1, 2, 3, 4, 5]\nlayers = [\"neuron\"]\n",
        ),
        of(
            "an input that is too large",
            "[network]\ninput = [1000000, 1000000, 1000000]\nlayers = [\"neuron\"]\n",
        ),
        of(
            "layers of text",
            "[network]\ninput = [4]\nlayers = \"neuron\"\n",
        ),
        of(
            "a misspelt key of the network",
            "[network]\ninputs = [4]\nlayers = [\"neuron\"]\n",
        ),
        of(
            "the network's neuron",
            "[network]\ninput = [4]\nneuron = { name = \"lif\", v_treshold = 1.0 }\nlayers = [\"neuron\"]\n",
        ),
        of("an unknown name", "[network]\nname = \"resnet7\"\n"),
        of(
            "a setting that the named network does not have",
            "[network]\nname = \"mnist-fc\"\nchannels = 16\n",
        ),
        of(
            "a setting of a wrong type",
            "[network]\nname = \"csnn\"\nchannels = \"many\"\n",
        ),
        of(
            "a named network that is too small",
            "[network]\nname = \"csnn\"\nsize = 2\n",
        ),
    ]
}

#[test]
fn wrong_files_are_errors_with_line_and_column() {
    let mut all = String::new();
    let cases = [wrong_layers(), wrong_plastic_layers(), wrong_files()].concat();
    assert!(cases.len() > 60);
    for (name, text) in cases {
        let error = Network::from_toml("net.toml", &text, &[]).expect_err(name);
        assert!(error.place.is_some() || text.is_empty(), "{name}: {error}");
        assert!(!error.problem.help().is_empty(), "{name}");
        writeln!(all, "# {name}\n{error}\n").expect("a string");
    }
    insta::assert_snapshot!(all);
}
