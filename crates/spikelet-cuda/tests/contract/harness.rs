//! Runs one graph on the GPU and on the CPU and compares.

use spikelet_cpu::Cpu;
use spikelet_cuda::Cuda;
use spikelet_graph::op::{HostTensor, HostTensorMut, Op};
use spikelet_graph::{
    Backend, Buffer, DType, Determinism, Executor, Graph, InPlaceUpdates, Location, Output, Plan,
    Result, SchedulingPolicy, SpikeStorage, Target, Tensor, TensorType, Tracer, WorkspaceQuery,
};
use std::collections::BTreeMap;

/// The first GPU, opened for one test; tests that call this are ignored by default.
pub fn gpu() -> Cuda {
    Cuda::new(0).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether the long cases are run: not under tools such as a sanitizer.
pub fn thorough() -> bool {
    std::env::var_os("SPIKELET_TEST_QUICK").is_none()
}

/// A plan with its buffers on a backend.
pub struct Loaded<'a> {
    pub backend: &'a dyn Backend,
    pub plan: Plan,
    pub inputs: Vec<Buffer>,
    pub outputs: Vec<Option<Buffer>>,
    executor: Box<dyn Executor>,
}

impl<'a> Loaded<'a> {
    pub fn new(graph: Graph, backend: &'a dyn Backend) -> Self {
        Self::try_new(graph, backend).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn try_new(graph: Graph, backend: &'a dyn Backend) -> Result<Self> {
        Self::with_inputs(graph, backend, |ty| backend.allocate(ty))
    }

    /// With given buffers of the inputs.
    pub fn with_inputs(
        graph: Graph,
        backend: &'a dyn Backend,
        mut input: impl FnMut(&spikelet_graph::TensorType) -> Result<Buffer>,
    ) -> Result<Self> {
        let plan = Plan::new(graph, backend);
        let graph = &plan.graph;
        let inputs = graph.inputs.iter().map(|i| input(graph.ty(i.value)));
        let inputs = inputs.collect::<Result<Vec<Buffer>>>()?;
        let fresh = |o: &Output| match o.updates {
            None => backend.allocate(graph.ty(o.value)).map(Some),
            Some(_) => Ok(None),
        };
        let outputs = graph.outputs.iter().map(fresh);
        let outputs = outputs.collect::<Result<Vec<Option<Buffer>>>>()?;
        let executor = backend.load(&plan, &inputs, &outputs)?;
        assert_eq!(executor.arena_bytes(), plan.arena_bytes);
        Ok(Self {
            backend,
            plan,
            inputs,
            outputs,
            executor,
        })
    }

    fn input(&self, name: &str) -> &Buffer {
        let k = self.plan.graph.inputs.iter().position(|i| i.name == name);
        &self.inputs[k.unwrap_or_else(|| panic!("no input `{name}`"))]
    }

    pub fn set(&self, name: &str, tensor: &Tensor) {
        upload(self.backend, self.input(name), tensor);
    }

    pub fn set_all(&self, inputs: &[(&str, Tensor)]) {
        for (name, tensor) in inputs {
            self.set(name, tensor);
        }
    }

    pub fn run(&mut self) {
        self.executor
            .run()
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// The nodes of the recorded run.
    pub fn recorded_nodes(&self) -> usize {
        self.executor.recorded_nodes().expect("a recorded run")
    }

    pub fn profile(&mut self) -> Vec<f64> {
        self.executor
            .profile()
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// The buffer of an output, or of the input that it updates.
    pub fn buffer(&self, name: &str) -> &Buffer {
        let graph = &self.plan.graph;
        let outputs = graph.outputs.iter().zip(&self.outputs);
        let mut fresh = outputs.filter_map(|(o, b)| Some((&o.name, b.as_ref()?)));
        match fresh.find(|(n, _)| *n == name) {
            Some((_, buffer)) => buffer,
            None => self.input(name),
        }
    }

    pub fn get(&self, name: &str) -> Tensor {
        download(self.backend, self.buffer(name))
    }

    /// All outputs by name, including updated inputs.
    pub fn results(&self) -> BTreeMap<String, Tensor> {
        let names = self.plan.graph.outputs.iter().map(|o| o.name.clone());
        names.map(|name| (name.clone(), self.get(&name))).collect()
    }

    /// Whether an output is computed directly in its buffer.
    pub fn is_in_place(&self, name: &str) -> bool {
        let output = self.plan.graph.outputs.iter().find(|o| o.name == name);
        let value = output.expect("an output of this name").value;
        matches!(
            self.plan.place(value),
            Location::Input(_) | Location::Output(_)
        )
    }
}

pub fn upload(backend: &dyn Backend, to: &Buffer, tensor: &Tensor) {
    assert_eq!(to.ty, tensor.ty());
    backend.upload(to, tensor.into()).expect("the upload fits");
}

pub fn download(backend: &dyn Backend, from: &Buffer) -> Tensor {
    let mut tensor = Tensor::zeros(&from.ty).unwrap();
    backend
        .download(from, (&mut tensor).into())
        .expect("the download fits");
    tensor
}

/// The tolerance of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Near {
    /// The same bits; all NaNs are equal.
    Bits,
    /// A difference of at most this fraction of the tensor's largest finite element.
    OfLargest(f64),
}

/// The agreement of sums with the CPU, whose order of terms differs.
pub const SUMS: Near = Near::OfLargest(Cuda::DETERMINISM.sums.tolerance());

/// The same for sums of this many terms. The order in which cuDNN adds them depends on the engine that was fastest; the
/// rounding errors of the partial sums, of either sign, add up like a random walk: √terms times half the distance of
/// neighboring numbers.
pub fn sums_of(terms: usize) -> Near {
    Near::OfLargest((terms as f64).sqrt() * f64::from(f32::EPSILON) / 2.0)
}

/// A description of the first element that differs, if any.
pub fn apart(given: &Tensor, expected: &Tensor, near: Near) -> Option<String> {
    assert_eq!(given.ty(), expected.ty());
    let (a, b) = (given.to_f64(), expected.to_f64());
    let finite = b.iter().filter(|x| x.is_finite());
    let largest = finite.fold(0.0_f64, |most, x| most.max(x.abs()));
    let fits = |a: f64, b: f64| match near {
        _ if a.is_nan() || b.is_nan() => a.is_nan() && b.is_nan(),
        Near::Bits => a.to_bits() == b.to_bits(),
        Near::OfLargest(share) => a == b || (a - b).abs() <= share * largest,
    };
    let k = (0..a.len()).find(|&k| !fits(a[k], b[k]))?;
    let wrong = (k..a.len()).filter(|&k| !fits(a[k], b[k])).count();
    Some(format!(
        "element {k} of {} is {:e}, not {:e} (largest {largest:e}; {wrong} of {} differ)",
        given.ty(),
        a[k],
        b[k],
        a.len()
    ))
}

pub fn compare(
    given: &BTreeMap<String, Tensor>,
    expected: &BTreeMap<String, Tensor>,
    near: impl Fn(&str) -> Near,
    what: &str,
) {
    assert!(given.keys().eq(expected.keys()), "{what}");
    let differ = |(name, value): (&String, &Tensor)| {
        let difference = apart(value, &expected[name], near(name))?;
        Some(format!("`{name}`: {difference}"))
    };
    let failures: Vec<String> = given.iter().filter_map(differ).collect();
    assert!(failures.is_empty(), "{what}\n{}", failures.join("\n"));
}

/// Traces an f32 program.
pub fn traced(trace: impl Fn(&Tracer)) -> Graph {
    let tracer = Tracer::new(DType::F32);
    trace(&tracer);
    tracer.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a plan twice from the same inputs, first kernel by kernel, then as a captured graph, and compares
/// the bits.
pub fn run_twice(loaded: &mut Loaded<'_>, inputs: &[(&str, Tensor)]) -> BTreeMap<String, Tensor> {
    loaded.set_all(inputs);
    loaded.run();
    let first = loaded.results();
    loaded.set_all(inputs);
    loaded.run();
    let second = loaded.results();
    let plan = &loaded.plan;
    compare(
        &second,
        &first,
        |_| Near::Bits,
        &format!("replayed\n{plan}"),
    );
    first
}

/// The results of a graph on the CPU.
pub fn on_cpu(graph: Graph, inputs: &[(&str, Tensor)]) -> Result<BTreeMap<String, Tensor>> {
    let cpu = Cpu::new(0)?;
    let mut loaded = Loaded::try_new(graph, &cpu)?;
    loaded.set_all(inputs);
    loaded.run();
    Ok(loaded.results())
}

/// Checks that the GPU and the CPU give the same results.
pub fn same(inputs: &[(&str, Tensor)], near: Near, trace: impl Fn(&Tracer)) {
    same_by(inputs, |_| near, trace);
}

/// As [`same`], with a tolerance for each output.
pub fn same_by(inputs: &[(&str, Tensor)], near: impl Fn(&str) -> Near, trace: impl Fn(&Tracer)) {
    same_on(&gpu(), inputs, near, trace);
}

/// As [`same_by`], on an open GPU.
pub fn same_on(
    gpu: &dyn Backend,
    inputs: &[(&str, Tensor)],
    near: impl Fn(&str) -> Near,
    trace: impl Fn(&Tracer),
) {
    let mut loaded = Loaded::new(traced(&trace), gpu);
    let given = run_twice(&mut loaded, inputs);
    let expected = on_cpu(traced(&trace), inputs).unwrap_or_else(|error| panic!("{error}"));
    compare(&given, &expected, near, &format!("{}", loaded.plan));
}

/// The GPU without requests for checkpoints.
pub struct KeepsNothing(pub Cuda);

impl WorkspaceQuery for KeepsNothing {
    fn workspace(&self, graph: &Graph, node: &spikelet_graph::Node) -> usize {
        self.0.workspace(graph, node)
    }
}

impl SpikeStorage for KeepsNothing {
    fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
        self.0.reads_bits(op, inputs, operand)
    }

    fn writes_bits(&self, op: &Op, inputs: &[TensorType], result: usize) -> bool {
        self.0.writes_bits(op, inputs, result)
    }
}

impl SchedulingPolicy for KeepsNothing {}

impl InPlaceUpdates for KeepsNothing {}

impl Target for KeepsNothing {}

impl Backend for KeepsNothing {
    fn name(&self) -> String {
        self.0.name()
    }

    fn determinism(&self) -> Determinism {
        self.0.determinism()
    }

    fn allocate(&self, ty: &spikelet_graph::TensorType) -> Result<Buffer> {
        self.0.allocate(ty)
    }

    fn upload(&self, to: &Buffer, values: HostTensor<'_>) -> Result<()> {
        self.0.upload(to, values)
    }

    fn download(&self, from: &Buffer, values: HostTensorMut<'_>) -> Result<()> {
        self.0.download(from, values)
    }

    fn load_into(
        &self,
        plan: &Plan,
        inputs: &[Buffer],
        outputs: &[Option<Buffer>],
        arena: &Buffer,
    ) -> Result<Box<dyn Executor>> {
        self.0.load_into(plan, inputs, outputs, arena)
    }
}

/// Pseudorandom values in [−1, 1], determined by the seed.
pub fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0) as f32
    };
    (0..count).map(next).collect()
}

/// A tensor of such values.
pub fn tensor(shape: &[usize], seed: u64) -> Tensor {
    Tensor::f32(shape, numbers(shape.iter().product(), seed))
}

/// A tensor of such values, times a factor, plus a shift.
pub fn scaled(shape: &[usize], seed: u64, factor: f32, shift: f32) -> Tensor {
    let values = numbers(shape.iter().product(), seed);
    let values: Vec<f32> = values.iter().map(|x| x * factor + shift).collect();
    Tensor::f32(shape, values)
}

/// Traces an input: f32 or i64 data by its name.
pub fn data(tracer: &Tracer, name: &str, tensor: &Tensor) -> spikelet_graph::Var {
    tracer.input(name, tensor.ty().dtype, tensor.shape.clone())
}

/// Special values of functions, with both signs.
pub fn special() -> Vec<f32> {
    let positive = [
        0.0,
        f32::from_bits(1),
        1e-40,
        f32::MIN_POSITIVE,
        1e-20,
        1e-7,
        0.1,
        0.5,
        1.0 - f32::EPSILON / 2.0,
        1.0,
        1.0 + f32::EPSILON,
        1.5,
        std::f32::consts::LN_2,
        2.0,
        2.5,
        std::f32::consts::PI,
        10.0,
        88.72,
        88.73,
        103.9,
        105.0,
        1e4,
        8_388_607.5,
        16_777_216.0,
        1e20,
        f32::MAX,
        f32::INFINITY,
    ];
    let both = positive.iter().flat_map(|&x| [x, -x]);
    both.chain([f32::NAN]).collect()
}
