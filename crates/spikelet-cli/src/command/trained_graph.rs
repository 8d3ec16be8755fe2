//! The network of a checkpoint as a NIR graph.

use super::trained::Trained;
use crate::failure::Failure;
use spikelet::nir::{self, ExportOptions, Graph, ImportOptions, Semantics};
use spikelet::problem_and_help;
use std::path::Path;

/// The length of a step in seconds, unless another is given.
pub const DT: f64 = 1e-3;

/// How a network becomes a graph.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    /// The length of a step in seconds.
    pub dt: f64,
    /// Whether neurons without an exact form become neurons that are close to them.
    pub approximate: bool,
}

/// A graph, and what a reader has to know of it.
pub struct TrainedGraph {
    pub graph: Graph,
    /// How it runs in time steps.
    pub semantics: Semantics,
    /// What was changed, and what is not part of the graph; a sentence each.
    pub notes: Vec<String>,
    /// The name of the network.
    pub network: String,
    /// The shape of the input, without time and batch.
    pub input: Vec<usize>,
}

impl TrainedGraph {
    /// Exports the network of a checkpoint with its trained weights, as it runs in evaluation.
    ///
    /// # Errors
    /// When the network has no form in NIR, with the layer and the reason.
    pub fn new(trained: &Trained, choices: Choices) -> Result<Self, Failure> {
        let input = trained.network.input();
        let options = ExportOptions {
            dt: choices.dt,
            approximate: choices.approximate,
            ..ExportOptions::new(input.clone())
        };
        let module = trained.network.module()?;
        let exported = nir::export(&*module, &trained.store, &options)
            .map_err(|error| not_exported(&trained.path, &error))?;
        let mut notes = exported.notes;
        notes.extend(encoder_note(trained)?);
        Ok(Self {
            semantics: nir::import(&exported.graph, &ImportOptions::default())?.semantics,
            graph: exported.graph,
            notes,
            network: trained.network.name().to_string(),
            input,
        })
    }
}

/// The encoder of images, if the graph takes its output.
fn encoder_note(trained: &Trained) -> Result<Option<String>, Failure> {
    let encoder = trained.checkpoint.settings()?.encoder.name();
    let is_image = trained.image().is_ok();
    Ok((is_image && encoder != "direct").then(|| {
        format!(
            "input: the encoder `{encoder}` is not part of the graph, which takes encoded images"
        )
    }))
}

/// The error of an export, with the file.
fn not_exported(path: &Path, error: &spikelet::Error) -> Failure {
    let text = error.to_string();
    let (problem, help) = problem_and_help(&text);
    Failure::other(
        format!("{}: {problem}", path.display()),
        help.unwrap_or("see the page about NIR of the guide for networks with a form in NIR"),
    )
}
