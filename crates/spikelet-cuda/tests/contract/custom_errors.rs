//! Errors of custom operations whose code cannot be used.

use crate::harness::{Loaded, gpu, traced};
use spikelet_graph::op::{CustomOp, DeviceCall, DeviceCode, DeviceKernel};
use spikelet_graph::{DType, InvalidOp, TensorType, Var};
use std::sync::Arc;

/// An operation of one operand with the code of a test.
#[derive(Clone, Debug)]
struct FixedCode(Result<Option<DeviceCode>, InvalidOp>);

impl CustomOp for FixedCode {
    fn name(&self) -> String {
        "fixed".to_string()
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
    // SAFETY: a kernel that runs copies four elements, which all tensors here have; the others are
    // rejected.
    unsafe { DeviceCode::new([kernel]) }
}

fn copy() -> DeviceKernel {
    DeviceKernel::new("copy", COPY)
        .input(0)
        .output(0)
        .value(4_u32)
}

/// Checks that loading a plan with the operation in the layer `fc.0` fails with a message with `words`.
#[track_caller]
fn expect_error(code: Result<Option<DeviceCode>, InvalidOp>, words: &[&str]) {
    let gpu = gpu();
    let graph = traced(|tracer| {
        let x = tracer.input("x", DType::F32, [4]);
        let op = Arc::new(FixedCode(code.clone()));
        let outputs = tracer.scope("fc.0", || Var::custom(op, &[&x]));
        tracer.output("y", &outputs[0]);
    });
    let error = match Loaded::try_new(graph, &gpu) {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    };
    assert!(error.starts_with("cuda:0: fixed in `fc.0`: "), "{error}");
    for word in words {
        assert!(error.contains(word), "no `{word}` in: {error}");
    }
    // The GPU is still usable.
    let graph = traced(|tracer| {
        let x = tracer.input("x", DType::F32, [4]);
        let op = Arc::new(FixedCode(Ok(Some(code_of(copy())))));
        tracer.output("y", &Var::custom(op, &[&x])[0]);
    });
    let mut loaded = Loaded::new(graph, &gpu);
    loaded.run();
    assert_eq!(loaded.get("y").to_f64(), [0.0; 4]);
}

#[track_caller]
fn expect_kernel_error(kernel: DeviceKernel, words: &[&str]) {
    expect_error(Ok(Some(code_of(kernel))), words);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn compile_errors_are_shown_with_their_lines() {
    let source = COPY.replace("x[i];", "z[i];");
    let kernel = DeviceKernel { source, ..copy() };
    let words = [
        "kernel `copy` does not compile",
        "identifier \"z\" is undefined",
        ">    3 |   if (i < n) y[i] = z[i];",
    ];
    expect_kernel_error(kernel, &words);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_missing_function_is_named() {
    let name = "kopy".to_string();
    let kernel = DeviceKernel { name, ..copy() };
    let words = ["extern \"C\" __global__ void kopy"];
    expect_kernel_error(kernel, &words);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn arguments_that_do_not_match_the_parameters_are_rejected() {
    expect_kernel_error(copy().value(1_i32), &["3 parameters", "4 arguments"]);
    let two = DeviceKernel::new("copy", COPY).input(0).output(0);
    expect_kernel_error(two.clone(), &["3 parameters", "2 arguments"]);
    expect_kernel_error(two.value(4_u64), &["parameter 2", "4 bytes", "8 bytes"]);
    let by_address = DeviceKernel::new("copy", COPY)
        .input(0)
        .output(0)
        .constant(4_u32);
    expect_kernel_error(by_address, &["parameter 2", "4 bytes", "8 bytes"]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn missing_operands_and_invalid_launches_are_rejected() {
    expect_kernel_error(copy().input(1), &["kernel `copy`", "input 1"]);
    expect_kernel_error(copy().output(1), &["kernel `copy`", "output 1"]);
    expect_kernel_error(copy().scratch(0), &["byte 0", "scratch"]);
    expect_kernel_error(copy().block(1025), &["1025 threads", "1024"]);
    expect_kernel_error(copy().grid([1, 1, 70_000]), &["[1, 1, 70000] blocks"]);
    expect_kernel_error(copy().threads(0), &["[0, 1, 1]"]);
    expect_error(Ok(Some(DeviceCode::default())), &["no kernel"]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_block_larger_than_the_kernels_launch_bounds_is_rejected() {
    let source = COPY.replace("void copy", "void __launch_bounds__(64) copy");
    let kernel = DeviceKernel { source, ..copy() };
    expect_kernel_error(kernel, &["64 threads", "256"]);
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn errors_of_an_operation_and_missing_code_name_the_layer() {
    let invalid = InvalidOp::new("four elements are too few", "pass five");
    expect_error(Err(invalid), &["four elements are too few; pass five"]);
    expect_error(Ok(None), &["`fixed`", "--device cpu", "`device_code`"]);
}
