//! Runs a graph on given sequences: the imported module, compiled for a device.

use super::error::NirError;
use super::import::{GraphModule, Port, import};
use super::options::{ImportOptions, Semantics};
use crate::graph::Graph;
use spikelet_core::Result;
use spikelet_graph::{Backend, DType, Tensor, Var};
use spikelet_nn::module::{Context, Mode, observer};
use spikelet_nn::runtime::host;
use spikelet_schema::Schema;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The name of the sequence of the only Input.
pub(super) const SINGLE: &str = "x";

/// The sequences that a simulation returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[schema(crate = spikelet_schema)]
pub enum Record {
    /// `NODE/out` of each Output.
    #[default]
    Output,
    /// `NODE/out` of all nodes, and of neurons `NODE/h`, the potential before the reset, `NODE/v` after it, and `NODE/i`
    /// where there is a current.
    All,
}

/// How a graph is simulated.
#[derive(Clone)]
pub struct SimulateOptions {
    /// The time steps.
    pub import: ImportOptions,
    /// The sequences that are returned.
    pub record: Record,
    /// The type of all computations: f32, or f64 on the CPU.
    pub float: DType,
    /// The device; the CPU if there is none.
    pub device: Option<Arc<dyn Backend>>,
}

impl Default for SimulateOptions {
    /// f32 on the CPU.
    fn default() -> Self {
        Self {
            import: ImportOptions::default(),
            record: Record::default(),
            float: DType::F32,
            device: None,
        }
    }
}

impl fmt::Debug for SimulateOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulateOptions")
            .field("import", &self.import)
            .field("record", &self.record)
            .field("float", &self.float)
            .field("device", &self.device.as_ref().map(|device| device.name()))
            .finish()
    }
}

/// The results of a simulation.
#[derive(Clone, Debug)]
pub struct Traces {
    /// Sequences `[T, N, …]` by name, such as `lif/out`; see [`Record`].
    pub sequences: BTreeMap<String, Tensor>,
    /// How the graph ran in time steps.
    pub semantics: Semantics,
    /// What is doubtful in the graph, and how it was understood.
    pub warnings: Vec<String>,
}

/// Runs a graph on sequences `[T, N, …]` by the paths of its Inputs. To see what a choice changes, run it again with one
/// option changed.
///
/// ```
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
/// let x = Tensor::f32([3, 1, 1], [0.5, 0.5, 0.5]);
/// let inputs = [("in".to_string(), x)].into();
/// let mut options = SimulateOptions { import: ImportOptions::new(1.0), ..SimulateOptions::default() };
/// let strict = nir::simulate(&graph, &inputs, &options)?;
/// options.import.fires = Some(Fires::AtLeast);
/// let other = nir::simulate(&graph, &inputs, &options)?;
/// assert_eq!(strict.sequences["out/out"].to_f64(), [0.0, 0.0, 1.0]);
/// assert_eq!(other.sequences["out/out"].to_f64(), [0.0, 1.0, 0.0]);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// As [`import`]; when a sequence is missing or has another shape than its Input.
pub fn simulate(
    graph: &Graph,
    inputs: &BTreeMap<String, Tensor>,
    options: &SimulateOptions,
) -> Result<Traces> {
    let imported = import(graph, &options.import)?;
    let module = &imported.module;
    let device = match &options.device {
        Some(device) => device.clone(),
        None => spikelet_nn::device::cpu()?,
    };
    let mut cx = Context::new(Mode::EVAL, options.float);
    if options.record == Record::All {
        cx = cx.observer(observer::States);
    }
    let given = given(module.inputs(), inputs)?;
    let input = |(port, tensor): &(&Port, &Tensor)| {
        let name = input_name(port);
        cx.tracer()
            .input(&name, options.float, tensor.shape.clone())
    };
    let sequences: Vec<Var> = given.iter().map(input).collect();
    let made = module.run(&cx, &sequences)?;
    let named = named(module, &cx, &made, options.record);
    for (name, value) in &named {
        cx.tracer().output(name, value);
    }
    let mut store = imported.store(device, options.float)?;
    let mut program = cx.compile(&mut store, 0)?;
    for (port, tensor) in &given {
        let name = input_name(port);
        // An Input that no recorded value depends on is no input of the program.
        if program.has_input(&name) {
            program.set(&name, host(&tensor.cast(options.float)))?;
        }
    }
    program.run()?;
    let value = |(name, _): (String, Var)| Ok((name.clone(), program.get(&name)?));
    Ok(Traces {
        sequences: named.into_iter().map(value).collect::<Result<_>>()?,
        semantics: imported.semantics,
        warnings: imported.warnings,
    })
}

/// The name of the program's input: no node has a name with two slashes.
fn input_name(port: &Port) -> String {
    format!("in//{}", port.path)
}

/// The sequence of each Input.
fn given<'a>(
    ports: &'a [Port],
    inputs: &'a BTreeMap<String, Tensor>,
) -> Result<Vec<(&'a Port, &'a Tensor)>, NirError> {
    let find = |port: &'a Port| {
        let single = || inputs.get(SINGLE).filter(|_| ports.len() == 1);
        let found = inputs.get(&port.path).or_else(single);
        let tensor = found.ok_or_else(|| NirError::Input {
            input: port.path.clone(),
            problem: format!(
                "there is no sequence of this name; given are: {}",
                inputs
                    .keys()
                    .map(String::as_str)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            help: format!("give a tensor [T, N] and {:?}", port.shape),
        })?;
        Ok((port, tensor))
    };
    ports.iter().map(find).collect()
}

/// The recorded sequences by name.
fn named(
    module: &GraphModule,
    cx: &Context,
    outputs: &[Var],
    record: Record,
) -> Vec<(String, Var)> {
    if record == Record::Output {
        let ports = module.outputs().iter().zip(outputs);
        return ports
            .map(|(port, y)| (format!("{}/out", port.path), y.clone()))
            .collect();
    }
    let mut named = vec![];
    for (path, kind) in module.nodes() {
        let is_neuron = !matches!(kind, "Threshold");
        for (recorded, name) in [
            ("out", "out"),
            ("h_seq", "h"),
            ("v_seq", "v"),
            ("i_seq", "i"),
        ] {
            if let Ok(value) = cx.recorded(&format!("{path}.{recorded}"))
                && (is_neuron || name == "out")
            {
                named.push((format!("{path}/{name}"), value));
            }
        }
    }
    named
}
