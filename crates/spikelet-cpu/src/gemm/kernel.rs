//! The product of two matrices in one thread.
//!
//! B is packed in panels of two vectors of columns, a block that stays in the L2 cache at a time; it is read in place
//! if it is contiguous along its rows and has few readers. A is read in place: the rows of a block of C are multiplied
//! with a panel in registers, so that every element of A is loaded once for two vectors of C. Sums that round products
//! separately continue from those of the block before: every element of C is one chain in ascending order. Fused ones
//! begin at zero in every block and are added: long chains would round small terms away.

use super::packed::{Panel, pack_panel, panel_width};
use super::{GemmElement, Rounding};
use pulp::{Arch, Simd, WithSimd, bytemuck};
use std::cell::RefCell;

/// Rows of a block of B, and links of a chain of fused sums.
pub(super) const DEPTH: usize = 256;

/// Columns of a block of B, a multiple of those of a panel.
const COLUMNS: usize = 512;

/// B: in place, with the strides of its rows and columns, or packed.
#[derive(Clone, Copy)]
pub(super) enum Right<'a, T> {
    InPlace(&'a [T], (usize, usize)),
    Packed(&'a [T]),
}

/// C ← A·B, or C ← C + A·B, with C at an address.
pub(super) struct MatrixProduct<'a, T> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) a: &'a [T],
    pub(super) a_strides: (usize, usize),
    pub(super) b: Right<'a, T>,
    pub(super) c: *mut T,
    pub(super) c_stride: usize,
    pub(super) accumulate: bool,
}

thread_local! {
    /// A packed block of B, allocated at the first product of a thread.
    static PACKED: RefCell<Vec<u64>> = const { RefCell::new(vec![]) };
}

impl<T: GemmElement> MatrixProduct<'_, T> {
    /// Computes the product.
    ///
    /// # Safety
    /// A and B have the elements of the sizes and strides; the n elements of each row of C are valid, and no other
    /// thread reads or writes them meanwhile.
    pub(super) unsafe fn run(self, rounding: Rounding) {
        if self.m == 0 || self.n == 0 {
            return;
        }
        if self.k == 0 {
            // SAFETY: as the caller promises.
            let row = |i| unsafe { row_of(self.c.wrapping_add(i * self.c_stride), self.n) };
            return match self.accumulate {
                true => {}
                false => (0..self.m).for_each(|i| row(i).fill(T::ZERO)),
            };
        }
        PACKED.with_borrow_mut(|words| {
            let needed = match self.b {
                Right::Packed(_) => 0,
                Right::InPlace(..) => {
                    let width = panel_width::<T>();
                    let columns = self.n.min(COLUMNS).next_multiple_of(width);
                    (columns * self.k.min(DEPTH) * size_of::<T>() + LINE).div_ceil(8)
                }
            };
            if words.len() < needed {
                words.resize(needed, 0);
            }
            let block: &mut [T] = bytemuck::cast_slice_mut(words);
            let skip = block.as_ptr().align_offset(LINE).min(block.len());
            let block = &mut block[skip..];
            match rounding {
                Rounding::Fused => Arch::new().dispatch(Call::<T, true>(self, block)),
                Rounding::Separate => Arch::new().dispatch(Call::<T, false>(self, block)),
            }
        });
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Some elements of a row.
///
/// # Safety
/// They are valid, and nothing else reads or writes them for the lifetime.
unsafe fn row_of<'a, T>(start: *mut T, length: usize) -> &'a mut [T] {
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts_mut(start, length) }
}

struct Call<'a, T, const FUSED: bool>(MatrixProduct<'a, T>, &'a mut [T]);

impl<T: GemmElement, const FUSED: bool> WithSimd for Call<'_, T, FUSED> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // As many rows as leave registers for a row of the panel and an element of A.
        match (T::lanes::<S>(), S::REGISTER_COUNT) {
            // The compiler makes vectors of the elements.
            (1, _) => self.blocks::<S, 4, 2, 8, 4>(simd),
            (_, 32..) => self.blocks::<S, 12, 4, 2, 1>(simd),
            _ => self.blocks::<S, 6, 2, 2, 1>(simd),
        }
    }
}

impl<T: GemmElement, const FUSED: bool> Call<'_, T, FUSED> {
    /// Blocks of `H`, `L` and single rows, and of `V` vectors; of `N` vectors for the last columns if they are few.
    #[inline(always)]
    fn blocks<S: Simd, const H: usize, const L: usize, const V: usize, const N: usize>(
        self,
        simd: S,
    ) {
        let Self(product, block) = self;
        let MatrixProduct { m, n, k, a, .. } = product;
        let (down, along) = product.a_strides;
        let width = V * T::lanes::<S>();
        for first in (0..n).step_by(COLUMNS) {
            let columns = first..n.min(first + COLUMNS);
            for start in (0..k).step_by(DEPTH) {
                let depth = DEPTH.min(k - start);
                let panel = |column: usize| Panel::of(column, columns.end, width);
                if let Right::InPlace(b, strides) = product.b {
                    for column in columns.clone().step_by(width) {
                        let panel = panel(column);
                        if !panel.in_place(strides, m) {
                            let to = &mut block[(column - first) * depth..][..panel.width * depth];
                            let b = &b[start * strides.0 + column * strides.1..];
                            pack_panel((b, strides), (depth, panel.count), to, panel.width);
                        }
                    }
                }
                let packed = &*block;
                let mut row = 0;
                while row < m {
                    let height = match m - row {
                        left if left >= H => H,
                        left if left >= L => L,
                        _ => 1,
                    };
                    for column in columns.clone().step_by(width) {
                        let panel = panel(column);
                        let (b, b_stride) = match product.b {
                            Right::Packed(b) => {
                                (&b[column * k + start * panel.width..], panel.width)
                            }
                            Right::InPlace(b, strides) if panel.in_place(strides, m) => {
                                (&b[start * strides.0 + column..], strides.0)
                            }
                            Right::InPlace(..) => {
                                (&packed[(column - first) * depth..], panel.width)
                            }
                        };
                        let c = product.c.wrapping_add(row * product.c_stride + column);
                        let block = Block {
                            a: a[row * down + start * along..].as_ptr(),
                            a_strides: (down, along),
                            b: b.as_ptr(),
                            b_stride,
                            depth,
                            c,
                            c_stride: product.c_stride,
                            columns: panel.count,
                            continues: product.accumulate || start > 0,
                        };
                        // SAFETY: the operands have the elements that the sizes and strides reach, a panel `depth`
                        // rows, and C is this thread's, as the caller of `run` promises.
                        unsafe {
                            match (height == H, height == L, panel.width == width) {
                                (true, _, true) => block.run::<S, FUSED, H, V>(simd),
                                (true, _, false) => block.run::<S, FUSED, H, N>(simd),
                                (_, true, true) => block.run::<S, FUSED, L, V>(simd),
                                (_, true, false) => block.run::<S, FUSED, L, N>(simd),
                                (_, _, true) => block.run::<S, FUSED, 1, V>(simd),
                                (_, _, false) => block.run::<S, FUSED, 1, N>(simd),
                            }
                        }
                    }
                    row += height;
                }
            }
        }
    }
}

/// A block of C that is computed in registers.
struct Block<T> {
    a: *const T,
    a_strides: (usize, usize),
    b: *const T,
    b_stride: usize,
    depth: usize,
    c: *mut T,
    c_stride: usize,
    columns: usize,
    /// Whether the sums are added to C.
    continues: bool,
}

impl<T: GemmElement> Block<T> {
    /// Multiplies H rows with V vectors of columns, of which the last may be partly used.
    ///
    /// # Safety
    /// A has H rows and `depth` columns, B `depth` rows of V vectors; `columns` elements of H rows of C are valid, and no
    /// other thread reads or writes them.
    #[inline(always)]
    unsafe fn run<S: Simd, const FUSED: bool, const H: usize, const V: usize>(self, simd: S) {
        let whole = self.columns == V * T::lanes::<S>();
        // SAFETY: as the caller promises.
        let row = |h: usize| unsafe { row_of(self.c.add(h * self.c_stride), self.columns) };
        // The elements of a row of C; zeros beside them.
        let loaded = |h: usize| {
            let (vectors, rest) = T::vectors::<S>(row(h));
            let mut some = [T::splat(simd, T::ZERO); V];
            if whole {
                some.copy_from_slice(&vectors[..V]);
            } else {
                some[..vectors.len()].copy_from_slice(vectors);
                if !rest.is_empty() {
                    some[vectors.len()] = T::load(simd, rest);
                }
            }
            some
        };
        let mut sums = [[T::splat(simd, T::ZERO); V]; H];
        if self.continues && !FUSED {
            for (h, sums) in sums.iter_mut().enumerate() {
                *sums = loaded(h);
            }
        }
        let (down, along) = self.a_strides;
        // Every third row, so that few registers hold addresses.
        let rows: [*const T; 4] = std::array::from_fn(|r| self.a.wrapping_add(3 * r * down));
        let mut b = self.b;
        for l in 0..self.depth {
            // SAFETY: row `l` of B has V vectors, and element `l` of row `h` of A exists.
            unsafe {
                let b_row: [T::Vector<S>; V] =
                    std::array::from_fn(|v| b.cast::<T::Vector<S>>().add(v).read_unaligned());
                // Written out: in a loop that the compiler does not unroll, the sums would be in memory.
                macro_rules! rows {
                    ($($h:literal)*) => {$(
                        if $h < H {
                            let a = T::splat(simd, *rows[$h / 3].add($h % 3 * down + l * along));
                            for v in 0..V {
                                sums[$h][v] = T::add_product::<S, FUSED>(simd, a, b_row[v], sums[$h][v]);
                            }
                        }
                    )*};
                }
                rows!(0 1 2 3 4 5 6 7 8 9 10 11);
            }
            b = b.wrapping_add(self.b_stride);
        }
        if self.continues && FUSED {
            let one = T::splat(simd, T::ONE);
            for (h, sums) in sums.iter_mut().enumerate() {
                for (sum, before) in sums.iter_mut().zip(loaded(h)) {
                    *sum = T::add_product::<S, FUSED>(simd, one, before, *sum);
                }
            }
        }
        for (h, sums) in sums.iter().enumerate() {
            let (vectors, rest) = T::vectors_mut::<S>(row(h));
            if whole {
                vectors.copy_from_slice(sums);
            } else {
                let (some, count) = (*sums, vectors.len());
                vectors.copy_from_slice(&some[..count]);
                if !rest.is_empty() {
                    T::store(simd, rest, some[count]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let (m, n, k) = (29, 77, 300);
        let number = |i: usize| (i * 7919 % 1009) as f32 / 1009.0 - 0.5;
        let a: Vec<f32> = (0..m * k).map(number).collect();
        let b: Vec<f32> = (1..=k * n).map(number).collect();
        let run = |with: &dyn Fn(Call<'_, f32, false>)| {
            let mut c = vec![f32::NAN; m * n];
            let mut block = vec![f32::NAN; DEPTH * COLUMNS];
            let product = MatrixProduct {
                m,
                n,
                k,
                a: &a,
                a_strides: (k, 1),
                b: Right::InPlace(&b, (1, k)),
                c: c.as_mut_ptr(),
                c_stride: n,
                accumulate: false,
            };
            with(Call(product, &mut block));
            c
        };
        let scalar = run(&|call| Simd::vectorize(pulp::Scalar::new(), call));
        assert!(scalar == run(&|call| Arch::new().dispatch(call)));
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = pulp::x86::V3::try_new() {
            assert!(scalar == run(&|call| Simd::vectorize(v3, call)));
        }
    }
}
