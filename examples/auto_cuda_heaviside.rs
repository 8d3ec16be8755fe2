//! An elementwise kernel: the heaviside program of SpikingJelly's auto_cuda reference.

use spikelet::auto_cuda::{AutoCudaError, CKernel1D, Callable, CudaTensor, Element, Kernel};
use spikelet::auto_cuda::{THREADS, cal_blocks};
use spikelet::device;

fn main() -> Result<(), AutoCudaError> {
    let mut heaviside = CKernel1D::new("heaviside");
    heaviside.add_param("const float *", "x")?;
    heaviside.add_param("float *", "y")?;
    heaviside.set_core("y[index] = x[index] >= 0.0f ? 1.0f: 0.0f;");
    println!("{}", heaviside.full_codes());

    let gpu = match device::cuda(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("There is no GPU to run it on: {error}");
            return Ok(());
        }
    };
    let values: Vec<f32> = (0..16).map(|k| (k * 7 % 16) as f32 / 16.0 - 0.5).collect();
    let x = CudaTensor::new(&gpu, [4, 4], &values)?;
    let y = CudaTensor::zeros(&gpu, Element::F32, [4, 4])?;

    // All arguments, blocks and threads given explicitly …
    let numel = x.len();
    let blocks = cal_blocks(numel, THREADS) as u32;
    let args = [
        ("numel", (numel as i32).into()),
        ("x", (&x).into()),
        ("y", (&y).into()),
    ];
    // SAFETY: `index` is less than `numel`, the number of elements of both tensors.
    unsafe { heaviside.call(blocks, THREADS, &args) }?;
    // … or derived from the tensors.
    // SAFETY: as above.
    unsafe { heaviside.simple_call(&[("x", (&x).into()), ("y", (&y).into())]) }?;
    print("x", &x)?;
    print("y", &y)
}

fn print(name: &str, tensor: &CudaTensor) -> Result<(), AutoCudaError> {
    println!("{name} =");
    for row in tensor.to_vec::<f32>()?.chunks(tensor.shape()[1]) {
        println!("{row:?}");
    }
    Ok(())
}
