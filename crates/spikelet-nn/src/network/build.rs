//! From a list of layers to modules: names, shapes, bounds.

use super::cost::CostRow;
use super::layer_fields::{LayerFields, group_name, is_group, kind_of, layer_name, read_layer};
use super::limits::{MAX_DEPTH, MAX_ELEMENTS, MAX_LAYERS, MAX_WEIGHTS};
use super::neuron::definition_span;
use super::problem::NetworkProblem;
use crate::layer::Reshape;
use crate::module::{Context, Mode, Module, Sequential};
use crate::neuron::Neuron;
use crate::{LayerError, LayerProblem};
use serde_json::Value;
use spikelet_core::Error;
use spikelet_core::document::{Content, Located, Node};
use spikelet_graph::{DType, Var};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The name of the layer in front of networks whose input is no image.
const RESHAPE: &str = "input";

/// The time steps with which shapes are inferred: a layer that reduces them to one is seen.
const TIME_STEPS: usize = 2;

/// A layer that was built.
pub(crate) type Built = Result<Arc<dyn Module>, Located>;

/// The state of a network that is built layer by layer.
pub(crate) struct Builder {
    /// The sizes of the current sequence at one time step.
    pub shape: Vec<usize>,
    /// Whether the current sequence has one time step only.
    pub one_step: bool,
    /// The neuron of layers without their own.
    pub neuron: Arc<dyn Neuron>,
    /// Its specification.
    pub neuron_spec: Value,
    path: Vec<String>,
    depth: usize,
    layers: usize,
    weights: usize,
    rows: Vec<CostRow>,
    /// The paths of layers without inner layers.
    leaves: BTreeSet<String>,
}

impl Builder {
    pub fn new(input: Vec<usize>, neuron: Arc<dyn Neuron>, neuron_spec: Value) -> Self {
        Self {
            shape: input,
            one_step: false,
            neuron,
            neuron_spec,
            path: vec![],
            depth: 0,
            layers: 0,
            weights: 0,
            rows: vec![],
            leaves: BTreeSet::new(),
        }
    }

    /// The layers that were built, without containers.
    pub fn into_rows(self) -> Vec<CostRow> {
        self.rows
    }

    /// Counts one layer or one repetition.
    pub fn count(&mut self) -> Result<(), Located> {
        self.layers += 1;
        match self.layers > MAX_LAYERS {
            true => Err(NetworkProblem::TooManyLayers.at(None)),
            false => Ok(()),
        }
    }

    /// Runs `inside` with `name` added to the path.
    pub fn inside<T>(
        &mut self,
        name: &str,
        inside: impl FnOnce(&mut Self) -> Result<T, Located>,
    ) -> Result<T, Located> {
        if self.depth == MAX_DEPTH {
            return Err(NetworkProblem::TooDeep.at(None));
        }
        self.depth += 1;
        if !name.is_empty() {
            self.path.push(name.to_string());
        }
        let made = inside(self);
        if !name.is_empty() {
            self.path.pop();
        }
        self.depth -= 1;
        made
    }

    /// The layers of a network, one after the other. Images of other axes are reshaped to the input.
    pub fn network(&mut self, list: &Node) -> Result<Sequential, Located> {
        if list.list("layers")?.is_empty() {
            return Err(NetworkProblem::Empty.at(list.span.clone()));
        }
        let first = Sequential::new();
        let first = match self.shape.len() {
            3 => first,
            _ => first.add_named(RESHAPE, Reshape::new(self.shape.clone())),
        };
        self.sequence_after(first, list)
    }

    /// The layers of a list, one after the other.
    pub fn sequence(&mut self, list: &Node) -> Result<Sequential, Located> {
        self.sequence_after(Sequential::new(), list)
    }

    fn sequence_after(&mut self, mut made: Sequential, list: &Node) -> Result<Sequential, Located> {
        let items = list.list("layers")?;
        let mut names = BTreeSet::new();
        if !made.is_empty() {
            names.insert(RESHAPE.to_string());
        }
        for (k, item) in items.iter().enumerate() {
            let name = match item.get("name") {
                Some(node) if is_group(item) => group_name(node)?.to_string(),
                Some(node) => layer_name(node)?.to_string(),
                None => k.to_string(),
            };
            if !name.is_empty() && !names.insert(name.clone()) {
                let at = item.get("name").unwrap_or(item).span.clone();
                return Err(NetworkProblem::DuplicateName { name }.at(at));
            }
            let module = self.inside(&name, |b| b.layer(item, true))?;
            made = made.add_named(&name, module);
        }
        Ok(made)
    }

    /// A list of layers, or a single layer with the name `name`.
    pub fn body(&mut self, node: &Node, name: &str) -> Built {
        self.inside(name, |b| b.unnamed_body(node))
    }

    /// A list of layers, or a single layer, without a name of its own in paths.
    pub fn unnamed_body(&mut self, node: &Node) -> Built {
        match &node.content {
            Content::List(_) => Ok(Arc::new(self.sequence(node)?)),
            _ => self.layer(node, false),
        }
    }

    /// A layer. `named`: whether it may have a name.
    fn layer(&mut self, node: &Node, named: bool) -> Built {
        let path = self.path.join(".");
        let kind = kind_of(node).map_err(|e| e.or_of(|| format!("layer `{path}`")))?;
        let owner = || format!("layer `{path}` ({})", kind.name());
        let build = |b: &mut Self| {
            b.count()?;
            let (keys, layer) = read_layer(node, kind, named)?;
            keys.build(&layer, b)
        };
        build(self).map_err(|error| {
            let span = error.source().and_then(|source| match source {
                NetworkProblem::Definition(error) => definition_span(error, node),
                _ => None,
            });
            error.or_at(span.or_else(|| node.span.clone())).or_of(owner)
        })
    }

    /// Adds a layer without inner layers: infers its output, and checks its size and that of its `weights`.
    /// `macs` of the output's elements are its multiply-accumulates at one time step.
    pub fn leaf(
        &mut self,
        kind: &'static str,
        module: impl Module + 'static,
        weights: Option<usize>,
        macs: impl Fn(usize) -> Option<usize>,
    ) -> Built {
        let total = weights.and_then(|weights| self.weights.checked_add(weights));
        match total {
            Some(total) if total <= MAX_WEIGHTS => self.weights = total,
            _ => return Err(NetworkProblem::TooManyWeights.at(None)),
        }
        let path = self.path.join(".");
        if !self.leaves.insert(path.clone()) {
            // Two groups without names have layers of the same name.
            return Err(NetworkProblem::DuplicateName { name: path }.at(None));
        }
        let (output, one_step) = self.output_of(&module)?;
        self.shape.clone_from(&output);
        let elements = self.check_elements()?;
        let macs = macs(elements).ok_or_else(|| NetworkProblem::TooManyWeights.at(None))?;
        self.one_step |= one_step;
        self.rows.push(CostRow {
            path,
            kind: kind.to_string(),
            output,
            parameters: 0,
            macs: macs as u64,
            per_image: self.one_step,
        });
        Ok(Arc::new(module))
    }

    /// The same of a layer without weights and multiply-accumulates.
    pub fn without_weights(
        &mut self,
        layer: &LayerFields<'_>,
        module: impl Module + 'static,
    ) -> Built {
        self.leaf(layer.name(), module, Some(0), |_| Some(0))
    }

    /// The same of a layer that multiplies each of its weights once at a time step.
    pub fn fully_connected(
        &mut self,
        layer: &LayerFields<'_>,
        module: impl Module + 'static,
        weights: Option<usize>,
    ) -> Built {
        self.leaf(layer.name(), module, weights, |_| weights)
    }

    /// The number of elements of the current sequence at one time step, if it is not too large.
    pub fn check_elements(&self) -> Result<usize, Located> {
        elements(&self.shape).ok_or_else(|| {
            let shape = self.shape.clone();
            NetworkProblem::TooManyElements { shape }.at(None)
        })
    }

    /// A sequence of one sample that has these sizes at one time step.
    pub fn input_of(&self, cx: &Context, shape: &[usize]) -> Var {
        let steps = if self.one_step { 1 } else { TIME_STEPS };
        let sizes = [&[steps, 1], shape].concat();
        cx.tracer().input("x_seq", DType::F32, sizes)
    }

    /// The sizes of a layer's output at one time step, and whether it has only one. They are those of its trace.
    fn output_of(&self, module: &dyn Module) -> Result<(Vec<usize>, bool), Located> {
        let cx = Context::new(Mode::EVAL, DType::F32);
        let x = self.input_of(&cx, &self.shape);
        let y = cx.trace(module, x).map_err(|error| self.rejected(error))?;
        let shape = y.shape().get(2..).unwrap_or_default().to_vec();
        Ok((shape, y.dim(0) < TIME_STEPS))
    }

    /// Checks a layer whose training is another computation than its evaluation.
    pub fn expect_trainable(&self, module: &dyn Module) -> Result<(), Located> {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let x = self.input_of(&cx, &self.shape);
        // The values that programs give.
        cx.give_label(&cx.tracer().input("label", DType::I64, [1]));
        let reward = cx.tracer().input("reward", DType::F32, [x.dim(0)]);
        cx.give_signal("reward", &reward);
        let traced = cx.trace(module, x).map(|_| ());
        traced.map_err(|error| self.rejected(error))
    }

    /// The error of a layer that its own checks or those of an operation refuse.
    fn rejected(&self, error: Error) -> Located {
        let (problem, help) = match error {
            Error::Graph(spikelet_graph::Error::Shape { problem, help, .. }) => (problem, help),
            Error::Other(other) => match other.downcast::<LayerError>() {
                Ok(error) => match error.problem {
                    LayerProblem::Definition(definition) => {
                        return NetworkProblem::Definition(definition).at(None);
                    }
                    problem => (problem.to_string(), problem.help()),
                },
                Err(other) => (other.to_string(), String::new()),
            },
            other => (other.to_string(), String::new()),
        };
        let input = self.shape.clone();
        NetworkProblem::Rejected {
            problem,
            help,
            input,
        }
        .at(None)
    }

    /// The error of a layer that takes an input with other axes.
    fn wrong_axes(&self, layer: &LayerFields<'_>, expected: &'static str) -> Located {
        let input = self.shape.clone();
        NetworkProblem::Axes {
            kind: layer.name(),
            expected,
            input,
        }
        .at(None)
    }

    /// The size of an input `[features]`.
    pub fn features(&self, layer: &LayerFields<'_>) -> Result<usize, Located> {
        match self.shape[..] {
            [features] => Ok(features),
            _ => Err(self.wrong_axes(layer, "[features]")),
        }
    }

    /// Checks that a window is not larger than the padded input `[C, …]`.
    pub fn expect_window(
        &self,
        kernel: &[usize],
        dilation: &[usize],
        padding: &[usize],
    ) -> Result<(), Located> {
        let extent =
            |(kernel, dilation): (&usize, &usize)| (kernel - 1).saturating_mul(*dilation) + 1;
        let window: Vec<usize> = kernel.iter().zip(dilation).map(extent).collect();
        let sizes = self.shape[1..].iter().zip(padding);
        let fits =
            (window.iter().zip(sizes)).all(|(window, (size, pad))| *window <= size + 2 * pad);
        match fits {
            true => Ok(()),
            false => Err(NetworkProblem::Window {
                window,
                padding: padding.to_vec(),
                input: self.shape.clone(),
            }
            .at(None)),
        }
    }

    /// The number of spatial axes of an input `[C, …]`, 1 to 3.
    pub fn spatial_axes(&self, layer: &LayerFields<'_>) -> Result<usize, Located> {
        match self.shape.len() {
            axes @ 2..=4 => Ok(axes - 1),
            _ => Err(self.wrong_axes(layer, "[C, L], [C, H, W] or [C, D, H, W]")),
        }
    }

    /// Marks the layers from `first` on as computed once for an image.
    pub fn mark_per_image(&mut self, first: usize) {
        for row in &mut self.rows[first..] {
            row.per_image = true;
        }
    }

    /// The number of layers without inner layers so far.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }
}

/// The product of sizes, if it is not too large.
pub(super) fn elements(shape: &[usize]) -> Option<usize> {
    let product = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n));
    product.filter(|&product| product <= MAX_ELEMENTS)
}
