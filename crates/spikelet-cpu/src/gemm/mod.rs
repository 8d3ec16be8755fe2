//! Dense matrix products: C ← α·A·B + β·C.
//!
//! MKL or OpenBLAS compute them where one of the two is found at run time, the `gemm` crate
//! otherwise; `SPIKELET_GEMM=auto|gemm|mkl|openblas` overrides the choice. The libraries run
//! single-threaded on tiles of C whose cut depends on the sizes alone, and rayon runs the tiles:
//! the result is bitwise the same for any number of threads. It is *not* the same from one
//! library to the next, nor from one kind of CPU to the next, because they sum in different
//! orders.
//!
//! MKL and OpenBLAS have no settings for one caller only. Opening one changes them for the whole
//! process: one thread; for MKL also the sequential threading layer, 32-bit integers (LP64) and
//! reproducible results (`MKL_CBWR_AUTO`). Another user of the same library in the process, such as
//! NumPy, computes with these settings from then on. The built-in library changes nothing.
//!
//! The libraries keep scratch memory of their own for packed operands: the `gemm` crate a buffer
//! of the size of the L2 cache per thread plus one for each tile, MKL and OpenBLAS a few
//! buffers per thread, allocated on first use.

mod choice;
mod error;
mod operand;
mod search;
mod tile;
mod vendor;

#[cfg(test)]
mod tests;

pub use choice::{GEMM_VARIABLE, GemmChoice};
pub use error::GemmError;

use operand::Layout;
use rayon::prelude::*;
use std::ffi::c_int;
use std::path::Path;
use std::sync::OnceLock;
use tile::Tiles;
use vendor::Vendor;

/// The library that computes `f32` matrix products.
///
/// ```
/// # use spikelet_cpu::gemm::{GemmChoice, GemmLibrary};
/// let library = GemmLibrary::open(GemmChoice::Gemm)?;
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0]); // a: 2×2 row-major, b: 2×1
/// let mut c = [0.0; 2];
/// library.sgemm(2, 1, 2, 1.0, &a, (2, 1), &b, (1, 1), 0.0, &mut c, 1)?;
/// assert_eq!(c, [17.0, 39.0]);
/// # Ok::<(), spikelet_cpu::gemm::GemmError>(())
/// ```
#[derive(Debug)]
pub struct GemmLibrary {
    vendor: Option<Vendor>,
}

impl GemmLibrary {
    /// The library of this process: chosen on the first call, following `SPIKELET_GEMM`.
    ///
    /// # Errors
    /// [`GemmError::UnknownChoice`] or [`GemmError::Unavailable`], on every call.
    pub fn get() -> Result<&'static Self, GemmError> {
        static CHOSEN: OnceLock<Result<GemmLibrary, GemmError>> = OnceLock::new();
        CHOSEN
            .get_or_init(|| Self::open(GemmChoice::from_env()?))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// A library by name. What is loaded stays loaded, and set as the module says, until the process
    /// ends.
    ///
    /// # Errors
    /// [`GemmError::Unavailable`] if MKL or OpenBLAS is named and none can be used.
    pub fn open(choice: GemmChoice) -> Result<Self, GemmError> {
        let named = |choice| {
            Vendor::open(choice).map_err(|reason| GemmError::Unavailable { choice, reason })
        };
        let vendor = match choice {
            GemmChoice::Gemm => None,
            GemmChoice::Mkl | GemmChoice::OpenBlas => Some(named(choice)?),
            GemmChoice::Auto => named(GemmChoice::Mkl)
                .or_else(|_| named(GemmChoice::OpenBlas))
                .ok(),
        };
        Ok(Self { vendor })
    }

    /// `mkl`, `openblas` or `gemm`.
    pub fn name(&self) -> &'static str {
        self.vendor.as_ref().map_or("gemm", |vendor| vendor.name)
    }

    /// The file that was loaded; `None` for the built-in one.
    pub fn path(&self) -> Option<&Path> {
        self.vendor.as_ref().map(|vendor| vendor.path.as_path())
    }

    /// What the library says of itself, if it says anything.
    pub fn version(&self) -> Option<&str> {
        self.vendor.as_ref()?.version.as_deref()
    }

    /// C ← α·A·B + β·C in `f32`; A is m×k, B is k×n, C is m×n.
    ///
    /// Strides are in elements, (row, column): `(k, 1)` is a row-major A, `(1, m)` a
    /// column-major one (that is, the transpose of a row-major k×m matrix); C's column stride is
    /// one. With `beta` zero, C is not read. MKL and OpenBLAS need one stride of A and of B to
    /// be one and sizes below 2³¹; other products go to the `gemm` crate.
    ///
    /// # Errors
    /// [`GemmError::TooShort`] and [`GemmError::OverlappingRows`].
    #[expect(clippy::too_many_arguments, reason = "the shape of the BLAS function")]
    pub fn sgemm(
        &self,
        m: usize,
        n: usize,
        k: usize,
        alpha: f32,
        a: &[f32],
        a_strides: (usize, usize),
        b: &[f32],
        b_strides: (usize, usize),
        beta: f32,
        c: &mut [f32],
        c_row_stride: usize,
    ) -> Result<(), GemmError> {
        let product = Product::new((m, n, k), a, a_strides, b, b_strides, c, c_row_stride)?;
        self.multiply(&product, alpha, beta, Cut::Tiles);
        Ok(())
    }

    fn multiply(&self, product: &Product<'_, f32>, alpha: f32, beta: f32, cut: Cut) {
        let ldc = product.c_layout.row_stride;
        let vendor = self.vendor.as_ref().and_then(|vendor| {
            let [a, b] = [product.a_layout, product.b_layout].map(Layout::for_blas);
            Some((vendor, a?, b?, c_int::try_from(ldc.max(1)).ok()?))
        });
        product.tiled(cut, |tile| match vendor {
            Some((vendor, a_layout, b_layout, ldc)) if tile.k > 0 => {
                // The tile is no larger than the matrices, whose sizes `for_blas` has fitted.
                let sizes = (tile.m as c_int, tile.n as c_int, tile.k as c_int);
                // SAFETY: `tiled` hands out pointers into checked slices, C's tiles disjoint.
                unsafe {
                    vendor.sgemm(
                        sizes, alpha, tile.a, a_layout, tile.b, b_layout, beta, tile.c, ldc,
                    );
                }
            }
            // SAFETY: as above.
            _ => unsafe { product.built_in(&tile, alpha, beta, beta != 0.0) },
        });
    }
}

/// [`GemmLibrary::sgemm`] with the library of this process.
///
/// # Errors
/// Those of [`GemmLibrary::get`] and [`GemmLibrary::sgemm`].
#[expect(clippy::too_many_arguments, reason = "the shape of the BLAS function")]
pub fn sgemm(
    m: usize,
    n: usize,
    k: usize,
    alpha: f32,
    a: &[f32],
    a_strides: (usize, usize),
    b: &[f32],
    b_strides: (usize, usize),
    beta: f32,
    c: &mut [f32],
    c_row_stride: usize,
) -> Result<(), GemmError> {
    let library = GemmLibrary::get()?;
    library.sgemm(
        m,
        n,
        k,
        alpha,
        a,
        a_strides,
        b,
        b_strides,
        beta,
        c,
        c_row_stride,
    )
}

/// C ← α·A·B + β·C in `f64`, always with the `gemm` crate: for reference computations.
///
/// Sizes and strides as in [`GemmLibrary::sgemm`].
///
/// # Errors
/// [`GemmError::TooShort`] and [`GemmError::OverlappingRows`].
#[expect(clippy::too_many_arguments, reason = "the shape of the BLAS function")]
pub fn dgemm(
    m: usize,
    n: usize,
    k: usize,
    alpha: f64,
    a: &[f64],
    a_strides: (usize, usize),
    b: &[f64],
    b_strides: (usize, usize),
    beta: f64,
    c: &mut [f64],
    c_row_stride: usize,
) -> Result<(), GemmError> {
    let product = Product::new((m, n, k), a, a_strides, b, b_strides, c, c_row_stride)?;
    product.built_in_cut(alpha, beta, beta != 0.0, Cut::Tiles);
    Ok(())
}

/// A matrix inside a slice, with its strides of rows and columns.
pub(crate) type Strided<'a, T> = (&'a [T], (usize, usize));

/// C ← A·B, or C + A·B, in the calling thread alone, for callers that have cut the work
/// themselves.
///
/// Sizes and strides as in [`GemmLibrary::sgemm`].
///
/// # Errors
/// Those of [`sgemm`].
pub(crate) fn sgemm_here(
    sizes: (usize, usize, usize),
    (a, a_strides): Strided<'_, f32>,
    (b, b_strides): Strided<'_, f32>,
    add: bool,
    c: &mut [f32],
    c_row_stride: usize,
) -> Result<(), GemmError> {
    let product = Product::new(sizes, a, a_strides, b, b_strides, c, c_row_stride)?;
    let beta = if add { 1.0 } else { 0.0 };
    GemmLibrary::get()?.multiply(&product, 1.0, beta, Cut::Whole);
    Ok(())
}

/// [`sgemm_here`] in `f64`, always with the `gemm` crate.
///
/// # Errors
/// Those of [`dgemm`].
pub(crate) fn dgemm_here(
    sizes: (usize, usize, usize),
    (a, a_strides): Strided<'_, f64>,
    (b, b_strides): Strided<'_, f64>,
    add: bool,
    c: &mut [f64],
    c_row_stride: usize,
) -> Result<(), GemmError> {
    let product = Product::new(sizes, a, a_strides, b, b_strides, c, c_row_stride)?;
    product.built_in_cut(1.0, if add { 1.0 } else { 0.0 }, add, Cut::Whole);
    Ok(())
}

/// How a product is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// In tiles, in parallel.
    Tiles,
    /// Not at all: one tile in the calling thread.
    Whole,
}

/// A product whose operands have been checked against their slices.
struct Product<'a, T> {
    k: usize,
    a: &'a [T],
    a_layout: Layout,
    b: &'a [T],
    b_layout: Layout,
    c: Shared<'a, T>,
    c_layout: Layout,
}

/// One tile of C with the rows of A and the columns of B that make it.
struct Tile<T> {
    m: usize,
    n: usize,
    k: usize,
    a: *const T,
    b: *const T,
    c: *mut T,
}

/// C, for writing to disjoint tiles from several threads.
struct Shared<'a, T> {
    start: *mut T,
    borrow: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: the pointer comes from an exclusive borrow, and tiles written at the same time are
// disjoint, so no element is touched by two threads.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T: Copy + Send + Sync + 'static> Product<'a, T> {
    fn new(
        (m, n, k): (usize, usize, usize),
        a: &'a [T],
        a_strides: (usize, usize),
        b: &'a [T],
        b_strides: (usize, usize),
        c: &'a mut [T],
        c_row_stride: usize,
    ) -> Result<Self, GemmError> {
        let a_layout = Layout::new(m, k, a_strides);
        let b_layout = Layout::new(k, n, b_strides);
        let c_layout = Layout::new(m, n, (c_row_stride, 1));
        a_layout.check("a", a.len())?;
        b_layout.check("b", b.len())?;
        c_layout.check("c", c.len())?;
        if m > 1 && c_row_stride < n {
            return Err(GemmError::OverlappingRows {
                cols: n,
                row_stride: c_row_stride,
            });
        }
        let c = Shared {
            start: c.as_mut_ptr(),
            borrow: std::marker::PhantomData,
        };
        Ok(Self {
            k,
            a,
            a_layout,
            b,
            b_layout,
            c,
            c_layout,
        })
    }

    /// Runs `each` on every tile, in parallel. The tiles are disjoint and lie inside C.
    fn tiled(&self, cut: Cut, each: impl Fn(Tile<T>) + Sync) {
        let (m, n) = (self.c_layout.rows, self.c_layout.cols);
        let tiles = match cut {
            Cut::Tiles => Tiles::new(m, n, self.k),
            Cut::Whole => Tiles::whole(m, n),
        };
        let one = |index| {
            let (rows, cols) = tiles.get(index);
            // With k = 0 the operands are empty and their offsets mean nothing.
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
                // SAFETY: `check` has shown that every element of C lies inside its slice.
                c: unsafe {
                    self.c
                        .start
                        .add(self.c_layout.offset(rows.start, cols.start))
                },
            });
        };
        match tiles.count() {
            0 => {}
            1 => one(0),
            count => (0..count).into_par_iter().with_max_len(1).for_each(one),
        }
    }

    /// All tiles with the `gemm` crate.
    fn built_in_cut(&self, alpha: T, beta: T, read_c: bool, cut: Cut) {
        self.tiled(cut, |tile| {
            // SAFETY: `tiled` hands out pointers into checked slices, C's tiles disjoint.
            unsafe { self.built_in(&tile, alpha, beta, read_c) }
        });
    }

    /// One tile with the `gemm` crate, in this thread.
    ///
    /// # Safety
    /// `tile` must come from [`Product::tiled`] of this product.
    unsafe fn built_in(&self, tile: &Tile<T>, alpha: T, beta: T, read_c: bool) {
        // `check` has bounded every reach by isize::MAX; a stride that does not fit belongs to a
        // dimension of size one and is never used.
        let signed = |stride: usize| stride as isize;
        // SAFETY: A, B and C are valid for the sizes and strides of the tile, C exclusively. The
        // crate's α scales C and its β the product.
        unsafe {
            gemm::gemm(
                tile.m,
                tile.n,
                tile.k,
                tile.c,
                1,
                signed(self.c_layout.row_stride),
                read_c,
                tile.a,
                signed(self.a_layout.col_stride),
                signed(self.a_layout.row_stride),
                tile.b,
                signed(self.b_layout.col_stride),
                signed(self.b_layout.row_stride),
                beta,
                alpha,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}
