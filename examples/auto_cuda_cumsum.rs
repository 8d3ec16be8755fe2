//! A kernel over sequences: the cumsum program of SpikingJelly's auto_cuda reference.

use spikelet::auto_cuda::{AutoCudaError, CKernel2D, Callable, CudaTensor, Element, Kernel};
use spikelet::auto_cuda::{THREADS, cal_blocks};
use spikelet::device;

fn main() -> Result<(), AutoCudaError> {
    let mut cumsum = CKernel2D::new("cumsum", false);
    cumsum.add_param("const float *", "x")?;
    cumsum.add_param("float *", "y")?;
    cumsum.set_core(
        "if (t - dt < 0)
         {
             y[t] = x[t];
         }
         else
         {
             y[t] = x[t] + y[t - dt];
         }",
    );
    println!("{}", cumsum.full_codes());

    let gpu = match device::cuda(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("There is no GPU to run it on: {error}");
            return Ok(());
        }
    };
    let (t, n) = (4, 3);
    let values: Vec<f32> = (0..t * n).map(|k| (k * 7 % 4) as f32).collect();
    let x = CudaTensor::new(&gpu, [t, n], &values)?;
    let y = CudaTensor::zeros(&gpu, Element::F32, [t, n])?;

    // All arguments, blocks and threads given explicitly …
    let blocks = cal_blocks(n, THREADS) as u32;
    let (numel, columns) = ((t * n) as i32, n as i32);
    let counts = [("numel", numel.into()), ("N", columns.into())];
    let tensors = [("x", (&x).into()), ("y", (&y).into())];
    // SAFETY: `t` stays in the column of a thread whose index is less than N, in both tensors [T, N].
    unsafe { cumsum.call(blocks, THREADS, &[counts, tensors].concat()) }?;
    // … or derived from the tensors.
    // SAFETY: as above.
    unsafe { cumsum.simple_call(&tensors) }?;
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
