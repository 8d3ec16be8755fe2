//! Several layers in one loop over time, with lateral, top-down and skip connections between them.
//!
//! I_k[t] = input_k(S_{k−1}[t]) + Σ W_{kj}·S_j[t−1] (j ≥ k) + Σ W_{kj}·S_j[t] (j < k), S_k[t] = neuron_k(I_k[t])

use super::TimeLast;
use crate::LayerProblem;
use crate::module::{Context, Mode, Module, Tree, print_as_tree};
use spikelet_core::Result;
use spikelet_graph::Var;

/// A layer of a [`RecurrentBlock`].
struct Layer {
    name: String,
    input: Box<dyn Module>,
    neuron: Box<dyn Module>,
}

/// A connection from the output of a layer to the current of another.
struct Connection {
    from: String,
    to: String,
    module: Box<dyn Module>,
}

/// Layers that run one time step after the other: `[T, N, …] → [T, N, …]`, the output of the last layer. Each layer has
/// an input module, such as a linear layer or a convolution, and a neuron.
///
/// A connection to a later layer (skip) passes the output of the same time step. A connection to the layer itself
/// (lateral) or to an earlier one (top-down) passes that of the step before, zeros in the first step. What connections
/// pass is added to the output of the input module; all must have the same shape.
///
/// The parameters of layer `a` are `a.input.…`, `a.neuron.…` and those of a connection from `b` to it `a.from_b.…`; the last
/// output of a layer with such connections is the state `a.output`.
///
/// ```
/// use spikelet_nn::layer::RecurrentBlock;
/// use spikelet_nn::prelude::*;
/// let block = RecurrentBlock::new()
///     .layer("v1", Linear::new(20, 16), Lif::new(2.0))
///     .layer("v2", Linear::new(16, 12), Lif::new(2.0))
///     .layer("v4", Linear::new(12, 10), Lif::new(2.0))
///     .connect("v1", "v1", Linear::new(16, 16))
///     .connect("v4", "v1", Linear::new(10, 16))
///     .connect("v1", "v4", Linear::new(16, 10));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// assert_eq!(cx.trace(&block, x)?.shape(), [8, 2, 10]);
/// assert_eq!(cx.tracer().finish()?.nodes.iter().filter(|n| n.outputs.len() > 1).count(), 1);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Default)]
pub struct RecurrentBlock {
    layers: Vec<Layer>,
    connections: Vec<Connection>,
    last: bool,
}

impl RecurrentBlock {
    /// A block without layers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a layer behind the others.
    #[must_use]
    pub fn layer(
        mut self,
        name: &str,
        input: impl Module + 'static,
        neuron: impl Module + 'static,
    ) -> Self {
        self.layers.push(Layer {
            name: name.to_string(),
            input: Box::new(input),
            neuron: Box::new(neuron),
        });
        self
    }

    /// Connects the output of a layer to the current of another, of an earlier one or of itself.
    #[must_use]
    pub fn connect(mut self, from: &str, to: &str, module: impl Module + 'static) -> Self {
        self.connections.push(Connection {
            from: from.to_string(),
            to: to.to_string(),
            module: Box::new(module),
        });
        self
    }

    /// Returns only the last time step, `[1, N, …]`.
    #[must_use]
    pub fn last(mut self) -> Self {
        self.last = true;
        self
    }

    fn check(&self, cx: &Context) -> Result<()> {
        let refuse = |problem| Err(cx.error("recurrent block", problem));
        if self.layers.is_empty() {
            return refuse(LayerProblem::UnknownLayer {
                name: String::new(),
                known: String::new(),
            });
        }
        let mut names: Vec<&str> = vec![];
        for layer in &self.layers {
            if names.contains(&layer.name.as_str()) {
                let name = layer.name.clone();
                return refuse(LayerProblem::DuplicateName { name });
            }
            names.push(&layer.name);
        }
        let mut known: Vec<(&str, &str)> = vec![];
        for connection in &self.connections {
            let Connection { from, to, .. } = connection;
            for name in [from, to] {
                if !names.contains(&name.as_str()) {
                    return refuse(LayerProblem::UnknownLayer {
                        name: name.clone(),
                        known: names.join(", "),
                    });
                }
            }
            if known.contains(&(from, to)) {
                let name = format!("{to}.from_{from}");
                return refuse(LayerProblem::DuplicateName { name });
            }
            known.push((from, to));
        }
        Ok(())
    }

    fn index(&self, name: &str) -> usize {
        let found = self.layers.iter().position(|layer| layer.name == name);
        found.unwrap_or(self.layers.len())
    }

    /// Whether a connection passes the output of the step before.
    fn is_delayed(&self, connection: &Connection) -> bool {
        self.index(&connection.from) >= self.index(&connection.to)
    }

    /// Whether the output of a layer is a state.
    fn is_state(&self, layer: &Layer) -> bool {
        let mut of = self.connections.iter().filter(|c| c.from == layer.name);
        of.any(|connection| self.is_delayed(connection))
    }

    /// The outputs of all layers at one step, in order. `before` has those of the step before, of layers whose output is
    /// a state.
    fn step(&self, cx: &Context, x: &Var, before: &[Option<Var>]) -> Result<Vec<Var>> {
        let mut outputs: Vec<Var> = vec![];
        for layer in &self.layers {
            let x = outputs.last().unwrap_or(x);
            let output = cx.child(&layer.name, |cx| {
                let mut current = cx.child("input", |cx| layer.input.forward(cx, x))?;
                for connection in self.connections.iter().filter(|c| c.to == layer.name) {
                    let from = self.index(&connection.from);
                    let source = match self.is_delayed(connection) {
                        true => before[from].as_ref(),
                        false => Some(&outputs[from]),
                    };
                    // Without states only the shapes are asked for.
                    let Some(source) = source else { continue };
                    let name = format!("from_{}", connection.from);
                    let part = cx.child(&name, |cx| connection.module.forward(cx, source))?;
                    if part.shape() != current.shape() {
                        return Err(cx.error(
                            "recurrent block",
                            LayerProblem::Connection {
                                from: connection.from.clone(),
                                to: connection.to.clone(),
                                expected: current.ty().clone(),
                                given: part.ty().clone(),
                            },
                        ));
                    }
                    current = current + part;
                }
                cx.child("neuron", |cx| layer.neuron.forward(cx, &current))
            })?;
            outputs.push(output);
        }
        Ok(outputs)
    }

    /// The shapes of the outputs at one step, which connections do not change.
    fn shapes(&self, cx: &Context, x: &Var) -> Result<Vec<Vec<usize>>> {
        let probe = Context::new(Mode::EVAL, cx.tracer().float());
        let shape = [&[1], &x.shape()[1..]].concat();
        let x = probe.tracer().input("x_seq", x.ty().dtype, shape);
        let outputs = self.step(&probe, &x, &vec![None; self.layers.len()])?;
        Ok(outputs.iter().map(|y| y.shape()[1..].to_vec()).collect())
    }
}

impl Module for RecurrentBlock {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("recurrent block", x, 2)?;
        self.check(cx)?;
        let shapes = self.shapes(cx, x)?;
        let y = cx.step_loop(x, |x| {
            let mut states = vec![];
            for (layer, shape) in self.layers.iter().zip(&shapes) {
                states.push(match self.is_state(layer) {
                    true => Some(
                        cx.child(&layer.name, |cx| Ok(cx.state("output", shape.clone(), 0.0)))?,
                    ),
                    false => None,
                });
            }
            let one_step = |(state, shape): (&Option<Var>, &Vec<usize>)| {
                let state = state.as_ref()?;
                Some(
                    state
                        .expand(&shape[..])
                        .reshape([&[1], &shape[..]].concat()),
                )
            };
            let before: Vec<Option<Var>> = states.iter().zip(&shapes).map(one_step).collect();
            let outputs = self.step(cx, &x, &before)?;
            for ((state, output), shape) in states.iter().zip(&outputs).zip(&shapes) {
                if let Some(state) = state {
                    let after = output.cast(cx.tracer().float()).reshape(&shape[..]);
                    cx.set_state(state, &after);
                }
            }
            Ok(outputs.last().unwrap_or(&x).clone())
        })?;
        match self.last {
            true => TimeLast.forward(cx, &y.join()),
            false => Ok(y.join()),
        }
    }

    fn tree(&self) -> Tree {
        let mut tree = Tree::for_type::<Self>();
        for layer in &self.layers {
            let mut own = Tree::new("Layer").child("input", &*layer.input);
            for connection in self.connections.iter().filter(|c| c.to == layer.name) {
                own = own.child(format!("from_{}", connection.from), &*connection.module);
            }
            tree = tree.child_tree(&layer.name, own.child("neuron", &*layer.neuron));
        }
        tree
    }
}

print_as_tree!(RecurrentBlock);
