//! One product, its operands and its tiles.

use super::operand::MatrixLayout;
use super::tile::Tiles;
use super::{GemmError, GemmLibrary};
use crate::memory::SharedSlice;
use crate::parallel;
use spikelet_expr::Evaluate;
use std::ffi::c_int;

/// A matrix inside a slice, with the strides of its rows and columns in elements: `(k, 1)` is a
/// row-major m×k matrix, `(1, m)` a column-major one (that is, the transpose of a row-major k×m
/// matrix).
pub(crate) type Strided<'a, T> = (&'a [T], (usize, usize));

/// C ← A·B, or C ← C + A·B; A is m×k, B is k×n, C is m×n and row-major.
///
/// MKL and OpenBLAS need one stride of A and of B to be one and sizes below 2³¹; other products use
/// the `gemm` crate.
#[derive(Clone, Copy)]
pub(crate) struct Gemm<'a, T> {
    /// Rows of A and C.
    pub(crate) m: usize,
    /// Columns of B and C.
    pub(crate) n: usize,
    /// Columns of A, rows of B.
    pub(crate) k: usize,
    pub(crate) a: Strided<'a, T>,
    pub(crate) b: Strided<'a, T>,
    /// Whether the product is added to C. Otherwise C is overwritten without being read.
    pub(crate) accumulate: bool,
}

/// An element type that matrix products are computed in.
pub(crate) trait GemmElement: Evaluate + Send + Sync + 'static {
    /// Computes a product whose operands have been checked, with the library of this process.
    fn multiply(product: &Product<'_, Self>, partition: Partition) -> Result<(), GemmError>;

    /// Computes C ← α C + β A B in this thread.
    ///
    /// # Safety
    /// The matrices are valid for their sizes and strides, C exclusively.
    unsafe fn built_in(sizes: [usize; 3], c: Output<Self>, a: Operand<Self>, b: Operand<Self>);
}

/// The matrix C of a product: pointer, column stride, row stride and whether to add to it.
type Output<T> = (*mut T, isize, isize, bool);

/// A factor of a product: pointer, column stride and row stride.
type Operand<T> = (*const T, isize, isize);

/// The product of the crates `gemm-f32` and `gemm-f64`: `gemm` itself would bring complex numbers
/// along, which take longer to compile than both.
macro_rules! built_in {
    ($function:path) => {
        unsafe fn built_in(
            [m, n, k]: [usize; 3],
            (c, c_cols, c_rows, accumulate): Output<Self>,
            (a, a_cols, a_rows): Operand<Self>,
            (b, b_cols, b_rows): Operand<Self>,
        ) {
            // α scales C, β the product.
            let (alpha, beta) = (if accumulate { 1.0 } else { 0.0 }, 1.0);
            // SAFETY: as the caller promises.
            unsafe {
                $function()(
                    m,
                    n,
                    k,
                    c,
                    c_cols,
                    c_rows,
                    accumulate,
                    a,
                    a_cols,
                    a_rows,
                    b,
                    b_cols,
                    b_rows,
                    alpha,
                    beta,
                    false,
                    false,
                    false,
                    gemm_common::Parallelism::None,
                );
            }
        }
    };
}

impl GemmElement for f32 {
    fn multiply(product: &Product<'_, Self>, partition: Partition) -> Result<(), GemmError> {
        product.multiply(GemmLibrary::get()?, partition);
        Ok(())
    }

    built_in!(gemm_f32::gemm::f32::get_gemm_fn);
}

impl GemmElement for f64 {
    fn multiply(product: &Product<'_, Self>, partition: Partition) -> Result<(), GemmError> {
        // SAFETY: `for_each_tile` passes tiles of this product, those of C disjoint.
        product.for_each_tile(partition, |tile| unsafe { product.built_in(&tile) });
        Ok(())
    }

    built_in!(gemm_f64::gemm::f64::get_gemm_fn);
}

impl<T: GemmElement> Gemm<'_, T> {
    /// Computes the product in tiles, in parallel. C's rows are `c_row_stride` elements apart.
    ///
    /// # Errors
    /// [`GemmError::TooShort`], [`GemmError::OverlappingRows`] and those of [`GemmLibrary::get`].
    pub(crate) fn run(&self, c: &mut [T], c_row_stride: usize) -> Result<(), GemmError> {
        T::multiply(&Product::new(self, c, c_row_stride)?, Partition::Tiles)
    }

    /// As [`Gemm::run`], in the calling thread alone, for callers that have partitioned the work
    /// themselves.
    ///
    /// # Errors
    /// Those of [`Gemm::run`].
    pub(crate) fn run_here(&self, c: &mut [T], c_row_stride: usize) -> Result<(), GemmError> {
        T::multiply(&Product::new(self, c, c_row_stride)?, Partition::Single)
    }
}

/// How a product is partitioned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Partition {
    /// In tiles, in parallel.
    Tiles,
    /// One tile in the calling thread.
    Single,
}

/// A product whose operands have been checked against their slices.
pub(crate) struct Product<'a, T> {
    k: usize,
    a: &'a [T],
    a_layout: MatrixLayout,
    b: &'a [T],
    b_layout: MatrixLayout,
    c: SharedSlice<'a, T>,
    c_layout: MatrixLayout,
    accumulate: bool,
}

/// One tile of C with the rows of A and the columns of B that it is computed from.
struct Tile<T> {
    m: usize,
    n: usize,
    k: usize,
    a: *const T,
    b: *const T,
    c: *mut T,
}

impl<'a, T: GemmElement> Product<'a, T> {
    pub(super) fn new(
        gemm: &Gemm<'a, T>,
        c: &'a mut [T],
        c_row_stride: usize,
    ) -> Result<Self, GemmError> {
        let Gemm { m, n, k, .. } = *gemm;
        let ((a, a_strides), (b, b_strides)) = (gemm.a, gemm.b);
        let a_layout = MatrixLayout::new(m, k, a_strides);
        let b_layout = MatrixLayout::new(k, n, b_strides);
        let c_layout = MatrixLayout::new(m, n, (c_row_stride, 1));
        a_layout.check("a", a.len())?;
        b_layout.check("b", b.len())?;
        c_layout.check("c", c.len())?;
        if m > 1 && c_row_stride < n {
            return Err(GemmError::OverlappingRows {
                cols: n,
                row_stride: c_row_stride,
            });
        }
        Ok(Self {
            k,
            a,
            a_layout,
            b,
            b_layout,
            c: SharedSlice::new(c),
            c_layout,
            accumulate: gemm.accumulate,
        })
    }

    /// Calls `each` with every tile, in parallel. The tiles are disjoint and lie inside C.
    fn for_each_tile(&self, partition: Partition, each: impl Fn(Tile<T>) + Sync) {
        let (m, n) = (self.c_layout.rows, self.c_layout.cols);
        let tiles = match partition {
            Partition::Tiles => Tiles::new(m, n, self.k),
            Partition::Single => Tiles::single(m, n),
        };
        let one = |index| {
            let (rows, cols) = tiles.get(index);
            // With k = 0 the operands are empty and have no offsets.
            let (a, b) = if self.k == 0 {
                (0, 0)
            } else {
                (
                    self.a_layout.offset(rows.start, 0),
                    self.b_layout.offset(0, cols.start),
                )
            };
            each(Tile {
                m: rows.len(),
                n: cols.len(),
                k: self.k,
                a: self.a[a..].as_ptr(),
                b: self.b[b..].as_ptr(),
                c: self.c.at(self.c_layout.offset(rows.start, cols.start)),
            });
        };
        match tiles.count() {
            0 => {}
            1 => one(0),
            count => parallel::for_each_task(count, one),
        }
    }

    /// Computes one tile in this thread, without a vendor's library.
    ///
    /// # Safety
    /// `tile` must come from [`Product::for_each_tile`] of this product.
    unsafe fn built_in(&self, tile: &Tile<T>) {
        // `check` has bounded every reach by isize::MAX; a stride that does not fit belongs to a
        // dimension of size one and is never used.
        let signed = |stride: usize| stride as isize;
        let c_rows = signed(self.c_layout.row_stride);
        let (a_rows, a_cols) = (self.a_layout.row_stride, self.a_layout.col_stride);
        let (b_rows, b_cols) = (self.b_layout.row_stride, self.b_layout.col_stride);
        // SAFETY: A, B and C are valid for the sizes and strides of the tile, C exclusively.
        unsafe {
            // The kernels are made for matrices in column-major order: Cᵀ = Bᵀ Aᵀ.
            if c_rows > 1 {
                T::built_in(
                    [tile.n, tile.m, tile.k],
                    (tile.c, c_rows, 1, self.accumulate),
                    (tile.b, signed(b_rows), signed(b_cols)),
                    (tile.a, signed(a_rows), signed(a_cols)),
                );
            } else {
                T::built_in(
                    [tile.m, tile.n, tile.k],
                    (tile.c, 1, c_rows, self.accumulate),
                    (tile.a, signed(a_cols), signed(a_rows)),
                    (tile.b, signed(b_cols), signed(b_rows)),
                );
            }
        }
    }
}

impl Product<'_, f32> {
    pub(super) fn multiply(&self, library: &GemmLibrary, partition: Partition) {
        let ldc = self.c_layout.row_stride;
        let vendor = library.vendor.as_ref().and_then(|vendor| {
            let [a, b] = [self.a_layout, self.b_layout].map(MatrixLayout::for_blas);
            Some((vendor, a?, b?, c_int::try_from(ldc.max(1)).ok()?))
        });
        self.for_each_tile(partition, |tile| match vendor {
            Some((vendor, a_layout, b_layout, ldc)) if tile.k > 0 => {
                // The tile is no larger than the matrices, whose sizes fit as `for_blas` has
                // checked.
                let sizes = (tile.m as c_int, tile.n as c_int, tile.k as c_int);
                let (a, b) = ((tile.a, a_layout), (tile.b, b_layout));
                // SAFETY: the tile's pointers lead into checked slices, C's tiles are disjoint.
                unsafe { vendor.sgemm(sizes, a, b, self.accumulate, (tile.c, ldc)) };
            }
            // SAFETY: the tile is one of this product.
            _ => unsafe { self.built_in(&tile) },
        });
    }
}
