//! The tensors of a checkpoint are written in another format, or for another framework.

use super::Convert;
use super::output_format::{OutputFormat, WeightFormat};
use crate::args::DataName;
use crate::command::check::format_name;
use crate::command::content::Content;
use crate::command::path_text;
use crate::failure::Failure;
use serde_json::json;
use spikelet::log::Console;
use spikelet::train::{Checkpoint, SampleShape};
use spikelet::weights::{Framework, WeightMap, weights_of};
use spikelet_weights::{Format, Weights};

/// The tensors that are written.
struct Source {
    /// The format of the file.
    from: &'static str,
    weights: Weights,
    /// Differences of the framework, a sentence each.
    notes: Vec<String>,
}

impl Convert {
    pub(super) fn weights(&self, content: Content, console: &Console) -> Result<(), Failure> {
        let to = match self.to {
            Some(OutputFormat::Weights(to)) => Some(to),
            None | Some(OutputFormat::Framework(_)) => WeightFormat::of_extension(&self.out),
            Some(_) => None,
        };
        let to = to.ok_or_else(|| self.wrong_output("weights", &WeightFormat::NAMES.join(", ")))?;
        let Source {
            from,
            mut weights,
            notes,
        } = self.source(content)?;
        let mut removed = vec![];
        if weights.strip_module() {
            removed.push("module.");
        }
        if let Some(prefix) = &self.strip_prefix {
            let stripped = weights.strip_prefix(prefix);
            stripped.map_err(|error| error.in_file(self.file()))?;
            removed.push(prefix);
        }
        match to {
            WeightFormat::Safetensors => weights.write_safetensors(&self.out)?,
            WeightFormat::Torch => weights.write_torch(&self.out)?,
            WeightFormat::Npz => weights.write_npz(&self.out)?,
        }
        let (tensors, skipped) = (weights.len(), weights.skipped());
        let framework = match self.to {
            Some(OutputFormat::Framework(framework)) => Some(framework),
            _ => None,
        };
        console.say_json(&json!({
            "file": path_text(self.file()), "out": path_text(&self.out), "from": from, "to": to.name(),
            "framework": framework.map(Framework::name), "tensors": tensors, "removed_prefixes": removed,
            "skipped": skipped, "notes": notes,
        }));
        for prefix in removed {
            console.say(format!("`{prefix}` was removed from the names"));
        }
        if let Some(first) = skipped.first() {
            let count = skipped.len();
            console.say(format!(
                "{count} entries are no tensors and are not written, such as `{first}`"
            ));
        }
        for note in notes {
            console.say(format!("note: {note}"));
        }
        let plural = if tensors == 1 { "" } else { "s" };
        let of = framework.map_or_else(String::new, |framework| {
            format!(" of {}", framework.summary())
        });
        console.say(format!(
            "{tensors} tensor{plural} → {}{of} in {}",
            to.name(),
            self.out.display()
        ));
        Ok(())
    }

    /// The tensors of the file.
    fn source(&self, content: Content) -> Result<Source, Failure> {
        let framework = match self.to {
            Some(OutputFormat::Framework(framework)) => Some(framework),
            _ => None,
        };
        if content != Content::Checkpoint {
            if let Some(framework) = framework {
                return Err(Failure::argument(
                    format!(
                        "{} is no checkpoint of `spikelet train`",
                        self.file().display()
                    ),
                    format!(
                        "the names and constants of {} follow from the network, which such a checkpoint has",
                        framework.summary()
                    ),
                ));
            }
            let from = format_name(Format::detect(self.file())?);
            let weights = Weights::read(self.file())?;
            return Ok(Source {
                from,
                weights,
                notes: vec![],
            });
        }
        let checkpoint = Checkpoint::read(self.file())?;
        let tensors = checkpoint.model_tensors();
        let (weights, notes) = match framework {
            None => (weights_of(tensors)?, vec![]),
            Some(framework) => {
                let map = map(&checkpoint, framework, self)?;
                (map.export(|name| tensors.get(name).copied())?, map.notes)
            }
        };
        Ok(Source {
            from: "spikelet",
            weights,
            notes,
        })
    }
}

/// The map of the network of a checkpoint.
fn map(
    checkpoint: &Checkpoint,
    framework: Framework,
    convert: &Convert,
) -> Result<WeightMap, Failure> {
    let network = checkpoint.network().ok_or_else(|| {
        let file = convert.file().display();
        Failure::other(
            format!("{file}: its network is a program's own"),
            "export it in that program with `spikelet::weights::WeightMap`",
        )
    })?;
    let settings = checkpoint.settings()?;
    let sample = DataName::sample_in_checkpoint(&checkpoint.dataset.name, network, settings);
    let input = match sample {
        SampleShape::Sequence { steps, shape, .. } => [&[steps, 1], shape.sizes()].concat(),
        _ => [&[settings.time_steps, 1], &network.input()[..]].concat(),
    };
    Ok(WeightMap::new(framework, &*network.module()?, &input)?)
}
