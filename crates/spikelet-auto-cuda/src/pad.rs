//! Tensors of halves with odd sizes: copies with one element more, or one column, for a call.

use super::check::{self, Rows};
use super::{AutoCudaError, CKernel, CudaTensor, Described, Description, Kernel, gather::blocks};
use spikelet_cuda::kernel::{LaunchArg, LoadedKernel, RawBuffer, StreamLock};

const SOURCE: &str = include_str!("pad.cu");
const NAME: &str = "pad";
const BLOCK: usize = 256;

/// The arguments as they are when odd tensors are padded.
pub(super) fn described<'a>(kernel: &CKernel, args: &Described<'a>) -> Described<'a> {
    let mut padded = args.clone();
    for (name, _, shape) in check::paired(kernel, args) {
        let odd = check::padding(kernel.layout, shape);
        if let (Some(Rows { rows, columns }), Some(Description::Tensor { shape, strides, .. })) =
            (odd, padded.get_mut(name))
        {
            *shape = vec![rows, columns + 1];
            *strides = vec![columns + 1, 1];
        }
    }
    padded
}

/// A tensor and its padded copy.
struct Copy {
    name: String,
    own: u64,
    padded: RawBuffer,
    rows: Rows,
    /// Whether what is beyond is zero instead of the last element.
    zero: bool,
    is_output: bool,
}

/// The padded copies of a call.
pub(super) struct Padded {
    copies: Vec<Copy>,
    pad: Option<LoadedKernel>,
}

/// Allocates the copies that a call needs.
pub(super) fn tensors<'a, K: Kernel + ?Sized>(
    kernel: &K,
    args: &Described<'_>,
    given: impl Iterator<Item = (&'a str, &'a CudaTensor)> + Clone,
) -> Result<Padded, AutoCudaError> {
    let own = kernel.kernel();
    let mut padded = Padded {
        copies: vec![],
        pad: None,
    };
    for (name, ctype, shape) in check::paired(own, args) {
        let odd = check::padding(own.layout, shape);
        let tensor = given.clone().find(|(key, _)| *key == name);
        let (Some(rows), Some((_, tensor))) = (odd, tensor) else {
            continue;
        };
        let cuda = tensor.memory.cuda();
        let bytes = rows.rows * (rows.columns + 1) * tensor.element().bytes();
        if padded.pad.is_none() {
            padded.pad = Some(LoadedKernel::new(cuda, SOURCE, NAME)?);
        }
        padded.copies.push(Copy {
            name: name.to_string(),
            own: tensor.memory.address(),
            padded: RawBuffer::new(cuda, bytes, &format!("`{name}` with an even size"))?,
            rows,
            zero: kernel.zero_padded().contains(&name),
            is_output: ctype.is_output(),
        });
    }
    Ok(padded)
}

impl Padded {
    /// The address of a parameter's padded copy, if there is one.
    pub(super) fn address(&self, name: &str) -> Option<u64> {
        let copy = self.copies.iter().find(|copy| copy.name == name)?;
        Some(copy.padded.address())
    }

    /// Copies the tensors into their padded copies.
    pub(super) fn fill(&self, stream: &StreamLock<'_>) -> Result<(), AutoCudaError> {
        for copy in &self.copies {
            let Rows { columns, .. } = copy.rows;
            self.run(
                stream,
                copy,
                [copy.own, copy.padded.address()],
                [columns, columns + 1],
            )?;
        }
        Ok(())
    }

    /// Copies results back into the tensors.
    pub(super) fn put_back(&self, stream: &StreamLock<'_>) -> Result<(), AutoCudaError> {
        for copy in self.copies.iter().filter(|copy| copy.is_output) {
            let Rows { columns, .. } = copy.rows;
            self.run(
                stream,
                copy,
                [copy.padded.address(), copy.own],
                [columns + 1, columns],
            )?;
        }
        Ok(())
    }

    fn run(
        &self,
        stream: &StreamLock<'_>,
        copy: &Copy,
        [from, to]: [u64; 2],
        [from_columns, to_columns]: [usize; 2],
    ) -> Result<(), AutoCudaError> {
        let kernel = self.pad.as_ref().expect("loaded with the first copy");
        let rows = copy.rows.rows;
        let grid = [blocks(rows * to_columns, BLOCK), 1, 1];
        let arguments = [
            LaunchArg::Address(from),
            LaunchArg::Address(to),
            LaunchArg::Size(rows as u64),
            LaunchArg::Size(from_columns as u64),
            LaunchArg::Size(to_columns as u64),
            LaunchArg::Size(u64::from(copy.zero)),
        ];
        // SAFETY: the tensor has `rows` rows of `columns` halves and the copy as many of one more.
        // Freeing either waits for the kernel.
        unsafe { stream.launch(kernel, grid, [BLOCK as u32, 1, 1], 0, &arguments) }?;
        Ok(())
    }
}
