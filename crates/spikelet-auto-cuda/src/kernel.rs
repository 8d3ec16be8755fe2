//! The text of a kernel.

use super::attribute::Attribute;
use super::indent::indented;
use super::params::is_identifier;
use super::sections::Sections;
use super::{AutoCudaError, CKernel, Described, Dims};
use spikelet_expr::cuda::{called, library};
use std::collections::BTreeMap;

/// The most threads of a block.
pub(super) const MAX_THREADS: u32 = 1024;

/// The distribution of the work over a kernel's threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Defined by the core.
    Free,
    /// A thread processes the element `index` of `numel`.
    Elements,
    /// A thread processes the column `index` of `N`, and `t` iterates over its elements.
    Sequence {
        /// From the last time step to the first.
        reverse: bool,
    },
}

/// A kernel that can be printed and called.
///
/// [`CKernel`], [`CKernel1D`](super::CKernel1D) and [`CKernel2D`](super::CKernel2D) have
/// cores that are set as texts. For a custom kernel, wrap one of them in a struct and override the methods
/// that differ:
///
/// ```
/// use spikelet_auto_cuda::{AutoCudaError, CKernel, CKernel1D, Dtype, Kernel, cfunction};
///
/// struct Scale(CKernel1D, f64);
///
/// impl Scale {
///     fn new(factor: f64) -> Result<Self, AutoCudaError> {
///         let mut kernel = CKernel1D::new("scale");
///         kernel.add_param("const float *", "x")?;
///         kernel.add_param("float *", "y")?;
///         Ok(Self(kernel, factor))
///     }
/// }
///
/// impl Kernel for Scale {
///     fn kernel(&self) -> &CKernel {
///         &self.0
///     }
///     fn kernel_mut(&mut self) -> &mut CKernel {
///         &mut self.0
///     }
///     fn core(&self) -> String {
///         let factor = cfunction::constant(None, self.1, Dtype::Float);
///         cfunction::mul("y[index]", "x[index]", &factor, Dtype::Float)
///     }
/// }
///
/// let text = Scale::new(3.0)?.full_codes();
/// assert!(text.contains("y[index] = x[index] * (3.0f);"));
/// # Ok::<(), AutoCudaError>(())
/// ```
pub trait Kernel {
    /// Name, parameters, layout, and the texts that were set.
    fn kernel(&self) -> &CKernel;

    /// The same, to be changed.
    fn kernel_mut(&mut self) -> &mut CKernel;

    /// The statements for each element or time step.
    fn core(&self) -> String {
        self.kernel().core.clone()
    }

    /// The statements before the loop over time steps.
    fn pre_core(&self) -> String {
        self.kernel().pre_core.clone()
    }

    /// The statements after the loop over time steps.
    fn post_core(&self) -> String {
        self.kernel().post_core.clone()
    }

    /// Statements at the start, executed by all threads of a block, including those without an element;
    /// for cooperation between the threads of a block.
    fn prologue(&self) -> String {
        String::new()
    }

    /// Statements at the end, executed by all threads of a block, including those without an element.
    fn epilogue(&self) -> String {
        String::new()
    }

    /// Device functions before the kernel.
    ///
    /// The functions of [`spikelet_expr::cuda::library`] that the text calls are added automatically.
    fn preamble(&self) -> String {
        self.kernel().preamble.clone()
    }

    /// Parameters whose f16 tensors are padded with zeros instead of their last elements.
    fn zero_padded(&self) -> &[&str] {
        &[]
    }

    /// The number of time steps that a parameter's sequence has in addition to the others.
    fn extra_steps(&self, _cname: &str) -> usize {
        0
    }

    /// The last check of a call, with the sizes of padded tensors: for kernels with requirements on sizes.
    ///
    /// # Errors
    /// If an argument does not meet them.
    fn check_arguments(&self, _grid: Dims, _args: &Described<'_>) -> Result<(), AutoCudaError> {
        Ok(())
    }

    /// The value of an attribute, for [`Kernel::check_attributes`].
    fn attribute(&self, name: &str) -> Option<Attribute> {
        let kernel = self.kernel();
        Some(match (name, kernel.layout) {
            ("kernel_name", _) => kernel.kernel_name.as_str().into(),
            ("core", _) => self.core().into(),
            ("pre_core", _) => self.pre_core().into(),
            ("post_core", _) => self.post_core().into(),
            ("preamble", _) => self.preamble().into(),
            ("reverse", Layout::Sequence { reverse }) => reverse.into(),
            _ => return None,
        })
    }

    /// The kernel's name.
    fn kernel_name(&self) -> &str {
        &self.kernel().kernel_name
    }

    /// The parameters' C types by name, in the order of the text and of the call: by the bytes of the
    /// names, upper case first.
    fn cparams(&self) -> &BTreeMap<String, String> {
        &self.kernel().cparams
    }

    /// Threads of a block in calls that compute the number of blocks, and in networks.
    fn threads(&self) -> u32 {
        self.kernel().threads
    }

    /// Sets the threads of a block, [`THREADS`](super::THREADS) by default.
    ///
    /// # Errors
    /// If there are none, or more than 1024, the maximum of a block.
    ///
    /// ```
    /// use spikelet_auto_cuda::{CKernel1D, Kernel};
    /// let mut kernel = CKernel1D::new("heaviside");
    /// kernel.set_threads(128)?;
    /// assert_eq!(kernel.threads(), 128);
    /// assert!(kernel.set_threads(1025).is_err());
    /// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
    /// ```
    fn set_threads(&mut self, threads: u32) -> Result<(), AutoCudaError> {
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(AutoCudaError::Threads {
                kernel: self.kernel_name().to_string(),
                given: threads,
            });
        }
        self.kernel_mut().threads = threads;
        Ok(())
    }

    /// The names of the kernel's variables, which parameters must not have.
    fn reserved_cnames(&self) -> &[&'static str] {
        &self.kernel().reserved_cnames
    }

    /// Adds a parameter. The order in which parameters are added does not matter.
    ///
    /// # Errors
    /// If the name is not an identifier, is reserved or already used, or if the type is empty.
    fn add_param(&mut self, ctype: &str, cname: &str) -> Result<(), AutoCudaError> {
        let kernel = self.kernel_mut();
        let name = || kernel.kernel_name.clone();
        let ctype = ctype.trim();
        if !is_identifier(cname) || ctype.is_empty() {
            return Err(AutoCudaError::Declaration {
                kernel: name(),
                ctype: ctype.to_string(),
                cname: cname.to_string(),
            });
        }
        if kernel.reserved_cnames.contains(&cname) {
            return Err(AutoCudaError::ReservedName {
                kernel: name(),
                cname: cname.to_string(),
                reserved: kernel.reserved_cnames.join(", "),
            });
        }
        if let Some(known) = kernel.cparams.get(cname) {
            return Err(AutoCudaError::RepeatedName {
                kernel: name(),
                cname: cname.to_string(),
                known: known.clone(),
                given: ctype.to_string(),
            });
        }
        kernel.cparams.insert(cname.to_string(), ctype.to_string());
        Ok(())
    }

    /// Includes, device functions and the kernel's signature.
    fn declaration(&self) -> String {
        let mut sections = Sections::plain();
        declaration(self, &mut sections);
        sections.finish()
    }

    /// The text from the opening brace to the core.
    fn head(&self) -> String {
        let mut sections = Sections::plain();
        head(self, &mut sections);
        sections.finish()
    }

    /// The text from the core to the closing brace.
    fn tail(&self) -> String {
        let mut sections = Sections::plain();
        tail(self, &mut sections);
        sections.finish()
    }

    /// The complete text; with the marks of [`Kernel::full_codes_marked`] if `tracing` is at the level debug.
    fn full_codes(&self) -> String {
        if tracing::enabled!(tracing::Level::DEBUG) {
            self.full_codes_marked()
        } else {
            full_codes(self, Sections::plain())
        }
    }

    /// The complete text, with a mark at the start and at the end of each section.
    fn full_codes_marked(&self) -> String {
        full_codes(self, Sections::marked())
    }

    /// Whether all these attributes have these values.
    ///
    /// # Errors
    /// If the kernel has no attribute with one of the names.
    ///
    /// ```
    /// use spikelet_auto_cuda::{CKernel2D, Kernel};
    /// let kernel = CKernel2D::new("cumsum", false);
    /// assert!(kernel.check_attributes(&[("reverse", false.into())])?);
    /// assert!(!kernel.check_attributes(&[("kernel_name", "sum".into())])?);
    /// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
    /// ```
    fn check_attributes(&self, attributes: &[(&str, Attribute)]) -> Result<bool, AutoCudaError> {
        let mut same = true;
        for (name, value) in attributes {
            let own = self
                .attribute(name)
                .ok_or_else(|| AutoCudaError::Attribute {
                    kernel: self.kernel_name().to_string(),
                    attribute: name.to_string(),
                })?;
            same &= own == *value;
        }
        Ok(same)
    }
}

/// The text that is compiled: without marks, independent of the log level.
pub(super) fn source(kernel: &(impl Kernel + ?Sized)) -> String {
    full_codes(kernel, Sections::plain())
}

fn full_codes(kernel: &(impl Kernel + ?Sized), mut sections: Sections) -> String {
    sections.section("declaration", |s| declaration(kernel, s));
    sections.section("head", |s| head(kernel, s));
    let level = match kernel.kernel().layout {
        Layout::Free => 1,
        Layout::Elements => 2,
        Layout::Sequence { .. } => 3,
    };
    sections.section("core", |s| s.push(&indented(&kernel.core(), level)));
    sections.section("tail", |s| tail(kernel, s));
    sections.finish()
}

fn declaration(kernel: &(impl Kernel + ?Sized), sections: &mut Sections) {
    let own = kernel.preamble();
    let texts = [
        own.clone(),
        kernel.prologue(),
        kernel.pre_core(),
        kernel.core(),
        kernel.post_core(),
        kernel.epilogue(),
    ];
    let functions = called(&texts.join("\n"));
    sections.push("#include <cuda_fp16.h>\n");
    sections.push(&library(&functions));
    sections.push(&indented(&own, 0));
    let name = kernel.kernel_name();
    sections.push(&format!("extern \"C\" __global__\nvoid {name}(\n"));
    let params: Vec<String> = kernel
        .cparams()
        .iter()
        .map(|(cname, ctype)| format!("    {ctype} {cname}"))
        .collect();
    sections.push(&params.join(",\n"));
    sections.push("\n)\n");
}

fn head(kernel: &(impl Kernel + ?Sized), sections: &mut Sections) {
    let layout = kernel.kernel().layout;
    // An empty kernel without a layout is `{}`, as the reference prints it.
    let prologue = indented(&kernel.prologue(), 1);
    if layout == Layout::Free {
        sections.push("{");
        if !(prologue + &kernel.core() + &kernel.epilogue())
            .trim()
            .is_empty()
        {
            sections.push("\n");
            sections.push(&indented(&kernel.prologue(), 1));
        }
        return;
    }
    sections.push("{\n    const int index = blockIdx.x * blockDim.x + threadIdx.x;\n");
    sections.push(&prologue);
    match layout {
        Layout::Free => {}
        Layout::Elements => sections.push("    if (index < numel)\n    {\n"),
        Layout::Sequence { reverse } => {
            sections.push("    if (index < N)\n    {\n        const int dt = N;\n");
            sections.section("pre_core", |s| s.push(&indented(&kernel.pre_core(), 2)));
            sections.push(if reverse {
                "        for(int t = numel - N + index; t >= 0; t -= dt)\n        {\n"
            } else {
                "        for(int t = index; t < numel; t += dt)\n        {\n"
            });
        }
    }
}

fn tail(kernel: &(impl Kernel + ?Sized), sections: &mut Sections) {
    match kernel.kernel().layout {
        Layout::Free => {}
        Layout::Elements => sections.push("    }\n"),
        Layout::Sequence { .. } => {
            sections.push("        }\n");
            sections.section("post_core", |s| s.push(&indented(&kernel.post_core(), 2)));
            sections.push("    }\n");
        }
    }
    sections.push(&indented(&kernel.epilogue(), 1));
    sections.push("}\n");
}
