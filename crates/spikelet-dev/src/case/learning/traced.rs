//! A case of a learning rule while it is traced.

use super::Given;
use crate::case::{Results, bounded, labels, wrong};
use spikelet::Result;
use spikelet::graph::{Tensor, Var};
use spikelet::module::{Context, Mode, Trace, observer};
use spikelet::runtime::{VarStore, host};

/// The trace of a case. Its inputs are inputs of the program, its results outputs.
pub struct Traced<'a> {
    given: &'a Given<'a>,
    pub cx: Trace,
    inputs: Vec<(String, Tensor)>,
    set: Vec<(String, Tensor)>,
    outputs: Vec<(String, Var)>,
}

impl<'a> Traced<'a> {
    /// A trace in training, in which layers record their values.
    pub fn new(given: &'a Given<'a>) -> Result<Self> {
        for tensor in given.case.tensors.values() {
            if !tensor.shape.is_empty() {
                bounded(&tensor.shape)?;
            }
        }
        Ok(Self {
            given,
            cx: Context::new(Mode::TRAIN, given.dtype).observer(observer::States),
            inputs: vec![],
            set: vec![],
            outputs: vec![],
        })
    }

    /// An input of the case as one of the program, of this number of axes.
    pub fn input(&mut self, name: &str, axes: &str, rank: usize) -> Result<Var> {
        let tensor = self.given.input(name)?;
        if tensor.shape.len() != rank {
            let given = &tensor.shape;
            return Err(wrong(
                format!("`{name}` is {given:?}, expected {axes}"),
                "give tensors of the sizes of the kind",
            ));
        }
        Ok(self.add_input(name, tensor))
    }

    /// A tensor as an input of the program.
    pub fn add_input(&mut self, name: &str, tensor: Tensor) -> Var {
        let ty = tensor.ty();
        let var = self.cx.tracer().input(name, ty.dtype, ty.shape);
        self.inputs.push((name.to_string(), tensor));
        var
    }

    /// The class numbers `in.label`, one for each sample.
    pub fn labels(&mut self, batch: usize, classes: usize) -> Result<Var> {
        let label = labels(self.given.case, batch, classes)?;
        Ok(self.add_input("in.label", label))
    }

    /// An input of the case is the parameter or buffer `path` of the network, which has this shape.
    pub fn set(&mut self, path: &str, name: &str, shape: &[usize]) -> Result<()> {
        let tensor = self.given.input_of(name, shape)?;
        self.set.push((path.to_string(), tensor));
        Ok(())
    }

    /// A tensor is the parameter or buffer `path` of the network.
    pub fn put(&mut self, path: &str, tensor: Tensor) {
        self.set.push((path.to_string(), tensor));
    }

    /// A result.
    pub fn output(&mut self, name: &str, value: &Var) {
        self.outputs.push((name.to_string(), value.clone()));
    }

    /// The gradients of a loss with respect to parameters, as results.
    pub fn gradients(&mut self, loss: &Var, parameters: &[(&str, &str)]) {
        let tracer = self.cx.tracer().clone();
        let found = parameters
            .iter()
            .filter_map(|(path, name)| Some((*name, tracer.find_input(path)?)));
        let (names, wrt): (Vec<&str>, Vec<Var>) = found.unzip();
        let grads = tracer.gradients(loss, &wrt.iter().collect::<Vec<_>>());
        for (name, grad) in names.iter().zip(&grads) {
            self.output(name, grad);
        }
    }

    /// Compiles and runs the program.
    pub fn run(self) -> Result<Results> {
        let tracer = self.cx.tracer();
        tracer.check()?;
        for (name, value) in &self.outputs {
            tracer.output(name, value);
        }
        let mut store = VarStore::new(self.given.backend.clone());
        let mut program = self.cx.compile(&mut store, 0)?;
        for (path, tensor) in &self.set {
            store.set(path, tensor)?;
        }
        let given = self.inputs.iter();
        let given = given.filter(|(name, _)| program.has_input(name));
        let given: Vec<_> = given.map(|(name, t)| (name.as_str(), host(t))).collect();
        program.run_with(given)?;
        let results = self.outputs.iter().map(|(name, _)| {
            let value = program.get(name)?;
            Ok((name.clone(), value))
        });
        results.collect()
    }
}
