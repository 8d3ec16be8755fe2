//! From a list of layers to modules: names, shapes, bounds.

use super::Layers;
use super::cost::CostRow;
use super::kinds::{self, Kind, MainValue};
use super::limits::{MAX_DEPTH, MAX_ELEMENTS, MAX_LAYERS, MAX_WEIGHTS};
use super::neuron::{definition_span, neuron_of, neuron_problem, neuron_spec};
use super::problem::NetworkProblem;
use crate::layer::Reshape;
use crate::module::{Context, Init, Mode, Module, Sequential};
use crate::neuron::Neuron;
use crate::{LayerError, LayerProblem};
use serde_json::Value;
use spikelet_core::Error;
use spikelet_core::document::{Content, Fields, Located, Node};
use spikelet_graph::DType;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The name of the layer in front of networks whose input is no image.
const RESHAPE: &str = "input";

/// The time steps with which shapes are inferred: a layer that reduces them to one is seen.
const TIME_STEPS: usize = 2;

/// A layer of a list: the value after its kind, and its other keys.
pub(super) struct LayerFields<'a> {
    pub kind: &'static Kind,
    /// The value of the key with the name of the kind.
    pub main: Option<&'a Node>,
    pub fields: Fields<'a>,
}

impl<'a> LayerFields<'a> {
    /// The value of the kind's key, which was checked to be there.
    pub fn main(&self) -> Result<&'a Node, Located> {
        self.main.ok_or_else(|| {
            let problem = NetworkProblem::NeedsValue {
                kind: self.kind.name,
                expected: self.kind.main.expected(),
            };
            problem.at(self.fields.span())
        })
    }

    /// Checks the key `inputs`, if it is given: the sequence has this size on its first axis.
    pub fn expect_inputs(&self, size: usize) -> Result<(), Located> {
        match self.fields.get("inputs") {
            Some(node) if node.integer("inputs", 1..=Layers::MAX_SIZE)? != size => {
                Err(node.wrong("inputs", format!("{size}, as its input has")))
            }
            _ => Ok(()),
        }
    }

    /// One size for all axes, or a size for each of `axes`; the value of `key`.
    pub fn sizes(
        &self,
        key: &str,
        axes: usize,
        least: usize,
    ) -> Result<Option<Vec<usize>>, Located> {
        let node = match key == self.kind.name {
            true => Some(self.main()?),
            false => self.fields.get(key),
        };
        node.map(|node| sizes(node, key, axes, least)).transpose()
    }
}

/// The initial values of weights and biases in files.
impl LayerFields<'_> {
    /// Those of the keys `init` and `bias_init`, if they are given. `fan_out` is the number of outputs times the size of the
    /// window.
    pub fn inits(&self, fan_out: usize) -> Result<[Option<Init>; 2], Located> {
        let expected = "\"fan-in\", \"kaiming-normal\", { normal = 0.02 } with a standard deviation, or { uniform = [0.0, 0.3] }";
        let weight = match self.fields.get("init") {
            None => None,
            Some(node) if node.get("uniform").is_some() => Some(uniform(node)?),
            Some(node) => match (node.as_text(), node.get("normal")) {
                (Some("fan-in"), _) => None,
                (Some("kaiming-normal"), _) => Some(Init::kaiming_normal(fan_out)),
                (None, Some(deviation)) => {
                    Fields::new(node, "`init`", &["normal"])?;
                    match deviation.number("normal")? {
                        deviation if deviation >= 0.0 => Some(Init::Normal { deviation }),
                        _ => return Err(deviation.wrong("normal", "a number of at least 0")),
                    }
                }
                _ => return Err(node.wrong("init", expected)),
            },
        };
        let bias = self.fields.number("bias_init")?.map(Init::Constant);
        Ok([weight, bias])
    }
}

/// `{ uniform = [0.0, 0.3] }`: uniform between two limits.
fn uniform(node: &Node) -> Result<Init, Located> {
    let [low, high] = match Fields::new(node, "`init`", &["uniform"])?.get("uniform") {
        Some(limits) => interval(limits, "uniform")?,
        None => [0.0, 0.0],
    };
    Ok(Init::Between { low, high })
}

/// A list of two numbers, of which the second is not smaller.
pub(super) fn interval(node: &Node, key: &str) -> Result<[f64; 2], Located> {
    let wrong = || node.wrong(key, "a list of two numbers, the smaller one first");
    let [low, high] = node.list(key).map_err(|_| wrong())? else {
        return Err(wrong());
    };
    match [low.number(key)?, high.number(key)?] {
        [low, high] if low <= high => Ok([low, high]),
        _ => Err(wrong()),
    }
}

/// One size for all axes, or a size for each of `axes`.
fn sizes(node: &Node, key: &str, axes: usize, least: usize) -> Result<Vec<usize>, Located> {
    let expected = match axes {
        1 => format!("an integer from {least} to {}", Layers::MAX_SIZE),
        _ => format!(
            "an integer from {least} to {}, or a list of {axes} of them",
            Layers::MAX_SIZE
        ),
    };
    let wrong = || node.wrong(key, expected.clone());
    let read = |node: &Node| node.integer(key, least..=Layers::MAX_SIZE);
    match &node.content {
        Content::List(items) if items.len() == axes => {
            let read: Result<_, _> = items.iter().map(read).collect();
            read.map_err(|_| wrong())
        }
        _ => Ok(vec![read(node).map_err(|_| wrong())?; axes]),
    }
}

/// The state of a network that is built layer by layer.
pub(super) struct Builder {
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
    pub fn body(&mut self, node: &Node, name: &str) -> Result<Arc<dyn Module>, Located> {
        self.inside(name, |b| b.unnamed_body(node))
    }

    /// A list of layers, or a single layer, without a name of its own in paths.
    pub fn unnamed_body(&mut self, node: &Node) -> Result<Arc<dyn Module>, Located> {
        match &node.content {
            Content::List(_) => Ok(Arc::new(self.sequence(node)?)),
            _ => self.layer(node, false),
        }
    }

    /// A layer. `named`: whether it may have a name.
    fn layer(&mut self, node: &Node, named: bool) -> Result<Arc<dyn Module>, Located> {
        let path = self.path.join(".");
        let (kind, main) = kind_of(node).map_err(|e| e.or_of(|| format!("layer `{path}`")))?;
        let owner = || format!("layer `{path}` ({})", kind.name);
        let build = |b: &mut Self| {
            b.count()?;
            (kind.build)(&layer_fields(node, kind, main, named)?, b)
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
    ) -> Result<Arc<dyn Module>, Located> {
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

    /// The number of elements of the current sequence at one time step, if it is not too large.
    pub fn check_elements(&self) -> Result<usize, Located> {
        elements(&self.shape).ok_or_else(|| {
            let shape = self.shape.clone();
            NetworkProblem::TooManyElements { shape }.at(None)
        })
    }

    /// The sizes of a layer's output at one time step, and whether it has only one. They are those of its trace.
    fn output_of(&self, module: &dyn Module) -> Result<(Vec<usize>, bool), Located> {
        let steps = if self.one_step { 1 } else { TIME_STEPS };
        let cx = Context::new(Mode::EVAL, DType::F32);
        let mut input = vec![steps, 1];
        input.extend(&self.shape);
        let x = cx.tracer().input("x_seq", DType::F32, input);
        let y = cx.trace(module, x).map_err(|error| self.rejected(error))?;
        let shape = y.shape().get(2..).unwrap_or_default().to_vec();
        Ok((shape, y.dim(0) < TIME_STEPS))
    }

    /// Checks a layer whose training is another computation than its evaluation.
    pub fn expect_trainable(&self, module: &dyn Module) -> Result<(), Located> {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let steps = if self.one_step { 1 } else { TIME_STEPS };
        let x = [&[steps, 1], &self.shape[..]].concat();
        let x = cx.tracer().input("x_seq", DType::F32, x);
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
    pub fn wrong_axes(&self, kind: &'static str, expected: &'static str) -> Located {
        let input = self.shape.clone();
        NetworkProblem::Axes {
            kind,
            expected,
            input,
        }
        .at(None)
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
    pub fn spatial_axes(&self, kind: &'static str) -> Result<usize, Located> {
        match self.shape.len() {
            axes @ 2..=4 => Ok(axes - 1),
            _ => Err(self.wrong_axes(kind, "[C, L], [C, H, W] or [C, D, H, W]")),
        }
    }

    /// The neuron of a specification in a layer.
    pub fn own_neuron(&self, node: &Node) -> Result<Arc<dyn Neuron>, Located> {
        let spec = neuron_spec(node)?;
        neuron_of(&spec).map_err(|error| neuron_problem(error, Some(node)))
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

/// The keys of a layer within another one, which has no name and is not built by itself.
pub(super) fn inner_layer(node: &Node) -> Result<LayerFields<'_>, Located> {
    let (kind, main) = kind_of(node)?;
    layer_fields(node, kind, main, false)
}

/// The keys of a layer of this kind. `named`: whether it may have a name.
fn layer_fields<'a>(
    node: &'a Node,
    kind: &'static Kind,
    main: Option<&'a Node>,
    named: bool,
) -> Result<LayerFields<'a>, Located> {
    let mut known = [&[kind.name], kind.keys].concat();
    known.extend(named.then_some("name"));
    known.extend(node.get("layer").map(|_| "layer"));
    let owner = format!("`{}`", kind.name);
    let fields = match &node.content {
        Content::Text(_) => Fields::empty(owner, &known, node.span.clone()),
        _ => Fields::new(node, owner, &known)?,
    };
    let given = LayerFields { kind, main, fields };
    match (kind.main, main) {
        (MainValue::Required(_) | MainValue::Layers(_), None) => {
            given.main()?;
        }
        (MainValue::None, Some(value)) => {
            let problem = NetworkProblem::TakesNoValue { kind: kind.name };
            return Err(problem.at(value.span.clone()));
        }
        _ => {}
    }
    Ok(given)
}

/// The kind of a layer, and the value of the key with its name.
fn kind_of(node: &Node) -> Result<(&'static Kind, Option<&Node>), Located> {
    let unknown = |name: &str| NetworkProblem::UnknownLayer {
        name: name.to_string(),
        help: kinds::help_for(name),
    };
    match &node.content {
        Content::Text(name) => match kinds::find(name) {
            Some(kind) => Ok((kind, None)),
            None => Err(unknown(name).at(node.span.clone())),
        },
        Content::Table(entries) => {
            if let Some(layer) = node.get("layer") {
                let name = layer.text("layer")?;
                let kind = kinds::find(name);
                let kind = kind.ok_or_else(|| unknown(name).at(layer.span.clone()))?;
                return Ok((kind, node.get(kind.name)));
            }
            let mut found = entries
                .iter()
                .filter_map(|e| Some((e, kinds::find(&e.key)?)));
            match (found.next(), found.next()) {
                (Some((first, _)), Some((second, _))) => Err(NetworkProblem::TwoKinds {
                    first: first.key.clone(),
                    second: second.key.clone(),
                }
                .at(second.span.clone())),
                (Some((entry, kind)), None) => Ok((kind, Some(&entry.value))),
                (None, _) => Err(match kinds::misspelt(entries) {
                    Some(entry) => unknown(&entry.key).at(entry.span.clone()),
                    None => NetworkProblem::NoKind {
                        help: kinds::names(),
                    }
                    .at(node.span.clone()),
                }),
            }
        }
        _ => Err(NetworkProblem::NotALayer.at(node.span.clone())),
    }
}

/// Whether a layer groups others, and may have an empty name: they are then part of the list around it.
fn is_group(node: &Node) -> bool {
    kind_of(node).is_ok_and(|(kind, _)| matches!(kind.main, MainValue::Layers(_)))
}

/// The name of a group of layers, which may be empty.
pub(super) fn group_name(node: &Node) -> Result<&str, Located> {
    match node.as_text() {
        Some("") => Ok(""),
        _ => layer_name(node),
    }
}

/// A layer's name: a part of the paths of its parameters.
fn layer_name(node: &Node) -> Result<&str, Located> {
    const LONGEST: usize = 64;
    let name = node.text("name")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.len() <= LONGEST && name.chars().all(fits) {
        true => Ok(name),
        false => Err(node.wrong(
            "name",
            format!("1 to {LONGEST} letters, digits, `_` or `-`"),
        )),
    }
}
