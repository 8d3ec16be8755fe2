//! `spikelet config`

use super::examples;
use crate::args::ExperimentArgs;
use crate::failure::Failure;
use spikelet::log::Console;
use spikelet::network::{Model, Network};
use spikelet::train::Checkpoint;
use spikelet::train::experiment::Experiment;
use std::path::Path;
use std::process::ExitCode;

/// Print an experiment as a TOML file: data, network, settings and devices
///
/// `spikelet train FILE` runs it. NETWORK is a named network, a file, a run's folder or a checkpoint.
/// A named network is printed as its list of layers, or by its name if an option changes its sizes;
/// `--layers` prints the layers of a model with these options.
/// All options of `spikelet train` that change an experiment are taken. Keys that are removed from
/// the file keep the network's defaults.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet config mnist-fc > run.toml" => "the experiment of a network, to change and to run",
    "spikelet config csnn --preset spikingjelly --epochs 5" => "with other settings",
    "spikelet config csnn --set optimizer.name=adamw --set optimizer.lr=1e-3" => "with keys of the file",
    "spikelet config sew-resnet18 --set network.width=32 --layers" => "the layers of a model with other options",
    "spikelet config runs/csnn/latest" => "the experiment of a run",
    "spikelet config --schema" => "a JSON schema of the file, for editors",
])]
pub struct Config {
    #[command(flatten)]
    experiment: ExperimentArgs,

    /// Print the layers of the network in place of its options
    #[arg(long, help_heading = "Output")]
    layers: bool,

    /// Print a JSON schema of experiment files
    #[arg(long, help_heading = "Output", exclusive = true)]
    schema: bool,
}

impl Config {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        if self.schema {
            let schema = Experiment::schema();
            console.say_json(&schema);
            console.say(format!("{schema:#}"));
            return Ok(ExitCode::SUCCESS);
        }
        let run = self.experiment.network.path().filter(|path| is_run(path));
        let run = run.map(Path::to_path_buf);
        let checkpoint = run.as_deref().map(Checkpoint::from_run).transpose()?;
        let args = match checkpoint.is_some() {
            true => self.experiment.without_network(),
            false => self.experiment,
        };
        let mut experiment = args.build(run.as_deref().zip(checkpoint.as_ref()))?;
        if let Network::Model(model) = &experiment.network
            && (self.layers || has_default_options(model))
        {
            experiment.network = Network::Layers(model.layers()?);
        }
        let text = experiment.to_toml();
        console.say_json(&serde_json::json!({ "experiment": text }));
        console.say(text.trim_end());
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether a path is that of a run or a checkpoint.
fn is_run(path: &Path) -> bool {
    path.is_dir() || path.extension().is_some_and(|name| name == "safetensors")
}

/// Whether a model has its default options, with any neuron.
fn has_default_options(model: &Model) -> bool {
    let options = |model: &Model| {
        let mut values = model.values();
        values.remove("neuron");
        values
    };
    Model::find(model.name()).is_ok_and(|usual| options(&usual) == options(model))
}
