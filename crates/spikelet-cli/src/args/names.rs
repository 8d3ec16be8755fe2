//! Names of a family, with "did you mean …?".

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use spikelet::data::{EventRecordings, Origin, named_datasets};
use spikelet::neuron::NEURONS;
use spikelet::suggest::{closest, find};
use spikelet::surrogate::SURROGATES;
use std::ffi::OsStr;

/// Takes the names of a family's members.
#[derive(Clone)]
pub struct Names {
    members: Vec<(&'static str, String)>,
    /// Those that help texts do not list.
    hidden: Vec<&'static str>,
}

/// The neurons' names.
pub fn neuron_names() -> Names {
    Names {
        members: NEURONS.summaries().collect(),
        hidden: vec![],
    }
}

/// The surrogates' names.
pub fn surrogate_names() -> Names {
    Names {
        members: SURROGATES.summaries().collect(),
        hidden: vec![],
    }
}

/// The names of the data sets.
pub fn data_names() -> Names {
    let members = named_datasets().map(|known| (known.name(), known.summary().to_string()));
    // `spikelet data list` has the sets of recordings, and the description of image-folder names ImageNet.
    let hidden = named_datasets().filter(|known| {
        matches!(known.events(), Some(EventRecordings::Set(_)))
            || known.is_resized() && known.origin() == Origin::Files
    });
    Names {
        members: members.collect(),
        hidden: hidden.map(|known| known.name()).collect(),
    }
}

/// The error of a name that is not in `known`, with the closest name.
pub fn unknown(
    command: &Command,
    arg: Option<&Arg>,
    given: &str,
    known: impl Iterator<Item = &'static str> + Clone,
) -> Error {
    let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
    let mut insert = |kind, value: String| {
        error.insert(kind, ContextValue::String(value));
    };
    if let Some(arg) = arg {
        insert(ContextKind::InvalidArg, arg.to_string());
    }
    insert(ContextKind::InvalidValue, given.to_string());
    if let Some(name) = closest(given, known.clone()) {
        insert(ContextKind::SuggestedValue, name.to_string());
    }
    let known = known.map(String::from).collect();
    error.insert(ContextKind::ValidValue, ContextValue::Strings(known));
    error
}

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, Error> {
        let given = value.to_string_lossy();
        let names = || self.members.iter().map(|(name, _)| *name);
        if let Some(name) = find(&given, names()) {
            return Ok(name.to_string());
        }
        Err(unknown(command, arg, &given, names()))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = self.members.iter().map(|(name, summary)| {
            let is_hidden = self.hidden.contains(name);
            PossibleValue::new(*name)
                .help(summary.clone())
                .hide(is_hidden)
        });
        Some(Box::new(values))
    }
}
