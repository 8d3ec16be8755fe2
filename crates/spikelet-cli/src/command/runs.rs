//! `spikelet runs`

use super::{examples, path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::{Map, Value, json};
use spikelet::human::{duration, percent, thousands};
use spikelet::log::Console;
use spikelet::train::EpochRecord;
use spikelet::train::checkpoint::RunDefinition;
use spikelet::train::run::{FoundRuns, RunInfo, RunState, Setting, SkippedFolder, find_runs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// List the runs in a folder, or compare two of them
///
/// Prints a line for each run with its network, data set, epochs, results and time, and a table of the
/// settings in which the runs differ if it is narrow. Two runs are compared. Only the headers of checkpoints are read. Damaged runs and folders without a run are named.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = examples![
    "spikelet runs" => "the runs in the folder `runs`",
    "spikelet runs runs/mnist-fc --json" => "those of one network, as JSON",
    "spikelet runs runs/mnist-fc --settings" => "with all settings in which they differ",
    "spikelet runs runs/mnist-fc/latest runs/csnn/latest" => "two runs beside each other",
])]
pub struct Runs {
    #[command(subcommand)]
    command: Option<Command>,

    /// Folder of runs, or of one run; two runs are compared
    #[arg(value_name = "FOLDER", default_value = "runs", num_args = 0..=2)]
    folders: Vec<PathBuf>,

    /// List the settings in which the runs differ, however many they are
    #[arg(long)]
    settings: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    Diff(Diff),
}

/// Compare two runs: the settings, network and data that differ, and the results
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet runs diff runs/mnist-fc runs/csnn" => "the latest run of each network",
    "spikelet runs diff runs/mnist-fc/latest runs/csnn/latest --json" => "as JSON",
])]
struct Diff {
    /// Folder of the first run, a checkpoint in it, or a folder of runs: its latest run
    #[arg(value_name = "A")]
    a: PathBuf,

    /// The second run
    #[arg(value_name = "B")]
    b: PathBuf,
}

impl Runs {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if let Some(Command::Diff(diff)) = self.command {
            return diff.run(console);
        }
        if let [a, b] = &self.folders[..] {
            let (a, b) = (a.clone(), b.clone());
            return Diff { a, b }.run(console);
        }
        let folder = self
            .folders
            .first()
            .map_or(Path::new("runs"), |folder| folder);
        if !folder.is_dir() {
            let problem = format!("there is no folder {}", folder.display());
            let help = "start a run with `spikelet train`, or name the folder of your runs";
            return Err(Failure::other(problem, help));
        }
        let found = find_runs(folder)?;
        let differing = found.differing_settings();
        for (k, run) in found.runs.iter().enumerate() {
            console.say_json(&run_json(run, &differing, k));
        }
        for skipped in &found.skipped {
            console.say_json(&json!({
                "event": "skipped", "folder": path_text(&skipped.folder), "problem": problem(skipped),
            }));
        }
        say_runs(console, folder, &found, &differing, self.settings);
        Ok(ExitCode::SUCCESS)
    }
}

/// A run as the line `run` of the JSON output, with its values of the settings that differ; `k` is its index.
pub fn run_json(run: &RunInfo, differing: &[Setting], k: usize) -> Value {
    let pid = match run.state {
        RunState::Running { pid } => pid,
        _ => None,
    };
    let settings = differing.iter().filter_map(|setting| {
        let value = setting.values[k].clone()?;
        Some((setting.field.clone(), value))
    });
    json!({
        "event": "run", "folder": path_text(&run.folder), "state": run.state.to_string(), "pid": pid,
        "network": run.network(), "dataset": run.dataset(), "epochs": run.history.len(),
        "total_epochs": run.epochs(), "best": run.best(), "last": run.history.last(), "seconds": run.seconds(),
        "settings": settings.collect::<Map<_, _>>(),
    })
}

/// The network, or the kind of a run without one of the named networks.
fn network(run: &RunInfo) -> &str {
    match run.checkpoint.as_ref().map(|found| &found.definition) {
        Some(RunDefinition { step: Some(_), .. }) => "a step",
        Some(_) => run.network().unwrap_or("a module"),
        None => run.network().unwrap_or("–"),
    }
}

fn problem(skipped: &SkippedFolder) -> String {
    let error = skipped.error.as_ref().map(ToString::to_string);
    error.unwrap_or_else(|| "there is no run in it".to_string())
}

/// A metric as text: an accuracy in percent, others with their name.
fn value(metric: &str, value: Option<f64>) -> String {
    match value {
        Some(value) if metric == "accuracy" => percent(value).trim_start().to_string(),
        Some(value) => format!("{metric} {value:.4}"),
        None => "–".to_string(),
    }
}

/// The best value on the validation set, and the value on the test set in that epoch, or in the last one.
fn results(run: &RunInfo) -> [String; 2] {
    let Some(last) = run.history.last() else {
        return ["–".to_string(), "–".to_string()];
    };
    let of = run.best().unwrap_or(last);
    let test = of.test.as_ref().and_then(|set| set.get(&of.monitor));
    [value(&of.monitor, last.best), value(&of.monitor, test)]
}

fn epochs(run: &RunInfo) -> String {
    let total = run.epochs().map(|n| format!("/{n}"));
    format!("{}{}", run.history.len(), total.unwrap_or_default())
}

fn say_runs(
    console: &Console,
    folder: &Path,
    found: &FoundRuns,
    differing: &[Setting],
    lists: bool,
) {
    if found.runs.is_empty() {
        console.say(format!("there are no runs in {}", folder.display()));
    } else {
        let head = [
            "run",
            "network",
            "data",
            "epochs",
            "validation",
            "test",
            "time",
            "state",
        ];
        let mut table = Table::new(&head).right(&[3, 4, 5, 6]);
        for run in &found.runs {
            let [validation, test] = results(run);
            table.row([
                run.folder.display().to_string(),
                network(run).to_string(),
                run.dataset().unwrap_or("–".to_string()),
                epochs(run),
                validation,
                test,
                duration(run.seconds()),
                state(run),
            ]);
        }
        say_table(console, &table);
    }
    // The digest of the data tells a reader nothing.
    let differing = differing
        .iter()
        .filter(|setting| setting.field != "dataset.sha256");
    let differing: Vec<&Setting> = differing.collect();
    say_settings(console, &found.runs, &differing, lists);
    for skipped in &found.skipped {
        let folder = skipped.folder.display();
        console.say(format!("skipped {folder}: {}", problem(skipped)));
    }
}

/// The widest table of settings; wider ones are lists.
const WIDTH: usize = 120;

/// The settings that differ: a table if it is narrow, otherwise, if `lists`, a list for each run.
fn say_settings(console: &Console, runs: &[RunInfo], differing: &[&Setting], lists: bool) {
    if differing.is_empty() {
        return;
    }
    console.say("");
    let names = differing.iter().map(|setting| short(&setting.field));
    let head: Vec<&str> = ["run"].into_iter().chain(names).collect();
    let columns: Vec<usize> = (1..head.len()).collect();
    let mut table = Table::new(&head).right(&columns);
    for (k, run) in runs.iter().enumerate() {
        let folder = run.folder.display().to_string();
        let values = differing.iter().map(|setting| {
            let value = setting.values[k].as_ref();
            value.map_or("–".to_string(), Value::to_string)
        });
        table.row([folder].into_iter().chain(values));
    }
    let lines = table.lines();
    let width = lines.iter().map(|line| line.chars().count()).max();
    let title = console.bold("settings that differ");
    if width.is_some_and(|width| width <= WIDTH) {
        console.say(title);
        return say_table(console, &table);
    }
    if !lists {
        let count = differing.len();
        console.say(format!("{count} settings differ; --settings lists them"));
        return;
    }
    console.say(title);
    for (k, run) in runs.iter().enumerate() {
        console.say(format!("{}", run.folder.display()));
        for setting in differing {
            if let Some(value) = &setting.values[k] {
                console.say(format!("  {} = {value}", short(&setting.field)));
            }
        }
    }
}

/// The path of a field; of a constant of the neuron as `--set` names it.
fn short(field: &str) -> &str {
    field
        .strip_prefix("network.neuron.params.")
        .unwrap_or(field)
}

fn state(run: &RunInfo) -> String {
    match run.state {
        RunState::Running { pid: Some(pid) } => format!("running, process {pid}"),
        state => state.to_string(),
    }
}

/// The result of a run with a name and a unit; `None` if it has none.
type Quantity = (&'static str, fn(&RunInfo) -> Option<f64>);

fn of_set(
    record: Option<&EpochRecord>,
    set: fn(&EpochRecord) -> Option<&spikelet::train::metric::MetricValues>,
) -> Option<f64> {
    let record = record?;
    set(record)?.get(&record.monitor)
}

/// The results that are compared. `metric` is the monitored one.
const RESULTS: [Quantity; 9] = [
    ("completed_epochs", |run| Some(run.history.len() as f64)),
    ("best_validation_metric", |run| run.history.last()?.best),
    ("best_epoch", |run| Some(run.best()?.epoch as f64)),
    ("test_metric_of_best_epoch", |run| {
        of_set(run.best(), |record| record.test.as_ref())
    }),
    ("last_test_metric", |run| {
        of_set(run.history.last(), |record| record.test.as_ref())
    }),
    ("last_train_metric", |run| {
        of_set(run.history.last(), |record| Some(&record.train))
    }),
    ("last_train_loss", |run| {
        Some(run.history.last()?.train.loss)
    }),
    ("samples_per_second", |run| {
        let speeds = run.history.iter().map(|record| record.samples_per_second);
        let epochs = run.history.len();
        (epochs > 0).then(|| speeds.sum::<f64>() / epochs as f64)
    }),
    ("seconds", |run| Some(run.seconds())),
];

impl Diff {
    fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let (a, b) = (RunInfo::read(&self.a)?, RunInfo::read(&self.b)?);
        let differing = a.differences(&b);
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let lines = differing
            .iter()
            .map(|d| json!({"field": d.field, "a": parsed(&d.checkpoint), "b": parsed(&d.here)}));
        let results = RESULTS.iter();
        let results = results.map(|(name, of)| json!({"name": name, "a": of(&a), "b": of(&b)}));
        console.say_json(&json!({
            "a": path_text(&a.folder), "b": path_text(&b.folder), "metric": [metric(&a), metric(&b)],
            "differences": lines.collect::<Vec<_>>(), "results": results.collect::<Vec<_>>(),
        }));
        let folders = [&a, &b].map(|run| run.folder.display().to_string());
        let head = ["", &folders[0], &folders[1]];
        let mut table = Table::new(&head);
        for run in [&a, &b] {
            if run.checkpoint.is_none() {
                let folder = run.folder.display();
                console.say(format!(
                    "{folder} has no checkpoint yet: its settings are not known"
                ));
            }
        }
        for line in &differing {
            let field = short(&line.field).to_string();
            table.row([field, line.checkpoint.clone(), line.here.clone()]);
        }
        table.row(["state".to_string(), state(&a), state(&b)]);
        for (name, of) in RESULTS {
            let cell = |run: &RunInfo| of(run).map_or("–".to_string(), |x| shown(name, run, x));
            let mut name = name.replace('_', " ");
            if let (Some(of_a), Some(of_b)) = (metric(&a), metric(&b))
                && of_a == of_b
            {
                name = name.replace("metric", of_a);
            }
            table.row([name, cell(&a), cell(&b)]);
        }
        say_table(console, &table);
        Ok(ExitCode::SUCCESS)
    }
}

/// The monitored metric.
fn metric(run: &RunInfo) -> Option<&str> {
    Some(&run.history.last()?.monitor)
}

/// A result as text.
fn shown(name: &str, run: &RunInfo, x: f64) -> String {
    match name {
        "completed_epochs" | "best_epoch" => format!("{x}"),
        "seconds" => duration(x),
        "samples_per_second" => thousands(x.round() as u64),
        "last_train_loss" => format!("{x:.4}"),
        _ => value(metric(run).unwrap_or_default(), Some(x)),
    }
}
