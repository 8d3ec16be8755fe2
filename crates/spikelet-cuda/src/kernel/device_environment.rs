//! The GPU that is current in a thread.

use crate::error::Context as _;
use crate::gpu::{open_context, start_driver};
use crate::library::driver::{Context, CurrentContext};
use spikelet_graph::Result;
use std::fmt;
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
    /// Dropped first: a context is released when it is not current.
    _current: CurrentContext,
    context: Arc<Context>,
}

impl DeviceEnvironment {
    /// Makes the GPU with this index current, such as that of a tensor.
    ///
    /// # Errors
    /// If there is no such GPU, or no driver; the error says how to install it.
    pub fn new(device: usize) -> Result<Self> {
        let name = format!("cuda:{device}");
        let context = open_context(&name, device)?;
        let current = CurrentContext::new(&context).context(&name, "making the GPU current")?;
        Ok(Self {
            _current: current,
            context,
        })
    }

    /// The index of the GPU that is current in this thread, if there is one.
    ///
    /// # Errors
    /// If there is no driver, or it fails.
    pub fn current() -> Result<Option<usize>> {
        let name = "cuda";
        let current = start_driver(name)?.current_gpu();
        current.context(name, "asking for the current GPU")
    }
}

impl fmt::Debug for DeviceEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceEnvironment")
            .field(&self.context.ordinal)
            .finish()
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
                let last = start_driver("cuda").unwrap().count().unwrap() - 1;
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
