//! Two networks on the same input: the first time step, layer and neuron that differ, and the cause.
//!
//! | file | content |
//! |---|---|
//! | `side.rs`, `trace.rs` | the two networks: graphs that run, and recorded sequences |
//! | `recording.rs` | the sequences of all layers |
//! | `pairs.rs` | the layers that correspond to each other |
//! | `compare.rs` | where and how far sequences differ |
//! | `cause.rs`, `candidates/` | the changes that are tried |
//! | `trials.rs` | the trials |
//!
//! A cause is not inferred from parameters but tried: the network that can run is run again with one choice changed,
//! and compared again. A change *explains* the difference if nothing differs any more.

mod candidates;
mod cause;
mod compare;
mod pairs;
mod recording;
mod side;
mod trace;
mod trials;

pub use cause::{Cause, Changed, Trial};
pub use compare::{FirstDifference, LayerDifference, OutputDifference};
pub use recording::Quantity;
pub use side::Side;
pub use trace::Trace;

use super::error::NirError;
use super::options::Semantics;
use pairs::Pairs;
use recording::{LayerKind, Recording};
use side::Runnable;
use spikelet_core::Result;
use spikelet_graph::Tensor;
use std::collections::BTreeMap;
use trials::Subject;

/// How two networks are compared.
///
/// | field | default | |
/// |---|---|---|
/// | `tolerance` | 1e-5 | values differ if \|a − b\| > tolerance·max(1, \|a\|) |
/// | `map` | empty | names of layers that correspond, in A and in B |
/// | `find_cause` | true | whether changes are tried |
#[derive(Clone, Debug)]
pub struct DiffOptions {
    /// How far values may be apart.
    pub tolerance: f64,
    /// Names of layers that correspond, in A and in B.
    pub map: Vec<(String, String)>,
    /// Whether changes are tried.
    pub find_cause: bool,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            tolerance: 1e-5,
            map: vec![],
            find_cause: true,
        }
    }
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffReport {
    /// How A and B ran in time steps; none for traces.
    pub semantics: [Option<Semantics>; 2],
    /// The first element that differs; none if the networks are equal.
    pub first: Option<FirstDifference>,
    /// All layers that were compared, in the order in which they run.
    pub layers: Vec<LayerDifference>,
    /// Layers of A that B does not have.
    pub only_a: Vec<String>,
    /// Layers of B that A does not have.
    pub only_b: Vec<String>,
    /// How far the outputs are apart.
    pub outputs: Vec<OutputDifference>,
    /// What was tried: first the changes that explain the difference.
    pub trials: Vec<Trial>,
}

impl DiffReport {
    /// Whether nothing differs.
    pub fn is_equal(&self) -> bool {
        self.first.is_none()
    }

    /// The change that explains the difference; none if no change does.
    pub fn cause(&self) -> Option<&Trial> {
        self.trials.first().filter(|trial| trial.explains)
    }

    /// The number of elements that differ.
    pub fn differing(&self) -> usize {
        self.layers.iter().map(|layer| layer.differing).sum()
    }
}

/// Compares two networks on the same input, sequences `[T, N, …]` by the paths of the Inputs; it is not needed for two
/// traces. If both can run, A is the one that is changed to find the cause.
///
/// ```
/// use spikelet_nir::diff::{Cause, DiffOptions, Side, diff};
/// use spikelet_nir::{self as nir, Fires, ImportOptions, SimulateOptions};
/// use spikelet_nn::prelude::*;
/// # use spikelet_nir::{If as IfNode, NodeKind};
/// # let one = |value: f64| nir::Tensor::from_f64(&[1], &[value]).unwrap();
/// # let mut graph = nir::Graph::default();
/// # graph
/// #     .insert("in", NodeKind::Input { shape: vec![1] })
/// #     .insert("if", NodeKind::If(IfNode { r: one(1.0), v_threshold: one(1.0), v_reset: None }))
/// #     .insert("out", NodeKind::Output { shape: vec![1] })
/// #     .connect(&["in", "if", "out"]);
/// let mut options = SimulateOptions { import: ImportOptions::new(1.0), ..SimulateOptions::default() };
/// let a = Side::graph(graph.clone(), options.clone());
/// options.import.fires = Some(Fires::AtLeast);
/// let b = Side::graph(graph, options);
/// let x = Tensor::f32([3, 1, 1], [0.5, 0.5, 0.25]);
/// let report = diff(&a, &b, &[("in".to_string(), x)].into(), &DiffOptions::default())?;
/// assert_eq!(report.first.as_ref().map(|first| first.step), Some(1));
/// assert_eq!(report.cause().map(|trial| &trial.causes[..]), Some(&[Cause::Fires][..]));
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// As [`simulate`](super::simulate); [`NirError::Diff`] if no layers correspond, or their numbers of time steps or
/// samples differ.
pub fn diff(
    a: &Side,
    b: &Side,
    inputs: &BTreeMap<String, Tensor>,
    options: &DiffOptions,
) -> Result<DiffReport> {
    let ran = [Ran::new(a, inputs)?, Ran::new(b, inputs)?];
    let [of_a, of_b] = [&ran[0].recording, &ran[1].recording];
    let order = if ran[0].runs.is_none() && ran[1].runs.is_some() {
        of_b
    } else {
        of_a
    };
    let pairs = pairs::pair(of_a, of_b, &options.map, order)?;
    let comparison = compare::compare(of_a, of_b, &pairs, options.tolerance);
    if comparison
        .layers
        .iter()
        .all(|layer| layer.quantities.is_empty())
    {
        return Err(NirError::diff(
            "the layers that correspond have no sequence in common",
            "record the same sequences of both networks, such as `lif/out`",
        )
        .into());
    }
    let outputs = outputs(&ran, &pairs, options.tolerance);
    let trials = match options.find_cause && comparison.first.is_some() {
        true => trials(&ran, &pairs, options.tolerance)?,
        false => vec![],
    };
    Ok(DiffReport {
        semantics: [0, 1].map(|k| ran[k].runs.as_ref().map(|runs| runs.semantics)),
        first: comparison.first,
        layers: comparison.layers,
        only_a: pairs.only_a,
        only_b: pairs.only_b,
        outputs,
        trials,
    })
}

/// The sequences of a network.
struct Ran {
    recording: Recording,
    runs: Option<Runs>,
}

/// A network that runs.
struct Runs {
    runnable: Runnable,
    semantics: Semantics,
}

impl Ran {
    fn new(side: &Side, inputs: &BTreeMap<String, Tensor>) -> Result<Self> {
        match side {
            Side::Graph { graph, options } => {
                let runnable = Runnable::new(graph, options, inputs)?;
                let (recording, semantics) = runnable.run()?;
                let runs = Some(Runs {
                    runnable,
                    semantics,
                });
                Ok(Self { recording, runs })
            }
            Side::Trace(trace) => Ok(Self {
                recording: trace.recording()?,
                runs: None,
            }),
        }
    }
}

/// Changes A if it runs, otherwise B. Changes that lose something are made in B as well: weights of A that were rounded
/// cannot be restored, but those of B can be rounded.
fn trials(ran: &[Ran; 2], pairs: &Pairs, tolerance: f64) -> Result<Vec<Trial>> {
    let swapped = pairs.swapped();
    let mut found = vec![];
    for (name, changed, other, pairs) in [
        (Changed::A, &ran[0], &ran[1], pairs),
        (Changed::B, &ran[1], &ran[0], &swapped),
    ] {
        let Some(runs) = &changed.runs else {
            continue;
        };
        let (a, b) = (&changed.recording, &other.recording);
        let comparison = compare::compare(a, b, pairs, tolerance);
        let subject = Subject {
            runnable: &runs.runnable,
            semantics: &runs.semantics,
            a,
            b,
            pairs,
            other: other
                .runs
                .as_ref()
                .map(|runs| (&runs.runnable.graph, runs.semantics)),
            tolerance,
            comparison: &comparison,
            name,
        };
        found.extend(match found.is_empty() {
            true => subject.trials()?,
            false => subject.one_way()?,
        });
    }
    trials::rank(&mut found);
    Ok(found)
}

/// The outputs of both networks: of the Outputs of a graph, or of the last layer that was compared.
fn outputs(ran: &[Ran; 2], pairs: &Pairs, tolerance: f64) -> Vec<OutputDifference> {
    let is_output = |(a, b): &&(String, String)| {
        let kinds = [ran[0].recording.get(a), ran[1].recording.get(b)];
        kinds
            .iter()
            .flatten()
            .any(|layer| layer.kind == LayerKind::Output)
    };
    let mut chosen: Vec<&(String, String)> = pairs.names.iter().filter(is_output).collect();
    if chosen.is_empty() {
        chosen.extend(pairs.names.last());
    }
    let difference = |(a, b): &(String, String)| {
        let [x, y] = [ran[0].recording.get(a)?, ran[1].recording.get(b)?];
        let [x, y] = [x, y].map(|layer| layer.values.get(&Quantity::Output));
        Some(compare::output((a, x?), (b, y?), tolerance))
    };
    chosen.into_iter().filter_map(difference).collect()
}
