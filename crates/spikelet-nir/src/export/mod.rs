//! From a module to a NIR graph.
//!
//! | file | content |
//! |---|---|
//! | `layers.rs` | layers and containers |
//! | `batch_norm.rs` | batch normalization, as part of the weights before it |
//! | `graph_module.rs` | imported graphs in a network |
//! | `neurons.rs`, `constants.rs` | neurons, and the values of their constants |
//! | `equations.rs`, `late_reset.rs`, `dynamics.rs` | the form in NIR of each neuron, and what a form is |
//! | `steps.rs` | parameters of nodes from constants in steps |
//! | `refused.rs` | what NIR cannot say |
//! | `writer.rs` | the graph while it is written |
//! | `update.rs` | an imported graph with the tensors of a store |

mod batch_norm;
mod constants;
mod dynamics;
mod equations;
mod graph_module;
mod late_reset;
mod layers;
mod neurons;
mod refused;
mod steps;
mod update;
mod writer;

use super::error::NirError;
use crate::graph::Graph;
use spikelet_core::Result;
use spikelet_nn::module::Module;
use spikelet_nn::runtime::VarStore;
use writer::Writer;

/// How a module is exported.
///
/// ```
/// use spikelet_nir::ExportOptions;
/// let options = ExportOptions::new([2, 34, 34]); // images of two channels
/// assert_eq!((options.dt, options.approximate), (1e-3, false));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ExportOptions {
    /// The shape of the input, without time and batch.
    pub input: Vec<usize>,
    /// The length of a step, in seconds: time constants in steps become times.
    pub dt: f64,
    /// Whether neurons that NIR cannot express exactly become neurons that are close to them. What was changed is part
    /// of the metadata and of [`Exported::notes`].
    pub approximate: bool,
}

impl ExportOptions {
    /// Exact, with steps of 1 ms.
    pub fn new(input: impl Into<Vec<usize>>) -> Self {
        Self {
            input: input.into(),
            dt: 1e-3,
            approximate: false,
        }
    }
}

/// A module as a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// The graph. Its metadata has the choices that NIR does not define, so that an import runs it as the module runs.
    pub graph: Graph,
    /// What was changed: layers that became part of others, approximations, and a readout over time that is not part of
    /// the graph.
    pub notes: Vec<String>,
}

/// Exports a module with the tensors of a store, as it runs in evaluation.
///
/// Linear layers, convolutions, average pooling, flattening, scales, fixed delays, recurrent connections and neurons become
/// nodes with the names of the modules; batch normalization becomes part of the weights before it, dropout vanishes. The
/// branches of a residual block end at the same node, which adds them. A [`GraphModule`](super::GraphModule) becomes a
/// graph in the graph. A readout over time at the end of the network is not part of the graph.
/// Neurons have an exact form if they are integrators with constant coefficients: `if`, `lif`, `plif`, `cuba_lif`,
/// `decay_lif`, `norse_lif`, `rleaky_cell`, `rsynaptic_cell`, `leaky_integrator`, and others with the same equations in the forward
/// pass. A reset one step after the spike is in the metadata.
///
/// ```
/// use spikelet_nir::{self as nir, ExportOptions, ImportOptions};
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0));
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 1, 4]);
/// cx.trace(&net, x)?;
/// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
/// store.initialize(&cx.traced(), DType::F32, 0)?;
///
/// let exported = nir::export(&net, &store, &ExportOptions::new([4]))?;
/// assert_eq!(exported.graph.nodes.len(), 4); // input, 0, 1, output
/// let imported = nir::import(&exported.graph, &ImportOptions::default())?; // its metadata has dt and ≥
/// assert_eq!(imported.semantics.fires, nir::Fires::AtLeast);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// [`NirError::Node`] for a module or a constant that NIR cannot express, with the reason; when the store lacks a
/// tensor.
pub fn export(module: &dyn Module, store: &VarStore, options: &ExportOptions) -> Result<Exported> {
    if !(options.dt.is_finite() && options.dt > 0.0) {
        return Err(NirError::StepLength {
            problem: format!("{} was given; expected a finite number above 0", options.dt),
            help: "set `ExportOptions::dt`, in seconds".to_string(),
        }
        .into());
    }
    let mut writer = Writer::new(store, options);
    layers::add(&mut writer, "", module)?;
    Ok(writer.finish()?)
}
