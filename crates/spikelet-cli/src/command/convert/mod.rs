//! `spikelet convert`

mod ann;
mod ann_report;
mod events;
mod graph;
mod network;
mod output_format;
mod weights;

use super::content::Content;
use super::data::parse_sensor;
use super::{examples, path_text, same_file};
use crate::args::CheckpointPath;
use crate::failure::Failure;
use ann::AnnArgs;
use output_format::OutputFormat;
use serde_json::json;
use spikelet::files::remove_abandoned;
use spikelet::log::Console;
use spikelet::train::Checkpoint;
use spikelet_events::{Format, Sensor};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Convert an event file, a NIR graph, a trained network or weights to another format
///
/// The input is told by content. Events, which are read and written in blocks, are written as events, a NIR graph as NIR,
/// a checkpoint of `spikelet train` as a NIR graph of its network if the output is one, and the tensors of a checkpoint or of a file with weights as safetensors, as a checkpoint of PyTorch or as NumPy arrays,
/// with their names, shapes and types; those of a checkpoint of `spikelet train` also with the names and constants of a
/// framework, which `load_state_dict` there accepts. `module.` in front of all names (DataParallel) is removed. No function
/// or class that a pickle names is imported or called. Where the output is a folder, a checkpoint becomes a model with its card. A file that `spikelet check` refuses is refused, and nothing is
/// written. The format of the output is that of its extension, or of `--to`.
///
/// With `--ann`, a network without spikes becomes a spiking network: its batch norms become part of the weights, and each
/// `relu` or `qcfs` becomes integrate-and-fire neurons, whose thresholds are those of the activations on the training
/// samples of a data set. The output is a checkpoint. Printed are the accuracy by time steps, and for each layer how far
/// θ·rate is from the activation.
#[derive(clap::Args)]
#[command(allow_missing_positional = true)]
#[command(after_help = examples![
    "spikelet convert recording.aedat4 recording.npz" => "for SpikingJelly",
    "spikelet convert recording.bin recording.raw --to evt3 --sensor 34x34" => "a format without an extension of its own",
    "spikelet convert recording.aedat4 recording.raw --to evt3 --from-zero" => "with times from 0, in place of those since 1970",
    "spikelet convert checkpoint.pt weights.safetensors --strip-prefix net." => "the weights of a checkpoint of PyTorch",
    "spikelet convert runs/csnn/latest/best.safetensors csnn.pt --to spikingjelly" => "a trained network, for SpikingJelly",
    "spikelet convert runs/mnist-fc/latest/best.safetensors mnist.nir" => "a trained network as a NIR graph",
    "spikelet convert runs/mnist-fc/latest/best.safetensors mnist/" => "a trained network as the folder of a model, to be shared",
    "spikelet convert network.nir copy.nir" => "a graph, checked and written again",
    "spikelet convert --ann runs/fashion-mnist-relu/latest/last.safetensors --threshold 99.9% snn.safetensors" => "a network without spikes, as a spiking network",
])]
pub struct Convert {
    /// Event file, NIR graph, checkpoint or the folder of a run, or weights; not with --ann
    #[arg(value_name = "IN", required_unless_present = "ann", value_parser = CheckpointPath::parser())]
    file: Option<CheckpointPath>,

    /// Output file, or the folder of a model
    #[arg(value_name = "OUT")]
    out: PathBuf,

    /// Format of the output [default: by its extension]
    ///
    /// One of events; `nir`; `safetensors`, `pt` or `npz` of weights; or the framework whose names and constants the
    /// weights get: `spikingjelly`, `snntorch`, `norse` or `sparch`.
    #[arg(long, conflicts_with = "ann", value_name = "NAME", value_parser = OutputFormat::parse)]
    to: Option<OutputFormat>,

    /// Length of a time step of the NIR graph of a checkpoint, in seconds [default: 1e-3]
    #[arg(long, conflicts_with = "ann", value_name = "SECONDS", value_parser = crate::args::positive)]
    dt: Option<f64>,

    /// Replace neurons of a checkpoint that NIR cannot express exactly by neurons that are close to them
    #[arg(long, conflicts_with = "ann")]
    approximate: bool,

    /// Remove this from the beginnings of the names of tensors, such as `net.` of Lightning
    #[arg(long, conflicts_with = "ann", value_name = "TEXT")]
    strip_prefix: Option<String>,

    /// Format of an event file [default: by content, then by the extension]
    #[arg(long, conflicts_with = "ann", value_name = "NAME", value_parser = Format::find)]
    format: Option<Format>,

    /// Width and height of the sensor of events, such as 346x260 [default: the header's]; events outside are errors
    #[arg(long, conflicts_with = "ann", value_name = "WxH", value_parser = parse_sensor)]
    sensor: Option<Sensor>,

    /// Width and height of the sensor of the output [default: the input's]
    #[arg(long, conflicts_with = "ann", value_name = "WxH", value_parser = parse_sensor)]
    out_sensor: Option<Sensor>,

    /// Shift the times of events so that the first event is at 0: formats with few bits hold no times since 1970
    #[arg(long, conflicts_with = "ann")]
    from_zero: bool,

    #[command(flatten)]
    ann: AnnArgs,
}

impl Convert {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if let Some(ann) = self.ann.file() {
            if let Some(file) = &self.file {
                return Err(Failure::argument(
                    format!(
                        "{} and --ann {} are two inputs",
                        file.display(),
                        ann.display()
                    ),
                    "give the output only: spikelet convert --ann FILE OUT",
                ));
            }
            return self.ann.run(ann, &self.out, console);
        }
        if let Some(file) = &self.file {
            file.say(console);
        }
        remove_abandoned(&self.out);
        if same_file(self.file(), &self.out) {
            return Err(Failure::argument(
                format!("{} is both the input and the output", self.out.display()),
                "give another file for the output",
            ));
        }
        let content = match self.format {
            Some(_) => Content::Events,
            None => Content::of(self.file())?,
        };
        let is_network = content == Content::Checkpoint && self.is_to_nir();
        if !is_network && (self.approximate || self.dt.is_some()) {
            return Err(Failure::argument(
                "--dt and --approximate are for the NIR graph of a checkpoint of `spikelet train`",
                "leave them out, or give such a checkpoint and an output OUT.nir",
            ));
        }
        let has_sensor = matches!(content, Content::Events | Content::Unknown);
        if !has_sensor && self.from_zero {
            return Err(Failure::argument(
                format!(
                    "{} is no event file and has no times",
                    self.file().display()
                ),
                "leave --from-zero out, or say the format of an event file: --format NAME",
            ));
        }
        if !has_sensor && (self.sensor.is_some() || self.out_sensor.is_some()) {
            return Err(Failure::argument(
                format!(
                    "{} is no event file and has no sensor",
                    self.file().display()
                ),
                "leave --sensor and --out-sensor out, or say the format of an event file: --format NAME",
            ));
        }
        if self.strip_prefix.is_some()
            && (is_network || matches!(content, Content::Graph | Content::Events))
        {
            return Err(Failure::argument(
                format!("{} is not written as named tensors", self.file().display()),
                "give --strip-prefix with a checkpoint or a file with weights, and write weights",
            ));
        }
        match content {
            Content::Graph => self.graph(console)?,
            Content::Checkpoint if is_network => self.network(console)?,
            Content::Checkpoint if self.is_to_folder() => self.model(console)?,
            Content::Weights if self.is_to_nir() => {
                return Err(Failure::argument(
                    format!(
                        "{} has weights and no network; a NIR graph has both",
                        self.file().display()
                    ),
                    "export the network in the program that defines it, or give a checkpoint of `spikelet train`",
                ));
            }
            Content::Checkpoint | Content::Weights => self.weights(content, console)?,
            Content::Events => self.events(console)?,
            Content::Unknown => {
                return Err(Failure::other(
                    format!(
                        "{}: the content is that of no known format of events, graphs or weights",
                        self.file().display()
                    ),
                    "give --format if it is an event file; known formats: spikelet convert --help",
                ));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The input, which is required without --ann.
    fn file(&self) -> &Path {
        self.file.as_deref().unwrap_or(&self.out)
    }

    /// Whether the output is a NIR graph.
    fn is_to_nir(&self) -> bool {
        match self.to {
            Some(to) => to == OutputFormat::Nir,
            None => self.out.extension().is_some_and(|text| text == "nir"),
        }
    }

    /// Whether the output is the folder of a model.
    fn is_to_folder(&self) -> bool {
        let ends = self.out.as_os_str().as_encoded_bytes().ends_with(b"/");
        self.to.is_none() && (ends || self.out.is_dir())
    }

    /// Writes a checkpoint as the folder of a model.
    fn model(&self, console: &Console) -> Result<(), Failure> {
        let checkpoint = Checkpoint::read(self.file())?;
        checkpoint.write_model(&self.out)?;
        let (file, out) = (path_text(self.file()), path_text(&self.out));
        console.say_json(&json!({"file": file, "out": out, "from": "spikelet", "to": "model"}));
        let out = self.out.display();
        console.say(format!(
            "{}: a model with its card in {out}",
            self.file().display()
        ));
        Ok(())
    }

    /// The error for an output format that the input cannot have.
    fn wrong_output(&self, input: &str, formats: &str) -> Failure {
        let problem = match self.to {
            Some(to) => format!("{input} cannot be written as {to}"),
            None => format!(
                "{}: the extension is that of no format for {input}",
                self.out.display()
            ),
        };
        Failure::argument(problem, format!("give --to, one of {formats}"))
    }
}
