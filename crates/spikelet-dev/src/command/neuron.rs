//! `spikelet-dev neuron …`

use serde_json::{Map, Value, json};
use spikelet::DefinitionError;
use spikelet::files::write_atomically;
use spikelet::log::Console;
use spikelet::neuron::{self, Granularity, Neuron, constants, is_parallel, trainables};
use spikelet::report::Response;
use spikelet::{Entry, Error};
use spikelet_cli::args::value;
use spikelet_cli::command::{examples, path_text};
use spikelet_cli::equation::{Step, pretty};
use spikelet_cli::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Generated pages about neurons
#[derive(clap::Subcommand)]
#[command(after_help = examples![
    "spikelet-dev neuron docs --out docs/neurons.md" => "docs/neurons.md and docs/neurons/*.svg",
])]
pub enum Command {
    Docs(Docs),
}

/// Write a page of all neurons, with a figure of each
///
/// The page is generated from the neurons' source files and from their derived gradients:
/// equations, constants with their defaults, sources, and the response of each neuron to an input
/// that is switched on and off. The figures are written to a folder beside the page, of the same
/// name.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet-dev neuron docs --out docs/neurons.md" => "docs/neurons.md and docs/neurons/*.svg",
])]
pub struct Docs {
    /// Where to write the page
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

const INTRODUCTION: &str = "\
# All neurons

Made by `spikelet-dev neuron docs --out docs/neurons.md` from the neurons' own files; do not edit it.
How neurons charge, fire and reset, what they have in common and how their gradients are derived:
[Neurons](guide/neurons.md). A neuron of your own: [Your own neuron](guide/your-own-neuron.md).

Capital letters are values of the present step: X the input, H the potential after charging, S what
fires, V the potential after the reset, Y what comes out where that is not S. Small letters are the
states before the step, and parameters. `∂V` is the derivative of the loss with respect to V.
";

impl Docs {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let folder = self.out.with_extension("");
        let beside = folder.file_name().unwrap_or_default().to_string_lossy();
        let mut page = format!("{INTRODUCTION}\n{}", list()?);
        for entry in neuron::entries() {
            let neuron = built(&entry)?;
            let picture = format!("{}.svg", entry.name);
            page.push_str(&section(&entry, &*neuron, &format!("{beside}/{picture}"))?);
            let response = Response::of(&*neuron, &format!("{}: {}", entry.name, entry.summary))?;
            write(&folder.join(picture), &response.to_svg())?;
        }
        write(&self.out, &page)?;
        console
            .say_json(&json!({"page": path_text(&self.out), "neurons": neuron::entries().len()}));
        console.say(format!("written: {}", self.out.display()));
        Ok(ExitCode::SUCCESS)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_atomically(path, text.as_bytes()).map_err(|error| Error::from(error).into())
}

fn wrong(error: DefinitionError) -> Failure {
    Failure::other(
        error.to_string(),
        "the defaults of a neuron must be usable; please report this",
    )
}

fn built(entry: &Entry<dyn Neuron>) -> Result<std::sync::Arc<dyn Neuron>, Failure> {
    (entry.build)(&Map::new()).map_err(wrong)
}

/// The table of all neurons.
fn list() -> Result<String, Failure> {
    let mut table =
        String::from("| neuron | | states | learnable | puts out |\n|---|---|---|---|---|\n");
    for entry in neuron::entries() {
        let neuron = built(&entry)?;
        let name = entry.name;
        let states: Vec<&str> = neuron.states().iter().map(|s| s.name).collect();
        let learned = trainables(&*neuron).map_err(wrong)?;
        let learned: Vec<&str> = learned.iter().map(|l| &l.name[..]).collect();
        table.push_str(&format!(
            "| [`{name}`](#{name}) | {} | {} | {} | {} |\n",
            entry.summary,
            states.join(", "),
            learned.join(", "),
            word(&json!(neuron.output_kind())),
        ));
    }
    Ok(table)
}

/// A word of an enumeration.
fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// All that is to be said of one neuron.
fn section(
    entry: &Entry<dyn Neuron>,
    neuron: &dyn Neuron,
    picture: &str,
) -> Result<String, Failure> {
    let step = Step::of(neuron).map_err(wrong)?;
    let (name, head, description) = (entry.name, entry.head(), entry.description());
    let mut defaults = (entry.defaults)();
    // Nothing is learned unless it is asked for.
    defaults.remove("trainable");
    let mut text = format!("\n## {name}\n\n{head}\n\n{description}\n\n![{name}]({picture})\n\n");
    text.push_str(&format!("Defaults: `{}`.\n\n", value::list(&defaults)));
    let domains: Vec<String> = (neuron::domains(neuron).iter())
        .map(|c| format!("`{}` {}", c.name, c.domain))
        .collect();
    if !domains.is_empty() {
        text.push_str(&format!("Domains: {}.\n\n", domains.join("; ")));
    }
    let known = constants(neuron).map_err(wrong)?;
    let known: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
    let learned = trainables(neuron).map_err(wrong)?;
    for learned in &learned {
        let share = match learned.granularity {
            Granularity::Layer => "layer",
            Granularity::Channel => "channel",
            Granularity::Neuron => "neuron",
            Granularity::Step => "time step",
            Granularity::StepChannel => "time step and channel",
        };
        // −0 is printed as 0.
        let init = value::text(&json!(learned.init + 0.0));
        text.push_str(&format!(
            "Trainable: `{}`, one a {share}, starts at {init}.\n\n",
            learned.name
        ));
    }
    if !known.is_empty() {
        text.push_str(&format!(
            "Constants that can be learned: {}.\n\n",
            known.join(", ")
        ));
    }
    if is_parallel(neuron) {
        text.push_str("x is what the neuron makes of the whole sequence first.\n\n");
    }
    text.push_str("```text\n");
    for (name, value) in step.forward() {
        text.push_str(&format!("{name} = {}\n", pretty(value)));
    }
    text.push('\n');
    for (name, value) in step.backward() {
        text.push_str(&format!("{name} {}\n", pretty(value)));
    }
    text.push_str("```\n");
    Ok(text)
}
