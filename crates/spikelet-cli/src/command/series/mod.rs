//! A series of runs, one after another: each in its own folder, all in one folder with a description.
//!
//! The description has the arguments and the results of all runs and is replaced atomically when a run is completed, so
//! that a process that is killed loses nothing: the series is resumed with the run that was interrupted.

mod description;
mod statistics;

pub use description::{Description, RunResult, SeriesRun, experiment_text};
pub use statistics::Statistics;

use super::path_text;
use crate::failure::Failure;
use serde_json::{Map, Value, json};
use spikelet::human::{duration, percent};
use spikelet::log::{Console, Output};
use spikelet::train::TrainError;
use spikelet::train::run::{RunInfo, SeriesFolder};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The folder of a new series.
#[derive(Clone, Debug)]
pub enum Place {
    /// This folder.
    At(PathBuf),
    /// A new folder in this one.
    NewIn(PathBuf),
}

/// A series of runs, whose folder is locked by this process.
#[derive(Debug)]
pub struct Series {
    folder: SeriesFolder,
    description: Description,
    resumed: bool,
}

/// How a series ended.
#[derive(Clone, Copy, Debug)]
pub enum Ended {
    /// All runs are completed.
    Completed,
    /// A run ended with this exit code.
    Early(ExitCode),
}

impl Series {
    /// Creates the folder of a series. It is removed if the series does not start.
    ///
    /// # Errors
    /// When the folder cannot be written, is in use, or holds a run or a series.
    pub fn create(place: Place, description: Description) -> Result<Self, Failure> {
        let folder = match place {
            Place::At(folder) => SeriesFolder::create(folder)?,
            Place::NewIn(parent) => SeriesFolder::create_in(parent)?,
        };
        let mut runs = description
            .runs
            .iter()
            .map(|run| folder.path().join(&run.name));
        if let Some(run) = runs.find(|run| run.exists()) {
            let problem = format!("{} exists: it is not of this series", run.display());
            return Err(Failure::other(problem, "give another folder"));
        }
        Ok(Self {
            folder,
            description,
            resumed: false,
        })
    }

    /// Opens the folder of a series to resume it.
    ///
    /// # Errors
    /// When there is no series in it, it is in use, or its description is damaged.
    pub fn resume(folder: &Path) -> Result<Self, Failure> {
        let folder = SeriesFolder::resume(folder)?;
        let description: Description = folder.read()?;
        if !description.is_known() {
            let problem = format!(
                "{} has a series of another version of spikelet",
                folder.path().display()
            );
            return Err(Failure::other(problem, "resume it with that version"));
        }
        Ok(Self {
            folder,
            description,
            resumed: true,
        })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Changes the arguments that all runs share, before the series is trained.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn change_arguments(
        &mut self,
        change: impl FnOnce(&[String]) -> Result<Vec<String>, Failure>,
    ) -> Result<(), Failure> {
        self.description.arguments = change(&self.description.arguments)?;
        Ok(())
    }

    /// Checks that the definition of a resumed series is this one.
    ///
    /// # Errors
    /// The fields that differ, with both values.
    pub fn check_definition(&self, here: &Map<String, Value>) -> Result<(), Failure> {
        let theirs = &self.description.definition;
        let names = theirs
            .keys()
            .chain(here.keys().filter(|name| !theirs.contains_key(*name)));
        let differing = names.filter(|name| theirs.get(*name) != here.get(*name));
        let differing = differing.map(|name| difference(name, theirs.get(name), here.get(name)));
        let differing: Vec<String> = differing.collect();
        if differing.is_empty() {
            return Ok(());
        }
        let folder = self.path().display();
        Err(Failure::argument(
            format!(
                "the series in {folder} is another one: {}",
                differing.join("; ")
            ),
            "resume it as it was started, or start a new series without --resume",
        ))
    }

    /// Trains the runs that are not completed. `train` runs `spikelet train` with these arguments and this output; `head` is
    /// the title of a run.
    ///
    /// A run whose loss is not finite has diverged: the series continues with the next one.
    ///
    /// # Errors
    /// Those of the runs; when the description cannot be written.
    pub fn train(
        &mut self,
        console: &Console,
        head: impl Fn(&SeriesRun) -> String,
        mut train: impl FnMut(Vec<String>, &Console) -> Result<ExitCode, Failure>,
    ) -> Result<Ended, Failure> {
        if !self.resumed {
            self.folder.write(&self.description)?;
        }
        self.folder.keep();
        let runs = self.description.runs.len();
        console.say_json(&json!({
            "event": "series", "folder": path_text(self.path()), "resumed": self.resumed, "runs": runs,
            "completed": self.completed(), "arguments": self.description.arguments,
        }));
        let (completed, folder) = (self.completed(), self.path().display());
        console.say(match self.resumed {
            true => format!("{folder}: {completed} of {runs} runs are completed"),
            false => format!("{folder}: {runs} runs"),
        });
        // Of each run a line is printed here.
        let of_run = match console.output() {
            Output::Text => Console::new(Output::Bar),
            _ => *console,
        };
        for k in 0..runs {
            let run = &self.description.runs[k];
            if run.result.is_some() {
                continue;
            }
            let (folder, arguments) = self.arguments_of(run)?;
            let number = k + 1;
            let title = format!("{} ({number} of {runs})", head(run));
            console.say_json(&json!({
                "event": "series_run", "run": number, "name": run.name, "values": run.values,
                "folder": path_text(&folder),
            }));
            let diverged = match train(arguments, &of_run) {
                Ok(ExitCode::SUCCESS) => None,
                Ok(code) => return Ok(Ended::Early(code)),
                Err(failure) if is_divergence(&failure) => {
                    let text = failure.to_string();
                    Some(text.lines().next().unwrap_or_default().to_string())
                }
                Err(failure) => return Err(failure),
            };
            let info = RunInfo::read(&folder)?;
            let result = RunResult::of(&info, diverged);
            console.say(format!("{title} · {}", text_of(&result, console)));
            for finding in info.findings()? {
                console.say(console.yellow(format!("  {finding}")));
            }
            let run = &mut self.description.runs[k];
            run.result = Some(result.clone());
            let name = run.name.clone();
            self.folder.write(&self.description)?;
            console.say_json(&json!({
                "event": "series_result", "run": number, "name": name, "result": result,
            }));
        }
        Ok(Ended::Completed)
    }

    /// The number of completed runs.
    fn completed(&self) -> usize {
        let runs = self.description.runs.iter();
        runs.filter(|run| run.result.is_some()).count()
    }

    /// The folder of a run, and its arguments: it resumes from its checkpoint if there is one.
    fn arguments_of(&self, run: &SeriesRun) -> Result<(PathBuf, Vec<String>), Failure> {
        let folder = self.path().join(&run.name);
        let Some(text) = folder.to_str() else {
            let problem = format!("the path {} is not UTF-8", folder.display());
            return Err(Failure::argument(problem, "give another folder"));
        };
        let shared = self.description.arguments.iter();
        let mut arguments: Vec<String> = shared.chain(&run.arguments).cloned().collect();
        match folder.join("last.safetensors").exists() {
            true => arguments.push(format!("--resume={text}")),
            // One that was killed before its first checkpoint starts again.
            false => arguments.extend([format!("--out={text}"), "--force".to_string()]),
        }
        Ok((folder, arguments))
    }
}

/// `3 epochs · validation 98.4 % · test 98.6 % · 4.6 s`
fn text_of(result: &RunResult, console: &Console) -> String {
    if let Some(problem) = &result.diverged {
        return console.red(format!("diverged: {problem}"));
    }
    let plural = if result.epochs == 1 { "" } else { "s" };
    let mut parts = vec![format!("{} epoch{plural}", result.epochs)];
    for (name, accuracy) in [
        ("validation", result.validation_accuracy),
        ("test", result.test_accuracy),
    ] {
        parts.extend(accuracy.map(|accuracy| format!("{name} {}", percent(accuracy).trim_start())));
    }
    parts.push(duration(result.seconds));
    parts.join(" · ")
}

/// A field of the definition in which a series differs; of a text the first line.
fn difference(name: &str, theirs: Option<&Value>, here: Option<&Value>) -> String {
    if let (Some(Value::String(theirs)), Some(Value::String(here))) = (theirs, here)
        && (theirs.contains('\n') || here.contains('\n'))
    {
        let lines = theirs.lines().zip(here.lines());
        let same = lines.take_while(|(theirs, here)| theirs == here).count();
        let [theirs, here] = [theirs, here].map(|text| text.lines().nth(same).unwrap_or_default());
        let line = same + 1;
        return format!("line {line} of {name} is `{theirs}` in the series and `{here}` here");
    }
    let shown = |value: Option<&Value>| value.map_or("absent".to_string(), Value::to_string);
    let (theirs, here) = (shown(theirs), shown(here));
    format!("{name} is {theirs} in the series and {here} here")
}

/// Whether a run ended because its loss was not finite.
fn is_divergence(failure: &Failure) -> bool {
    match failure {
        Failure::Library(error) => matches!(
            error.downcast_ref(),
            Some(TrainError::Diverged { .. } | TrainError::WeightsNotFinite { .. })
        ),
        _ => false,
    }
}
