//! `spikelet check`

use super::{examples, path_text};
use crate::args::CheckpointPath;
use crate::failure::Failure;
use serde_json::json;
use spikelet::log::Console;
use spikelet_nir::check_file;
use spikelet_weights::Format;
use std::process::ExitCode;

/// Check a NIR graph or a file with weights
///
/// Files are told apart by content, not by name: NIR graphs (HDF5), checkpoints of PyTorch, safetensors, archives of NumPy
/// arrays. All of a file is read. Exit status 0 if it is valid; otherwise 1, and a message that names the node, edge,
/// tensor or record and what is wrong with it. No function or class that a pickle names is
/// imported or called.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet check network.nir" => "types, parameters, edges and shapes of a graph",
    "spikelet check checkpoint.pt" => "tensors of a checkpoint of PyTorch",
    "spikelet check weights.safetensors --json" => "as JSON",
])]
pub struct Check {
    /// NIR graph, checkpoint of PyTorch, safetensors or .npz, or the folder of a run: its best checkpoint
    #[arg(value_name = "FILE", value_parser = CheckpointPath::parser())]
    file: CheckpointPath,
}

impl Check {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let found = check_file(&self.file)?;
        console.say_json(&json!({
            "file": path_text(&self.file), "format": format_name(found.format), "nodes": found.nodes,
            "edges": found.edges, "tensors": found.tensors, "elements": found.elements, "warnings": found.warnings,
        }));
        console.say(format!("{}: valid, {found}", self.file.display()));
        Ok(ExitCode::SUCCESS)
    }
}

/// The name of a format in `--json`.
pub(super) fn format_name(format: Format) -> &'static str {
    match format {
        Format::Nir => "nir",
        Format::TorchZip => "torch-zip",
        Format::TorchStream => "torch-stream",
        Format::TorchTar => "torch-tar",
        Format::Safetensors => "safetensors",
        Format::Npz => "npz",
        Format::Npy => "npy",
    }
}
