//! `spikelet train --seeds`: one run for each of several seeds.

use super::arguments;
use crate::command::series::{
    Description, Ended, Place, Series, SeriesRun, Statistics, experiment_text,
};
use crate::command::{path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::{Map, Value, json};
use spikelet::human::duration;
use spikelet::log::Console;
use spikelet::train::run::{SeriesFolder, latest_run};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Different seeds in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(Vec<u64>);

/// The largest number of seeds.
const MOST: u64 = 10_000;

impl std::str::FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "write 0..5 (0 to 4), 0..=4, or a list as in 1,5,7";
        let number = |text: &str| {
            let read = text.trim().parse::<u64>();
            read.map_err(|_| format!("`{}` is not a seed: {expected}", text.trim()))
        };
        let seeds: Vec<u64> = match text.split_once("..") {
            Some((first, last)) => {
                let first = number(first)?;
                let end = match last.strip_prefix('=') {
                    Some(last) => number(last)?
                        .checked_add(1)
                        .ok_or("the last seed is too large")?,
                    None => number(last)?,
                };
                if end.saturating_sub(first) > MOST {
                    return Err(format!("these are more than {MOST} seeds"));
                }
                (first..end).collect()
            }
            None => text.split(',').map(number).collect::<Result<_, _>>()?,
        };
        let mut known = BTreeSet::new();
        if let Some(twice) = seeds.iter().find(|seed| !known.insert(**seed)) {
            return Err(format!("the seed {twice} is given twice"));
        }
        match seeds.is_empty() {
            true => Err(format!("there is no seed in {text}: {expected}")),
            false => Ok(Self(seeds)),
        }
    }
}

/// The arguments of `spikelet train` that tell whether it trains a series.
#[derive(Debug)]
pub struct Request<'a> {
    pub seeds: Option<&'a Seeds>,
    pub out: Option<&'a Path>,
    pub resume: Option<Option<&'a Path>>,
    /// The folder of the series of the network.
    pub parent: PathBuf,
    /// Whether this process is a rank that a launcher has started.
    pub is_rank: bool,
}

impl Request<'_> {
    /// Trains the series, if one is requested; `None` for a single run.
    ///
    /// # Errors
    /// When the resumed series is another one; those of the runs.
    pub fn run(self, console: &Console) -> Result<Option<ExitCode>, Failure> {
        let resumed = self.resumed_folder()?;
        if self.seeds.is_none() && resumed.is_none() {
            return Ok(None);
        }
        if self.is_rank {
            return Err(Failure::argument(
                "--seeds is given in a rank of torchrun, srun or mpirun",
                "start the runs one by one with --seed, or use --data-parallel N instead of the launcher",
            ));
        }
        let given = arguments::of_process()?;
        let mut series = match (resumed, self.seeds) {
            (Some(folder), seeds) => {
                let mut series = Series::resume(&folder)?;
                let Some(stored) = series.description().definition.get("seeds").cloned() else {
                    let problem = format!("the series in {} is a sweep", folder.display());
                    let help = "resume it with `spikelet sweep FILE --resume`";
                    return Err(Failure::argument(problem, help));
                };
                series.change_arguments(|stored| arguments::of_resumed(stored, &given))?;
                let seeds = seeds.map_or(stored, |seeds| json!(seeds.0));
                let here = definition(seeds, &series.description().arguments)?;
                series.check_definition(&here)?;
                series
            }
            (None, Some(seeds)) => {
                let runs = seeds.0.iter().map(|seed| SeriesRun {
                    name: format!("seed-{seed}"),
                    values: Map::from_iter([("seed".to_string(), Value::from(*seed))]),
                    arguments: vec![format!("--seed={seed}")],
                    result: None,
                });
                let definition = definition(json!(seeds.0), &given)?;
                let description = Description::new(definition, given, runs.collect());
                let place = match self.out {
                    Some(folder) => Place::At(folder.to_path_buf()),
                    None => Place::NewIn(self.parent.clone()),
                };
                Series::create(place, description)?
            }
            (None, None) => return Ok(None),
        };
        let head = |run: &SeriesRun| format!("seed {}", run.values["seed"]);
        let ended = series.train(console, head, arguments::run)?;
        match ended {
            Ended::Early(code) => {
                let folder = path_text(series.path());
                console.say_json(&json!({"event": "series_interrupted", "folder": folder}));
                console.say(format!(
                    "resume all seeds with: spikelet train --resume {folder}"
                ));
                Ok(Some(code))
            }
            Ended::Completed => {
                say(console, &series);
                check_diverged(series.description())?;
                Ok(Some(ExitCode::SUCCESS))
            }
        }
    }

    /// The folder of the series that is resumed, if one is.
    fn resumed_folder(&self) -> Result<Option<PathBuf>, Failure> {
        let folder = match (self.resume, self.out) {
            (None, _) => return Ok(None),
            (Some(Some(run)), _) => run.to_path_buf(),
            (Some(None), Some(folder)) => folder.to_path_buf(),
            (Some(None), None) if self.seeds.is_none() => return Ok(None),
            (Some(None), None) => latest_run(&self.parent)?,
        };
        match (SeriesFolder::is_at(&folder), self.seeds) {
            (true, _) => Ok(Some(folder)),
            (false, None) => Ok(None),
            (false, Some(_)) => {
                let problem = format!("there is no series of runs in {}", folder.display());
                let help =
                    "leave --seeds out to resume a single run, or --resume to start a series";
                Err(Failure::argument(problem, help))
            }
        }
    }
}

/// What recognizes a series: its seeds, and the text of its experiment if that is a file.
fn definition(seeds: Value, arguments: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut definition = Map::from_iter([("seeds".to_string(), seeds)]);
    let network = arguments.iter().find(|word| !word.starts_with('-'));
    definition.extend(experiment_text(network.map_or("", |network| network))?);
    Ok(definition)
}

/// Prints the results of all seeds.
fn say(console: &Console, series: &Series) {
    let description = series.description();
    let of = |value: fn(&crate::command::series::RunResult) -> Option<f64>| {
        let results = description.results();
        let values: Vec<f64> = results.filter_map(|(_, result)| value(result)).collect();
        Statistics::of(&values)
    };
    let validation = of(|result| result.validation_accuracy);
    let test = of(|result| result.test_accuracy);
    let statistics = |of: Option<Statistics>| {
        of.map(|s| json!({"mean": s.mean, "standard_deviation": s.deviation, "runs": s.count}))
    };
    console.say_json(&json!({
        "event": "series_done", "folder": path_text(series.path()), "runs": description.runs,
        "validation_accuracy": statistics(validation), "test_accuracy": statistics(test),
        "diverged": description.diverged(),
    }));
    let head = ["seed", "epochs", "best epoch", "validation", "test", "time"];
    let mut table = Table::new(&head).right(&[0, 1, 2, 3, 4, 5]);
    let percent = |value: Option<f64>| {
        value.map_or("–".to_string(), |value| format!("{:.2} %", 100.0 * value))
    };
    for run in &description.runs {
        let Some(result) = &run.result else {
            continue;
        };
        let diverged = result.diverged.is_some();
        let best = result
            .epoch
            .filter(|_| result.validation_accuracy.is_some());
        table.row([
            run.values["seed"].to_string(),
            result.epochs.to_string(),
            best.map_or("–".to_string(), |epoch| epoch.to_string()),
            percent(result.validation_accuracy.filter(|_| !diverged)),
            match diverged {
                true => "diverged".to_string(),
                false => percent(result.test_accuracy),
            },
            duration(result.seconds),
        ]);
    }
    say_table(console, &table);
    let parts = [("validation", validation), ("test", test)].into_iter();
    let parts = parts.filter_map(|(name, of)| Some(format!("{name} {}", of?.percent())));
    let parts: Vec<String> = parts.collect();
    if let Some(Statistics { count, .. }) = test.or(validation) {
        let seeds = match count {
            1 => "1 seed".to_string(),
            many => format!("{many} seeds"),
        };
        let line = format!("accuracy of {seeds}: {}", parts.join(" · "));
        console.say(console.green(line));
        console.say(console.dim(match validation {
            Some(_) => "mean ± sample standard deviation (n − 1); test in the epoch with the best validation accuracy",
            None => "mean ± sample standard deviation (n − 1); test after the last epoch",
        }));
    }
    console.say(format!("runs: {}", path_text(series.path())));
}

/// The error of a series in which runs diverged.
fn check_diverged(description: &Description) -> Result<(), Failure> {
    let (diverged, runs) = (description.diverged(), description.runs.len());
    match diverged {
        0 => Ok(()),
        _ => Err(Failure::other(
            format!(
                "the loss of {diverged} of {runs} runs was not finite; they are not in the mean"
            ),
            "lower the learning rate (--lr) or clip gradients (--clip-norm), and start a new series",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_a_range_or_a_list() {
        let parse = |text: &str| text.parse::<Seeds>().map(|seeds| seeds.0);
        assert_eq!(parse("0..5"), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(parse("2..=4"), Ok(vec![2, 3, 4]));
        assert_eq!(parse("1,5, 7"), Ok(vec![1, 5, 7]));
        assert_eq!(parse("7"), Ok(vec![7]));
        let wrong = [
            "",
            "5..5",
            "5..2",
            "1,1",
            "a",
            "1..",
            "0..20000",
            "-1..2",
            "0..=18446744073709551615",
            "1,,2",
        ];
        for text in wrong {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
