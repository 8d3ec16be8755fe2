//! The commands, one file each.

pub mod bench;
mod check;
mod command_line;
mod completions;
mod config;
mod content;
mod convert;
mod data;
mod diff;
mod doctor;
mod energy;
mod eval;
mod given;
mod kernel;
mod man;
mod models;
mod neuron;
mod pipeline_text;
mod plan;
mod predict;
mod program;
mod record;
mod runs;
mod sequences;
mod series;
mod settings_text;
mod show;
mod simulate;
mod stream;
mod surrogate;
mod sweep;
mod train;
mod trained;
mod trained_graph;
#[cfg(feature = "watch")]
mod watch;

use program::{StepProgram, plan_json, summary};
use settings_text::{network_text, settings_text};

use crate::failure::Failure;
use crate::table::Table;
use spikelet::human::percent;
use spikelet::log::Console;
use std::path::Path;
use std::process::ExitCode;

/// The accuracy over labeled time steps beside that over all, if there is one.
fn labeled_text(accuracy: Option<f64>) -> String {
    let of = |accuracy| format!(" ({} of the labeled steps)", percent(accuracy).trim_start());
    accuracy.map_or_else(String::new, of)
}

/// The commands.
#[derive(clap::Subcommand)]
pub enum Command {
    Train(Box<train::Train>),
    Config(Box<config::Config>),
    Eval(eval::Eval),
    Predict(predict::Predict),
    Energy(energy::EnergyOf),
    Show(show::Show),
    Record(record::Record),
    Sweep(sweep::Sweep),
    Runs(runs::Runs),
    #[cfg(feature = "watch")]
    Watch(watch::Watch),
    Plan(plan::ShowPlan),
    Models(models::Models),
    #[command(subcommand)]
    Data(data::Command),
    Check(check::Check),
    Convert(convert::Convert),
    Simulate(Box<simulate::Simulate>),
    Diff(Box<diff::Diff>),
    Stream(stream::Stream),
    #[command(subcommand)]
    Neuron(neuron::Command),
    #[command(subcommand)]
    Surrogate(surrogate::Command),
    Kernel(kernel::Kernel),
    #[command(subcommand)]
    Bench(bench::Command),
    Doctor(doctor::Doctor),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// Runs the command.
    ///
    /// # Errors
    /// Those of the command.
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match self {
            Self::Train(command) => command.run(console),
            Self::Config(command) => command.run(console),
            Self::Eval(command) => command.run(console),
            Self::Predict(command) => command.run(console),
            Self::Energy(command) => command.run(console),
            Self::Show(command) => command.run(console),
            Self::Record(command) => command.run(console),
            Self::Sweep(command) => command.run(console),
            Self::Runs(command) => command.run(console),
            #[cfg(feature = "watch")]
            Self::Watch(command) => command.run(console),
            Self::Plan(command) => command.run(console),
            Self::Models(command) => command.run(console),
            Self::Data(command) => command.run(console),
            Self::Check(command) => command.run(console),
            Self::Convert(command) => command.run(console),
            Self::Simulate(command) => command.run(console),
            Self::Diff(command) => command.run(console),
            Self::Stream(command) => command.run(console),
            Self::Neuron(command) => command.run(console),
            Self::Surrogate(command) => command.run(console),
            Self::Kernel(command) => command.run(),
            Self::Bench(command) => command.run(console),
            Self::Doctor(command) => command.run(console),
            Self::Completions(command) => command.run(console),
            Self::Man(command) => command.run(console),
        }
    }
}

/// Prints a table, its head in bold.
pub fn say_table(console: &Console, table: &Table) {
    for (k, line) in table.lines().into_iter().enumerate() {
        let is_head = k == 0 && table.has_head();
        console.say_wrapped(if is_head { console.bold(line) } else { line });
    }
}

/// Whether two paths lead to the same existing file.
pub fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// A path in JSON; bytes that are not UTF-8 are replaced by U+FFFD.
pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The median.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => 0.5 * (values[middle - 1] + values[middle]),
    }
}

/// The examples at the end of a command's help: `command => its purpose`.
#[macro_export]
#[doc(hidden)]
macro_rules! examples {
    ($($command:literal => $what:literal),* $(,)?) => {
        concat!(
            "\x1b[1m\x1b[4mExamples:\x1b[0m",
            $("\n  ", "\x1b[1m", $command, "\x1b[0m", "\n      ", $what),*
        )
    };
}

pub use crate::examples;

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
