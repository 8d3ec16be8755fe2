//! Names of a family, with "did you mean …?".

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use spikelet::data::{Entry, EventRecordings, LazyImages};
use spikelet::suggest::closest;
use spikelet::{neuron, surrogate};
use std::ffi::OsStr;

/// Takes the names of a family's members.
#[derive(Clone)]
pub struct Names {
    members: Vec<(&'static str, &'static str)>,
    /// Those that help texts do not list.
    hidden: Vec<&'static str>,
}

/// The neurons' names.
pub fn neuron_names() -> Names {
    Names {
        members: neuron::entries()
            .iter()
            .map(|e| (e.name, e.summary))
            .collect(),
        hidden: vec![],
    }
}

/// The surrogates' names.
pub fn surrogate_names() -> Names {
    Names {
        members: surrogate::entries()
            .iter()
            .map(|e| (e.name, e.summary))
            .collect(),
        hidden: vec![],
    }
}

/// The names of the data sets.
pub fn data_names() -> Names {
    let entries = spikelet::data::entries();
    let is_set = |e: &&Entry| matches!(e.events(), Some(EventRecordings::Set(_)));
    // The description of image-folder names it.
    let is_imagenet = |e: &&Entry| e.lazy_images() == Some(LazyImages::ImageNet);
    Names {
        members: entries.iter().map(|e| (e.name, e.summary)).collect(),
        // `spikelet data list` has the sets of recordings.
        hidden: entries
            .iter()
            .filter(|entry| is_set(entry) || is_imagenet(entry))
            .map(|entry| entry.name)
            .collect(),
    }
}

/// A name without the separators in which people differ: `cifar-10`, `soft_pulse_lif`.
fn plain(name: &str) -> String {
    name.replace(['-', '_'], "")
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
        let meant = names().find(|name| plain(name) == plain(&given));
        if let Some(name) = meant {
            return Ok(name.to_string());
        }
        let mut error = Error::new(ErrorKind::InvalidValue).with_cmd(command);
        if let Some(arg) = arg {
            error.insert(
                ContextKind::InvalidArg,
                ContextValue::String(arg.to_string()),
            );
        }
        let known = names().map(String::from).collect();
        error.insert(ContextKind::ValidValue, ContextValue::Strings(known));
        if let Some(name) = closest(&given, names()) {
            error.insert(
                ContextKind::SuggestedValue,
                ContextValue::String(name.to_string()),
            );
        }
        error.insert(
            ContextKind::InvalidValue,
            ContextValue::String(given.into_owned()),
        );
        Err(error)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let values = self.members.iter().map(|(name, summary)| {
            let is_hidden = self.hidden.contains(name);
            PossibleValue::new(*name).help(*summary).hide(is_hidden)
        });
        Some(Box::new(values))
    }
}
