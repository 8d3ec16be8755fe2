//! The counts of a call, computed from its tensors.

use super::argument::count;
use super::kernel::{Layout, MAX_THREADS};
use super::params::{CType, Passing};
use super::{AutoCudaError, Described, Description, Kernel};
use spikelet_graph::ShapeText;

/// Threads of a block in [`simple_call`](super::Callable::simple_call) and in the autograd functions,
/// unless [`Kernel::set_threads`] says otherwise.
pub const THREADS: u32 = 512;

/// The number of blocks of `threads` threads for `numel` threads in total.
///
/// ```
/// assert_eq!(spikelet_auto_cuda::cal_blocks(1025, 1024), 2);
/// ```
pub fn cal_blocks(numel: usize, threads: u32) -> usize {
    numel.div_ceil(threads.max(1) as usize)
}

/// As [`cal_blocks`], checked against the limit of a grid.
pub(super) fn blocks_of(
    kernel: &(impl Kernel + ?Sized),
    numel: usize,
    threads: u32,
) -> Result<u32, AutoCudaError> {
    let blocks = u32::try_from(cal_blocks(numel, threads));
    blocks.map_err(|_| AutoCudaError::TooLarge {
        kernel: kernel.kernel_name().to_string(),
        count: numel,
    })
}

/// The arguments that a simple call adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    /// `numel`.
    pub(super) numel: i32,
    /// `N`, for sequences.
    pub(super) n: Option<i32>,
    /// Threads with an element or column.
    pub(super) threads: usize,
}

/// Whether a simple call passes `N` in addition to `numel`.
pub(super) fn names_n(kernel: &(impl Kernel + ?Sized)) -> Result<bool, AutoCudaError> {
    match kernel.kernel().layout {
        Layout::Free => Err(AutoCudaError::NoLayout {
            kernel: kernel.kernel_name().to_string(),
        }),
        Layout::Elements => Ok(false),
        Layout::Sequence { .. } => Ok(true),
    }
}

/// The counts of the tensors; f16 elements are counted in pairs.
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
        sizes.add(name, shape, count(shape).div_ceil(lanes))?;
    }
    let numel = sizes.agreed("no tensor")?;
    Ok(Counts {
        numel: as_int(kernel, numel, 0)?,
        n: None,
        threads: numel,
    })
}

/// The tensors of pointer parameters: names, elements counted as one, shapes.
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

/// A count that must be the same for all tensors.
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

/// A count as the kernel's `int`, which must also represent the index of the next step or block.
fn as_int(
    kernel: &(impl Kernel + ?Sized),
    count: usize,
    step: usize,
) -> Result<i32, AutoCudaError> {
    let furthest = count.saturating_add(step.max(MAX_THREADS as usize));
    match (i32::try_from(furthest), i32::try_from(count)) {
        (Ok(_), Ok(count)) => Ok(count),
        _ => Err(AutoCudaError::TooLarge {
            kernel: kernel.kernel_name().to_string(),
            count,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CKernel, CKernel1D, CKernel2D, Element};

    fn tensor(element: Element, shape: &[usize]) -> Description {
        Description::Tensor {
            element,
            shape: shape.to_vec(),
            strides: vec![1; shape.len()],
            device: 0,
        }
    }

    fn with<K: Kernel>(mut kernel: K, params: &[(&str, &str)]) -> K {
        for (ctype, cname) in params {
            kernel.add_param(ctype, cname).unwrap();
        }
        kernel
    }

    #[test]
    fn halves_are_counted_in_pairs() {
        let kernel = with(
            CKernel1D::new("k"),
            &[("const half2 *", "x"), ("half2 *", "y")],
        );
        for (shape, numel) in [(vec![2, 3], 3), (vec![5], 3), (vec![], 1), (vec![0], 0)] {
            let args = ["x", "y"].map(|name| (name, tensor(Element::F16, &shape)));
            let counts = counts(&kernel, &args.into()).unwrap();
            let threads = numel as usize;
            assert_eq!(
                counts,
                Counts {
                    numel,
                    n: None,
                    threads
                }
            );
        }
    }

    #[test]
    fn sequences_are_counted_by_steps_and_columns() {
        let kernel = with(
            CKernel2D::new("k", false),
            &[
                ("const half2 *", "x"),
                ("const half2 *", "b"),
                ("const float *", "w"),
            ],
        );
        let args = |columns: usize| {
            Described::from([
                ("x", tensor(Element::F16, &[4, 5])),
                ("b", tensor(Element::F16, &[5])),
                ("w", tensor(Element::F32, &[4, columns])),
            ])
        };
        let expected = Counts {
            numel: 12,
            n: Some(3),
            threads: 3,
        };
        assert_eq!(counts(&kernel, &args(3)).unwrap(), expected);
        let error = counts(&kernel, &args(5)).unwrap_err();
        assert!(matches!(error, AutoCudaError::Sizes { .. }), "{error}");
    }

    #[test]
    fn missing_and_too_large_sizes_are_rejected() {
        let kernel = with(CKernel1D::new("k"), &[("float *", "y"), ("float &", "a")]);
        let large = i32::MAX as usize - 100; // the next block overflows
        let given = |y| Described::from([("y", y), ("a", Description::Float(1.0))]);
        let error = counts(&kernel, &given(tensor(Element::F32, &[large]))).unwrap_err();
        assert!(matches!(error, AutoCudaError::TooLarge { .. }), "{error}");
        let error = counts(&kernel, &given(Description::Float(1.0))).unwrap_err();
        assert!(matches!(error, AutoCudaError::NoSize { .. }), "{error}");
        let error = counts(&CKernel::new("k"), &Described::new()).unwrap_err();
        assert!(matches!(error, AutoCudaError::NoLayout { .. }), "{error}");
    }

    #[test]
    fn an_additional_step_of_a_sequence_is_not_counted() {
        struct WithStart(CKernel2D);

        impl Kernel for WithStart {
            fn kernel(&self) -> &CKernel {
                &self.0
            }
            fn kernel_mut(&mut self) -> &mut CKernel {
                &mut self.0
            }
            fn extra_steps(&self, cname: &str) -> usize {
                usize::from(cname == "v")
            }
        }

        let params = [("const float *", "x"), ("float *", "v")];
        let kernel = with(WithStart(CKernel2D::new("k", false)), &params);
        let args = |steps| {
            Described::from([
                ("x", tensor(Element::F32, &[4, 3])),
                ("v", tensor(Element::F32, &[steps, 3])),
            ])
        };
        assert_eq!(counts(&kernel, &args(5)).unwrap().numel, 12);
        assert!(counts(&kernel, &args(4)).is_err());
    }
}
