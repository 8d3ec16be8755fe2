//! Reverse-mode differentiation from graph to graph.

use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Graph, Node, ValueId};
use crate::notes::Notes;
use crate::op::{Expand, Fill, Map, Op, Operation, Permute, Reduce, Reshape};
use crate::types::{DType, ShapeText, TensorType, broadcast};
use spikelet_expr::Expr;
use std::fmt;
use std::sync::Arc;

/// The state of differentiation at one node, with methods that append operations to the graph.
pub struct Backward<'a> {
    /// The graph that the backward pass is appended to.
    pub graph: &'a mut Graph,
    /// The gradient of each output of the node; `None` where the result does not depend on it.
    pub grads: Vec<Option<ValueId>>,
    /// Which inputs of the node need a gradient.
    pub wanted: Vec<bool>,
    /// The partial gradient of each input, from later operations.
    partial_grad: Vec<Option<ValueId>>,
    layer: Arc<str>,
}

impl Backward<'_> {
    /// The gradient of the result of an operation that has one: operations whose results have no gradients are not
    /// differentiated.
    pub fn grad(&self) -> ValueId {
        self.grads[0].expect("a result of the operation has a gradient")
    }

    /// The partial gradient of input `k`: the sum of the gradients from later operations, if any. An
    /// operation that takes it returns the complete sum as the gradient of this input.
    pub fn take_partial_grad(&mut self, k: usize) -> Option<ValueId> {
        self.partial_grad[k].take()
    }

    /// The gradient of operand `k` of an operation with one result, from the gradient of the result.
    ///
    /// # Errors
    /// When the operation has no derivative.
    pub(crate) fn gradient_of(
        &mut self,
        op: &Op,
        inputs: &[ValueId],
        grad: ValueId,
        k: usize,
    ) -> Result<Option<ValueId>> {
        let result = self.graph.ty(grad).clone();
        let node = Node {
            op: op.clone(),
            inputs: inputs.to_vec(),
            outputs: vec![self.graph.add_value(result)],
            layer: self.layer.clone(),
            backward: false,
            notes: Notes::default(),
        };
        let mut b = Backward {
            graph: &mut *self.graph,
            grads: vec![Some(grad)],
            wanted: (0..inputs.len()).map(|at| at == k).collect(),
            partial_grad: vec![None; inputs.len()],
            layer: node.layer.clone(),
        };
        Ok(op.differentiate(&mut b, &node)?.swap_remove(k))
    }

    /// Adds an operation of the backward pass.
    ///
    /// # Errors
    /// When the operands do not fit.
    pub fn push(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let op = op.into();
        self.graph.push_node(op, inputs, &self.layer, true)
    }

    /// Adds an operation with one result.
    ///
    /// # Errors
    /// When the operands do not fit.
    pub fn push1(&mut self, op: impl Into<Op>, inputs: &[ValueId]) -> Result<ValueId> {
        Ok(self.push(op, inputs)?[0])
    }

    /// Adds elementwise expressions over `operands`.
    ///
    /// # Errors
    /// When the operands do not broadcast to the map's shape.
    pub fn map(&mut self, map: Map, operands: &[ValueId]) -> Result<Vec<ValueId>> {
        Map::add(map, self.graph, operands, &self.layer, true)
    }

    /// Adds one elementwise expression whose result is stored in a type.
    ///
    /// # Errors
    /// When the operands do not broadcast to `shape`.
    pub fn map1(
        &mut self,
        expression: Expr,
        shape: Vec<usize>,
        dtype: DType,
        operands: &[ValueId],
    ) -> Result<ValueId> {
        let map = Map::stored(vec![expression], shape, vec![dtype]);
        Ok(self.map(map, operands)?[0])
    }

    /// The sum of two values of one type.
    ///
    /// # Errors
    /// When the types differ.
    pub(crate) fn add(&mut self, a: ValueId, b: ValueId) -> Result<ValueId> {
        let ty = self.graph.ty(a).clone();
        self.map1(
            Map::operand(0) + Map::operand(1),
            ty.shape,
            ty.dtype,
            &[a, b],
        )
    }

    /// The value cast to another floating-point type.
    ///
    /// # Errors
    /// When one of the types is f64 and the other is not.
    pub fn cast(&mut self, value: ValueId, dtype: DType) -> Result<ValueId> {
        if self.graph.ty(value).dtype == dtype {
            return Ok(value);
        }
        let cast = Map::cast(self.graph.shape(value), dtype);
        self.push1(cast, &[value])
    }

    /// The value cast to the element type of another.
    ///
    /// # Errors
    /// As [`Backward::cast`].
    pub fn cast_as(&mut self, value: ValueId, like: ValueId) -> Result<ValueId> {
        let dtype = self.graph.ty(like).dtype;
        self.cast(value, dtype)
    }

    /// The value reshaped.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn reshape(&mut self, value: ValueId, shape: Vec<usize>) -> Result<ValueId> {
        self.push1(Reshape { shape }, &[value])
    }

    /// The value reshaped to the shape of another.
    ///
    /// # Errors
    /// When the number of elements differs.
    pub fn reshape_as(&mut self, value: ValueId, like: ValueId) -> Result<ValueId> {
        let shape = self.graph.shape(like).to_vec();
        self.reshape(value, shape)
    }

    /// The value broadcast to a shape.
    ///
    /// # Errors
    /// When it does not broadcast.
    pub fn expand(&mut self, value: ValueId, shape: Vec<usize>) -> Result<ValueId> {
        self.push1(Expand { shape }, &[value])
    }

    /// Zeros of the type of a value.
    ///
    /// # Errors
    /// Never for a value of this graph.
    pub fn zeros_like(&mut self, value: ValueId) -> Result<ValueId> {
        self.fill(self.graph.ty(value).clone(), 0.0)
    }

    /// A tensor whose elements all have one value.
    ///
    /// # Errors
    /// When the type exceeds the largest size of a tensor.
    pub fn fill(&mut self, ty: TensorType, value: f64) -> Result<ValueId> {
        self.push1(Fill { ty, value }, &[])
    }

    /// The value with its axes in another order, as by [`Permute`].
    ///
    /// # Errors
    /// When the order does not list each axis once.
    pub fn permute(&mut self, value: ValueId, order: &[usize]) -> Result<ValueId> {
        let order = order.to_vec();
        self.push1(Permute { order }, &[value])
    }

    /// The adjoint of broadcasting: sums `value` to the shape of `like`, with the element type of
    /// `like`.
    ///
    /// # Errors
    /// When `like` does not broadcast to the value's shape.
    pub fn sum_to_shape_of(&mut self, value: ValueId, like: ValueId) -> Result<ValueId> {
        let from = self.graph.shape(value).to_vec();
        let to = self.graph.shape(like).to_vec();
        if broadcast(&to, &from).as_ref() != Some(&from) {
            let (to, from) = (ShapeText(&to), ShapeText(&from));
            let error = InvalidOp::new(
                format!(
                    "the target shape of a gradient's sum does not broadcast to the gradient's shape: {to} against {from}"
                ),
                "axes must be equal or 1, counted from the last",
            );
            return Err(error.at(&self.layer, "sum", &[self.graph.ty(value).clone()]));
        }
        let extra = from.len() - to.len();
        let axes: Vec<usize> = (0..from.len())
            .filter(|&k| from[k] != 1 && (k < extra || to[k - extra] == 1))
            .collect();
        let summed = if axes.is_empty() {
            self.cast_as(value, like)?
        } else {
            let sum = Reduce::sum(axes).stored_as(self.graph.ty(value), self.graph.ty(like));
            self.push1(sum, &[value])?
        };
        self.reshape(summed, to)
    }
}

/// Appends the backward pass of `loss` (one element) and returns the gradients of `wrt`; zeros
/// for a value that the loss does not depend on.
///
/// # Errors
/// When the loss has more than one element, or an operation on the way has no derivative.
pub fn gradients(graph: &mut Graph, loss: ValueId, wrt: &[ValueId]) -> Result<Vec<ValueId>> {
    if graph.ty(loss).len() != 1 || !graph.ty(loss).dtype.is_float() {
        return Err(Error::Gradient {
            what: format!("a loss of type {}", graph.ty(loss)),
            problem: "the loss must have one floating-point element; reduce it by sum or mean"
                .to_string(),
        });
    }
    let seed = Fill {
        ty: graph.ty(loss).clone(),
        value: 1.0,
    };
    let seed = graph.make_node(seed.into(), &[], &Arc::from("loss"), true)?;
    let one = seed.outputs[0];
    graph.nodes.push(seed);
    vjp(graph, &[(loss, one)], wrt)
}

/// Appends the backward pass from the gradients of some values, pairs of a value and its
/// gradient, and returns the gradients of `wrt`; zeros for a value that none of them depends on.
///
/// # Errors
/// When a gradient has another type than its value, or an operation on the way has no derivative.
pub fn vjp(
    graph: &mut Graph,
    given: &[(ValueId, ValueId)],
    wrt: &[ValueId],
) -> Result<Vec<ValueId>> {
    let layer: Arc<str> = Arc::from("loss");
    let needed = depends_on(graph, wrt);
    let mut grads: Vec<Option<ValueId>> = vec![None; graph.values()];
    for &(value, grad) in given {
        if graph.ty(value) != graph.ty(grad) {
            return Err(Error::Gradient {
                what: format!("a value of type {}", graph.ty(value)),
                problem: format!(
                    "the given gradient is {}; pass one of the value's type",
                    graph.ty(grad)
                ),
            });
        }
        grads[value.index()] = Some(grad);
    }
    let forward = graph.nodes.len();
    for k in (0..forward).rev() {
        let node: Node = graph.nodes[k].clone();
        let of_outputs: Vec<Option<ValueId>> =
            node.outputs.iter().map(|v| grads[v.index()]).collect();
        let reached = of_outputs.iter().any(Option::is_some);
        if !reached || !node.inputs.iter().any(|v| needed[v.index()]) {
            continue;
        }
        let mut b = Backward {
            wanted: node.inputs.iter().map(|v| needed[v.index()]).collect(),
            grads: of_outputs,
            partial_grad: node.inputs.iter().map(|v| grads[v.index()]).collect(),
            layer: node.layer.clone(),
            graph: &mut *graph,
        };
        let parts = node.op.differentiate(&mut b, &node)?;
        // An operation that took the partial gradient has accumulated into it.
        for (&input, left) in node.inputs.iter().zip(std::mem::take(&mut b.partial_grad)) {
            if left.is_none() {
                grads[input.index()] = None;
            }
        }
        for (&input, part) in node.inputs.iter().zip(parts) {
            let (Some(part), true) = (part, needed[input.index()]) else {
                continue;
            };
            let total = match grads[input.index()] {
                Some(sum) => {
                    let shape = b.graph.shape(input).to_vec();
                    let total = Map::new(vec![Map::operand(0) + Map::operand(1)], shape);
                    b.map(total, &[sum, part])?[0]
                }
                None => part,
            };
            grads[input.index()] = Some(total);
        }
    }
    let mut result = vec![];
    for &value in wrt {
        result.push(match grads[value.index()] {
            Some(grad) => grad,
            None => zeros(graph, graph.ty(value).clone(), &layer)?,
        });
    }
    Ok(result)
}

fn zeros(graph: &mut Graph, ty: TensorType, layer: &Arc<str>) -> Result<ValueId> {
    let node = graph.make_node(Fill { ty, value: 0.0 }.into(), &[], layer, true)?;
    let value = node.outputs[0];
    graph.nodes.push(node);
    Ok(value)
}

/// Which values depend on one of `wrt` through floating-point values.
fn depends_on(graph: &Graph, wrt: &[ValueId]) -> Vec<bool> {
    let mut needed = vec![false; graph.values()];
    for value in wrt {
        needed[value.index()] = true;
    }
    for node in &graph.nodes {
        if node.inputs.iter().any(|v| needed[v.index()]) {
            for output in &node.outputs {
                needed[output.index()] |= graph.ty(*output).dtype.is_float();
            }
        }
    }
    needed
}

impl fmt::Debug for Backward<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backward")
            .field("grads", &self.grads)
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}
