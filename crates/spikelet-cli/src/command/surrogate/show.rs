//! `spikelet surrogate show`

use crate::args::{Setting, value};
use crate::args::{overlay, surrogate_constants, surrogate_names, svg_path};
use crate::command::examples;
use crate::command::neuron::{say_surrogate, surrogate_json};
use crate::failure::Failure;
use serde_json::{Map, Value};
use spikelet::DefinitionError;
use spikelet::Error;
use spikelet::files::write_atomically;
use spikelet::log::Console;
use spikelet::report::Gates;
use spikelet::surrogate::{self, Surrogate};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Arc;

/// Print a surrogate's derivative g′ and its primitive g
///
/// x is the distance from the threshold, H − v_threshold.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet surrogate show atan" => "with its defaults",
    "spikelet surrogate show sigmoid --vary alpha=1,2,4,8 --out gates.svg" => "a picture with a curve for each alpha",
    "spikelet surrogate show sigmoid --set alpha=1 --json" => "as JSON",
])]
pub struct Show {
    /// Surrogate gradient
    #[arg(value_name = "SURROGATE", value_parser = surrogate_names())]
    name: String,

    /// Set a constant of the surrogate; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,

    /// Write a picture of the gate, the potential after the reset, and the derivative: .svg
    #[arg(long, short, value_name = "FILE", value_parser = svg_path())]
    out: Option<PathBuf>,

    /// Values of a constant, each a curve in the picture
    #[arg(long, value_name = "KEY=X,X", requires = "out")]
    vary: Option<Vary>,
}

/// `alpha=1,2,4`
#[derive(Clone, Debug)]
struct Vary {
    key: String,
    values: Vec<Value>,
}

/// The largest number of distinguishable curves.
const MOST: usize = 6;

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, values) = (text.split_once('=')).ok_or("write KEY=X,X, such as alpha=1,2,4")?;
        let number = |x: &str| serde_json::from_str(x).ok().filter(Value::is_number);
        let values: Option<Vec<Value>> = values.split(',').map(number).collect();
        match values {
            Some(values) if values.len() <= MOST => Ok(Self {
                key: key.trim().to_string(),
                values,
            }),
            Some(_) => Err(format!("give at most {MOST} values")),
            None => Err("give numbers separated by commas, such as alpha=1,2,4".to_string()),
        }
    }
}

/// A surrogate with the name of its curve.
type Named = (String, Arc<dyn Surrogate>);

impl Show {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let wrong = |error: DefinitionError| {
            Failure::argument(
                error.to_string(),
                format!("see `spikelet surrogate show {}`", self.name),
            )
        };
        let settings = self.set.iter().map(|s| (s.key.clone(), s.value.clone()));
        let given = overlay(
            &format!("surrogate `{}`", self.name),
            &surrogate_constants(&self.name)?,
            settings,
        )?;
        let surrogate = self.build(&given).map_err(wrong)?;
        let summary = surrogate.declaration().summary();
        if let Some(out) = &self.out {
            let surrogates = match &self.vary {
                None => vec![(value::text(&surrogate.spec()), surrogate.clone())],
                Some(vary) => self.varied(vary, &given)?,
            };
            let title = format!("{}: {summary}", self.name);
            let svg = Gates { title, surrogates }.to_svg()?;
            write_atomically(out, svg.as_bytes()).map_err(Error::from)?;
        }
        console.say_json(&surrogate_json(&*surrogate));
        console.say(format!(
            "{}  {summary}",
            console.bold(value::text(&surrogate.spec()))
        ));
        say_surrogate(console, &*surrogate);
        if let Some(out) = &self.out {
            console.say(format!("picture: {}", out.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The surrogate with these constants.
    fn build(&self, constants: &Map<String, Value>) -> Result<Arc<dyn Surrogate>, DefinitionError> {
        let mut spec = constants.clone();
        spec.insert("name".to_string(), Value::from(self.name.as_str()));
        surrogate::from_spec(&Value::Object(spec))
    }

    /// The surrogate with each value of a constant.
    fn varied(&self, vary: &Vary, given: &Map<String, Value>) -> Result<Vec<Named>, Failure> {
        let wrong = |error: DefinitionError| Failure::argument(error.to_string(), "correct --vary");
        let what = format!("surrogate `{}`", self.name);
        let each = vary.values.iter().map(|x| {
            let one = [(vary.key.clone(), x.clone())];
            let mut constants = given.clone();
            constants.extend(overlay(&what, &surrogate_constants(&self.name)?, one)?);
            let surrogate = self.build(&constants).map_err(wrong)?;
            Ok((format!("{} = {}", vary.key, value::text(x)), surrogate))
        });
        each.collect()
    }
}
