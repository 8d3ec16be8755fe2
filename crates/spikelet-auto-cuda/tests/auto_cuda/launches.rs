//! Threads of a block, and shared memory.

use crate::machine::gpu;
use spikelet_auto_cuda::neuron_kernel::{
    NeuronATGFBase, ParametricLIFNodeATGF, ParametricLIFNodeBPTTKernel, ParametricLIFNodeFPTTKernel,
};
use spikelet_auto_cuda::{
    AutoCudaError, CKernel, CKernel1D, Callable, CudaTensor, Dtype, Element, ExprSurrogate, Kernel,
    THREADS,
};
use spikelet_graph::op::{CustomOp, DeviceCall, DeviceKernel, Op};
use spikelet_graph::{DType, TensorType, Tracer};

#[test]
fn a_kernel_has_the_threads_that_it_was_given() {
    let mut kernel = CKernel1D::new("k");
    assert_eq!(kernel.threads(), THREADS);
    kernel.set_threads(64).unwrap();
    assert_eq!(kernel.threads(), 64);
    for wrong in [0, 1025, u32::MAX] {
        let error = kernel.set_threads(wrong).unwrap_err();
        assert!(matches!(error, AutoCudaError::Threads { given, .. } if given == wrong));
    }
    assert_eq!(kernel.threads(), 64);
}

#[test]
fn blocks_follow_from_the_threads() {
    let ty = |shape: &[usize]| TensorType::new(DType::F32, shape);
    let pre = NeuronATGFBase::pre_forward(&ty(&[4, 1030]), &ty(&[1030])).unwrap();
    assert_eq!((pre.blocks, pre.threads), (3, 512));
    let pre = pre.with_threads(128);
    assert_eq!((pre.blocks, pre.threads), (9, 128));
}

/// The kernels of an operation whose results all have memory.
fn kernels(op: &dyn CustomOp, inputs: &[TensorType]) -> Vec<DeviceKernel> {
    let outputs = op.infer(inputs).unwrap();
    let call = DeviceCall {
        inputs,
        outputs: &outputs,
        wanted: &vec![true; outputs.len()],
    };
    op.device_code(&call).unwrap().unwrap().kernels().to_vec()
}

#[test]
fn an_autograd_functions_kernels_have_their_own_threads_in_a_network() {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.parameter("x", [4, 1030]);
    let v = tracer.parameter("v", [1030]);
    let decay = tracer.parameter("decay", []);
    let surrogate = ExprSurrogate::new(|x| 1.0 / (1.0 + x * x)).unwrap();
    let mut forward = ParametricLIFNodeFPTTKernel::new(true, true, Dtype::Float);
    forward.set_threads(128).unwrap();
    let mut backward = ParametricLIFNodeBPTTKernel::new(true, surrogate, true, false, Dtype::Float);
    backward.set_threads(256).unwrap();
    let (spikes, _) = apply!(
        ParametricLIFNodeATGF,
        &x,
        &v,
        1.0,
        Some(0.0),
        &decay,
        forward,
        backward
    );
    tracer.gradients(&spikes.sum_all(), &[&x, &decay]);
    let graph = tracer.traced();
    let mut found = vec![];
    for node in &graph.nodes {
        if let Op::Custom(op) = &node.op {
            let inputs: Vec<TensorType> =
                node.inputs.iter().map(|v| graph.ty(*v).clone()).collect();
            found.push(kernels(&*op.0, &inputs));
        }
    }
    let launches = |kernels: &[DeviceKernel], name: &str| {
        let kernel = kernels.iter().find(|k| k.name.starts_with(name)).unwrap();
        (kernel.grid[0], kernel.block)
    };
    let [forward, backward] = found.as_slice() else {
        panic!("{} operations", found.len());
    };
    assert_eq!(launches(forward, "ParametricLIFNodeFPTTKernel"), (9, 128));
    assert_eq!(launches(backward, "ParametricLIFNodeBPTTKernel"), (5, 256));
}

/// Each block turns its numbers round, through shared memory of the size that the call gives.
#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_call_gives_a_block_its_shared_memory() {
    let gpu = gpu();
    let mut kernel = CKernel::new("turn");
    kernel.add_param("const float *", "x").unwrap();
    kernel.add_param("float *", "y").unwrap();
    kernel.set_core(
        "extern __shared__ float tile[];
         const int first = blockIdx.x * blockDim.x;
         tile[threadIdx.x] = x[first + threadIdx.x];
         __syncthreads();
         y[first + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];",
    );
    let threads = 1024;
    let values: Vec<f32> = (0..2 * threads).map(|k| k as f32).collect();
    let x = CudaTensor::new(&gpu, [values.len()], &values).unwrap();
    let y = CudaTensor::zeros(&gpu, Element::F32, [values.len()]).unwrap();
    let args = [("x", (&x).into()), ("y", (&y).into())];
    let call = |bytes: u32| {
        // SAFETY: both tensors have a number for each thread, and so has the shared memory.
        unsafe { kernel.call_with_shared_memory(2, threads, bytes, &args) }
    };
    for bytes in [4 * threads, 64 << 10] {
        call(bytes).unwrap();
        let mut expected = values.clone();
        expected
            .chunks_mut(threads as usize)
            .for_each(<[f32]>::reverse);
        assert_eq!(y.to_vec::<f32>().unwrap(), expected);
    }
    assert!(call(1 << 30).is_err());
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn a_simple_call_with_other_threads_computes_the_same() {
    let gpu = gpu();
    let mut kernel = CKernel1D::new("blocks");
    kernel.add_param("float *", "y").unwrap();
    kernel.set_core("y[index] = blockDim.x;");
    for threads in [32, 100, 1024] {
        kernel.set_threads(threads).unwrap();
        let y = CudaTensor::zeros(&gpu, Element::F32, [1000]).unwrap();
        // SAFETY: `index` is below `numel`.
        unsafe { kernel.simple_call(&[("y", (&y).into())]) }.unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), vec![threads as f32; 1000]);
    }
}
