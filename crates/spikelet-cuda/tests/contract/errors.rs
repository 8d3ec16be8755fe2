//! Errors of buffers and plans that do not match.

use crate::harness::{Loaded, gpu, traced};
use spikelet_cpu::Cpu;
use spikelet_graph::op::{Custom, CustomOp, HostCall, HostTensor, HostTensorMut};
use spikelet_graph::{
    Backend, Buffer, DType, Error, Graph, InvalidOp, Plan, RandomAxes, TensorType, Tracer,
    WorkspaceQuery,
};
use std::sync::Arc;

#[track_caller]
fn contains<T>(result: spikelet_graph::Result<T>, words: &[&str]) {
    let error = match result {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    };
    for word in words {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn values_of_another_type_or_length_are_rejected() {
    let gpu = gpu();
    let b = gpu
        .allocate(&TensorType::new(DType::F32, [2, 2]))
        .expect("memory");
    let words = ["cuda:0", "f32[2, 2]"];
    contains(gpu.upload(&b, HostTensor::F32(&[0.0; 3])), &words);
    contains(gpu.upload(&b, HostTensor::F32(&[0.0; 5])), &words);
    contains(gpu.upload(&b, HostTensor::F64(&[0.0; 2])), &words);
    contains(gpu.upload(&b, HostTensor::I64(&[0; 2])), &words);
    contains(gpu.download(&b, HostTensorMut::F32(&mut [0.0; 5])), &words);
    contains(gpu.download(&b, HostTensorMut::I64(&mut [0; 2])), &words);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_buffer_of_another_backend_or_with_a_wrong_size_is_rejected() {
    let gpu = gpu();
    let ty = TensorType::new(DType::F32, [4]);
    let elsewhere = Cpu::new(1).expect("the CPU").allocate(&ty).expect("memory");
    let words = ["cuda:0", "another backend"];
    contains(gpu.upload(&elsewhere, HostTensor::F32(&[0.0; 4])), &words);
    contains(
        gpu.download(&elsewhere, HostTensorMut::F32(&mut [0.0; 4])),
        &words,
    );
    contains(gpu.fetch(&[&elsewhere]), &words);
    let own = gpu.allocate(&ty).expect("memory");
    contains(gpu.fetch(&[&own, &elsewhere]), &words);
    let mut mislabeled = own;
    mislabeled.ty = TensorType::new(DType::F32, [1000]);
    let words = ["16 bytes", "f32[1000]"];
    contains(
        gpu.upload(&mislabeled, HostTensor::F32(&[0.0; 1000])),
        &words,
    );
    contains(gpu.fetch(&[&mislabeled]), &words);
}

/// y = x + w and w' = 2y
fn graph() -> Graph {
    traced(|tracer| {
        let (x, w) = (
            tracer.input("x", DType::F32, [4]),
            tracer.parameter("w", [4]),
        );
        let y = &x + &w;
        tracer.output("y", &y);
        tracer.update(&w, &(&y * 2.0));
    })
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_plan_is_loaded_with_buffers_of_its_types_for_all_inputs_and_outputs() {
    let gpu = gpu();
    let plan = Plan::new(graph(), &gpu);
    let of = |dtype, n: usize| gpu.allocate(&TensorType::new(dtype, [n])).expect("memory");
    let four = || of(DType::F32, 4);
    let load = |inputs: &[Buffer], outputs: &[Option<Buffer>]| gpu.load(&plan, inputs, outputs);
    assert!(load(&[four(), four()], &[Some(four()), None]).is_ok());
    contains(
        load(&[four(), four()], &[None, None]),
        &["`y` has no buffer"],
    );
    contains(load(&[four()], &[Some(four()), None]), &["2 inputs"]);
    contains(load(&[four(), four()], &[]), &["2 outputs"]);
    let words = ["`w`", "f32[4]", "compile the network for this shape"];
    contains(
        load(&[four(), of(DType::F32, 3)], &[Some(four()), None]),
        &words,
    );
    contains(
        load(&[four(), of(DType::I64, 4)], &[Some(four()), None]),
        &["`w`", "i64[4]", "convert its elements to f32"],
    );
    contains(
        load(&[four(), four()], &[Some(of(DType::F32, 2)), None]),
        &["`y`", "f32[2]"],
    );
    let cpu = Cpu::new(1).expect("the CPU");
    let elsewhere = cpu
        .allocate(&TensorType::new(DType::F32, [4]))
        .expect("memory");
    let words = ["another backend"];
    contains(
        load(&[elsewhere.clone(), four()], &[Some(four()), None]),
        &words,
    );
    contains(load(&[four(), four()], &[Some(elsewhere), None]), &words);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_written_buffer_must_not_be_shared() {
    let gpu = gpu();
    let plan = Plan::new(graph(), &gpu);
    let four = || {
        gpu.allocate(&TensorType::new(DType::F32, [4]))
            .expect("memory")
    };
    let one = four();
    let words = ["share a buffer"];
    contains(
        gpu.load(&plan, &[one.clone(), four()], &[Some(one.clone()), None]),
        &words,
    );
    contains(
        gpu.load(&plan, &[one.clone(), one.clone()], &[Some(four()), None]),
        &words,
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_gpu_that_is_opened_twice_is_two_devices() {
    let (gpu, other) = (gpu(), gpu());
    let ty = TensorType::new(DType::F32, [4]);
    let [own, theirs] = [&gpu, &other].map(|gpu| gpu.allocate(&ty).expect("memory"));
    let foreign =
        |result: spikelet_graph::Result<()>| matches!(result, Err(Error::ForeignBuffer { .. }));
    assert!(foreign(gpu.upload(&theirs, HostTensor::F32(&[0.0; 4]))));
    assert!(foreign(gpu.fetch(&[&own, &theirs]).map(drop)));
    let plan = Plan::new(graph(), &gpu);
    let words = TensorType::new(DType::I64, [plan.arena_bytes.div_ceil(8)]);
    let foreign_arena = other.allocate(&words).expect("memory");
    let (inputs, outputs) = (
        [own.clone(), gpu.allocate(&ty).expect("memory")],
        [Some(gpu.allocate(&ty).expect("memory")), None],
    );
    assert!(foreign(
        gpu.load_into(&plan, &inputs, &outputs, &foreign_arena)
            .map(drop)
    ));
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_arena_in_the_memory_of_an_input_or_output_is_rejected() {
    let gpu = gpu();
    let plan = Plan::new(graph(), &gpu);
    let large = TensorType::new(DType::F32, [4 + plan.arena_bytes]);
    let buffer = || {
        let mut buffer = gpu.allocate(&large).expect("memory");
        buffer.ty = TensorType::new(DType::F32, [4]);
        buffer
    };
    let (inputs, outputs) = ([buffer(), buffer()], [Some(buffer()), None]);
    for arena in [&inputs[0], &inputs[1], outputs[0].as_ref().expect("given")] {
        let error = gpu.load_into(&plan, &inputs, &outputs, arena).err();
        assert!(matches!(error, Some(Error::Plan { .. })), "{error:?}");
    }
    gpu.load_into(&plan, &inputs, &outputs, &buffer())
        .expect("a separate arena");
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_plan_for_another_device_is_rejected_if_it_cannot_run_here() {
    let gpu = gpu();
    let graph = traced(|tracer| {
        let x = tracer.input("x", DType::F32, [64, 4096]);
        tracer.output("y", &x.sum(&[1]));
    });
    // The CPU needs no workspace for this sum.
    let cpu = Cpu::new(1).expect("the CPU");
    let plan = Plan::new(graph, &cpu);
    let of = |shape: &[usize]| {
        gpu.allocate(&TensorType::new(DType::F32, shape))
            .expect("memory")
    };
    let (inputs, outputs) = ([of(&[64, 4096])], [Some(of(&[64]))]);
    let needed = plan.kernels.iter().any(|kernel| {
        let planned = kernel.workspace.map_or(0, |(_, bytes)| bytes);
        gpu.workspace(&plan.graph, &plan.graph.nodes[kernel.node]) > planned
    });
    match gpu.load(&plan, &inputs, &outputs) {
        Ok(mut executor) => {
            assert!(!needed);
            executor.run().expect("the same plan as for this GPU");
        }
        Err(error) => assert!(needed && matches!(error, Error::Plan { .. }), "{error}"),
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_inconsistent_plan_is_rejected() {
    let gpu = gpu();
    let mut plan = Plan::new(graph(), &gpu);
    plan.allocations.push(spikelet_graph::Allocation {
        value: None,
        offset: 0,
        bytes: 64,
        alive: (0, 0),
    });
    let four = || {
        gpu.allocate(&TensorType::new(DType::F32, [4]))
            .expect("memory")
    };
    contains(
        gpu.load(&plan, &[four(), four()], &[Some(four()), None]),
        &["overlap"],
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn double_precision_is_rejected_with_the_devices_that_support_it() {
    let gpu = gpu();
    let tracer = Tracer::new(DType::F64);
    let x = tracer.input("x", DType::F64, [4]);
    tracer.scope("fc", || tracer.output("y", &x.exp()));
    let graph = tracer.finish().expect("a graph");
    contains(
        Loaded::try_new(graph, &gpu).map(|_| ()),
        &["cuda:0", "map in `fc`", "f64", "CPU", "f32"],
    );
}

#[derive(Debug)]
struct Reverse;

impl CustomOp for Reverse {
    fn name(&self) -> String {
        "reverse".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(vec![inputs[0].clone()])
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let x = call.inputs[0].f32()?.iter().rev();
        let y = call.outputs[0].f32()?.iter_mut();
        y.zip(x).for_each(|(y, x)| *y = *x);
        Ok(())
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_operation_with_code_for_the_cpu_only_is_rejected() {
    let gpu = gpu();
    let graph = traced(|tracer| {
        let x = tracer.input("x", DType::F32, [4]);
        tracer.output("y", &tracer.apply1(Custom(Arc::new(Reverse)), &[&x]));
    });
    contains(
        Loaded::try_new(graph, &gpu).map(|_| ()),
        &["`reverse`", "CPU", "--device cpu"],
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_out_of_memory_error_names_the_sizes_and_the_largest_tensors() {
    let gpu = gpu();
    // 256 GiB of draws.
    let graph = traced(|tracer| {
        let g = tracer.input("g", DType::I64, [4]);
        tracer.output("y", &g.uniform([1 << 36], RandomAxes::Nothing).sum_all());
    });
    contains(
        Loaded::try_new(graph, &gpu).map(|_| ()),
        &[
            "cuda:0: out of memory",
            "peak",
            "256.0 GiB",
            "f32[68719476736]",
            "smaller batch",
        ],
    );
    // The GPU is still usable.
    let mut loaded = Loaded::new(graph_of_one(), &gpu);
    loaded.run();
    assert_eq!(loaded.get("y").to_f64(), [1.0]);
}

fn graph_of_one() -> Graph {
    traced(|tracer| tracer.output("y", &tracer.input("x", DType::F32, [1]).exp()))
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_buffer_larger_than_the_memory_is_rejected_with_its_size() {
    let gpu = gpu();
    contains(
        gpu.allocate(&TensorType::new(DType::F32, [1 << 40])),
        &["out of memory", "4096.0 GiB", "f32[1099511627776]"],
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_tensor_with_more_elements_than_an_index_counts_is_rejected() {
    let gpu = gpu();
    if gpu.properties().memory_bytes < 40 << 30 || !crate::harness::thorough() {
        return;
    }
    let graph = traced(|tracer| {
        let g = tracer.input("g", DType::I64, [4]);
        tracer.output(
            "y",
            &g.uniform([(1 << 31) + 1], RandomAxes::Nothing).sum_all(),
        );
    });
    contains(
        Loaded::try_new(graph, &gpu).map(|_| ()),
        &["elements", "smaller batch"],
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn more_blocks_than_a_grid_has_are_rejected() {
    // A prime number of channels: each is a block along y.
    let graph = traced(|tracer| {
        let x = tracer.input("x", DType::F32, [16, 65_537]);
        tracer.output("mean", &x.mean_var()[0]);
    });
    contains(
        Loaded::try_new(graph, &gpu()).map(|_| ()),
        &["65537 blocks along y", "65535"],
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_missing_gpu_is_an_error() {
    contains(spikelet_cuda::Cuda::new(1000), &["cuda:1000"]);
}
