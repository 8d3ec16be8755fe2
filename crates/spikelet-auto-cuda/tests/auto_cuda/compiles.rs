//! Every kernel passes the compiler. These tests need NVRTC.

use crate::functions;
use crate::neurons::variants;
use spikelet_auto_cuda::neuron_kernel::{NeuronBPTTKernel, NeuronFPTTKernel};
use spikelet_auto_cuda::{
    AutoCudaError, BlockSum, CKernel, CKernel1D, CKernel2D, Callable, Dtype, ExprSurrogate, Kernel,
};
use spikelet_cuda::CompileError;

/// An old GPU, a usual one, and one that is not there yet.
const GPUS: [(i32, i32); 3] = [(7, 5), (9, 0), (99, 9)];

#[track_caller]
fn compile(kernel: &dyn Kernel, gpus: &[(i32, i32)]) {
    for gpu in gpus {
        match kernel.compile(*gpu) {
            Ok(code) => assert!(!code.is_empty()),
            Err(error) => panic!("{error}\n{}", kernel.full_codes()),
        }
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn empty_kernels_compile() {
    compile(&CKernel::new("example_ck"), &GPUS);
    compile(&CKernel1D::new("elements"), &GPUS);
    compile(&CKernel2D::new("sequence", false), &GPUS);
    compile(&CKernel2D::new("back", true), &GPUS);
    compile(&BlockSum::new(), &GPUS);
}

#[test]
#[ignore = "needs NVRTC"]
fn every_function_compiles() {
    for dtype in Dtype::ALL {
        compile(&functions::all_in_one(dtype), &GPUS);
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn every_neurons_kernel_compiles() {
    for variant in [variants(false), variants(true)].concat() {
        compile(&*variant.kernel(), &[(9, 0)]);
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn a_library_function_of_an_expression_reaches_the_compiler() {
    let surrogate = ExprSurrogate::new(|x| (x.tanh() * x.erf()).pow(1.5).max(0.1)).unwrap();
    let backward = spikelet_auto_cuda::neuron_kernel::IFNodeBPTTKernel::new;
    compile(&backward(surrogate, true, false, Dtype::Half2), &[(9, 0)]);
}

#[test]
#[ignore = "needs NVRTC"]
fn what_is_not_defined_does_not_compile_and_the_error_shows_where() {
    let surrogate = ExprSurrogate::new(|x| 1.0 / (1.0 + x * x)).unwrap();
    let kernel = NeuronBPTTKernel::new(surrogate, true, false, Dtype::Float);
    match kernel.compile((9, 0)) {
        Err(error @ AutoCudaError::Compile(CompileError::Source { .. })) => {
            let text = error.to_string();
            assert!(
                text.contains("identifier \"grad_h_next_to_v\" is undefined"),
                "{text}"
            );
            assert!(
                text.contains("// grad_h_next_to_v should be defined here!;"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
    // What lacks only statements compiles.
    compile(&NeuronFPTTKernel::new(true, Dtype::Half2), &[(9, 0)]);
}
