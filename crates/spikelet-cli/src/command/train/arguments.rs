//! The arguments of `spikelet train` as words that are stored in a series of runs and given again.

use super::Train;
use crate::failure::Failure;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser};
use spikelet::log::{Console, Output};
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// The arguments of `spikelet train` without the name of the command.
#[derive(Parser)]
#[command(name = "spikelet train", args_override_self = true)]
struct Arguments {
    #[command(flatten)]
    train: Train,

    /// Options of the program, which the series has read.
    #[arg(long)]
    json: bool,
    #[arg(long, short)]
    quiet: bool,
}

/// Arguments that a series sets for each of its runs.
const OF_RUNS: [&str; 4] = ["seeds", "out", "force", "resume"];

/// Arguments of one process, which are not stored.
const OF_PROCESS: [&str; 2] = ["json", "quiet"];

/// Whether `-q` is among these arguments.
///
/// # Errors
/// When an argument is wrong.
pub fn is_quiet(words: &[OsString]) -> Result<bool, Failure> {
    Ok(parse(words)?.get_flag("quiet"))
}

/// The arguments of this process, one word for each: `--epochs=20`.
///
/// # Errors
/// When an argument is not UTF-8.
pub fn of_process() -> Result<Vec<String>, Failure> {
    // The options before the command have no values.
    let words = crate::program::arguments().into_iter();
    let words = words.skip_while(|word| word != "train").skip(1).collect();
    read(words, |id| OF_RUNS.contains(&id))
}

/// Arguments of `spikelet train` for all runs of a series, one word for each.
///
/// # Errors
/// When an argument is wrong, not UTF-8, or one that the series sets itself.
pub fn normalized(words: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, Failure> {
    let words: Vec<OsString> = words.into_iter().collect();
    let matches = parse(&words)?;
    if let Some(id) = OF_RUNS.iter().find(|id| is_given(id, &matches)) {
        let problem = format!("--{id} is given for all runs of the series");
        return Err(Failure::argument(
            problem,
            "give it before `--`, to the series",
        ));
    }
    read(words, |_| false)
}

fn is_given(id: &str, matches: &ArgMatches) -> bool {
    matches.try_contains_id(id).is_ok_and(|given| given)
        && matches.value_source(id) == Some(ValueSource::CommandLine)
}

/// The words of the given arguments without those that are left out.
fn read(words: Vec<OsString>, leave_out: impl Fn(&str) -> bool) -> Result<Vec<String>, Failure> {
    let command = Arguments::command();
    let matches = parse(&words)?;
    let mut found = vec![];
    for arg in command.get_arguments() {
        let id = arg.get_id().as_str();
        if is_given(id, &matches) && !leave_out(id) && !OF_PROCESS.contains(&id) {
            found.extend(words_of(arg, &matches)?);
        }
    }
    Ok(found)
}

fn parse(words: &[impl AsRef<OsStr>]) -> Result<ArgMatches, Failure> {
    let words = words.iter().map(|word| word.as_ref().to_os_string());
    let name = [OsString::from("spikelet train")].into_iter();
    let matches = Arguments::command().try_get_matches_from(name.chain(words));
    matches.map_err(wrong)
}

fn wrong(error: clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.trim_start_matches("error: ");
    let problem = text.lines().next().unwrap_or_default();
    Failure::argument(problem, "see the options of `spikelet train --help-all`")
}

/// The words of an argument that is given.
fn words_of(arg: &Arg, matches: &ArgMatches) -> Result<Vec<String>, Failure> {
    let name = arg.get_long().map(|long| format!("--{long}"));
    if let (ArgAction::SetTrue, Some(name)) = (arg.get_action(), &name) {
        return Ok(vec![name.clone()]);
    }
    let mut words = vec![];
    let id = arg.get_id().as_str();
    for occurrence in matches.get_raw_occurrences(id).into_iter().flatten() {
        let mut values = vec![];
        for value in occurrence {
            let text = value.to_str().ok_or_else(|| {
                let problem = format!("the argument {} is not UTF-8", value.display());
                Failure::argument(
                    problem,
                    "a series of runs stores its arguments: rename the file",
                )
            })?;
            values.push(text.to_string());
        }
        match &name {
            None => words.extend(values),
            Some(name) if values.is_empty() => words.push(name.clone()),
            Some(name) => words.push(format!("{name}={}", values.join(","))),
        }
    }
    Ok(words)
}

/// Runs `spikelet train` with these arguments.
///
/// # Errors
/// When an argument is wrong; those of the run.
pub fn run(mut words: Vec<String>, console: &Console) -> Result<ExitCode, Failure> {
    let matches = parse(&words)?;
    let mut train = Arguments::from_arg_matches(&matches).map_err(wrong)?.train;
    match console.output() {
        Output::Json => words.push("--json".to_string()),
        Output::Quiet | Output::Bar => words.push("--quiet".to_string()),
        _ => {}
    }
    train.experiment.parallel.start_with(words);
    train.run(console)
}

/// Checks the network and the settings of these arguments, and trains nothing.
///
/// # Errors
/// When an argument is wrong, or a setting is out of its domain.
pub fn check(words: &[String]) -> Result<(), Failure> {
    let matches = parse(words)?;
    let train = Arguments::from_arg_matches(&matches).map_err(wrong)?.train;
    train.experiment.build(None).map(|_| ())
}

/// The arguments of a resumed series: those that are stored, and those of this process about the machine.
///
/// # Errors
/// When another argument of this process differs from the stored one.
pub fn of_resumed(stored: &[String], given: &[String]) -> Result<Vec<String>, Failure> {
    let mut words = stored.to_vec();
    for word in given {
        let name = name_of(word);
        if stored.contains(word) {
            continue;
        }
        if OF_MACHINE.contains(&name) {
            words.retain(|word| name_of(word) != name);
            words.push(word.clone());
            continue;
        }
        let theirs = stored.iter().filter(|word| name_of(word) == name);
        let theirs: Vec<&str> = theirs.map(String::as_str).collect();
        let theirs = match theirs.is_empty() {
            true => format!("without {name}"),
            false => format!("with {}", theirs.join(" ")),
        };
        return Err(Failure::argument(
            format!("{word} is given, the series was started {theirs}"),
            "leave it out, or start a new series without --resume",
        ));
    }
    Ok(words)
}

/// Options that do not change the result.
const OF_MACHINE: [&str; 6] = [
    "--device",
    "--threads",
    "--loader-threads",
    "--checkpoint-seconds",
    "--data-dir",
    "--download",
];

/// The name of an option, or of the positional argument.
fn name_of(word: &str) -> &str {
    match word.split_once('=') {
        Some((name, _)) if word.starts_with("--") => name,
        _ if word.starts_with("--") => word,
        _ => "NETWORK",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Vec<String>, String> {
        let words = text.split_whitespace().map(OsString::from).collect();
        read(words, |id| OF_RUNS.contains(&id)).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_are_stored_as_they_are_given() {
        let text = "csnn -e 3 --lr 1e-3 --set tau=4 --set v_reset=null --augment crop=4,flip --amp \
                    --bias-decay=false --out x --seed 3 --json --monitor rate,neurons";
        let found = words(text).expect("valid");
        let again = words(&found.join(" ")).expect("valid");
        assert_eq!(found, again);
        for word in [
            "csnn",
            "--epochs=3",
            "--set=tau=4",
            "--seed=3",
            "--set=v_reset=null",
            "--amp",
            "--bias-decay=false",
            "--monitor=rate,neurons",
        ] {
            assert!(found.iter().any(|found| found == word), "{word}: {found:?}");
        }
        assert!(
            !found
                .iter()
                .any(|word| word.starts_with("--out") || word == "--json")
        );
        let problem = normalized(["--out", "x"].map(OsString::from)).expect_err("of the runs");
        assert!(problem.to_string().contains("--out is given for all runs"));
        assert!(words("--epoch 3").expect_err("unknown").contains("--epoch"));
    }

    #[test]
    fn a_resumed_series_has_its_arguments_and_those_of_the_machine() {
        let stored = ["csnn", "--epochs=3", "--device=cpu"].map(String::from);
        let with = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(ToString::to_string).collect();
            of_resumed(&stored, &given).map_err(|error| error.to_string())
        };
        assert_eq!(with(&[]).expect("none"), stored);
        let found = with(&["csnn", "--device=cuda"]).expect("valid");
        assert_eq!(found, ["csnn", "--epochs=3", "--device=cuda"]);
        let problem = with(&["--epochs=4"]).expect_err("another");
        assert!(problem.contains("--epochs=4 is given, the series was started with --epochs=3"));
        let problem = with(&["--lr=1"]).expect_err("another");
        assert!(problem.contains("without --lr"), "{problem}");
    }
}
