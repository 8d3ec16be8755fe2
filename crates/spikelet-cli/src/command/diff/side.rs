//! A network of a comparison, from its file.

use super::options::{Assignment, SideOptions};
use crate::command::content::Content;
use crate::command::trained::Trained;
use crate::command::trained_graph::{Choices, DT, TrainedGraph};
use crate::failure::Failure;
use spikelet::nir::SimulateOptions;
use spikelet::nir::diff::Side;
use spikelet::problem_and_help;
use std::path::Path;

/// A network, and what a reader has to know of it.
pub struct Opened {
    pub side: Side,
    /// What was changed when a checkpoint became a graph; a sentence each.
    pub notes: Vec<String>,
}

/// A network from its file, with the options of both networks and those of this one alone.
pub fn open(path: &Path, both: &SideOptions, only: &[Assignment]) -> Result<Opened, Failure> {
    if !matches!(Content::of(path), Ok(Content::Checkpoint)) {
        let options = simulate_options(&both.with(only)?)?;
        return Ok(Opened {
            side: Side::read(path, &options)?,
            notes: vec![],
        });
    }
    // A checkpoint has its own time steps: options of both are for graphs.
    let options = simulate_options(&both.without_steps().with(only)?)?;
    let choices = Choices {
        dt: both.dt().unwrap_or(DT),
        approximate: false,
    };
    let made = TrainedGraph::new(&Trained::open_on_cpu(path)?, choices).map_err(not_exact)?;
    Ok(Opened {
        side: Side::graph(made.graph, options),
        notes: made.notes,
    })
}

fn simulate_options(options: &SideOptions) -> Result<SimulateOptions, Failure> {
    Ok(SimulateOptions {
        device: Some(options.open_device()?),
        import: options.steps.into(),
        float: options.dtype.dtype(),
        ..SimulateOptions::default()
    })
}

/// The error for a checkpoint without an exact form in NIR.
fn not_exact(failure: Failure) -> Failure {
    let text = failure.to_string();
    let (problem, _) = problem_and_help(&text);
    Failure::argument(
        problem,
        "compare its recorded sequences: spikelet record CHECKPOINT --values spikes,potentials --out FILE",
    )
}
