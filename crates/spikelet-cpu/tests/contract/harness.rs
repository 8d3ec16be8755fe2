//! Runs small graphs, and checks their gradients.

use spikelet_cpu::Cpu;
use spikelet_graph::{Backend, Buffer, DType, Executor, Graph, Plan, Tensor, Tracer, Var};
use std::collections::BTreeMap;

/// A plan on the CPU with its buffers.
pub struct Loaded {
    pub cpu: Cpu,
    pub plan: Plan,
    pub executor: Box<dyn Executor>,
    inputs: Vec<Buffer>,
    outputs: Vec<Option<Buffer>>,
}

/// Buffers for the inputs of a plan and for those of its outputs that update none.
pub fn buffers(plan: &Plan, cpu: &Cpu) -> (Vec<Buffer>, Vec<Option<Buffer>>) {
    let graph = &plan.graph;
    let buffer = |v| cpu.allocate(graph.ty(v)).unwrap();
    let inputs = graph.inputs.iter().map(|i| buffer(i.value)).collect();
    let fresh = |o: &spikelet_graph::Output| o.updates.is_none().then(|| buffer(o.value));
    (inputs, graph.outputs.iter().map(fresh).collect())
}

impl Loaded {
    pub fn new(graph: Graph, threads: usize) -> Self {
        let cpu = Cpu::new(threads).unwrap();
        Self::with_plan(Plan::new(graph, &cpu), cpu)
    }

    pub fn with_plan(plan: Plan, cpu: Cpu) -> Self {
        assert!(plan.is_sound(), "{plan}");
        let (inputs, outputs) = buffers(&plan, &cpu);
        let executor = cpu.load(&plan, &inputs, &outputs).unwrap();
        assert_eq!(executor.arena_bytes(), plan.arena_bytes);
        Self {
            cpu,
            plan,
            executor,
            inputs,
            outputs,
        }
    }

    pub fn set(&self, name: &str, tensor: &Tensor) {
        let k = self.plan.graph.inputs.iter().position(|i| i.name == name);
        // A plan does not know inputs of the trace that were never made.
        let k = k.unwrap_or_else(|| panic!("no input `{name}`"));
        assert_eq!(self.inputs[k].ty, tensor.ty(), "`{name}`");
        self.cpu.upload(&self.inputs[k], tensor.into()).unwrap();
    }

    /// An output, or an input as it is now.
    pub fn get(&self, name: &str) -> Tensor {
        let graph = &self.plan.graph;
        let outputs = graph.outputs.iter().zip(&self.outputs);
        let fresh = outputs.filter_map(|(o, b)| Some((&o.name, b.as_ref()?)));
        let held = graph.inputs.iter().map(|i| &i.name).zip(&self.inputs);
        let (_, buffer) = fresh.chain(held).find(|(n, _)| *n == name).expect(name);
        let mut tensor = Tensor::zeros(&buffer.ty).unwrap();
        self.cpu.download(buffer, (&mut tensor).into()).unwrap();
        tensor
    }

    pub fn run(&mut self) {
        self.executor.run().unwrap();
    }

    /// All outputs by name, updated inputs among them.
    pub fn results(&self) -> BTreeMap<String, Tensor> {
        let names = self.plan.graph.outputs.iter().map(|o| o.name.clone());
        names.map(|name| (name.clone(), self.get(&name))).collect()
    }
}

/// Irregular numbers in [−1, 1], the same for the same seed.
pub fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 30) as f64 - 1.0
    };
    (0..count).map(next).collect()
}

/// An f64 tensor of such numbers.
pub fn tensor(shape: &[usize], seed: u64) -> Tensor {
    Tensor::f64(shape, numbers(shape.iter().product(), seed))
}

/// Builds y from inputs called `x0`, `x1` … and runs it in the type of the inputs.
pub fn compute(inputs: &[Tensor], build: impl Fn(&Tracer, &[Var]) -> Var) -> Tensor {
    let float = inputs.iter().map(|t| t.ty().dtype).find(|d| d.is_float());
    let tracer = Tracer::new(float.unwrap_or(DType::F64));
    let vars = trace_inputs(&tracer, inputs);
    tracer.output("y", &build(&tracer, &vars));
    let mut loaded = Loaded::new(tracer.finish().unwrap(), 2);
    give(&loaded, inputs);
    loaded.run();
    loaded.get("y")
}

fn trace_inputs(tracer: &Tracer, inputs: &[Tensor]) -> Vec<Var> {
    let one =
        |(k, t): (usize, &Tensor)| tracer.input(&format!("x{k}"), t.ty().dtype, t.shape.clone());
    inputs.iter().enumerate().map(one).collect()
}

fn give(loaded: &Loaded, inputs: &[Tensor]) {
    for (k, input) in inputs.iter().enumerate() {
        loaded.set(&format!("x{k}"), input);
    }
}

/// Compares a forward pass with the expected elements, in f64 and in f32.
pub fn check_forward(
    inputs: &[Tensor],
    shape: &[usize],
    expected: &[f64],
    build: impl Fn(&Tracer, &[Var]) -> Var,
) {
    for (dtype, tolerance) in [
        (DType::F64, 1e-13),
        (DType::F32, Cpu::DETERMINISM.sums.tolerance()),
    ] {
        let inputs: Vec<Tensor> = inputs.iter().map(|t| t.cast(dtype)).collect();
        let got = compute(&inputs, &build);
        assert_eq!(got.shape, shape);
        let most = expected.iter().fold(1.0_f64, |m, x| m.max(x.abs()));
        for (i, (got, want)) in got.to_f64().iter().zip(expected).enumerate() {
            let near = (got - want).abs() <= tolerance * most || got == want;
            assert!(near, "element {i} of {dtype}{shape:?}: {got}, not {want}");
        }
    }
}

/// Compares the gradients of Σ c·y, c irregular, for all floating-point inputs with central
/// differences over every element.
pub fn check_gradients(inputs: &[Tensor], build: impl Fn(&Tracer, &[Var]) -> Var) {
    let tracer = Tracer::new(DType::F64);
    let vars = trace_inputs(&tracer, inputs);
    let y = build(&tracer, &vars);
    let c = tracer.input("c", DType::F64, y.shape());
    let loss = (&y * &c).sum_all();
    let floats: Vec<usize> = (0..inputs.len())
        .filter(|&k| inputs[k].ty().dtype.is_float())
        .collect();
    let wrt: Vec<&Var> = floats.iter().map(|&k| &vars[k]).collect();
    let grads = tracer.gradients(&loss, &wrt);
    let only_loss = {
        tracer.output("loss", &loss);
        tracer.finish().unwrap()
    };
    for (k, grad) in floats.iter().zip(&grads) {
        assert_eq!(grad.shape(), inputs[*k].shape, "gradient of x{k}");
        tracer.output(&format!("g{k}"), grad);
    }
    let mut derived = Loaded::new(tracer.finish().unwrap(), 2);
    let mut plain = Loaded::new(only_loss, 1);
    let c = tensor(y.shape(), 77);
    for loaded in [&derived, &plain] {
        give(loaded, inputs);
        loaded.set("c", &c);
    }
    derived.run();
    for &k in &floats {
        let name = format!("x{k}");
        let got = derived.get(&format!("g{k}")).to_f64();
        let values = inputs[k].to_f64();
        for i in 0..values.len() {
            let mut loss_at = |by: f64| {
                let mut moved = values.clone();
                moved[i] += by;
                plain.set(&name, &Tensor::f64(inputs[k].shape.clone(), moved));
                plain.run();
                plain.get("loss").to_f64()[0]
            };
            let h = 1e-4;
            let near = loss_at(h) - loss_at(-h);
            let far = loss_at(2.0 * h) - loss_at(-2.0 * h);
            let expected = (8.0 * near - far) / (12.0 * h);
            let close = (got[i] - expected).abs() <= 1e-7 * (1.0 + expected.abs());
            assert!(close, "gradient of {name}[{i}]: {}, not {expected}", got[i]);
        }
        plain.set(&name, &inputs[k]);
    }
}

/// The index of element `i` of a shape, one number an axis.
pub fn index(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, n) in index.iter_mut().zip(shape).rev() {
        *at = i % n;
        i /= n;
    }
    index
}

/// The element that a broadcast operand has at an index of the larger shape.
pub fn broadcast_at(values: &[f64], shape: &[usize], index: &[usize]) -> f64 {
    let mut at = 0;
    for (n, i) in shape.iter().zip(&index[index.len() - shape.len()..]) {
        at = at * n + if *n == 1 { 0 } else { *i };
    }
    values[at]
}

/// Runs what `build` makes with 1, 2 and 3 threads; all results must have the same bits.
pub fn for_any_number_of_threads(inputs: &[Tensor], build: impl Fn(&Tracer, &[Var]) -> Vec<Var>) {
    let run = |threads: usize| {
        let float = inputs.iter().map(|t| t.ty().dtype).find(|d| d.is_float());
        let tracer = Tracer::new(float.unwrap_or(DType::F64));
        let vars = trace_inputs(&tracer, inputs);
        for (k, y) in build(&tracer, &vars).iter().enumerate() {
            tracer.output(&format!("y{k}"), y);
        }
        let mut loaded = Loaded::new(tracer.finish().unwrap(), threads);
        give(&loaded, inputs);
        loaded.run();
        loaded.results()
    };
    let one = run(1);
    for threads in [2, 3] {
        for (name, many) in run(threads) {
            let bits = |t: &Tensor| t.to_f64().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let same = bits(&one[&name]) == bits(&many);
            assert!(same, "`{name}` differs with {threads} threads");
        }
    }
}
