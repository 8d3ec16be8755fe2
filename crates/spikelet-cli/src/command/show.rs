//! `spikelet show`

use super::trained::Trained;
use super::{examples, path_text, say_table};
use crate::args::{DataArgs, DeviceArgs};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::log::Console;
use spikelet::report::Activity;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show a trained network's response to test images, layer by layer
///
/// Prints the firing rate of every layer and the scores of the classes. The picture shows the image,
/// the spikes of the first convolution's neurons at each time step (up to eight channels and steps),
/// the firing rates, and the spikes of the output.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet show runs/csnn/latest/best.safetensors --index 7 --out picture.png" => "one image of the data set it was trained on",
    "spikelet show runs/csnn/latest/best.safetensors --index 7,8,9 --json" => "three images, as JSON",
])]
pub struct Show {
    /// Checkpoint written by `spikelet train`
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: PathBuf,

    /// Indices of test images, from 0; several, separated by commas
    #[arg(long, value_name = "N", default_value = "0", value_delimiter = ',')]
    index: Vec<usize>,

    /// Write a picture: .png or .svg
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    data: DataArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The largest number of images.
const MOST: usize = 64;

impl Show {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if self.index.len() > MOST {
            return Err(Failure::argument(
                format!("{} images were requested", self.index.len()),
                format!("show at most {MOST} at a time"),
            ));
        }
        if let Some(out) = &self.out {
            Activity::check_path(out).map_err(|error| Failure::wrong(&error))?;
        }
        let mut trained = Trained::open(&self.checkpoint, &self.device)?;
        trained.image()?;
        let test = trained.test(&self.data, console)?;
        let test = test.images()?;
        let shown = Activity::new(
            &*trained.network.module()?,
            trained.checkpoint.settings()?,
            test,
            &self.index,
            &mut trained.store,
        )?;
        let title = format!("{} on {}", trained.network.name(), test.name);
        if let Some(out) = &self.out {
            shown.save(&title, out)?;
        }
        for k in 0..shown.examples.len() {
            console.say_json(&self.line(&shown, k));
            say_image(console, &shown, k);
        }
        if let Some(out) = &self.out {
            console.say(format!("picture: {}", out.display()));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn line(&self, shown: &Activity, k: usize) -> serde_json::Value {
        let example = &shown.examples[k];
        let layers = shown.layers.iter().map(|layer| {
            json!({
                "name": layer.name, "shape": layer.shape, "time_steps": layer.spikes.shape.first(),
                "rate": layer.rate_of(k),
            })
        });
        json!({
            "checkpoint": path_text(&self.checkpoint), "index": shown.indices[k],
            "label": example.label, "predicted": example.predicted, "scores": shown.scores[k],
            "classes": shown.classes, "layers": layers.collect::<Vec<_>>(), "picture": self.out.as_deref().map(path_text),
        })
    }
}

fn say_image(console: &Console, shown: &Activity, k: usize) {
    let example = &shown.examples[k];
    let class = |class: usize| {
        let name = shown.classes.get(class).cloned();
        name.unwrap_or_else(|| class.to_string())
    };
    let result = match example.label == example.predicted {
        true => console.green("recognized"),
        false => console.red(format!("taken for {}", class(example.predicted))),
    };
    let (index, label) = (shown.indices[k], class(example.label));
    console.say(format!(
        "image {index}: {label}, {result} with a score of {:.3}",
        shown.scores[k][example.predicted]
    ));
    let mut table = Table::new(&["layer", "neurons", "firing rate"]).right(&[1, 2]);
    for layer in &shown.layers {
        let sizes: Vec<String> = layer.shape.iter().map(ToString::to_string).collect();
        let rate = format!("{:.4}", layer.rate_of(k));
        table.row([layer.name.clone(), sizes.join(" × "), rate]);
    }
    say_table(console, &table);
}
