//! The three kinds of kernels whose cores are set as texts.

use super::Kernel;
use super::kernel::Layout;
use super::simple::THREADS;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

/// A kernel with a name and parameters; the core is the complete body.
///
/// ```
/// use spikelet_auto_cuda::{CKernel, Kernel};
/// let kernel = CKernel::new("example_ck");
/// assert!(kernel.full_codes().ends_with("void example_ck(\n\n)\n{}\n"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CKernel {
    pub(super) kernel_name: String,
    pub(super) cparams: BTreeMap<String, String>,
    pub(super) reserved_cnames: Vec<&'static str>,
    pub(super) layout: Layout,
    pub(super) threads: u32,
    pub(super) core: String,
    pub(super) pre_core: String,
    pub(super) post_core: String,
    pub(super) preamble: String,
}

impl CKernel {
    /// An empty kernel without parameters. Its name must be an identifier.
    pub fn new(kernel_name: impl Into<String>) -> Self {
        Self::with_layout(kernel_name.into(), Layout::Free, &[], &[])
    }

    fn with_layout(
        kernel_name: String,
        layout: Layout,
        params: &[&str],
        reserved_cnames: &[&'static str],
    ) -> Self {
        let param = |name: &&str| (name.to_string(), "const int &".to_string());
        Self {
            kernel_name,
            cparams: params.iter().map(param).collect(),
            reserved_cnames: reserved_cnames.to_vec(),
            layout,
            threads: THREADS,
            core: String::new(),
            pre_core: String::new(),
            post_core: String::new(),
            preamble: String::new(),
        }
    }

    /// The distribution of the work over its threads.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Sets the statements for each element or time step.
    pub fn set_core(&mut self, text: impl Into<String>) {
        self.core = text.into();
    }

    /// Sets the statements before the loop over time steps of a [`CKernel2D`].
    pub fn set_pre_core(&mut self, text: impl Into<String>) {
        self.pre_core = text.into();
    }

    /// Sets the statements after the loop over time steps of a [`CKernel2D`].
    pub fn set_post_core(&mut self, text: impl Into<String>) {
        self.post_core = text.into();
    }

    /// Sets the device functions before the kernel.
    pub fn set_preamble(&mut self, text: impl Into<String>) {
        self.preamble = text.into();
    }

    /// Takes more names from those that parameters can have.
    pub(super) fn reserve(&mut self, names: &[&'static str]) {
        self.reserved_cnames.extend(names);
    }
}

impl Kernel for CKernel {
    fn kernel(&self) -> &CKernel {
        self
    }

    fn kernel_mut(&mut self) -> &mut CKernel {
        self
    }
}

/// An elementwise kernel: its core is run for each `index` below `numel`.
///
/// `numel` (`const int &`) is a parameter from the start, `index` is reserved. All tensors are
/// taken as one-dimensional; for `half2`, `index` and `numel` count pairs.
///
/// ```
/// use spikelet_auto_cuda::{CKernel1D, Kernel};
/// let mut heaviside = CKernel1D::new("heaviside");
/// heaviside.add_param("const float *", "x")?;
/// heaviside.add_param("float *", "y")?;
/// heaviside.set_core("y[index] = x[index] >= 0.0f ? 1.0f: 0.0f;");
/// assert!(heaviside.full_codes().contains("if (index < numel)"));
/// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CKernel1D(CKernel);

impl CKernel1D {
    /// A kernel that does nothing yet. Its name has to be an identifier.
    pub fn new(kernel_name: impl Into<String>) -> Self {
        Self(CKernel::with_layout(
            kernel_name.into(),
            Layout::Elements,
            &["numel"],
            &["index"],
        ))
    }
}

/// A kernel over sequences `[T, N]`: a thread takes the column `index` and goes through its time
/// steps.
///
/// `N` and `numel`, which is T·N, are parameters from the start (`const int &`); `index`, `dt` and
/// `t` are reserved. The core is run for each step: `x[t]` is the element of this step,
/// `x[t + dt]` that of the next one. With `reverse` it starts at the last step. For `half2`, `N`
/// and `numel` count pairs of neighbors in the second dimension.
///
/// ```
/// use spikelet_auto_cuda::{CKernel2D, Kernel};
/// let mut cumsum = CKernel2D::new("cumsum", false);
/// cumsum.add_param("const float *", "x")?;
/// cumsum.add_param("float *", "y")?;
/// cumsum.set_core("y[t] = t - dt < 0 ? x[t] : x[t] + y[t - dt];");
/// assert!(cumsum.full_codes().contains("for(int t = index; t < numel; t += dt)"));
/// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CKernel2D(CKernel);

impl CKernel2D {
    /// An empty kernel; with `reverse` from the last time step to the first. Its name must be an
    /// identifier.
    pub fn new(kernel_name: impl Into<String>, reverse: bool) -> Self {
        Self(CKernel::with_layout(
            kernel_name.into(),
            Layout::Sequence { reverse },
            &["numel", "N"],
            &["index", "dt", "t"],
        ))
    }
}

macro_rules! is_a_kernel {
    ($kind:ty) => {
        impl Deref for $kind {
            type Target = CKernel;

            fn deref(&self) -> &CKernel {
                &self.0
            }
        }

        impl DerefMut for $kind {
            fn deref_mut(&mut self) -> &mut CKernel {
                &mut self.0
            }
        }

        impl Kernel for $kind {
            fn kernel(&self) -> &CKernel {
                &self.0
            }

            fn kernel_mut(&mut self) -> &mut CKernel {
                &mut self.0
            }
        }
    };
}

is_a_kernel!(CKernel1D);
is_a_kernel!(CKernel2D);
