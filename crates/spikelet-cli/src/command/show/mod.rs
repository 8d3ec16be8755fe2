//! `spikelet show`

mod graph;
mod layers;
mod response;
mod weights;

use super::content::Content;
use super::examples;
use crate::args::{CheckpointPath, DataArgs, DeviceArgs, svg_path};
use crate::diagram::Diagram;
use crate::failure::Failure;
use spikelet::files::write_atomically;
use spikelet::log::Console;
use spikelet::report::Activity;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show a trained network's response to test images, a NIR graph, or weights
///
/// A checkpoint of `spikelet train`: the firing rate of every layer and the scores of the classes. The picture shows the
/// image, the spikes of the first convolution's neurons at each time step (up to eight channels and steps),
/// the firing rates, and the spikes of the output. With `--graph` its layers and how they are connected.
///
/// A NIR graph: nodes with shapes and parameters, and edges. A checkpoint of PyTorch, safetensors or NumPy arrays: names,
/// types and shapes of tensors. Files are told apart by content.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet show runs/csnn/latest/best.safetensors --index 7 --out picture.png" => "one image of the data set it was trained on",
    "spikelet show runs/csnn/latest/best.safetensors --index 7,8,9 --json" => "three images, as JSON",
    "spikelet show runs/csnn/latest/best.safetensors --graph --svg layers.svg" => "the layers of a checkpoint, as a table and as a picture",
    "spikelet show network.nir --svg network.svg" => "a NIR graph",
    "spikelet show checkpoint.pt" => "the tensors of a checkpoint of PyTorch",
])]
pub struct Show {
    /// Checkpoint of `spikelet train` or the folder of a run, NIR graph, or file with weights
    #[arg(value_name = "FILE", value_parser = CheckpointPath::parser())]
    file: CheckpointPath,

    /// Indices of test images, from 0; several, separated by commas
    #[arg(long, value_name = "N", default_value = "0", value_delimiter = ',')]
    index: Vec<usize>,

    /// Write a picture of the response: .png or .svg
    #[arg(long, short, value_name = "FILE", conflicts_with_all = ["graph", "svg"])]
    out: Option<PathBuf>,

    /// Show the layers of a checkpoint and how they are connected
    #[arg(long)]
    graph: bool,

    /// Write a picture of the graph; of a checkpoint, of its layers
    #[arg(long, value_name = "FILE", value_parser = svg_path())]
    svg: Option<PathBuf>,

    #[command(flatten)]
    data: DataArgs,

    #[command(flatten)]
    device: DeviceArgs,
}

impl Show {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if let Some(out) = &self.out {
            Activity::check_path(out).map_err(|error| Failure::wrong(&error))?;
        }
        self.file.say(console);
        let content = Content::of(&self.file)?;
        let is_checkpoint = matches!(content, Content::Checkpoint);
        if let (Some(out), false) = (&self.out, is_checkpoint) {
            return Err(Failure::argument(
                format!(
                    "{} is the picture of a response, which only checkpoints of `spikelet train` have",
                    out.display()
                ),
                "draw a graph with --svg FILE",
            ));
        }
        match content {
            Content::Graph => self.nir(console)?,
            Content::Weights if self.svg.is_none() && !self.graph => self.weights(console)?,
            Content::Weights => {
                return Err(Failure::argument(
                    format!("{} has weights only, and no graph", self.file.display()),
                    "leave --graph and --svg out",
                ));
            }
            Content::Checkpoint if self.graph || self.svg.is_some() => self.layers(console)?,
            // The reader of checkpoints says what is wrong with other files.
            Content::Checkpoint | Content::Events | Content::Unknown => self.response(console)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Writes the picture, if one is asked for.
    fn draw(&self, diagram: &Diagram, console: &Console) -> Result<(), Failure> {
        if let Some(path) = &self.svg {
            let picture = diagram.to_svg(&self.file.display().to_string());
            write_atomically(path, picture.as_bytes()).map_err(spikelet::Error::from)?;
            console.say(format!("picture: {}", path.display()));
        }
        Ok(())
    }
}

/// `[3, 2, 2]`
fn shape_text(shape: &[usize]) -> String {
    format!("{shape:?}")
}
