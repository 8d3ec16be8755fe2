//! The GPU that is current in a thread.

use crate::error::{Context, failure};
use crate::library::{self, Library};
use cudarc::driver::sys::{CUcontext, cuCtxGetDevice};
use cudarc::driver::{CudaContext, result};
use spikelet_graph::Result;
use std::fmt;
use std::ptr;
use std::sync::Arc;

/// Makes a GPU current in this thread, and the one before it again when dropped (SpikingJelly's
/// `DeviceEnvironment`).
///
/// A [`Cuda`](crate::Cuda) makes its own GPU current before each call, so kernels and tensors need no environment. Code
/// that calls the driver itself, or another library of CUDA in the same thread, works on the current GPU: it gets the
/// chosen one inside an environment, and after it the one that it had.
///
/// ```no_run
/// use spikelet_cuda::kernel::DeviceEnvironment;
/// let before = DeviceEnvironment::current()?;
/// {
///     let _environment = DeviceEnvironment::new(1)?;
///     assert_eq!(DeviceEnvironment::current()?, Some(1));
/// }
/// assert_eq!(DeviceEnvironment::current()?, before);
/// # Ok::<(), spikelet_graph::Error>(())
/// ```
#[must_use = "the GPU is current until the environment is dropped"]
pub struct DeviceEnvironment {
    /// None after the drop.
    context: Option<Arc<CudaContext>>,
    /// That of the thread before; null if it had none. A pointer, so that the environment stays in its thread.
    before: CUcontext,
}

impl DeviceEnvironment {
    /// Makes the GPU with this index current, such as that of a tensor.
    ///
    /// # Errors
    /// If there is no such GPU, or no driver; the error says how to install it.
    pub fn new(device: usize) -> Result<Self> {
        let name = format!("cuda:{device}");
        find_driver(&name)?;
        let count = CudaContext::device_count().context(&name, "counting GPUs")?;
        if device >= count.max(0) as usize {
            let problem = format!("no such GPU; this machine has {count}");
            return Err(failure(&name, problem));
        }
        let before = result::ctx::get_current().context(&name, "asking for the current GPU")?;
        let context = CudaContext::new(device).context(&name, "making the GPU current")?;
        Ok(Self {
            context: Some(context),
            before: before.unwrap_or(ptr::null_mut()),
        })
    }

    /// The index of the GPU that is current in this thread, if there is one.
    ///
    /// # Errors
    /// If there is no driver, or it fails.
    pub fn current() -> Result<Option<usize>> {
        let name = "cuda";
        find_driver(name)?;
        result::init().context(name, "starting the driver")?;
        let context = result::ctx::get_current().context(name, "asking for the current GPU")?;
        if context.is_none() {
            return Ok(None);
        }
        let mut device = 0;
        // SAFETY: the pointer is that of a variable, and the thread has a current context.
        let found = unsafe { cuCtxGetDevice(&mut device) }.result();
        found.context(name, "asking for the current GPU")?;
        Ok(usize::try_from(device).ok())
    }
}

fn find_driver(device: &str) -> Result<()> {
    let found = library::find(Library::Driver);
    found.map_err(|missing| failure(device, missing.to_string()))?;
    Ok(())
}

impl Drop for DeviceEnvironment {
    fn drop(&mut self) {
        // Releasing a context makes it current once more.
        self.context = None;
        // SAFETY: null, or the context that was current; one that was destroyed since is refused by the driver.
        if let Err(error) = unsafe { result::ctx::set_current(self.before) } {
            tracing::warn!("the GPU that was current before cannot be made current again: {error}");
        }
    }
}

impl fmt::Debug for DeviceEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.context.as_ref().map(|context| context.ordinal());
        f.debug_tuple("DeviceEnvironment").field(&device).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_gpu_that_is_not_there_is_an_error_that_names_it() {
        let error = DeviceEnvironment::new(1 << 20).expect_err("no machine has so many");
        assert!(error.to_string().contains("cuda:1048576"), "{error}");
    }

    #[test]
    #[ignore = "needs an NVIDIA GPU"]
    fn a_gpu_is_current_inside_an_environment_only() {
        // A thread of its own has no current GPU.
        let thread = thread::spawn(|| {
            assert_eq!(DeviceEnvironment::current().unwrap(), None);
            {
                let _outer = DeviceEnvironment::new(0).unwrap();
                assert_eq!(DeviceEnvironment::current().unwrap(), Some(0));
                let last = CudaContext::device_count().unwrap() as usize - 1;
                {
                    let _inner = DeviceEnvironment::new(last).unwrap();
                    assert_eq!(DeviceEnvironment::current().unwrap(), Some(last));
                }
                assert_eq!(DeviceEnvironment::current().unwrap(), Some(0));
                // A backend makes its own GPU current.
                let _gpu = crate::Cuda::new(last).unwrap();
            }
            assert_eq!(DeviceEnvironment::current().unwrap(), None);
        });
        thread.join().unwrap();
    }
}
