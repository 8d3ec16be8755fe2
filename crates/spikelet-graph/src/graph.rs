//! The tensor graph: values, nodes in execution order, inputs and outputs.

use crate::error::{Error, InvalidOp, Result, invalid};
use crate::notes::Notes;
use crate::op::{Map, Op, Operation};
use crate::types::{DType, TensorType};
use std::sync::Arc;

/// The id of a value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(crate) u32);

impl ValueId {
    /// The index among the values of the graph.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The role of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InputKind {
    /// Supplied for each run: images, labels, learning rate.
    Data,
    /// A trainable tensor, stored with the model.
    Parameter,
    /// Carried from run to run: membrane potentials, running statistics, optimizer moments.
    State,
}

/// An input of a graph.
#[derive(Clone, Debug)]
pub struct Input {
    /// The name, unique among the inputs.
    pub name: String,
    /// The role.
    pub kind: InputKind,
    /// The value.
    pub value: ValueId,
}

/// An output of a graph.
#[derive(Clone, Debug)]
pub struct Output {
    /// The name, unique among the outputs.
    pub name: String,
    /// The value.
    pub value: ValueId,
    /// The input that it replaces after a run, if any.
    pub updates: Option<ValueId>,
}

/// An operation applied to values.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The operands.
    pub inputs: Vec<ValueId>,
    /// The results. Results that are not read are not computed.
    pub outputs: Vec<ValueId>,
    /// The path of the layer that it was traced in.
    pub layer: Arc<str>,
    /// Whether it belongs to the backward pass.
    pub backward: bool,
    /// What passes have noted about it.
    pub notes: Notes,
}

/// A static tensor program: nodes in execution order, inputs and outputs.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The nodes in execution order: every value is computed before it is read.
    pub nodes: Vec<Node>,
    /// The inputs.
    pub inputs: Vec<Input>,
    /// The outputs.
    pub outputs: Vec<Output>,
    /// Whether elementwise operations stay separate kernels, in order to measure the effect of
    /// fusion.
    pub disable_fusion: bool,
    types: Vec<TensorType>,
    /// The use counts, if they were computed and the nodes did not change since.
    counted: Option<Arc<Vec<usize>>>,
}

impl Graph {
    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &TensorType {
        &self.types[value.index()]
    }

    /// The shape of a value.
    pub fn shape(&self, value: ValueId) -> &[usize] {
        &self.ty(value).shape
    }

    /// The number of values.
    pub fn values(&self) -> usize {
        self.types.len()
    }

    /// The element type of every value, by number.
    pub(crate) fn dtypes(&self) -> Vec<DType> {
        self.types.iter().map(|t| t.dtype).collect()
    }

    /// A new value, without a producer yet.
    pub(crate) fn add_value(&mut self, ty: TensorType) -> ValueId {
        let id = u32::try_from(self.types.len()).expect("a graph has fewer than 2^32 values");
        self.types.push(ty);
        ValueId(id)
    }

    /// Forgets the newest values, so that `count` are left.
    pub(crate) fn truncate_values(&mut self, count: usize) {
        self.types.truncate(count);
    }

    /// Gives a value of any number its type.
    pub(crate) fn set_type(&mut self, value: ValueId, ty: TensorType) {
        let values = self.values().max(value.index() + 1);
        self.types.resize_with(values, TensorType::default);
        self.types[value.index()] = ty;
    }

    pub(crate) fn set_dtype(&mut self, value: ValueId, dtype: DType) {
        self.types[value.index()].dtype = dtype;
    }

    /// Adds an input.
    ///
    /// # Errors
    /// When the name is in use, or the shape exceeds the largest size of a tensor.
    pub fn add_input(&mut self, name: &str, kind: InputKind, ty: TensorType) -> Result<ValueId> {
        if self.inputs.iter().any(|i| i.name == name) {
            return Err(Error::Name {
                kind: "input",
                name: name.to_string(),
                problem: "the name is already in use; use a different name for each input"
                    .to_string(),
            });
        }
        ty.check(&format!("input `{name}`"))?;
        let value = self.add_value(ty);
        self.inputs.push(Input {
            name: name.to_string(),
            kind,
            value,
        });
        Ok(value)
    }

    /// Applies an operation and returns its results. One that changes nothing is not added.
    ///
    /// # Errors
    /// When the operands do not fit; the error names the layer, the operation and the shapes.
    pub fn push(
        &mut self,
        op: impl Into<Op>,
        inputs: &[ValueId],
        layer: &Arc<str>,
    ) -> Result<Vec<ValueId>> {
        self.push_node(op.into(), inputs, layer, false)
    }

    pub(crate) fn push_node(
        &mut self,
        op: Op,
        inputs: &[ValueId],
        layer: &Arc<str>,
        backward: bool,
    ) -> Result<Vec<ValueId>> {
        if op.changes_nothing(&self.types(inputs)) {
            return Ok(inputs.to_vec());
        }
        let node = self.make_node(op, inputs, layer, backward)?;
        let outputs = node.outputs.clone();
        self.nodes.push(node);
        Ok(outputs)
    }

    /// Applies an operation with one result.
    ///
    /// # Errors
    /// As [`Graph::push`].
    pub fn push1(
        &mut self,
        op: impl Into<Op>,
        inputs: &[ValueId],
        layer: &Arc<str>,
    ) -> Result<ValueId> {
        Ok(self.push(op, inputs, layer)?[0])
    }

    /// The value cast to another floating-point type; the value itself if it has that type.
    ///
    /// # Errors
    /// When only one of the types is f64, or one is not a floating-point type.
    pub fn cast(&mut self, value: ValueId, dtype: DType, layer: &Arc<str>) -> Result<ValueId> {
        if self.ty(value).dtype == dtype {
            return Ok(value);
        }
        self.push1(Map::cast(self.shape(value), dtype), &[value], layer)
    }

    pub(crate) fn make_node(
        &mut self,
        op: Op,
        inputs: &[ValueId],
        layer: &Arc<str>,
        backward: bool,
    ) -> Result<Node> {
        let types: Vec<TensorType> = inputs.iter().map(|&v| self.ty(v).clone()).collect();
        let made = results(&op, &types).map_err(|error| error.at(layer, &op.name(), &types))?;
        let outputs = made.into_iter().map(|ty| self.add_value(ty)).collect();
        Ok(Node {
            op,
            inputs: inputs.to_vec(),
            outputs,
            layer: layer.clone(),
            backward,
            notes: Notes::default(),
        })
    }

    /// The index of the node that computes each value; `None` for inputs.
    pub fn producers(&self) -> Vec<Option<usize>> {
        let mut producers = vec![None; self.values()];
        for (k, node) in self.nodes.iter().enumerate() {
            for value in &node.outputs {
                producers[value.index()] = Some(k);
            }
        }
        producers
    }

    /// How often each value is read, outputs of the graph included.
    pub fn use_counts(&self) -> Vec<usize> {
        let mut uses = vec![0; self.values()];
        let reads = self.nodes.iter().flat_map(|n| n.inputs.iter());
        for value in reads.chain(self.outputs.iter().map(|o| &o.value)) {
            uses[value.index()] += 1;
        }
        uses
    }
}

/// The types of an operation's results, checked: their number is that of [`Operation::outputs`], and
/// none exceeds the largest size of a tensor.
fn results(op: &Op, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
    let made = op.infer(inputs)?;
    let expected = op.outputs(inputs.len());
    if made.len() != expected {
        return invalid!("has {expected} results, but `infer` returns {} types", made.len();
            "return from `outputs` the number of types that `infer` returns");
    }
    if made.is_empty() {
        return invalid!("has no result"; "give the operation at least one result");
    }
    made.iter().try_for_each(TensorType::check_size)?;
    Ok(made)
}

impl Graph {
    /// Whether a node or an output of the graph reads a value.
    pub fn is_read(&self, value: ValueId) -> bool {
        self.use_count(value) > 0
    }

    /// How often nodes and outputs of the graph read a value.
    pub(crate) fn use_count(&self, value: ValueId) -> usize {
        match &self.counted {
            Some(counts) => counts.get(value.index()).copied().unwrap_or(0),
            None => self.use_counts()[value.index()],
        }
    }

    /// The types of values.
    pub fn types(&self, values: &[ValueId]) -> Vec<TensorType> {
        values.iter().map(|v| self.ty(*v).clone()).collect()
    }

    /// Whether each result of a node has memory: it is read, or written in any case.
    pub fn written(&self, node: &Node) -> Vec<bool> {
        let outputs = node.outputs.iter().enumerate();
        let written = outputs.map(|(at, v)| node.op.writes_unread(at) || self.is_read(*v));
        written.collect()
    }

    /// Computes the use counts once: devices read them for every node.
    pub(crate) fn count_uses(&mut self) {
        self.counted = Some(Arc::new(self.use_counts()));
    }

    /// The use counts, for code that updates them itself.
    pub(crate) fn use_counts_mut(&mut self) -> &mut Vec<usize> {
        Arc::make_mut(self.counted.get_or_insert_default())
    }

    /// Calls a function with the use counts computed.
    pub(crate) fn with_use_counts<R>(&mut self, call: impl FnOnce(&Self) -> R) -> R {
        self.count_uses();
        let result = call(self);
        self.forget_uses();
        result
    }

    /// Discards the use counts before the graph changes.
    pub(crate) fn forget_uses(&mut self) {
        self.counted = None;
    }

    pub(crate) fn has_counted(&self) -> bool {
        self.counted.is_some()
    }
}
