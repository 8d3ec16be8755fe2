//! Tracing: ordinary Rust code that calls layers builds a static graph.
//!
//! Shapes are known while tracing. The first operation whose operands do not fit is recorded with its
//! layer and shapes, operations on its results are ignored, and the next [`Tracer::check`] (every
//! layer container calls it) or [`Tracer::finish`] returns the error. Arithmetic on [`Var`] therefore
//! needs no `?`.

mod compare;
mod draw;
mod elementwise;
mod group;
mod index;
mod loops;
mod operand;
mod operators;
mod precision;
mod reduce;
mod shape;
mod var;

pub use draw::RandomAxes;
pub use group::Buckets;
pub use loops::{LoopResults, LoopTrace};
pub use operand::Operand;
pub use var::Var;

use crate::backward;
use crate::error::{Error, InvalidOp, Result};
use crate::graph::{Graph, InputKind, Output, ValueId};
use crate::op::{Op, Operation, ScanId};
use crate::precision::Precision;
use crate::time_invariance::RepeatedValues;
use crate::types::{DType, TensorType};
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) struct State {
    graph: Graph,
    path: Vec<String>,
    error: Option<Error>,
    streams: u32,
    float: DType,
    precision: Precision,
    /// Whether the passes before differentiation have run.
    prepared: bool,
    repeated: RepeatedValues,
    /// The loops whose bodies are being traced, the innermost last.
    loops: Vec<loops::OpenLoop>,
    /// The values of bodies that are complete.
    in_bodies: HashSet<ValueId>,
    /// Whether operations stay in the bodies of loops.
    keeps_in_loops: bool,
}

impl State {
    /// Whether a value is the same at every time step.
    fn repeats_over_time(&mut self, value: ValueId) -> bool {
        self.repeated.update(&self.graph);
        self.repeated.contains(value)
    }
}

/// Builds a graph. Cheap to clone; all clones build the same graph.
///
/// ```
/// use spikelet_graph::{DType, Tracer};
/// let tracer = Tracer::new(DType::F32);
/// let x = tracer.input("x", DType::F32, [8, 3]);
/// let w = tracer.parameter("w", [2, 3]);
/// let loss = x.linear(&w).square().mean_all();
/// let dw = tracer.gradients(&loss, &[&w]).remove(0);
/// tracer.output("dw", &dw);
/// assert_eq!(dw.shape(), [2, 3]);
/// let graph = tracer.finish()?;
/// assert_eq!(graph.outputs.len(), 1);
/// # Ok::<(), spikelet_graph::Error>(())
/// ```
#[derive(Clone)]
pub struct Tracer {
    pub(crate) state: Rc<RefCell<State>>,
}

impl Tracer {
    /// An empty graph whose parameters and states have this floating-point type.
    pub fn new(float: DType) -> Self {
        let state = State {
            graph: Graph::default(),
            path: vec![],
            error: None,
            streams: 0,
            float,
            precision: Precision::F32,
            prepared: false,
            repeated: RepeatedValues::default(),
            loops: vec![],
            in_bodies: HashSet::new(),
            keeps_in_loops: false,
        };
        Self {
            state: Rc::new(RefCell::new(state)),
        }
    }

    /// The floating-point type of parameters and states.
    pub fn float(&self) -> DType {
        self.state.borrow().float
    }

    /// Runs `inside` with `name` added to the path of layers.
    pub fn scope<T>(&self, name: &str, inside: impl FnOnce() -> T) -> T {
        if name.is_empty() {
            return inside();
        }
        self.state.borrow_mut().path.push(name.to_string());
        let result = inside();
        self.state.borrow_mut().path.pop();
        result
    }

    /// The path of the current layer, such as `fc.0`.
    pub fn path(&self) -> String {
        self.state.borrow().path.join(".")
    }

    /// The path of a tensor in the current layer: `fc.0.weight`.
    pub fn path_of(&self, name: &str) -> String {
        let state = self.state.borrow();
        let mut path = state.path.clone();
        path.push(name.to_string());
        path.join(".")
    }

    /// A runtime input: its value is supplied for every run.
    pub fn input(&self, name: &str, dtype: DType, shape: impl Into<Vec<usize>>) -> Var {
        self.add_input(name, InputKind::Data, TensorType::new(dtype, shape))
    }

    /// A trainable tensor; `name` is its complete name.
    pub fn parameter(&self, name: &str, shape: impl Into<Vec<usize>>) -> Var {
        self.add_input(
            name,
            InputKind::Parameter,
            TensorType::new(self.float(), shape),
        )
    }

    /// A tensor that is carried from run to run; `name` is its complete name.
    pub fn state(&self, name: &str, shape: impl Into<Vec<usize>>) -> Var {
        self.add_input(name, InputKind::State, TensorType::new(self.float(), shape))
    }

    /// A tensor of any type that is carried from run to run; `name` is its complete name.
    pub fn state_of(&self, name: &str, dtype: DType, shape: impl Into<Vec<usize>>) -> Var {
        self.add_input(name, InputKind::State, TensorType::new(dtype, shape))
    }

    /// The input of this name, if it exists.
    pub fn find_input(&self, name: &str) -> Option<Var> {
        let found = {
            let state = self.state.borrow();
            let input = state.graph.inputs.iter().find(|i| i.name == name);
            input.map(|i| i.value)
        };
        found.map(|value| self.var(value))
    }

    fn add_input(&self, name: &str, kind: InputKind, ty: TensorType) -> Var {
        let made = self
            .state
            .borrow_mut()
            .graph
            .add_input(name, kind, ty.clone());
        match made {
            Ok(value) => self.var(value),
            Err(error) => self.poison(error, ty),
        }
    }

    /// A tensor whose elements all have one value.
    pub fn fill(&self, dtype: DType, shape: impl Into<Vec<usize>>, value: f64) -> Var {
        let ty = TensorType::new(dtype, shape);
        self.apply1(crate::op::Fill { ty, value }, &[])
    }

    /// Makes a value an output of the program.
    pub fn output(&self, name: &str, value: &Var) {
        self.add_output(name, value, None);
    }

    /// After a run, the state or parameter `input` holds `value`.
    pub fn update(&self, input: &Var, value: &Var) {
        if input.id.is_none() || value.id.is_none() {
            return;
        }
        let refuse = |problem: &str, help: &str| {
            self.fail(Error::Shape {
                layer: self.path(),
                operation: "update".to_string(),
                problem: problem.to_string(),
                given: format!("{} and {}", input.ty(), value.ty()),
                help: help.to_string(),
            });
        };
        if input.ty() != value.ty() {
            return refuse(
                "the new value has another type or shape",
                "compute a new value of the type and shape of the updated tensor",
            );
        }
        let name = {
            let state = self.state.borrow();
            let found = state
                .graph
                .inputs
                .iter()
                .find(|i| Some(i.value) == input.id);
            found.map(|i| i.name.clone())
        };
        match name {
            Some(name) => self.add_output(&name, value, input.id),
            None => refuse(
                "the updated tensor is the result of an operation",
                "update an input, a parameter or a state",
            ),
        }
    }

    /// The value that an input holds after a run, if the trace updates it.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let weight = tracer.parameter("weight", [3]);
    /// assert!(tracer.updated(&weight).is_none());
    /// tracer.update(&weight, &(&weight * 0.5));
    /// assert!(tracer.updated(&weight).is_some());
    /// ```
    pub fn updated(&self, input: &Var) -> Option<Var> {
        let found = {
            let state = self.state.borrow();
            let mut outputs = state.graph.outputs.iter();
            outputs
                .find(|o| input.id.is_some() && o.updates == input.id)
                .map(|o| o.value)
        };
        found.map(|value| self.var(value))
    }

    /// Removes all updates traced so far: a run leaves parameters and states as they are.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let mean = tracer.state("running_mean", [3]);
    /// tracer.update(&mean, &(&mean * 0.9));
    /// tracer.discard_updates();
    /// assert!(tracer.updated(&mean).is_none());
    /// ```
    pub fn discard_updates(&self) {
        let outputs = &mut self.state.borrow_mut().graph.outputs;
        outputs.retain(|output| output.updates.is_none());
    }

    /// Removes the inputs on which no output depends, so that they need not be set.
    pub fn remove_unread_inputs(&self) {
        if let Err(error) = self.expect_no_open_loop("the program") {
            return self.fail(error);
        }
        let mut state = self.state.borrow_mut();
        state.prepare();
        crate::pass::dead_code::remove_unread_inputs(&mut state.graph);
    }

    fn add_output(&self, name: &str, value: &Var, updates: Option<ValueId>) {
        let Some(id) = value.id else { return };
        let taken = {
            let state = self.state.borrow();
            state.graph.outputs.iter().any(|o| o.name == name)
        };
        if taken {
            self.fail(Error::Name {
                kind: "output",
                name: name.to_string(),
                problem: "the name is already in use; use a different name for each output"
                    .to_string(),
            });
            return;
        }
        let mut state = self.state.borrow_mut();
        let layer: Arc<str> = Arc::from(state.path.join("."));
        match state.graph.cast(id, value.ty.dtype, &layer) {
            Ok(value) => state.graph.outputs.push(Output {
                name: name.to_string(),
                value,
                updates,
            }),
            Err(error) => {
                state.error.get_or_insert(error);
            }
        }
    }

    /// The graph traced so far.
    pub fn traced(&self) -> Graph {
        self.state.borrow().graph.clone()
    }

    /// A new stream of random numbers of this program: 0, 1, 2 … in the order of tracing.
    pub fn next_stream(&self) -> u32 {
        let mut state = self.state.borrow_mut();
        state.streams += 1;
        state.streams - 1
    }

    /// The number of streams of random numbers used so far.
    pub fn streams(&self) -> u32 {
        self.state.borrow().streams
    }

    /// Sets the number of streams of random numbers used so far: a program that continues another, such as a later
    /// stage of a network, draws the numbers that the complete program would draw.
    pub fn set_streams(&self, streams: u32) {
        self.state.borrow_mut().streams = streams;
    }

    /// Sets whether elementwise operations stay separate kernels (see [`Graph::disable_fusion`]).
    pub fn disable_fusion(&self, yes: bool) {
        self.state.borrow_mut().graph.disable_fusion = yes;
    }

    /// Runs the passes before differentiation (`pass::prepare`), appends the backward pass of `loss`, and
    /// returns the gradients of `wrt`.
    pub fn gradients(&self, loss: &Var, wrt: &[&Var]) -> Vec<Var> {
        let Some(loss) = loss.id else {
            return wrt.iter().map(|v| (*v).clone()).collect();
        };
        self.append_backward(wrt, |graph, ids| backward::gradients(graph, loss, ids))
    }

    /// The gradients of `wrt` from given gradients of other values: pairs of a value and its gradient, of
    /// the same type. This is the backward pass of one stage of a pipeline.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// let given = tracer.input("grad_y", DType::F32, [8, 3]);
    /// let grads = tracer.gradients_given(&[(&x.exp(), &given)], &[&x]);
    /// assert_eq!(grads[0].shape(), [8, 3]);
    /// ```
    pub fn gradients_given(&self, given: &[(&Var, &Var)], wrt: &[&Var]) -> Vec<Var> {
        let pairs: Option<Vec<(ValueId, ValueId)>> =
            given.iter().map(|(v, g)| Some((v.id?, g.id?))).collect();
        let Some(pairs) = pairs else {
            return wrt.iter().map(|v| (*v).clone()).collect();
        };
        self.append_backward(wrt, |graph, ids| {
            // The precision pass may have changed the type of a value.
            let mut fitting = vec![];
            for (value, grad) in pairs {
                let dtype = graph.ty(value).dtype;
                fitting.push((value, graph.cast(grad, dtype, &Arc::from(""))?));
            }
            backward::vjp(graph, &fitting, ids)
        })
    }

    fn append_backward(
        &self,
        wrt: &[&Var],
        append: impl FnOnce(&mut Graph, &[ValueId]) -> Result<Vec<ValueId>>,
    ) -> Vec<Var> {
        let ids: Option<Vec<ValueId>> = wrt.iter().map(|v| v.id).collect();
        let Some(ids) = ids else {
            return wrt.iter().map(|v| (*v).clone()).collect();
        };
        let made = self.expect_no_open_loop("a loss").and_then(|()| {
            let mut state = self.state.borrow_mut();
            state.prepare();
            append(&mut state.graph, &ids)
        });
        match made {
            Ok(grads) => grads.into_iter().map(|g| self.var(g)).collect(),
            Err(error) => {
                let ty = wrt.first().map(|v| v.ty().clone());
                let poison = self.poison(error, ty.unwrap_or(TensorType::new(self.float(), [])));
                vec![poison; wrt.len()]
            }
        }
    }

    /// Applies an operation. The number of results is [`Operation::outputs`], also after an error.
    pub fn apply(&self, op: impl Into<Op>, inputs: &[&Var]) -> Vec<Var> {
        let mut op = op.into();
        if let Op::Scan(scan) = &mut op {
            // One that is applied twice is two scans.
            scan.id = ScanId::new();
        }
        let count = op.outputs(inputs.len());
        let ids: Option<Vec<ValueId>> = inputs.iter().map(|v| v.id).collect();
        let Some(ids) = ids else {
            // An operand is the result of an operation whose error is already recorded.
            return vec![self.ignored(self.type_of(inputs)); count];
        };
        let refuse = |problem: &str, help: &str| {
            let types: Vec<TensorType> = inputs.iter().map(|v| v.ty().clone()).collect();
            Err(InvalidOp::new(problem, help).at(&self.path(), &op.name(), &types))
        };
        let own = |v: &&Var| Rc::ptr_eq(&v.tracer.state, &self.state);
        let left = |id: &ValueId| self.state.borrow().in_bodies.contains(id);
        let made = if ids.iter().any(left) && inputs.iter().all(own) {
            refuse(
                "an operand is a value of the body of a loop that is complete",
                "stack the value or carry it, and use the result of the loop",
            )
        } else if inputs.iter().all(own) {
            let mut state = self.state.borrow_mut();
            let layer: Arc<str> = Arc::from(state.path.join("."));
            let known = state.as_known(op, ids, inputs, &layer);
            known.and_then(|(op, ids)| state.graph.push(op, &ids, &layer))
        } else {
            refuse(
                "an operand belongs to another tracer",
                "trace one program with one tracer and its clones",
            )
        };
        match made {
            Ok(values) => values.into_iter().map(|v| self.var(v)).collect(),
            Err(error) => vec![self.poison(error, self.type_of(inputs)); count],
        }
    }

    /// The type of the first operand, which the ignored results of a failed operation have.
    fn type_of(&self, operands: &[&Var]) -> TensorType {
        match operands.first() {
            Some(first) => first.ty().clone(),
            None => TensorType::new(self.float(), []),
        }
    }

    /// Applies an operation with one result.
    pub fn apply1(&self, op: impl Into<Op>, inputs: &[&Var]) -> Var {
        let mut made = self.apply(op, inputs).into_iter();
        made.next()
            .unwrap_or_else(|| self.ignored(self.type_of(inputs)))
    }

    /// Records an error, if it is the first.
    pub fn fail(&self, error: Error) {
        self.state.borrow_mut().error.get_or_insert(error);
    }

    /// Returns the first error so far.
    ///
    /// # Errors
    /// When an operation rejected its operands.
    pub fn check(&self) -> Result<()> {
        match &self.state.borrow().error {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The traced graph.
    ///
    /// # Errors
    /// The first error of the trace.
    pub fn finish(&self) -> Result<Graph> {
        self.check()?;
        self.expect_no_open_loop("the program")?;
        let mut state = self.state.borrow_mut();
        state.prepare();
        Ok(state.graph.clone())
    }

    pub(super) fn var(&self, value: ValueId) -> Var {
        let ty = self.state.borrow().graph.ty(value).clone();
        Var {
            tracer: self.clone(),
            id: Some(value),
            ty,
        }
    }

    pub(super) fn poison(&self, error: Error, ty: TensorType) -> Var {
        self.fail(error);
        self.ignored(ty)
    }

    /// The placeholder for a result after an error. A shape above the largest size of a tensor is replaced
    /// by one of as many axes of length 1, so that sizes computed from it do not overflow.
    pub(super) fn ignored(&self, mut ty: TensorType) -> Var {
        if ty.check_size().is_err() {
            ty.shape.fill(1);
        }
        Var {
            tracer: self.clone(),
            id: None,
            ty,
        }
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracer")
            .field("path", &self.path())
            .finish_non_exhaustive()
    }
}
