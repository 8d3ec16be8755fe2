//! The page of all settings, which is printed from their declarations.

use spikelet_nn::encoder::ENCODERS;
use spikelet_nn::loss::LOSSES;
use spikelet_schema::Schema;
use spikelet_schema::markdown::{family, is_printed, keys};
use spikelet_train::experiment::Experiment;
use spikelet_train::optim::{OPTIMIZERS, SCHEDULES};
use spikelet_train::penalty::PENALTIES;
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "\
# Settings

All keys of [experiment files](experiments.md), by table. In Rust they are the fields of `Settings` and of the parts of an `Experiment`.
Defaults are those of `mnist-fc`; a network may have its own: `spikelet config NETWORK` prints them.
The word for a value that is not set is behind \"or\".

This page is printed from the declarations of the types: `SPIKELET_WRITE=1 cargo test -p spikelet-train pages`.
";

/// The page.
fn page() -> String {
    let mut text = HEAD.to_string();
    for (table, summary) in Experiment::summaries() {
        let _ = write!(text, "\n## `[{table}]`\n\n{summary}\n\n");
        text += &match table {
            "network" => "See [Networks](networks.md#a-network-in-a-file).\n".to_string(),
            table => keys(Experiment::DECLARATION, table),
        };
    }
    for (title, about, members) in [
        (
            "Encoders",
            "`encoder.name`. On the command line, `--encoder NAME:KEY=VALUE,…`.",
            family(&ENCODERS),
        ),
        (
            "Losses",
            "`loss.name`. On the command line, `--loss NAME` and `--label-smoothing`. In Rust, `loss::CrossEntropy::new().into()`.",
            family(&LOSSES),
        ),
        (
            "Penalties",
            "`name` of an item of `loss.penalties`, beside `layers`, the pattern of the paths of the layers, and `weight`, the factor.",
            family(&PENALTIES),
        ),
        (
            "Optimizers",
            "`optimizer.name`. On the command line, `--optimizer NAME:KEY=VALUE,…`. In Rust, `Sgd::new(0.1).into()`; the types are in \
             `spikelet::optim`.",
            family(&OPTIMIZERS),
        ),
        (
            "Schedules",
            "`schedule.name`. On the command line, `--schedule NAME:KEY=VALUE,…`. In Rust, `Cosine::default().into()`; the types are in \
             `spikelet::optim::schedule`.",
            family(&SCHEDULES),
        ),
    ] {
        let _ = write!(text, "\n## {title}\n\n{about}\n\n{members}");
    }
    text
}

#[test]
fn the_page_has_all_settings() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/settings.md");
    assert!(
        is_printed(&path, &page()),
        "docs/guide/settings.md is old: SPIKELET_WRITE=1 cargo test -p spikelet-train pages"
    );
}
