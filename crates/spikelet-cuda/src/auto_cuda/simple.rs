//! The numbers of a call that follow from its tensors.

use super::kernel::Layout;
use super::params::{CType, Passing};
use super::{AutoCudaError, Described, Description, Kernel};
use spikelet_graph::ShapeText;

/// Threads of a block in [`simple_call`](super::Callable::simple_call).
pub const THREADS: u32 = 512;

/// Blocks of `threads` threads that are needed for `numel` of them.
///
/// ```
/// assert_eq!(spikelet_cuda::auto_cuda::cal_blocks(1025, 1024), 2);
/// ```
pub fn cal_blocks(numel: usize, threads: u32) -> usize {
    numel.div_ceil(threads.max(1) as usize)
}

/// What a simple call adds to its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// `numel`.
    pub(super) numel: i32,
    /// `N`, for sequences.
    pub(super) n: Option<i32>,
    /// Threads that have something to do.
    pub(super) threads: usize,
}

/// Whether a simple call gives `N` besides `numel`.
pub(super) fn names_n(kernel: &(impl Kernel + ?Sized)) -> Result<bool, AutoCudaError> {
    match kernel.kernel().layout {
        Layout::Free => Err(AutoCudaError::NoLayout {
            kernel: kernel.kernel_name().to_string(),
        }),
        Layout::Elements => Ok(false),
        Layout::Sequence { .. } => Ok(true),
    }
}

/// The counts that follow from the tensors; halves are counted in pairs.
pub(super) fn counts(
    kernel: &(impl Kernel + ?Sized),
    args: &Described<'_>,
) -> Result<Counts, AutoCudaError> {
    if names_n(kernel)? {
        let (mut columns, mut steps) = (Agreement::new(kernel), Agreement::new(kernel));
        for (name, lanes, shape) in tensors(kernel, args) {
            if let [t, n] = shape {
                columns.add(name, shape, n.div_ceil(lanes))?;
                steps.add(name, shape, t.saturating_sub(kernel.extra_steps(name)))?;
            }
        }
        let n = columns.agreed("no tensor [T, N]")?;
        let t = steps.agreed("no tensor [T, N]")?;
        return Ok(Counts {
            numel: as_int(kernel, t.saturating_mul(n), n)?,
            n: Some(as_int(kernel, n, 0)?),
            threads: n,
        });
    }
    let mut sizes = Agreement::new(kernel);
    for (name, lanes, shape) in tensors(kernel, args) {
        let count: usize = shape.iter().product();
        sizes.add(name, shape, count.div_ceil(lanes))?;
    }
    let numel = sizes.agreed("no tensor")?;
    Ok(Counts {
        numel: as_int(kernel, numel, 0)?,
        n: None,
        threads: numel,
    })
}

/// The tensors of pointer parameters: names, halves taken together, shapes.
fn tensors<'a>(
    kernel: &'a (impl Kernel + ?Sized),
    args: &'a Described<'_>,
) -> impl Iterator<Item = (&'a str, usize, &'a [usize])> {
    kernel.cparams().iter().filter_map(|(name, ctype)| {
        let ctype = CType::parse(ctype);
        let lanes = if ctype.is_paired() { 2 } else { 1 };
        match args.get(name.as_str()) {
            Some(Description::Tensor { shape, .. }) if ctype.passing == Passing::Pointer => {
                Some((name.as_str(), lanes, shape.as_slice()))
            }
            _ => None,
        }
    })
}

/// A count that all tensors have to agree on.
struct Agreement<'a, K: ?Sized> {
    kernel: &'a K,
    first: Option<(&'a str, &'a [usize], usize)>,
}

impl<'a, K: Kernel + ?Sized> Agreement<'a, K> {
    fn new(kernel: &'a K) -> Self {
        Self {
            kernel,
            first: None,
        }
    }

    fn add(
        &mut self,
        name: &'a str,
        shape: &'a [usize],
        count: usize,
    ) -> Result<(), AutoCudaError> {
        match self.first {
            Some((first, first_shape, agreed)) if agreed != count => Err(AutoCudaError::Sizes {
                kernel: self.kernel.kernel_name().to_string(),
                first: format!("`{first}` {}", ShapeText(first_shape)),
                second: format!("`{name}` {}", ShapeText(shape)),
            }),
            Some(_) => Ok(()),
            None => {
                self.first = Some((name, shape, count));
                Ok(())
            }
        }
    }

    fn agreed(&self, lacking: &'static str) -> Result<usize, AutoCudaError> {
        let first = self.first.map(|(.., count)| count);
        first.ok_or_else(|| AutoCudaError::NoSize {
            kernel: self.kernel.kernel_name().to_string(),
            lacking,
        })
    }
}

/// A count as the kernel's `int`, which also has to hold the next step's or block's index.
fn as_int(
    kernel: &(impl Kernel + ?Sized),
    count: usize,
    step: usize,
) -> Result<i32, AutoCudaError> {
    let furthest = count.saturating_add(step.max(THREADS as usize));
    match (i32::try_from(furthest), i32::try_from(count)) {
        (Ok(_), Ok(count)) => Ok(count),
        _ => Err(AutoCudaError::TooLarge {
            kernel: kernel.kernel_name().to_string(),
            count,
        }),
    }
}
