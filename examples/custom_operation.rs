//! A custom operation with code for the CPU and for GPUs, in a network that is trained.
//!
//! Soft thresholding sets small input currents to zero: y = sign(x)·max(|x| − λ, 0)

use spikelet::graph::op::{CustomOp, DeviceCall, DeviceCode, DeviceKernel, HostCall};
use spikelet::graph::{InvalidOp, TensorType};
use spikelet::prelude::*;
use std::sync::Arc;

const CUDA: &str = r#"
extern "C" __global__ void shrink(const float* x, float* y, unsigned n, float limit) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = copysignf(fmaxf(fabsf(x[i]) - limit, 0.0f), x[i]);
}
extern "C" __global__ void shrink_grad(const float* x, const float* g, float* d, unsigned n, float limit) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d[i] = fabsf(x[i]) > limit ? g[i] : 0.0f;
}"#;

#[derive(Clone, Debug)]
struct Shrink(f32);

impl CustomOp for Shrink {
    fn name(&self) -> String {
        "shrink".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(inputs.to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        for (y, x) in call.outputs[0].f32()?.iter_mut().zip(call.inputs[0].f32()?) {
            *y = (x.abs() - self.0).max(0.0).copysign(*x);
        }
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Result<Option<DeviceCode>, InvalidOp> {
        let n = call.inputs[0].len();
        let kernel = DeviceKernel::new("shrink", CUDA).threads(n);
        let kernel = kernel.input(0).output(0).value(n as u32);
        // SAFETY: a thread compares its index with the number of elements.
        Ok(Some(unsafe { DeviceCode::new([kernel.value(self.0)]) }))
    }
    fn backward(&self) -> Option<Arc<dyn CustomOp>> {
        Some(Arc::new(ShrinkGrad(self.0)))
    }
}

/// x, dL/dy → dL/dx
#[derive(Debug)]
struct ShrinkGrad(f32);

impl CustomOp for ShrinkGrad {
    fn name(&self) -> String {
        "shrink_grad".to_string()
    }
    fn infer(&self, inputs: &[TensorType]) -> Result<Vec<TensorType>, InvalidOp> {
        Ok(inputs[..1].to_vec())
    }
    fn run(&self, call: &mut HostCall<'_>) -> Result<(), InvalidOp> {
        let given = call.inputs[0].f32()?.iter().zip(call.inputs[1].f32()?);
        for (d, (x, g)) in call.outputs[0].f32()?.iter_mut().zip(given) {
            *d = if x.abs() > self.0 { *g } else { 0.0 };
        }
        Ok(())
    }
    fn device_code(&self, call: &DeviceCall<'_>) -> Result<Option<DeviceCode>, InvalidOp> {
        let n = call.inputs[0].len();
        let kernel = DeviceKernel::new("shrink_grad", CUDA).threads(n);
        let kernel = kernel.input(0).input(1).output(0).value(n as u32);
        // SAFETY: as above.
        Ok(Some(unsafe { DeviceCode::new([kernel.value(self.0)]) }))
    }
}

impl Module for Shrink {
    fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
        Ok(Var::custom(Arc::new(self.clone()), &[x]).swap_remove(0))
    }
}

fn main() -> Result<()> {
    let device = spikelet::device::find("auto", 0)?;
    let net = Sequential::new().add(Flatten).add(Linear::new(784, 10));
    let net = net.add(Shrink(0.1)).add(Lif::new(2.0));
    let digits = spikelet::data::synthetic::digits_of(0, 2_560, 512);
    let trainer = Trainer::new(net, Settings::default()).backend(device);
    let history = trainer.fit(&digits)?.history;
    let loss = |k: usize| history[k].train.loss;
    println!("loss {:.3} → {:.3}", loss(0), loss(history.len() - 1));
    Ok(())
}
