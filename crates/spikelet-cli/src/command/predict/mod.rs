//! `spikelet predict`

mod array;
mod classify;
mod convert;
mod files;

use super::trained::Trained;
use super::{examples, path_text, say_table};
use crate::args::{CheckpointPath, DeviceArgs, count};
use crate::failure::Failure;
use crate::table::Table;
use classify::{Classifier, Prediction};
use convert::{Converter, Input};
use serde_json::json;
use spikelet::data::ImageDataset;
use spikelet::log::Console;
use spikelet::report::Activity;
use std::path::PathBuf;
use std::process::ExitCode;

/// Classify images of your own with a trained network
///
/// Inputs are PNG and JPEG files, NumPy arrays (.npy), and folders of them. Each image is converted to
/// the network's shape: color to grayscale or grayscale to three equal channels; resized, bilinearly
/// with antialiasing, until it covers the network's height and width, and cropped at the center; then
/// normalized as in training. The conversions of each image are printed.
///
/// An array is [H, W], [C, H, W], [H, W, C], or several images [N, H, W], [N, C, H, W], [N, H, W, C],
/// where C is 1, 3 or the network's channels. Its elements are 0 to 255 if they are integers, 0 to 1 if
/// they are floating-point numbers.
///
/// The score of a class is the mean of the network's output over time. Probabilities are the softmax of
/// the scores; they are printed for networks trained with a cross entropy.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet predict runs/mnist-fc/latest/best.safetensors digit.png" => "the classes of one image",
    "spikelet predict best.safetensors scan.png --invert --out picture.png" => "dark ink on light paper, with a picture of the spikes",
    "spikelet predict best.safetensors photos --top 3 --json" => "all images in a folder, as JSON",
])]
pub struct Predict {
    /// Checkpoint written by `spikelet train`, or the folder of a run: its best one
    #[arg(value_name = "CHECKPOINT", value_parser = CheckpointPath::parser())]
    checkpoint: CheckpointPath,

    /// PNG, JPEG or .npy files, or folders of them
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,

    /// Number of classes to print for each image
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count)]
    top: usize,

    /// Invert the pixels: for dark objects on a light background, where the training images have light
    /// objects on a dark one
    #[arg(long)]
    invert: bool,

    /// Write a picture of the spikes: .png or .svg; for at most 64 images
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The largest number of images in a picture.
const MOST_IN_PICTURE: usize = 64;

/// The number of images of a batch.
const BATCH: usize = 64;

/// The mean of the pixels from which an image counts as light.
const LIGHT: u8 = 140;

impl Predict {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if let Some(out) = &self.out {
            Activity::check_path(out).map_err(|error| Failure::wrong(&error))?;
        }
        let files = files::find(&self.inputs)?;
        self.checkpoint.say(console);
        let mut trained = Trained::open(&self.checkpoint, &self.device)?;
        let classes = trained.classes();
        let shape = trained.image()?;
        let converter = Converter {
            shape,
            invert: self.invert,
        };
        let mut report = Report::new(&self, &classes);
        let module = trained.network.module()?;
        let mut classifier =
            Classifier::new(&*module, trained.checkpoint.settings()?, &classes, shape);
        let mut batch = vec![];
        for file in &files {
            for input in converter.open(file)? {
                batch.push(input?);
                if self.out.is_some() && batch.len() > MOST_IN_PICTURE {
                    return Err(Failure::argument(
                        format!("there are more than {MOST_IN_PICTURE} images for one picture"),
                        "name fewer images, or leave --out out",
                    ));
                }
                if self.out.is_none() && batch.len() == BATCH {
                    let found = classifier.run(&batch, &mut trained.store)?;
                    report.add(console, &std::mem::take(&mut batch), found);
                }
            }
        }
        if !batch.is_empty() {
            let found = match &self.out {
                None => classifier.run(&batch, &mut trained.store)?,
                Some(out) => {
                    let (activity, found) = classifier.draw(&batch, &mut trained.store)?;
                    activity.save(trained.network.name(), out)?;
                    found
                }
            };
            report.add(console, &batch, found);
        }
        report.finish(console, &trained.checkpoint.dataset.name, shape);
        Ok(ExitCode::SUCCESS)
    }
}

/// The lines of the output.
struct Report<'a> {
    command: &'a Predict,
    classes: &'a [String],
    found: Vec<(Input, Prediction)>,
}

impl<'a> Report<'a> {
    fn new(command: &'a Predict, classes: &'a [String]) -> Self {
        Self {
            command,
            classes,
            found: vec![],
        }
    }

    /// The name of a class; its index if it has none.
    fn name(&self, class: usize) -> String {
        let name = self.classes.get(class).cloned();
        name.unwrap_or_else(|| class.to_string())
    }

    fn add(&mut self, console: &Console, inputs: &[Input], found: Vec<Prediction>) {
        for (input, prediction) in inputs.iter().zip(found) {
            console.say_json(&self.line(input, &prediction));
            // The pixels are no longer needed.
            self.found.push((input.without_pixels(), prediction));
        }
    }

    fn line(&self, input: &Input, prediction: &Prediction) -> serde_json::Value {
        let top = prediction.top(self.command.top).map(|class| {
            json!({
                "class": class, "name": self.name(class), "score": prediction.scores[class],
                "probability": prediction.probability(class),
            })
        });
        let [channels, height, width] = input.original;
        json!({
            "checkpoint": path_text(&self.command.checkpoint), "input": path_text(&input.path),
            "index": input.index, "channels": channels, "height": height, "width": width,
            "conversions": input.conversions, "predicted": prediction.best(),
            "class": self.name(prediction.best()), "top": top.collect::<Vec<_>>(),
            "scores": prediction.scores, "picture": self.command.out.as_deref().map(path_text),
        })
    }

    fn finish(&self, console: &Console, dataset: &str, shape: [usize; 3]) {
        match &self.found[..] {
            [] => {}
            [(input, prediction)] => self.say_one(console, input, prediction),
            many => self.say_many(console, many),
        }
        let light = self.found.iter().filter(|(input, _)| input.mean >= LIGHT);
        let light = light.count();
        if light > 0 && shape[0] == 1 && !self.command.invert && !self.classes.is_empty() {
            console.say(format!(
                "note: {light} of {} images are mostly light; those of {dataset} have light objects on \
                 a dark background, see --invert",
                self.found.len()
            ));
        }
        if let Some(out) = &self.command.out {
            console.say(format!("picture: {}", out.display()));
        }
    }

    fn say_one(&self, console: &Console, input: &Input, prediction: &Prediction) {
        let best = self.name(prediction.best());
        let (kind, value) = prediction.certainty(prediction.best());
        console.say(format!(
            "{}: {} with a {kind} of {value:.3}",
            input.name(),
            console.green(best)
        ));
        if !input.conversions.is_empty() {
            console.say(input.conversions.join(", "));
        }
        let mut head = vec!["class", "score"];
        if kind == "probability" {
            head.insert(1, "probability");
        }
        let mut table = Table::new(&head).right(&[1, 2]);
        for class in prediction.top(self.command.top) {
            let mut row = vec![self.name(class)];
            row.extend(prediction.probability(class).map(|p| format!("{p:.4}")));
            row.push(format!("{:.4}", prediction.scores[class]));
            table.row(row);
        }
        say_table(console, &table);
    }

    fn say_many(&self, console: &Console, found: &[(Input, Prediction)]) {
        let (kind, _) = found[0].1.certainty(0);
        let mut table = Table::new(&["image", "class", kind, "next", "conversions"]).right(&[2]);
        for (input, prediction) in found {
            let mut top = prediction.top(self.command.top);
            let best = top.next().unwrap_or_default();
            let next: Vec<String> = top
                .map(|class| {
                    let (_, value) = prediction.certainty(class);
                    format!("{} {value:.3}", self.name(class))
                })
                .collect();
            table.row([
                input.name(),
                self.name(best),
                format!("{:.3}", prediction.certainty(best).1),
                next.join(", "),
                input.conversions.join(", "),
            ]);
        }
        say_table(console, &table);
    }
}

/// The images as a data set; their labels are unknown, and 0.
fn as_dataset(
    inputs: &[Input],
    shape: [usize; 3],
    classes: &[String],
) -> spikelet::Result<ImageDataset> {
    let pixels = inputs.iter().flat_map(|input| &input.pixels).copied();
    let classes = match classes {
        [] => vec!["0".to_string()],
        names => names.to_vec(),
    };
    let labels = vec![0; inputs.len()];
    Ok(ImageDataset::new(
        "the inputs",
        pixels.collect(),
        labels,
        shape,
        classes,
    )?)
}
