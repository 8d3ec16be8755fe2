//! `spikelet predict`

mod classify;
mod sequences;

use super::given::{Converter, FileReader, Input, ReadingArgs, SequenceReader, label_of};
use super::trained::Trained;
use super::{examples, path_text, say_table};
use crate::args::{CheckpointPath, DeviceArgs, count};
use crate::failure::Failure;
use crate::table::Table;
use classify::{Classifier, Prediction};
use sequences::SequenceClassifier;
use serde_json::json;
use spikelet::data::{Dataset, InMemory};
use spikelet::log::Console;
use spikelet::report::Activity;
use spikelet::terminal::escaped;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Classify images or recordings of your own with a trained network
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
/// A network that was trained on recordings of events takes files of events, with the frames of its
/// training; one that was trained on sequences takes arrays [T, …] in .npy files, or as `x` in
/// .safetensors files; one that was trained on spoken digits (fsdd) takes WAV files of 8,000 Hz.
///
/// The score of a class is the mean of the network's output over time; where all are 0, no output fired
/// and there is no class. Probabilities are the softmax of the scores; they are printed for networks
/// trained with a cross entropy.
///
/// In a folder, or with several inputs, a file that cannot be read is reported, and the others are
/// classified; the exit code is 1 then.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet predict runs/mnist-fc/latest/best.safetensors digit.png" => "the classes of one image",
    "spikelet predict best.safetensors scan.png --invert --out picture.png" => "dark ink on light paper, with a picture of the spikes",
    "spikelet predict best.safetensors photos --top 3 --json" => "all images in a folder, as JSON",
    "spikelet predict best.safetensors recording.aedat4 --resize" => "a recording of a sensor of another size",
])]
pub struct Predict {
    /// Checkpoint written by `spikelet train`, or the folder of a run: its best one
    #[arg(value_name = "CHECKPOINT", value_parser = CheckpointPath::parser())]
    checkpoint: CheckpointPath,

    /// PNG, JPEG or .npy files; files of events or sequences; or folders of them
    #[arg(value_name = "INPUT", required = true)]
    files: Vec<PathBuf>,

    /// Number of classes to print for each image
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = count)]
    top: usize,

    /// Write a picture of the spikes: .png or .svg; for at most 64 images. Of images in a folder with the
    /// name of their class it shows whether they are recognized
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

/// The largest number of images in a picture.
const MOST_IN_PICTURE: usize = 64;

/// The number of images of a batch.
const BATCH: usize = 64;

/// The result of an output without spikes.
const NO_CLASS: &str = "no spikes: no class";

/// The mean of the pixels from which an image counts as light.
const LIGHT: u8 = 140;

impl Predict {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if let Some(out) = &self.out {
            Activity::check_path(out).map_err(|error| Failure::wrong(&error))?;
        }
        self.checkpoint.say(console);
        let mut trained = Trained::open(&self.checkpoint, &self.device)?;
        let reader = FileReader::new(&trained, &self.reading)?;
        let files = reader.find(&self.files)?;
        match &reader {
            FileReader::Sequences(reader) => self.sequences(reader, &files, &mut trained, console),
            FileReader::Images(reader) => self.images(reader, &files, &mut trained, console),
        }
    }

    fn sequences(
        &self,
        reader: &SequenceReader,
        files: &[PathBuf],
        trained: &mut Trained,
        console: &Console,
    ) -> Result<ExitCode, Failure> {
        if trained.classifies_steps() {
            return Err(Failure::other(
                format!(
                    "{}: it classifies each time step of a sequence, not the sequence",
                    trained.path.display()
                ),
                "evaluate it with `spikelet eval`, or write its outputs to a file with `spikelet record`",
            ));
        }
        if self.out.is_some() {
            return Err(Failure::argument(
                "the network takes sequences; --out is for images",
                "leave it out; `spikelet record` writes the spikes of its layers to a file",
            ));
        }
        let classes = trained.classes();
        let loss = trained.checkpoint.settings()?.loss.clone();
        let mut classifier = SequenceClassifier::new(reader, trained)?;
        let mut report = Report::new(self, &classes, files.len());
        for file in files {
            match reader.read(file) {
                Ok(input) => {
                    let scores = classifier.scores(&input)?;
                    report.add(console, vec![input], vec![Prediction::new(&scores, &*loss)]);
                }
                Err(failure) => report.skip(console, file, failure)?,
            }
        }
        Ok(report.finish(console, None))
    }

    fn images(
        &self,
        converter: &Converter,
        files: &[PathBuf],
        trained: &mut Trained,
        console: &Console,
    ) -> Result<ExitCode, Failure> {
        let classes = trained.classes();
        let shape = converter.shape;
        let mut report = Report::new(self, &classes, files.len());
        let module = trained.network.module()?;
        let mut classifier =
            Classifier::new(&*module, trained.checkpoint.settings()?, &classes, shape);
        let mut batch = vec![];
        for file in files {
            let inputs = match converter.open(file) {
                Ok(inputs) => inputs,
                Err(failure) => {
                    report.skip(console, file, failure)?;
                    continue;
                }
            };
            for input in inputs {
                match input {
                    Ok(input) => batch.push(input),
                    Err(failure) => {
                        report.skip(console, file, failure)?;
                        break;
                    }
                }
                if self.out.is_some() && batch.len() > MOST_IN_PICTURE {
                    return Err(Failure::argument(
                        format!("there are more than {MOST_IN_PICTURE} images for one picture"),
                        "name fewer images, or leave --out out",
                    ));
                }
                if self.out.is_none() && batch.len() == BATCH {
                    let found = classifier.run(&batch, &mut trained.store)?;
                    report.add(console, std::mem::take(&mut batch), found);
                }
            }
        }
        if !batch.is_empty() {
            let found = match &self.out {
                None => classifier.run(&batch, &mut trained.store)?,
                Some(out) => {
                    let (mut activity, found) = classifier.draw(&batch, &mut trained.store)?;
                    for (example, input) in activity.examples.iter_mut().zip(&batch) {
                        // Files that were found in a folder.
                        let is_found = !self.files.contains(&input.path);
                        example.label = is_found.then(|| label_of(&input.path, &classes)).flatten();
                    }
                    activity.save(trained.network.name(), out)?;
                    found
                }
            };
            report.add(console, batch, found);
        }
        let dark = (shape[0] == 1).then_some(&trained.checkpoint.dataset.name[..]);
        Ok(report.finish(console, dark))
    }
}

/// The lines of the output.
struct Report<'a> {
    command: &'a Predict,
    classes: &'a [String],
    found: Vec<(Input, Prediction)>,
    /// The number of files, and of those that could not be read.
    files: usize,
    unreadable: usize,
}

impl<'a> Report<'a> {
    fn new(command: &'a Predict, classes: &'a [String], files: usize) -> Self {
        Self {
            command,
            classes,
            found: vec![],
            files,
            unreadable: 0,
        }
    }

    /// The name of a class; its index if it has none.
    fn name(&self, class: usize) -> String {
        let name = self.classes.get(class).cloned();
        name.unwrap_or_else(|| class.to_string())
    }

    /// The same as text: the name is that of a folder, or from a file.
    fn shown(&self, class: usize) -> String {
        escaped(&self.name(class)).into_owned()
    }

    fn add(&mut self, console: &Console, inputs: Vec<Input>, found: Vec<Prediction>) {
        for (mut input, prediction) in inputs.into_iter().zip(found) {
            console.say_json(&self.line(&input, &prediction));
            // The values are no longer needed.
            (input.pixels, input.sequence) = (vec![], vec![]);
            self.found.push((input, prediction));
        }
    }

    /// Reports a file that cannot be read.
    ///
    /// # Errors
    /// The failure itself, if it is the only file.
    fn skip(&mut self, console: &Console, file: &Path, failure: Failure) -> Result<(), Failure> {
        if self.files == 1 {
            return Err(failure);
        }
        self.unreadable += 1;
        console.say_json(&json!({
            "checkpoint": path_text(&self.command.checkpoint), "input": path_text(file),
            "error": failure.to_string(),
        }));
        failure.say();
        Ok(())
    }

    fn line(&self, input: &Input, prediction: &Prediction) -> serde_json::Value {
        let top = prediction.top(self.command.top).map(|class| {
            json!({
                "class": class, "name": self.name(class), "score": prediction.scores[class],
                "probability": prediction.probability(class),
            })
        });
        let size = |axis: usize| input.original.get(axis);
        let best = prediction.best();
        json!({
            "checkpoint": path_text(&self.command.checkpoint), "input": path_text(&input.path),
            "index": input.index, "steps": input.steps, "channels": size(0), "height": size(1), "width": size(2),
            "conversions": input.conversions, "predicted": best,
            "class": best.map(|class| self.name(class)), "top": top.collect::<Vec<_>>(),
            "scores": prediction.scores, "picture": self.command.out.as_deref().map(path_text),
        })
    }

    /// Prints all results. `dark` is the name of a data set of gray images, with light objects on a dark background.
    fn finish(&self, console: &Console, dark: Option<&str>) -> ExitCode {
        match &self.found[..] {
            [] => {}
            [(input, prediction)] if self.files == 1 => self.say_one(console, input, prediction),
            many => self.say_many(console, many),
        }
        let light = self.found.iter().filter(|(input, _)| input.mean >= LIGHT);
        let light = light.count();
        if let Some(dataset) = dark
            && light > 0
            && !self.command.reading.invert
            && !self.classes.is_empty()
        {
            console.say_wrapped(format!(
                "note: {light} of {} images are mostly light; those of {dataset} have light objects on \
                 a dark background, see --invert",
                self.found.len()
            ));
        }
        if self.unreadable > 0 {
            console.say_wrapped(format!(
                "{} of {} files could not be read",
                self.unreadable, self.files
            ));
        }
        if let Some(out) = &self.command.out {
            console.say(format!("picture: {}", out.display()));
        }
        ExitCode::from(u8::from(self.unreadable > 0))
    }

    fn say_one(&self, console: &Console, input: &Input, prediction: &Prediction) {
        let (kind, _) = prediction.certainty(0);
        let result = match prediction.best() {
            Some(best) => {
                let (_, value) = prediction.certainty(best);
                let best = console.green(self.shown(best));
                format!("{best} with a {kind} of {value:.3}")
            }
            None => NO_CLASS.to_string(),
        };
        console.say_wrapped(format!("{}: {result}", input.name()));
        if !input.conversions.is_empty() {
            console.say_wrapped(input.conversions.join(", "));
        }
        if prediction.best().is_none() {
            return;
        }
        let mut head = vec!["class", "score"];
        if kind == "probability" {
            head.insert(1, "probability");
        }
        let mut table = Table::new(&head).right(&[1, 2]);
        for class in prediction.top(self.command.top) {
            let mut row = vec![self.shown(class)];
            row.extend(prediction.probability(class).map(|p| format!("{p:.4}")));
            row.push(format!("{:.4}", prediction.scores[class]));
            table.row(row);
        }
        say_table(console, &table);
    }

    fn say_many(&self, console: &Console, found: &[(Input, Prediction)]) {
        let (kind, _) = found[0].1.certainty(0);
        let what = if found[0].0.steps.is_some() {
            "file"
        } else {
            "image"
        };
        let mut table = Table::new(&[what, "class", kind, "next", "conversions"]).right(&[2]);
        for (input, prediction) in found {
            let conversions = input.conversions.join(", ");
            let Some(best) = prediction.best() else {
                let cells = [NO_CLASS, "–", ""].map(String::from);
                table.row([vec![input.name()], cells.to_vec(), vec![conversions]].concat());
                continue;
            };
            let top = prediction.top(self.command.top).skip(1);
            let next: Vec<String> = top
                .map(|class| {
                    let (_, value) = prediction.certainty(class);
                    format!("{} {value:.3}", self.shown(class))
                })
                .collect();
            table.row([
                input.name(),
                self.shown(best),
                format!("{:.3}", prediction.certainty(best).1),
                next.join(", "),
                conversions,
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
) -> spikelet::Result<Arc<dyn Dataset>> {
    let pixels = inputs.iter().flat_map(|input| &input.pixels).copied();
    let classes = match classes {
        [] => vec!["0".to_string()],
        names => names.to_vec(),
    };
    let labels = vec![0; inputs.len()];
    let images = InMemory::images("the inputs", pixels.collect(), labels, shape, classes)?;
    Ok(Arc::new(images))
}
