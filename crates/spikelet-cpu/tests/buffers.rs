//! Buffers, arenas and plans that are not a backend's own are refused, and threads that share a
//! backend do not race. Small enough for Miri, which `tools/check-races` runs it under.
#![forbid(unsafe_code)]

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../spikelet-graph/tests/support/thread_process_group.rs"]
mod thread_ranks;

use spikelet_cpu::Cpu;
use spikelet_expr::Expr;
use spikelet_graph::op::{
    Conv, Custom, CustomOp, HostCall, HostTensor, HostTensorMut, Op, Recurrence,
};
use spikelet_graph::{
    Backend, Buffer, DType, DeviceId, DeviceKind, Error, Graph, InPlaceUpdates, InvalidOp,
    Location, Node, Plan, RandomAxes, Result, SchedulingPolicy, SpikeStorage, Storage, Target,
    TensorType, Tracer, Var, WorkspaceQuery,
};
use std::sync::{Arc, Mutex};

const F: DType = DType::F32;

fn ty(shape: &[usize]) -> TensorType {
    TensorType::new(F, shape)
}

/// y = x + w and w' = 2 y, as two kernels.
fn graph(elements: usize) -> Graph {
    let tracer = Tracer::new(F);
    let (x, w) = (
        tracer.input("x", F, [elements]),
        tracer.parameter("w", [elements]),
    );
    let y = &x + &w;
    tracer.output("y", &y.sum_all());
    tracer.update(&w, &(&y * 2.0));
    tracer.finish().unwrap()
}

/// Buffers for the inputs and outputs of a plan.
fn buffers(plan: &Plan, cpu: &Cpu) -> (Vec<Buffer>, Vec<Option<Buffer>>) {
    let graph = &plan.graph;
    let buffer = |v| cpu.allocate(graph.ty(v)).unwrap();
    let inputs = graph.inputs.iter().map(|i| buffer(i.value)).collect();
    let outputs = graph.outputs.iter();
    let outputs = outputs.map(|o| o.updates.is_none().then(|| buffer(o.value)));
    (inputs, outputs.collect())
}

fn arena(plan: &Plan, cpu: &Cpu) -> Buffer {
    let words = plan.arena_bytes.div_ceil(8).max(512);
    cpu.allocate(&TensorType::new(DType::I64, [words])).unwrap()
}

fn is_foreign<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::ForeignBuffer { .. }))
}

fn is_refused_plan<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Plan { .. }))
}

#[test]
fn a_buffer_of_another_cpu_is_refused_wherever_one_is_taken() {
    let (own, other) = (Cpu::new(1).unwrap(), Cpu::new(1).unwrap());
    let theirs = other.allocate(&ty(&[4])).unwrap();
    let ours = own.allocate(&ty(&[4])).unwrap();
    assert!(is_foreign(own.upload(&theirs, HostTensor::F32(&[1.0; 4]))));
    let mut values = [1.0; 4];
    assert!(is_foreign(
        own.download(&theirs, HostTensorMut::F32(&mut values))
    ));
    assert_eq!(values, [1.0; 4]);
    assert!(is_foreign(own.fetch(&[&ours, &theirs])));
    assert!(is_foreign(own.send(&theirs)));
    let transfer = own.send(&ours).unwrap();
    assert!(is_foreign(own.receive(&theirs, &*transfer, None)));
    // Any device may receive a transfer.
    other.receive(&theirs, &*transfer, None).unwrap();

    let plan = Plan::new(graph(4), &own);
    let (inputs, outputs) = buffers(&plan, &own);
    let (their_inputs, their_outputs) = buffers(&plan, &other);
    assert!(is_foreign(own.load(&plan, &their_inputs, &outputs)));
    assert!(is_foreign(own.load(&plan, &inputs, &their_outputs)));
    let (memory, their_memory) = (arena(&plan, &own), arena(&plan, &other));
    assert!(is_foreign(own.load_into(
        &plan,
        &inputs,
        &outputs,
        &their_memory
    )));
    own.load_into(&plan, &inputs, &outputs, &memory)
        .unwrap()
        .run()
        .unwrap();
}

#[test]
fn clones_of_a_cpu_and_ranks_of_its_are_one_device() {
    let cpu = Cpu::new(1).unwrap();
    let group = thread_ranks::ThreadProcessGroup::group(1).remove(0);
    let rank = cpu.clone().in_group(Arc::new(group));
    let buffer = cpu.allocate(&ty(&[2])).unwrap();
    rank.upload(&buffer, HostTensor::F32(&[1.0, 2.0])).unwrap();
    let mut values = [0.0; 2];
    cpu.download(&buffer, HostTensorMut::F32(&mut values))
        .unwrap();
    assert_eq!(values, [1.0, 2.0]);
}

/// Memory that claims to be a device's.
struct Claims(DeviceId);

impl Storage for Claims {
    fn device(&self) -> DeviceId {
        self.0
    }
    fn bytes(&self) -> usize {
        1 << 20
    }
}

#[test]
fn a_handle_that_claims_to_be_the_devices_is_refused() {
    let cpu = Cpu::new(1).unwrap();
    let plan = Plan::new(graph(4), &cpu);
    let (mut inputs, outputs) = buffers(&plan, &cpu);
    let claims = Arc::new(Claims(inputs[0].handle.device()));
    inputs[0].handle = claims.clone();
    assert!(is_foreign(
        cpu.upload(&inputs[0], HostTensor::F32(&[0.0; 4]))
    ));
    assert!(is_foreign(cpu.load(&plan, &inputs, &outputs)));
    let (inputs, _) = buffers(&plan, &cpu);
    let claimed = Buffer {
        ty: ty(&[4096]),
        handle: claims,
    };
    assert!(is_foreign(
        cpu.load_into(&plan, &inputs, &outputs, &claimed)
    ));
}

#[test]
fn a_buffer_whose_type_was_enlarged_is_refused() {
    let cpu = Cpu::new(1).unwrap();
    let mut small = cpu.allocate(&ty(&[1])).unwrap();
    small.ty = ty(&[1000]);
    let refused = cpu.upload(&small, HostTensor::F32(&[0.0; 1000]));
    assert!(matches!(refused, Err(Error::Storage { bytes: 4, .. })));
    small.ty = ty(&[1 << 62, 4]);
    assert!(matches!(
        cpu.download(&small, HostTensorMut::F32(&mut [])),
        Err(Error::Storage { .. })
    ));
}

#[test]
fn an_arena_that_is_the_memory_of_an_input_or_output_is_refused() {
    let cpu = Cpu::new(1).unwrap();
    let tracer = Tracer::new(F);
    let x = tracer.input("x", F, [4, 64]);
    tracer.output("y", &(x.log_softmax().permute(&[1, 0]).log_softmax()));
    let plan = Plan::new(tracer.finish().unwrap(), &cpu);
    assert!(plan.arena_bytes > 0);
    let (inputs, outputs) = buffers(&plan, &cpu);
    for taken in [&inputs[0], outputs[0].as_ref().unwrap()] {
        let arena = Buffer {
            ty: taken.ty.clone(),
            handle: taken.handle.clone(),
        };
        assert!(is_refused_plan(
            cpu.load_into(&plan, &inputs, &outputs, &arena)
        ));
    }
    let small = cpu.allocate(&ty(&[1])).unwrap();
    assert!(is_refused_plan(
        cpu.load_into(&plan, &inputs, &outputs, &small)
    ));
    let own = arena(&plan, &cpu);
    cpu.load_into(&plan, &inputs, &outputs, &own).unwrap();
}

#[test]
fn threads_that_share_a_cpu_see_whole_tensors() {
    const LENGTH: usize = 256;
    let cpu = Cpu::new(1).unwrap();
    let buffer = cpu.allocate(&ty(&[LENGTH])).unwrap();
    let times = if cfg!(miri) { 8 } else { 2000 };
    let write = |cpu: Cpu, buffer: Buffer| {
        for k in 0..times {
            let values = [k as f32; LENGTH];
            cpu.upload(&buffer, HostTensor::F32(&values)).unwrap();
        }
    };
    std::thread::scope(|scope| {
        let (to, at) = (cpu.clone(), buffer.clone());
        scope.spawn(move || write(to, at));
        for _ in 0..times {
            let mut values = [0.0; LENGTH];
            cpu.download(&buffer, HostTensorMut::F32(&mut values))
                .unwrap();
            assert!(values.iter().all(|v| *v == values[0]), "{values:?}");
        }
    });
}

#[test]
fn plans_that_share_an_arena_may_be_run_from_several_threads() {
    let cpu = Cpu::new(2).unwrap();
    let plan = Plan::new(graph(64), &cpu);
    let memory = arena(&plan, &cpu);
    let times = if cfg!(miri) { 3 } else { 300 };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (inputs, outputs) = buffers(&plan, &cpu);
            let mut executor = cpu.load_into(&plan, &inputs, &outputs, &memory).unwrap();
            let cpu = &cpu;
            scope.spawn(move || {
                let ones = [1.0; 64];
                cpu.upload(&inputs[0], HostTensor::F32(&ones)).unwrap();
                for _ in 0..times {
                    cpu.upload(&inputs[1], HostTensor::F32(&ones)).unwrap();
                    executor.run().unwrap();
                    let result = cpu.fetch(&[outputs[0].as_ref().unwrap(), &inputs[1]]);
                    let result = result.unwrap().wait().unwrap();
                    assert_eq!(result[0].to_f64(), [128.0]);
                    assert_eq!(result[1].to_f64(), [4.0; 64]);
                }
            });
        }
    });
}

/// x → x, by way of a buffer of some backend.
struct ThroughABuffer {
    cpu: Cpu,
    buffer: Buffer,
    reported: Mutex<Option<Error>>,
}

impl std::fmt::Debug for ThroughABuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("through a buffer")
    }
}

impl CustomOp for ThroughABuffer {
    fn name(&self) -> String {
        "through_a_buffer".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        Ok(inputs.to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> std::result::Result<(), InvalidOp> {
        let x = call.inputs[0].f32()?;
        let copied = self
            .cpu
            .upload(&self.buffer, HostTensor::F32(x))
            .and_then(|()| {
                let y = call.outputs[0].f32().unwrap();
                self.cpu.download(&self.buffer, HostTensorMut::F32(y))
            });
        copied.map_err(|error| {
            *self.reported.lock().unwrap() = Some(error);
            InvalidOp::new("the copy failed", "see why")
        })
    }
}

fn run_through_a_buffer_of(cpu: &Cpu, copies: &Cpu) -> (Result<()>, Option<Error>, [f32; 4]) {
    let op = Arc::new(ThroughABuffer {
        cpu: copies.clone(),
        buffer: copies.allocate(&ty(&[4])).unwrap(),
        reported: Mutex::default(),
    });
    let tracer = Tracer::new(F);
    let x = tracer.input("x", F, [4]);
    tracer.output("y", &tracer.apply1(Custom(op.clone()), &[&x]));
    let plan = Plan::new(tracer.finish().unwrap(), cpu);
    let (inputs, outputs) = buffers(&plan, cpu);
    cpu.upload(&inputs[0], HostTensor::F32(&[1.0, 2.0, 3.0, 4.0]))
        .unwrap();
    let ran = cpu.load(&plan, &inputs, &outputs).unwrap().run();
    let mut y = [0.0; 4];
    cpu.download(outputs[0].as_ref().unwrap(), HostTensorMut::F32(&mut y))
        .unwrap();
    let reported = op.reported.lock().unwrap().take();
    (ran, reported, y)
}

#[test]
fn a_custom_operation_that_calls_the_backend_that_runs_it_gets_an_error() {
    let cpu = Cpu::new(2).unwrap();
    let (ran, reported, _) = run_through_a_buffer_of(&cpu, &cpu);
    assert!(matches!(ran, Err(Error::Backend { .. })), "{ran:?}");
    assert!(matches!(reported, Some(Error::Busy { .. })), "{reported:?}");
    // Another backend is its own master, and this one works as before.
    let (ran, reported, y) = run_through_a_buffer_of(&cpu, &Cpu::new(1).unwrap());
    ran.unwrap();
    assert!(reported.is_none());
    assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
#[cfg_attr(
    miri,
    ignore = "plans and loads, and touches no buffer: minutes under Miri"
)]
fn a_plan_for_fewer_threads_is_refused_where_more_need_workspace() {
    let (one, four) = (Cpu::new(1).unwrap(), Cpu::new(4).unwrap());
    let tracer = Tracer::new(F);
    let (image, kernel) = (
        tracer.input("image", F, [2, 8, 8, 16]),
        tracer.parameter("kernel", [16, 3, 3, 16]),
    );
    tracer.output("y", &image.conv(&kernel, Conv::new(2)));
    let graph = tracer.finish().unwrap();
    let load = |made_for: &Cpu, on: &Cpu| {
        let plan = Plan::new(graph.clone(), made_for);
        let (inputs, outputs) = buffers(&plan, on);
        on.load(&plan, &inputs, &outputs).map(drop)
    };
    assert!(is_refused_plan(load(&one, &four)));
    load(&four, &one).unwrap();
    load(&four, &four).unwrap();
}

/// A device with abilities that the CPU lacks.
struct Able {
    writes_scans_as_bits: bool,
    overwrites: bool,
    channel_sums: bool,
}

impl WorkspaceQuery for Able {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        1 << 16
    }
}

impl SpikeStorage for Able {
    fn reads_bits(&self, op: &Op, _: &[TensorType], operand: usize) -> bool {
        matches!(op, Op::MatMul(op) if operand == 0 && op.transpose_b)
    }

    fn writes_bits(&self, op: &Op, _: &[TensorType], _: usize) -> bool {
        self.writes_scans_as_bits && matches!(op, Op::Scan(_))
    }
}

impl SchedulingPolicy for Able {
    fn sums_channels(&self, _: &Graph, _: &Node) -> bool {
        self.channel_sums
    }
}

impl InPlaceUpdates for Able {
    fn overwrites_sequences(&self) -> bool {
        self.overwrites
    }
}

impl Target for Able {}

/// Spikes through a neuron and a linear layer, and the gradients of both.
fn network() -> Graph {
    let [x, v, w] = ["x", "v", "w"].map(Expr::symbol);
    let h = &v + (x - &v) * w.sigmoid();
    let u = &h - 1.0;
    let s = Expr::custom_gradient(u.ge(0.0), (&u * 4.0).sigmoid());
    let next = (1.0 - &s) * &h;
    let neuron = Recurrence::new("plif", ["x"], ["v"])
        .params(["w"])
        .output("s", s, true)
        .next(vec![next]);
    let tracer = Tracer::new(F);
    let x = tracer.input("x", F, [3, 4, 8]);
    let (a, t) = (tracer.parameter("a", [5, 8]), tracer.parameter("t", [8]));
    let v = tracer.state("v", [4, 8]);
    let current = x.linear(&tracer.parameter("b", [8, 8]));
    let spikes = Var::scan(&Arc::new(neuron), 3, &[&current], &[&v], &[&t]);
    let loss = spikes[0].linear(&a).sum_all();
    let grads = tracer.gradients(&loss, &[&x, &t]);
    tracer.output("loss", &loss);
    tracer.output("dx", &grads[0]);
    tracer.output("dt", &grads[1]);
    tracer.finish().unwrap()
}

#[test]
#[cfg_attr(
    miri,
    ignore = "plans and loads, and touches no buffer: minutes under Miri"
)]
fn a_plan_for_a_device_that_can_do_more_is_refused() {
    let cpu = Cpu::new(1).unwrap();
    let nothing = Able {
        writes_scans_as_bits: false,
        overwrites: false,
        channel_sums: false,
    };
    let load = |plan: &Plan| {
        let (inputs, outputs) = buffers(plan, &cpu);
        cpu.load(plan, &inputs, &outputs).map(drop)
    };
    load(&Plan::new(network(), &nothing)).unwrap();

    let bits = Able {
        writes_scans_as_bits: true,
        ..nothing
    };
    let tracer = Tracer::new(F);
    let x = tracer.input("x", F, [3, 4, 8]);
    let a = tracer.parameter("a", [5, 8]);
    let binary = Recurrence::new("step", ["x"], ["v"])
        .output("s", Expr::symbol("x").ge(0.0), true)
        .next(vec![Expr::symbol("v")]);
    let v = tracer.state("v", [4, 8]);
    let spikes = Var::scan(&Arc::new(binary), 3, &[&x], &[&v], &[]);
    tracer.output("y", &spikes[0].linear(&a));
    let plan = Plan::new(tracer.finish().unwrap(), &bits);
    assert!(plan.graph.to_string().contains("bits["), "{plan}");
    assert!(is_refused_plan(load(&plan)));

    let overwrites = Able {
        overwrites: true,
        ..nothing
    };
    let plan = Plan::new(network(), &overwrites);
    let mut kernels = plan.kernels.iter();
    assert!(
        kernels.any(|k| {
            let scan = matches!(plan.graph.nodes[k.node].op, Op::ScanGrad(_));
            let over = |place| k.reads.contains(place) && *place != Location::Unused;
            scan && k.writes.iter().any(over)
        }),
        "{plan}"
    );
    assert!(is_refused_plan(load(&plan)));

    let sums = Able {
        channel_sums: true,
        ..nothing
    };
    let plan = Plan::new(network(), &sums);
    let summed = |n: &Node| matches!(&n.op, Op::ScanGrad(op) if op.channel_sums);
    assert!(plan.graph.nodes.iter().any(summed), "{plan}");
    assert!(is_refused_plan(load(&plan)));
}

#[test]
fn draws_as_bits_go_into_products() {
    let cpu = Cpu::new(1).unwrap();
    let tracer = Tracer::new(F);
    let x = tracer.input("x", F, [4, 8]);
    let generator = tracer.input("generator", DType::I64, [4]);
    let a = tracer.parameter("a", [5, 8]);
    let spikes = x
        .repeat_over_time(3)
        .bernoulli(&generator, RandomAxes::Time);
    tracer.output("y", &spikes.linear(&a));
    let plan = Plan::new(tracer.finish().unwrap(), &cpu);
    assert!(plan.graph.to_string().contains("bits["), "{plan}");
    let (inputs, outputs) = buffers(&plan, &cpu);
    let mut executor = cpu.load(&plan, &inputs, &outputs).unwrap();
    executor.run().unwrap();
}

#[test]
fn the_kind_of_a_cpu_does_not_depend_on_its_name() {
    assert_eq!(Cpu::new(1).unwrap().kind(), DeviceKind::Cpu);
    let second = Cpu::numbered(1, 1).unwrap();
    assert_eq!(
        (second.name().as_str(), second.kind()),
        ("cpu:1", DeviceKind::Cpu)
    );
}
