//! One product, its operands and its tiles.

use super::kernel::{MatrixProduct, Right};
use super::operand::{MatrixLayout, Strided};
use super::tile::{Split, Tiles};
use super::{GemmLibrary, Rounding};
use crate::lanes::Lanes;
use crate::memory::SharedSlice;
use crate::parallel;
use spikelet_expr::Evaluate;
use std::ffi::c_int;

/// The matrix B of a product.
#[derive(Clone, Copy)]
pub(crate) enum Factor<'a, T> {
    Matrix(Strided<'a, T>),
    /// By [`super::pack`]: for a matrix of several products.
    Packed(&'a [T]),
}

/// C ← A·B, or C ← C + A·B; A is m×k, B is k×n, C is m×n and row-major.
#[derive(Clone, Copy)]
pub(crate) struct Gemm<'a, T> {
    /// Rows of A and C.
    pub(crate) m: usize,
    /// Columns of B and C.
    pub(crate) n: usize,
    /// Columns of A, rows of B.
    pub(crate) k: usize,
    pub(crate) a: Strided<'a, T>,
    pub(crate) b: Factor<'a, T>,
    /// Whether the sums start from C. Otherwise C is overwritten without being read.
    pub(crate) accumulate: bool,
    pub(crate) rounding: Rounding,
}

/// An element type that matrix products are computed in.
pub(crate) trait GemmElement: Evaluate + Lanes + Send + Sync + 'static {
    /// Computes a product by a vendor's library, and returns whether there is one that can.
    fn by_vendor(_: &Product<'_, Self>) -> bool {
        false
    }
}

impl GemmElement for f64 {}

impl GemmElement for f32 {
    fn by_vendor(product: &Product<'_, Self>) -> bool {
        let library = GemmLibrary::get().expect("the CPU has opened the library");
        product.by_vendor(library)
    }
}

impl<'a, T: GemmElement> Gemm<'a, T> {
    /// Computes the product into `c`, in parallel. A vendor's library computes products that may be fused, if one stride
    /// of A and of B is one.
    pub(crate) fn run(&self, c: &mut [T], c_row_stride: usize) {
        let product = Product::new(self, c, c_row_stride);
        if self.rounding == Rounding::Separate || !T::by_vendor(&product) {
            product.built_in(Split::among(parallel::threads()));
        }
    }

    /// Computes the product in the calling thread by the built-in kernel, for callers that have partitioned the work
    /// themselves: the bits of a row do not depend on the number of rows.
    pub(crate) fn run_here(&self, c: &mut [T], c_row_stride: usize) {
        Product::new(self, c, c_row_stride).built_in(Split::NONE);
    }
}

/// A product whose operands have been checked against their slices.
pub(crate) struct Product<'a, T> {
    gemm: Gemm<'a, T>,
    a_layout: MatrixLayout,
    /// `None` if B is packed.
    b_layout: Option<MatrixLayout>,
    c: SharedSlice<'a, T>,
    c_layout: MatrixLayout,
}

impl<'a, T: GemmElement> Product<'a, T> {
    pub(super) fn new(gemm: &Gemm<'a, T>, c: &'a mut [T], c_row_stride: usize) -> Self {
        let Gemm { m, n, k, .. } = *gemm;
        let a_layout = MatrixLayout::new((m, k), gemm.a.1);
        let c_layout = MatrixLayout::new((m, n), (c_row_stride, 1));
        a_layout.check("a", gemm.a.0.len());
        c_layout.check("c", c.len());
        assert!(m <= 1 || c_row_stride >= n, "gemm: the rows of c overlap");
        let b_layout = match gemm.b {
            Factor::Matrix((b, strides)) => {
                let layout = MatrixLayout::new((k, n), strides);
                layout.check("b", b.len());
                Some(layout)
            }
            Factor::Packed(b) => {
                super::packed::check((k, n), b);
                None
            }
        };
        Self {
            gemm: *gemm,
            a_layout,
            b_layout,
            c: SharedSlice::new(c),
            c_layout,
        }
    }

    /// The slices of A and of B, and the address of C, of a tile that starts with a row and a column.
    fn tile(&self, row: usize, column: usize) -> (&'a [T], &'a [T], *mut T) {
        // With k = 0 the operands are empty and have no offsets.
        let (a, b) = match self.gemm.k {
            0 => (0, 0),
            k => (
                self.a_layout.offset(row, 0),
                // Packed columns lie one panel after the other.
                self.b_layout.map_or(column * k, |b| b.offset(0, column)),
            ),
        };
        let (Factor::Matrix((whole, _)) | Factor::Packed(whole)) = self.gemm.b;
        let c = self.c.at(self.c_layout.offset(row, column));
        (&self.gemm.a.0[a..], &whole[b..], c)
    }

    /// Computes the tiles of a partition, which does not affect the result.
    pub(super) fn built_in(&self, split: Split) {
        let Gemm { m, n, k, .. } = self.gemm;
        Tiles::new((m, n, k), split).for_each(|rows, columns| {
            let (a, b, c) = self.tile(rows.start, columns.start);
            let product = MatrixProduct {
                m: rows.len(),
                n: columns.len(),
                k,
                a,
                a_strides: self.gemm.a.1,
                b: match self.gemm.b {
                    Factor::Matrix((_, strides)) => Right::InPlace(b, strides),
                    Factor::Packed(_) => Right::Packed(b),
                },
                c,
                c_stride: self.c_layout.row_stride,
                accumulate: self.gemm.accumulate,
            };
            // SAFETY: `new` has checked the operands; the tiles are disjoint and lie inside C.
            unsafe { product.run(self.gemm.rounding) };
        });
    }
}

impl Product<'_, f32> {
    pub(super) fn by_vendor(&self, library: &GemmLibrary) -> bool {
        let Gemm { m, n, k, .. } = self.gemm;
        let operands = || {
            let a = self.a_layout.for_blas()?;
            let ldc = c_int::try_from(self.c_layout.row_stride.max(1)).ok()?;
            Some((library.vendor.as_ref()?, a, self.b_layout?.for_blas()?, ldc))
        };
        let Some((vendor, a_layout, b_layout, ldc)) = operands().filter(|_| k > 0) else {
            return false;
        };
        Tiles::new((m, n, k), Split::VENDOR).for_each(|rows, columns| {
            let (a, b, c) = self.tile(rows.start, columns.start);
            // The tile is no larger than the matrices, whose sizes fit as `for_blas` has checked.
            let sizes = (rows.len() as c_int, columns.len() as c_int, k as c_int);
            let (a, b) = ((a.as_ptr(), a_layout), (b.as_ptr(), b_layout));
            // SAFETY: `new` has checked the operands; the tiles are disjoint and lie inside C.
            unsafe { vendor.sgemm(sizes, a, b, self.gemm.accumulate, (c, ldc)) };
        });
        true
    }
}
