//! Wrong files: each is an error with the line, the column and a remedy.

use super::Experiment;

/// The table `network`, lines 1 and 2 of the files that do not have one of their own.
const NETWORK: &str = "[network]\nname = \"mnist-fc\"\n";

/// The texts after [`NETWORK`], the positions of the errors, and parts of the messages.
const CASES: [(&str, &str, &str); 75] = [
    // Tables.
    (
        "[optimiser]\nname = \"adam\"",
        "3:2",
        "did you mean `optimizer`?",
    ),
    ("[trainning]\nepochs = 1", "3:2", "did you mean `training`?"),
    ("seeds = 3\n[data]", "3:1", "no key `seeds`"),
    ("[training]\nepochs = 1\n[training]", "5:2", "duplicate key"),
    ("[training\nepochs = 1", "3:10", "not TOML"),
    ("[training]\nepochs = ", "4:10", "not TOML"),
    ("[training]\nepochs: 3", "4:9", "not TOML"),
    ("[training]\nepochs = 1\nepochs = 2", "5:1", "duplicate key"),
    ("[[training]]\nepochs = 1", "3:1", "a table with"),
    // data
    (
        "[data]\ndataset = \"mnits\"",
        "4:11",
        "did you mean \"mnist\"?",
    ),
    ("[data]\ndataset = 3", "4:11", "`dataset` is 3"),
    (
        "[data]\ntrain_images = 0",
        "4:16",
        "a whole number of at least 1 or \"all\"",
    ),
    (
        "[data]\ntrain_images = \"some\"",
        "4:16",
        "a whole number of at least 1 or \"all\"",
    ),
    (
        "[data]\ntest_images = -5",
        "4:15",
        "a whole number of at least 1 or \"all\"",
    ),
    ("[data]\nvalidation = 1.0", "4:14", "from 0 to below 1"),
    ("[data]\nvalidation = \"10 %\"", "4:14", "from 0 to below 1"),
    ("[data]\nnormalize = \"yes\"", "4:13", "\"auto\""),
    (
        "[data]\nnormalize = { mean = [0.5] }",
        "4:13",
        "needs `std`",
    ),
    (
        "[data]\nnormalize = { mean = [0.5], std = [0.0] }",
        "4:13",
        "std",
    ),
    (
        "[data]\nnormalize = { mean = [0.5], sdt = [0.2] }",
        "4:29",
        "did you mean `std`?",
    ),
    ("[data]\naugment = \"flip\"", "4:11", "a list"),
    (
        "[data]\naugment = [\"flp\"]",
        "4:12",
        "did you mean `flip`?",
    ),
    ("[data]\naugment = [\"flip\", \"crop\"]", "4:20", "crop=…"),
    ("[data]\naugment = [\"flip\", \"flip\"]", "4:20", "twice"),
    (
        "[data]\naugment = [{ color-jiter = {} }]",
        "4:12",
        "color-jiter",
    ),
    ("[data]\naugment = [3]", "4:12", "a name, or a table"),
    ("[data]\nmixup = 0", "4:9", "above 0"),
    ("[data]\ncutmix = \"much\"", "4:10", "above 0"),
    ("[data]\nloader_threads = 0", "4:18", "from 1 to 1024"),
    // encoder
    (
        "[encoder]\nname = \"poison\"",
        "4:8",
        "did you mean `poisson`?",
    ),
    (
        "[encoder]\nname = \"poisson\"\nrate = 2",
        "5:1",
        "no key `rate`",
    ),
    (
        "[encoder]\nname = \"latency\"\ncode = \"cubic\"",
        "5:8",
        "code",
    ),
    ("[encoder]\nname = \"weighted_phase\"\nk = 0", "5:5", "k"),
    // loss
    (
        "[loss]\nname = \"mse\"",
        "4:8",
        "`mse` is for values; use `mse-one-hot`",
    ),
    (
        "[loss]\nname = \"cross_entropi\"",
        "4:8",
        "did you mean `cross-entropy`?",
    ),
    (
        "[loss]\nlabel_smoothing = 0.1",
        "4:1",
        "the loss `mse-one-hot` has no key `label_smoothing`",
    ),
    (
        "[loss]\nname = \"tet\"\nlabel_smoothing = 1",
        "5:19",
        "from 0 to below 1",
    ),
    ("[loss]\npenalties = 3", "4:13", "a list"),
    ("[loss]\npenalties = [3]", "4:14", "a table with"),
    (
        "[loss]\npenalties = [{ layers = \"*\", weight = 1 }]",
        "4:14",
        "needs `name`",
    ),
    (
        "[loss]\npenalties = [{ name = \"spike-cont\", layers = \"*\", weight = 1 }]",
        "4:23",
        "did you mean `spike-count`?",
    ),
    (
        "[loss]\npenalties = [{ name = \"spike-count\", weight = 1 }]",
        "4:14",
        "needs `layers`",
    ),
    (
        "[loss]\npenalties = [{ name = \"spike-count\", layers = \"*\" }]",
        "4:14",
        "needs `weight`",
    ),
    (
        "[loss]\npenalties = [{ name = \"spike-count\", layers = \"*\", weight = -1 }]",
        "4:61",
        "a number of at least 0",
    ),
    (
        "[loss]\npenalties = [{ name = \"spike-count\", layers = \"[\", weight = 1 }]",
        "4:14",
        "the pattern `[` of `layers` is invalid",
    ),
    (
        "[loss]\npenalties = [{ name = \"spike-count\", layer = \"*\", weight = 1 }]",
        "4:38",
        "did you mean `layers`?",
    ),
    (
        "[loss]\npenalties = [{ name = \"rate-target\", layers = \"*\", weight = 1 }]",
        "4:14",
        "`rate-target` needs `target`",
    ),
    (
        "[loss]\npenalties = [{ name = \"spike-count\", layers = \"*\", weight = 1, low = 0 }]",
        "4:64",
        "no key `low`",
    ),
    (
        "[loss]\npenalties = [{ name = \"rate-bounds\", layers = \"*\", weight = 1, low = 0.5, high = 0.1 }]",
        "4:14",
        "`low` is 0.5 and `high` is 0.1",
    ),
    // optimizer
    ("[optimizer]\nname = \"adm\"", "4:8", "did you mean `adam`?"),
    (
        "[optimizer]\nlearning_rate = 1e-3",
        "4:1",
        "no key `learning_rate`",
    ),
    (
        "[optimizer]\nlr = \"fast\"",
        "4:6",
        "a number of at least 0",
    ),
    ("[optimizer]\nlr = -1", "4:6", "a number of at least 0"),
    ("[optimizer]\nlr = inf", "4:6", "a finite number"),
    (
        "[optimizer]\nmomentum = 0.9",
        "4:1",
        "the optimizer `adam` has no key `momentum`",
    ),
    ("[optimizer]\nbeta1 = 1.0", "4:9", "beta1"),
    ("[optimizer]\nbeta1 = \"0.9\"", "4:9", "beta1"),
    ("[optimizer]\nbias_decay = 1", "4:14", "true or false"),
    ("[optimizer]\nclip_norm = 0", "4:13", "above 0"),
    (
        "[optimizer]\nclip_norm = 1\nclip_value = 1",
        "5:14",
        "where `clip_norm` is set",
    ),
    (
        "[optimizer]\ngroups = [{ lr = 1e-3 }]",
        "4:11",
        "needs `parameters`",
    ),
    (
        "[optimizer]\ngroups = [{ parameters = \"*\", rate = 1 }]",
        "4:38",
        "no key `rate`",
    ),
    // schedule
    (
        "[schedule]\nname = \"cosin\"",
        "4:8",
        "did you mean `cosine`?",
    ),
    (
        "[schedule]\nname = \"step\"\ngama = 0.1",
        "5:1",
        "did you mean `gamma`?",
    ),
    (
        "[schedule]\nname = \"multi-step\"",
        "3:1",
        "such as [30, 60, 80]",
    ),
    ("[schedule]\nwarm_up = -1", "4:11", "at least 0"),
    ("[schedule]\nmin_factor = 2", "4:14", "min_factor"),
    // training
    ("[training]\nepochs = 0", "4:10", "from 1 to"),
    ("[training]\nepochs = 1.5", "4:10", "a whole number"),
    ("[training]\nprecision = \"f8\"", "4:13", "\"bf16\""),
    ("[training]\nmemory_budget = \"much\"", "4:17", "400MiB"),
    ("[training]\nseed = -1", "4:8", "from 0 to"),
    ("[training]\nema = 1", "4:7", "below 1"),
    // device, output
    ("[device]\nname = \"gpu\"", "4:8", "\"cuda:N\""),
    ("[output]\nmonitor = [\"rates\"]", "4:12", "rate"),
];

fn refused(text: &str) -> String {
    match Experiment::from_toml("run.toml", text) {
        Ok(_) => format!("it is read: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_wrong_file_is_an_error_with_its_position_and_a_remedy() {
    let mut wrong = vec![];
    for (text, position, part) in CASES {
        let message = refused(&format!("{NETWORK}{text}\n"));
        let at = format!("run.toml:{position}: ");
        if !message.starts_with(&at) || !message.contains(part) || !message.contains("\n  help: ") {
            wrong.push(format!("{text}\n→ {message}\nexpected {at} {part}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_needs_a_network() {
    for (text, part) in [
        ("", "needs `network`"),
        ("[training]\nepochs = 1\n", "needs `network`"),
        ("network = 3\n", "run.toml:1:11"),
        ("[network]\nname = \"mnist-fcc\"\n", "run.toml:2:8"),
        ("[network]\nname = \"csnn\"\nchanels = 3\n", "run.toml:3:1"),
    ] {
        let message = refused(text);
        assert!(message.contains(part), "{text}\n→ {message}");
    }
}
