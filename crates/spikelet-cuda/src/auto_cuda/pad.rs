//! Tensors of halves with odd sizes: copies with one element more, or one column, for a call.

use super::check::{self, Rows};
use super::{AutoCudaError, CKernel, CudaTensor, Described, Description, Kernel, gather::blocks};
use crate::gpu::Gpu;
use crate::launch::Launch;
use crate::memory::DeviceMemory;
use cudarc::driver::CudaFunction;
use std::sync::Arc;

const SOURCE: &str = include_str!("../text/pad.cu");
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
    padded: DeviceMemory,
    rows: Rows,
    /// Whether what is beyond is zero instead of the last element.
    zero: bool,
    is_output: bool,
}

/// The padded copies of a call.
pub(super) struct Padded {
    copies: Vec<Copy>,
    function: Option<Arc<CudaFunction>>,
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
        function: None,
    };
    for (name, ctype, shape) in check::paired(own, args) {
        let odd = check::padding(own.layout, shape);
        let tensor = given.clone().find(|(key, _)| *key == name);
        let (Some(rows), Some((_, tensor))) = (odd, tensor) else {
            continue;
        };
        let gpu: &Arc<Gpu> = &tensor.cuda.shared.gpu;
        let bytes = rows.rows * (rows.columns + 1) * tensor.element().bytes();
        if padded.function.is_none() {
            padded.function = Some(gpu.function(SOURCE, NAME)?);
        }
        padded.copies.push(Copy {
            name: name.to_string(),
            own: tensor.memory.pointer,
            padded: DeviceMemory::new(gpu, bytes, &format!("`{name}` with an even size"))?,
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
        Some(copy.padded.pointer)
    }

    /// Copies the tensors into their padded copies.
    pub(super) fn fill(&self, gpu: &Gpu) -> Result<(), AutoCudaError> {
        for copy in &self.copies {
            let Rows { columns, .. } = copy.rows;
            self.run(
                gpu,
                copy,
                [copy.own, copy.padded.pointer],
                [columns, columns + 1],
            )?;
        }
        Ok(())
    }

    /// Copies results back into the tensors.
    pub(super) fn put_back(&self, gpu: &Gpu) -> Result<(), AutoCudaError> {
        for copy in self.copies.iter().filter(|copy| copy.is_output) {
            let Rows { columns, .. } = copy.rows;
            self.run(
                gpu,
                copy,
                [copy.padded.pointer, copy.own],
                [columns + 1, columns],
            )?;
        }
        Ok(())
    }

    fn run(
        &self,
        gpu: &Gpu,
        copy: &Copy,
        [from, to]: [u64; 2],
        [from_columns, to_columns]: [usize; 2],
    ) -> Result<(), AutoCudaError> {
        let function = self.function.clone().expect("there is a copy to make");
        let rows = copy.rows.rows;
        let grid = [blocks(rows * to_columns, BLOCK), 1, 1];
        let mut launch = Launch::new(NAME, function, grid, [BLOCK as u32, 1, 1]);
        launch.add([
            from,
            to,
            rows as u64,
            from_columns as u64,
            to_columns as u64,
            u64::from(copy.zero),
        ]);
        // SAFETY: the tensor has `rows` rows of `columns` halves and the copy as many of one more.
        // Freeing either waits for the kernel.
        unsafe { launch.run(gpu) }?;
        Ok(())
    }
}
