//! `spikelet sweep`

mod file;
mod results;
mod search;

use super::series::{Description, Ended, Place, Series, SeriesRun, experiment_text};
use super::train::arguments;
use super::{examples, path_text, say_table};
use crate::args::variable;
use crate::failure::Failure;
use crate::table::Table;
use file::SweepFile;
use serde_json::{Map, Value, json};
use spikelet::distributed::Role;
use spikelet::log::{Console, Output};
use spikelet::problem_and_help;
use spikelet::train::run::latest_run;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Train a network with several values of its settings, and compare the runs
///
/// FILE is a TOML file with the experiment, the search and the values of each setting, whose keys are
/// those of `spikelet train --set`:
///
///   experiment = "mnist-fc"
///   search = "random"
///   runs = 20
///
///   [values]
///   "optimizer.lr" = { min = 1e-4, max = 1e-2, scale = "log" }
///   "training.batch_size" = [64, 128, 256]
///
/// A grid trains all combinations, a random search different random ones. The best run is selected by
/// its validation accuracy. Ctrl-C saves (exit code 130); a sweep that was interrupted or killed is
/// continued by `--resume`.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(after_help = examples![
    "spikelet sweep sweep.toml --dry-run" => "list the runs of a sweep",
    "spikelet sweep sweep.toml" => "train them one after another",
    "spikelet sweep sweep.toml --resume" => "continue the latest sweep of this file",
    "spikelet sweep sweep.toml --out runs/taus -- --device cpu --epochs 1" => "with options of `spikelet train`, into a given folder",
])]
pub struct Sweep {
    /// File of the sweep
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Options of `spikelet train` for all runs
    #[arg(value_name = "OPTIONS", last = true)]
    options: Vec<OsString>,

    /// List the runs and train none
    #[arg(long, conflicts_with_all = ["out", "resume"])]
    dry_run: bool,

    /// Folder of the sweep [default: a new one in runs/sweeps/NAME, after the file]
    #[arg(help_heading = "Output", long, short, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Resume a sweep [default: the one in --out, or the latest one of this file]
    #[arg(help_heading = "Output", long, value_name = "DIR", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,
}

impl Sweep {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let role = Role::from_variables(None, None, &variable);
        if !matches!(role.map_err(|error| Failure::wrong(&error))?, Role::Single) {
            return Err(Failure::argument(
                "a sweep is started in a rank of torchrun, srun or mpirun",
                "start it without the launcher; `-- --data-parallel N` trains each run on N GPUs",
            ));
        }
        let sweep = SweepFile::read(&self.file)?;
        let shared = self.shared_arguments(&sweep)?;
        let runs = self.runs(&sweep)?;
        let mut definition = sweep.definition.clone();
        definition.extend(experiment_text(&sweep.experiment)?);
        let mut series = match (self.resumed_folder()?, self.dry_run) {
            (Some(folder), _) => {
                let mut series = Series::resume(&folder)?;
                series.check_definition(&definition)?;
                let given = arguments::normalized(self.options.iter().cloned())?;
                series.change_arguments(|stored| arguments::of_resumed(stored, &given))?;
                series
            }
            (None, dry_run) => {
                for run in &runs {
                    check(&shared, run)?;
                }
                if dry_run {
                    list(console, &sweep, &runs);
                    return Ok(ExitCode::SUCCESS);
                }
                let place = match &self.out {
                    Some(folder) => Place::At(folder.clone()),
                    None => Place::NewIn(self.parent()),
                };
                Series::create(place, Description::new(definition, shared, runs))?
            }
        };
        let head = |run: &SeriesRun| format!("{}: {}", run.name, list_of(&run.values));
        let quiet = Console::new(Output::Quiet);
        let of_runs = match arguments::is_quiet(&self.options)? && console.output() == Output::Text
        {
            true => &quiet,
            false => console,
        };
        let ended = series.train(of_runs, head, arguments::run)?;
        match ended {
            Ended::Early(code) => {
                let (file, folder) = (path_text(&self.file), path_text(series.path()));
                console.say_json(&json!({"event": "series_interrupted", "folder": folder}));
                console.say(format!(
                    "resume the sweep with: spikelet sweep {file} --resume {folder}"
                ));
                Ok(code)
            }
            Ended::Completed => {
                results::say(console, &series);
                Ok(ExitCode::SUCCESS)
            }
        }
    }

    /// The folder of the sweeps of this file.
    fn parent(&self) -> PathBuf {
        let name = self.file.file_stem().unwrap_or_default();
        Path::new("runs/sweeps").join(name)
    }

    /// The folder of the sweep that is resumed, if one is.
    fn resumed_folder(&self) -> Result<Option<PathBuf>, Failure> {
        Ok(match (&self.resume, &self.out) {
            (None, _) => None,
            (Some(Some(folder)), None) => Some(folder.clone()),
            (Some(None), Some(folder)) => Some(folder.clone()),
            (Some(None), None) => Some(latest_run(self.parent())?),
            (Some(Some(run)), Some(folder)) => {
                let (run, folder) = (run.display(), folder.display());
                return Err(Failure::argument(
                    format!("--resume names the sweep {run}, --out the folder {folder}"),
                    "a sweep continues in its own folder: leave --out out",
                ));
            }
        })
    }

    /// The arguments of `spikelet train` that all runs share.
    fn shared_arguments(&self, sweep: &SweepFile) -> Result<Vec<String>, Failure> {
        let words = self.options.iter().cloned();
        let experiment = OsString::from(&sweep.experiment);
        arguments::normalized([experiment].into_iter().chain(words))
    }

    /// The runs of the sweep.
    fn runs(&self, sweep: &SweepFile) -> Result<Vec<SeriesRun>, Failure> {
        let file = path_text(&self.file);
        let combinations = search::combinations(sweep);
        let combinations =
            combinations.map_err(|error| spikelet::Error::from(error.without_text(&file)))?;
        let width = combinations.len().to_string().len().max(2);
        let runs = combinations.into_iter().enumerate();
        let runs = runs.map(|(k, values)| SeriesRun {
            name: format!("run-{:0width$}", k + 1),
            arguments: values.iter().map(set).collect(),
            values,
            result: None,
        });
        Ok(runs.collect())
    }
}

/// `--set=optimizer.lr=0.003`
fn set((key, value): (&String, &Value)) -> String {
    format!("--set={key}={}", text_of(value))
}

/// A value as it is given to `--set`.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}

/// `optimizer.lr = 0.003, tau = 2`
fn list_of(values: &Map<String, Value>) -> String {
    let each = values.iter();
    let each = each.map(|(key, value)| format!("{key} = {}", text_of(value)));
    each.collect::<Vec<_>>().join(", ")
}

/// Checks the settings of a run before any run is trained.
fn check(shared: &[String], run: &SeriesRun) -> Result<(), Failure> {
    let words: Vec<String> = shared.iter().chain(&run.arguments).cloned().collect();
    arguments::check(&words).map_err(|failure| {
        let text = failure.to_string();
        let (problem, help) = problem_and_help(&text);
        let values = list_of(&run.values);
        let problem = format!("{} ({values}): {problem}", run.name);
        Failure::argument(problem, help.unwrap_or("correct the value"))
    })
}

/// Lists the runs of a sweep.
fn list(console: &Console, sweep: &SweepFile, runs: &[SeriesRun]) {
    for (k, run) in runs.iter().enumerate() {
        console.say_json(&json!({
            "event": "sweep_run", "run": k + 1, "name": run.name, "values": run.values, "arguments": run.arguments,
        }));
    }
    let keys: Vec<&str> = sweep.axes.iter().map(|axis| axis.key.as_str()).collect();
    let columns: Vec<usize> = (1..=keys.len()).collect();
    let mut table = Table::new(&[&["run"], &keys[..]].concat()).right(&columns);
    for run in runs {
        let values = keys.iter().map(|key| text_of(&run.values[*key]));
        table.row([run.name.clone()].into_iter().chain(values));
    }
    say_table(console, &table);
}
