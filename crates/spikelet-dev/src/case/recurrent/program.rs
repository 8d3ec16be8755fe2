//! The trace of a case, the names of its tensors, and its results.

use crate::case::{Results, bounded, expect, input, labels, limited, raw, wrong};
use spikelet::graph::{Backend, DType};
use spikelet::layer::{NeuronLayer, NeuronLayerKind};
use spikelet::module::{self, TracedTensor, observer};
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::tensors::TensorFile;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The part of a case's tensor that is a parameter of the library.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Its transpose.
    Transposed,
    /// Some of its columns.
    Columns(Range<usize>),
    /// All of it, in another shape.
    Reshaped,
    /// Its first element, a scalar.
    First,
}

impl Part {
    fn take(&self, tensor: &Tensor) -> Result<Tensor> {
        if matches!(self, Self::Whole | Self::Reshaped) {
            return Ok(tensor.clone());
        }
        if *self == Self::First {
            let first: Vec<f64> = tensor.to_f64().into_iter().take(1).collect();
            return Ok(Tensor::f64([first.len()], first).cast(tensor.ty().dtype));
        }
        let &[rows, columns] = &tensor.shape[..] else {
            return Err(wrong(
                format!("a weight has {} axes", tensor.shape.len()),
                "give matrices",
            ));
        };
        let values = tensor.to_f64();
        let at = |row: usize, column: usize| values[row * columns + column];
        let (shape, values): (_, Vec<f64>) = match self {
            Self::Columns(range) if range.end <= columns => (
                [rows, range.len()],
                (0..rows)
                    .flat_map(|r| range.clone().map(move |c| at(r, c)))
                    .collect(),
            ),
            Self::Columns(range) => {
                return Err(wrong(
                    format!("a weight has {columns} columns, {} are needed", range.end),
                    "give weights of the sizes of the spec",
                ));
            }
            _ => (
                [columns, rows],
                (0..columns)
                    .flat_map(|c| (0..rows).map(move |r| at(r, c)))
                    .collect(),
            ),
        };
        Ok(Tensor::f64(shape, values).cast(tensor.ty().dtype))
    }

    /// Adds the gradient of the part to that of the tensor.
    fn add(&self, gradient: &Tensor, shape: &[usize], sum: &mut [f64]) {
        let values = gradient.to_f64();
        let columns = shape.last().copied().unwrap_or(1);
        for (k, value) in values.into_iter().enumerate() {
            let place = match self {
                Self::Whole | Self::Reshaped | Self::First => k,
                Self::Transposed => {
                    let rows = shape[0];
                    (k % rows) * columns + k / rows
                }
                Self::Columns(range) => {
                    let width = range.len();
                    (k / width) * columns + range.start + k % width
                }
            };
            sum[place] += value;
        }
    }
}

/// A parameter, a buffer or a state of the library, and the tensor of the case.
struct Binding {
    ours: String,
    theirs: String,
    part: Part,
}

/// A case while it is traced. Values of the case are inputs of the program.
pub struct Trace<'a> {
    case: &'a TensorFile,
    dtype: DType,
    /// Neurons record their inputs and states.
    pub cx: module::Trace,
    inputs: Vec<(String, Tensor)>,
    bindings: Vec<Binding>,
    /// Values of tensors of the library that are no tensors of the case.
    set: Vec<(String, Tensor)>,
    outputs: BTreeMap<String, Var>,
    loss: Option<Var>,
}

impl<'a> Trace<'a> {
    pub fn new(case: &'a TensorFile, dtype: DType) -> Result<Self> {
        for tensor in case.tensors.values() {
            if !tensor.shape.is_empty() {
                bounded(&tensor.shape)?;
            }
        }
        let mode = Mode {
            training: true,
            carry_state: true,
        };
        Ok(Self {
            case,
            dtype,
            cx: Context::new(mode, dtype).observer(observer::States),
            inputs: vec![],
            bindings: vec![],
            set: vec![],
            outputs: BTreeMap::new(),
            loss: None,
        })
    }

    /// Batch norm uses the running statistics. Must be called before anything is traced.
    pub fn evaluate(&mut self) {
        let mode = Mode {
            training: false,
            carry_state: true,
        };
        self.cx = Context::new(mode, self.dtype).observer(observer::States);
    }

    /// The file.
    pub fn case(&self) -> &'a TensorFile {
        self.case
    }

    /// The number type of the computation.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Whether the case has an input tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        self.case.tensors.contains_key(name)
    }

    /// The shape of an input tensor.
    pub fn shape(&self, name: &str) -> Result<&'a [usize]> {
        Ok(&raw(self.case, name)?.shape)
    }

    /// The values of an input tensor.
    pub fn values(&self, name: &str) -> Result<Vec<f64>> {
        Ok(raw(self.case, name)?.to_f64())
    }

    /// The two axes of a matrix.
    pub fn matrix(&self, name: &str) -> Result<[usize; 2]> {
        self.shape(name)?.try_into().map_err(|_| {
            wrong(
                format!("`{name}` is not a matrix"),
                "give weights [out, in]",
            )
        })
    }

    /// An input tensor as an input of the program.
    pub fn input(&mut self, name: &str) -> Result<Var> {
        let tensor = input(self.case, name, self.dtype)?;
        Ok(self.given(name, tensor))
    }

    /// A value as an input of the program.
    pub fn given(&mut self, name: &str, tensor: Tensor) -> Var {
        let ty = tensor.ty();
        let tracer = self.cx.tracer();
        let var = tracer
            .find_input(name)
            .unwrap_or_else(|| tracer.input(name, ty.dtype, ty.shape));
        self.inputs.push((name.to_string(), tensor));
        var
    }

    /// The input sequence `[T, N, F]`; `hidden` neurons bound the work.
    pub fn sequence(&mut self, hidden: usize) -> Result<Var> {
        let &[time_steps, batch, features] = self.shape("in.x")? else {
            return Err(wrong("`in.x` is not [T, N, F]", "give a sequence"));
        };
        bounded(&[time_steps, batch, features.max(hidden)])?;
        let products = [time_steps, batch, hidden.max(1), features + hidden];
        limited(&products, crate::case::MOST_PRODUCTS / 4, "products")?;
        self.input("in.x")
    }

    /// The class numbers, one for each row of the scores `[N, C]`.
    pub fn labels(&mut self, scores: &Var) -> Result<Var> {
        let &[batch, classes] = scores.shape() else {
            return Err(wrong("the scores are not [N, C]", "correct the case"));
        };
        let label = labels(self.case, batch, classes)?;
        Ok(self.given("in.label", label))
    }

    /// Traces a layer under a path.
    pub fn layer<K: NeuronLayerKind>(
        &mut self,
        path: &str,
        layer: &NeuronLayer<K>,
        x: Var,
    ) -> Result<Var> {
        self.module(path, layer, x)
    }

    /// Traces a module under a path.
    pub fn module(&mut self, path: &str, module: &dyn Module, x: Var) -> Result<Var> {
        self.cx.child(path, |cx| module.forward(cx, &x))
    }

    /// A value that a layer recorded.
    pub fn recorded(&self, path: &str) -> Result<Var> {
        self.cx.recorded(path)
    }

    /// A parameter, buffer or state of the library is a tensor of the case.
    pub fn bind(&mut self, ours: impl Into<String>, theirs: impl Into<String>, part: Part) {
        self.bindings.push(Binding {
            ours: ours.into(),
            theirs: theirs.into(),
            part,
        });
    }

    /// Sets a tensor of the library.
    pub fn set(&mut self, ours: impl Into<String>, value: Tensor) {
        self.set.push((ours.into(), value));
    }

    /// Binds names with the prefix `ours` to names with a prefix, which come after `param.` or `init.`.
    pub fn bind_all(&mut self, ours: &str, kind: &str, theirs: &str, names: &[(&str, &str)]) {
        for (own, other) in names {
            self.bind(
                format!("{ours}.{own}"),
                format!("{kind}.{theirs}{other}"),
                Part::Whole,
            );
        }
    }

    /// A result `out.NAME`.
    pub fn output(&mut self, name: impl AsRef<str>, var: &Var) {
        let name = format!("out.{}", name.as_ref());
        self.outputs.insert(name, var.clone());
    }

    /// Results of a layer of neurons: pairs of a name and the layer's recorded value.
    pub fn outputs_of(&mut self, path: &str, prefix: &str, names: &[(&str, &str)]) -> Result<()> {
        for (name, recorded) in names {
            let value = self.recorded(&format!("{path}.{recorded}"))?;
            self.output(format!("{prefix}{name}"), &value);
        }
        Ok(())
    }

    /// The loss of a network.
    pub fn set_loss(&mut self, loss: &Var) {
        self.output("loss", loss);
        self.loss = Some(loss.clone());
    }

    /// The loss of a layer: the sum of products with the given gradients `in.grad_NAME`, each of a result.
    pub fn weighted_loss(&mut self, names: &[(&str, &Var)]) -> Result<()> {
        let mut terms = vec![];
        for (name, value) in names {
            let given = format!("in.grad_{name}");
            if !self.has(&given) {
                continue;
            }
            expect(&given, self.shape(&given)?, value.shape())?;
            let weight = self.input(&given)?;
            terms.push((value.cast(self.dtype) * weight).sum_all());
        }
        let loss = terms.into_iter().reduce(|a, b| a + b);
        let loss = loss.ok_or_else(|| {
            wrong(
                "it has no gradient of a result, such as `in.grad_s`",
                "give all inputs",
            )
        })?;
        self.set_loss(&loss);
        Ok(())
    }

    fn of(&self, ours: &str) -> Option<&Binding> {
        self.bindings.iter().find(|binding| binding.ours == ours)
    }

    /// The value of a parameter, a buffer or a state.
    fn value(&self, ours: &str, shape: &[usize]) -> Result<Option<Tensor>> {
        if let Some((_, value)) = self.set.iter().find(|(name, _)| name == ours) {
            return Ok(Some(value.clone()));
        }
        let Some(binding) = self.of(ours) else {
            return Ok(None);
        };
        let whole = input(self.case, &binding.theirs, self.dtype)?;
        let value = binding.part.take(&whole)?;
        // A constant of the layer may be a scalar or have one element.
        let elements = shape.iter().product::<usize>();
        let reshaped = binding.part == Part::Reshaped && value.len() == elements;
        let value = match reshaped || (value.len() == 1 && elements == 1) {
            true => Tensor::f64(shape.to_vec(), value.to_f64()).cast(self.dtype),
            false => value,
        };
        expect(&binding.theirs, &value.shape, shape)?;
        Ok(Some(value))
    }

    /// Compiles, runs, and returns the wanted results.
    pub fn run(self, wanted: &[&str], backend: Arc<dyn Backend>) -> Result<Results> {
        let (cx, traced) = (&self.cx, self.cx.traced());
        let tracer = cx.tracer();
        tracer.check()?;
        let Some(loss) = &self.loss else {
            return Err(wrong("the case has no loss", "correct the case"));
        };
        let parameters = traced.parameters.iter().map(|p| &p.name);
        let states = traced.states.iter().map(|s| &s.name);
        let x = "in.x".to_string();
        let names = std::iter::once(&x).chain(parameters).chain(states);
        let (names, wrt): (Vec<String>, Vec<Var>) = names
            .filter_map(|name| Some((name.clone(), tracer.find_input(name)?)))
            .unzip();
        let grads = tracer.gradients(loss, &wrt.iter().collect::<Vec<_>>());
        for (name, grad) in names.iter().zip(&grads) {
            tracer.output(&format!("gradient of {name}"), grad);
        }
        for name in wanted {
            if let Some(value) = self.outputs.get(*name) {
                tracer.output(name, value);
            }
        }
        let mut store = VarStore::new(backend);
        let mut program = cx.compile(&mut store, 0)?;
        for TracedTensor { name, shape, .. } in traced.parameters.iter().chain(&traced.buffers) {
            let value = self.value(name, shape)?.ok_or_else(|| {
                wrong(
                    format!("no tensor of the case is the parameter `{name}`"),
                    "correct the case",
                )
            })?;
            store.set(name, &value)?;
        }
        for state in &traced.states {
            if let Some(value) = self.value(&state.name, &state.shape)? {
                store.set(&state.name, &value)?;
            }
        }
        let given = self
            .inputs
            .iter()
            .filter(|(name, _)| program.has_input(name));
        let given: Vec<_> = given.map(|(name, t)| (name.as_str(), host(t))).collect();
        program.run_with(given)?;
        let mut results = Results::new();
        for name in wanted {
            let value = if self.outputs.contains_key(*name) {
                program.get(name)?
            } else if *name == "grad.x" {
                program.get("gradient of in.x")?
            } else if let Some(other) = name.strip_prefix("grad.") {
                self.gradient(other, &names, &program)?
            } else {
                self.after(name, &store)?
            };
            results.insert((*name).to_string(), value);
        }
        Ok(results)
    }

    /// The gradient of a parameter or an initial state of the case: the sum over what it is in the library.
    fn gradient(&self, name: &str, names: &[String], program: &Program) -> Result<Tensor> {
        let theirs = match name.starts_with("init.") {
            true => name.to_string(),
            false => format!("param.{name}"),
        };
        let shape = self.shape(&theirs)?;
        let mut sum = vec![0.0; shape.iter().product()];
        for binding in self.bindings.iter().filter(|b| b.theirs == theirs) {
            if names.contains(&binding.ours) {
                let gradient = program.get(&format!("gradient of {}", binding.ours))?;
                binding.part.add(&gradient, shape, &mut sum);
            }
        }
        Ok(Tensor::f64(shape, sum).cast(self.dtype))
    }

    /// The value of a buffer after the run.
    fn after(&self, name: &str, store: &VarStore) -> Result<Tensor> {
        let theirs = name.replacen("out.", "param.", 1);
        let found = self.bindings.iter().find(|b| b.theirs == theirs);
        match found.filter(|b| name.contains("running_") && store.ty(&b.ours).is_some()) {
            Some(binding) => store.get(&binding.ours),
            None => Err(wrong(
                format!("`f32_noise` lists `{name}`, which this case does not have"),
                "list results of the family",
            )),
        }
    }
}
