//! What is said to custom operations whose code cannot be used.

use crate::harness::{Loaded, gpu, traced};
use spikelet_graph::op::{CustomOp, DeviceCall, DeviceCode, DeviceKernel};
use spikelet_graph::{DType, InvalidOp, TensorType, Var};
use std::sync::Arc;

/// An operation of one operand whose code is whatever a test says.
#[derive(Clone, Debug)]
struct Given(Result<Option<DeviceCode>, InvalidOp>);

impl CustomOp for Given {
    fn name(&self) -> String {
        "given".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(inputs.to_vec())
    }
    fn device_code(&self, _: &DeviceCall<'_>) -> Result<Option<DeviceCode>, InvalidOp> {
        self.0.clone()
    }
}

const COPY: &str = r#"extern "C" __global__ void copy(const float* x, float* y, unsigned n) {
  const unsigned i = threadIdx.x;
  if (i < n) y[i] = x[i];
}
"#;

fn code_of(kernel: DeviceKernel) -> DeviceCode {
    // SAFETY: a kernel that would run copies four numbers, which all tensors here have; the others
    // are refused.
    unsafe { DeviceCode::new([kernel]) }
}

fn copy() -> DeviceKernel {
    DeviceKernel::new("copy", COPY)
        .input(0)
        .output(0)
        .value(4_u32)
}

/// What loading a plan with the operation in the layer `fc.0` says.
#[track_caller]
fn refused(code: Result<Option<DeviceCode>, InvalidOp>, words: &[&str]) {
    let gpu = gpu();
    let graph = traced(|tracer| {
        let x = tracer.input("x", DType::F32, [4]);
        let op = Arc::new(Given(code.clone()));
        let made = tracer.scope("fc.0", || Var::custom(op, &[&x]));
        tracer.output("y", &made[0]);
    });
    let error = match Loaded::try_new(graph, &gpu) {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    };
    assert!(error.starts_with("cuda:0: given in `fc.0`: "), "{error}");
    for word in words {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
    // The GPU is as good as before.
    let graph = traced(|tracer| {
        let x = tracer.input("x", DType::F32, [4]);
        let op = Arc::new(Given(Ok(Some(code_of(copy())))));
        tracer.output("y", &Var::custom(op, &[&x])[0]);
    });
    let mut loaded = Loaded::new(graph, &gpu);
    loaded.run();
    assert_eq!(loaded.get("y").to_f64(), [0.0; 4]);
}

#[track_caller]
fn refused_kernel(kernel: DeviceKernel, words: &[&str]) {
    refused(Ok(Some(code_of(kernel))), words);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_source_that_does_not_compile_is_shown_with_the_line() {
    let source = COPY.replace("x[i];", "z[i];");
    let kernel = DeviceKernel { source, ..copy() };
    let words = [
        "kernel `copy` does not compile",
        "identifier \"z\" is undefined",
        ">    3 |   if (i < n) y[i] = z[i];",
    ];
    refused_kernel(kernel, &words);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_function_that_is_not_in_the_source_is_named() {
    let name = "kopy".to_string();
    let kernel = DeviceKernel { name, ..copy() };
    let words = [
        "defines no function of this name",
        "extern \"C\" __global__ void kopy",
    ];
    refused_kernel(kernel, &words);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn arguments_that_are_not_the_parameters_are_refused_before_the_kernel_runs() {
    refused_kernel(
        copy().value(1_i32),
        &["has 3 parameters, 4 arguments were given"],
    );
    let two = DeviceKernel::new("copy", COPY).input(0).output(0);
    refused_kernel(two.clone(), &["has 3 parameters, it is given 2 arguments"]);
    refused_kernel(
        two.value(4_u64),
        &["has 4 bytes as its parameter 2", "it is given 8"],
    );
    let by_address = DeviceKernel::new("copy", COPY)
        .input(0)
        .output(0)
        .constant(4_u32);
    refused_kernel(by_address, &["has 4 bytes as its parameter 2", "a pointer"]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn operands_and_launches_that_do_not_exist_are_refused() {
    refused_kernel(
        copy().input(1),
        &["kernel `copy` takes input 1, but the operation has 1"],
    );
    refused_kernel(
        copy().output(1),
        &["takes output 1, but the operation has 1"],
    );
    refused_kernel(copy().scratch(0), &["byte 0 of 0 bytes of scratch memory"]);
    refused_kernel(copy().block(1025), &["blocks of 1025 threads", "1 to 1024"]);
    refused_kernel(copy().grid([1, 1, 70_000]), &["[1, 1, 70000] blocks"]);
    refused_kernel(copy().threads(0), &["none at all"]);
    refused(Ok(Some(DeviceCode::default())), &["no kernel"]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_kernel_that_was_made_for_smaller_blocks_is_refused() {
    let source = COPY.replace("void copy", "void __launch_bounds__(64) copy");
    let kernel = DeviceKernel { source, ..copy() };
    refused_kernel(
        kernel,
        &["can have 64 threads in a block", "256 were asked for"],
    );
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn an_operations_own_refusal_and_one_without_code_are_errors_of_its_layer() {
    let refusal = InvalidOp::new("four elements are too few", "pass five");
    refused(Err(refusal), &["four elements are too few; pass five"]);
    refused(
        Ok(None),
        &[
            "`given` has code for the CPU only",
            "--device cpu",
            "`device_code`",
        ],
    );
}
