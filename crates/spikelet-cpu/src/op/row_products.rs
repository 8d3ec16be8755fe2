//! Products of the rows of a tile with a matrix that is packed once for many products.
//!
//! The matrix is packed in panels of two cache lines of columns. A block of rows and a panel are
//! multiplied in registers. Every element is one chain of sums in ascending order, fused where the
//! processor can, so its bits do not depend on the partition of the rows.

use super::Float;
use crate::parallel;
use pulp::{Arch, Simd, WithSimd};
use std::mem;

/// Bytes of a row of a panel.
const PANEL_BYTES: usize = 128;

/// Columns of a panel.
const fn panel_width<R>() -> usize {
    PANEL_BYTES / mem::size_of::<R>()
}

/// Elements of a packed matrix of `rows` × `columns`.
pub(super) fn packed_elements<R>(rows: usize, columns: usize) -> usize {
    let panels = columns.div_ceil(panel_width::<R>());
    panels
        .saturating_mul(panel_width::<R>())
        .saturating_mul(rows)
}

/// Packs a row-major matrix of `rows` × `columns`.
pub(super) fn pack<R: Float>(matrix: &[R], (rows, columns): (usize, usize), packed: &mut [R]) {
    let width = panel_width::<R>();
    let packed = &mut packed[..packed_elements::<R>(rows, columns)];
    parallel::for_each_chunk(packed, width * rows, |panel, to| {
        let first = panel * width;
        let count = width.min(columns - first);
        let from = matrix.chunks_exact(columns);
        for (to, from) in to.chunks_exact_mut(width).zip(from) {
            to[..count].copy_from_slice(&from[first..first + count]);
            to[count..].fill(R::ZERO);
        }
    });
}

/// `c += a·b`, where `a` and `c` are row-major and `b` is packed: `inner` × `columns`. Runs in the calling
/// thread.
pub(super) fn multiply_add<R: Float>(
    a: &[R],
    packed: &[R],
    (inner, columns): (usize, usize),
    c: &mut [R],
) {
    if inner > 0 && columns > 0 {
        Arch::new().dispatch(Product {
            a,
            packed: &packed[..packed_elements::<R>(inner, columns)],
            inner,
            columns,
            c,
        });
    }
}

struct Product<'a, R> {
    a: &'a [R],
    packed: &'a [R],
    inner: usize,
    columns: usize,
    c: &'a mut [R],
}

impl<R: Float> WithSimd for Product<'_, R> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            a,
            packed,
            inner,
            columns,
            c,
        } = self;
        let width = panel_width::<R>();
        let rows = (a.len() / inner).min(c.len() / columns);
        for (panel, packed) in packed.chunks_exact(width * inner).enumerate() {
            let place = Place {
                first: panel * width,
                count: width.min(columns - panel * width),
                inner,
                columns,
            };
            let panel = R::vectors::<S>(packed).0;
            let mut row = 0;
            // As many rows as leave registers for a row of the panel and an element of `a`.
            macro_rules! blocks {
                ($vectors:literal: $($height:literal)*) => {{$(
                    while rows - row >= $height {
                        let (a, c) = (&a[row * inner..], &mut c[row * columns..]);
                        block::<S, R, $height, $vectors>(simd, a, panel, c, place);
                        row += $height;
                    }
                )*}};
            }
            match panel.len() / inner {
                2 => blocks!(2: 12 4 1),
                4 => blocks!(4: 3 1),
                8 => blocks!(8: 3 1),
                16 => blocks!(16: 1),
                32 => blocks!(32: 1),
                _ => unreachable!("a row of a panel is 2 to 32 vectors"),
            }
        }
    }
}

/// The columns of a panel, and the sizes of the matrices.
#[derive(Clone, Copy)]
struct Place {
    first: usize,
    count: usize,
    inner: usize,
    columns: usize,
}

/// Multiplies H rows with a panel of V vectors a row.
#[inline(always)]
fn block<S: Simd, R: Float, const H: usize, const V: usize>(
    simd: S,
    a: &[R],
    panel: &[R::Vector<S>],
    c: &mut [R],
    place: Place,
) {
    let inner = place.inner;
    let a: [&[R]; H] = std::array::from_fn(|h| &a[h * inner..(h + 1) * inner]);
    let panel = &panel.as_chunks::<V>().0[..inner];
    let mut sums = [[R::splat(simd, R::ZERO); V]; H];
    for (l, b) in panel.iter().enumerate() {
        for h in 0..H {
            let a = R::splat(simd, a[h][l]);
            for v in 0..V {
                sums[h][v] = R::multiply_add(simd, a, b[v], sums[h][v]);
            }
        }
    }
    for (h, sums) in sums.iter().enumerate() {
        let c = &mut c[h * place.columns + place.first..][..place.count];
        let (vectors, rest) = R::vectors_mut::<S>(c);
        for (c, sum) in vectors.iter_mut().zip(sums) {
            *c = R::sum(simd, *c, *sum);
        }
        if !rest.is_empty() {
            let sum = R::sum(simd, R::load(simd, rest), sums[vectors.len()]);
            R::store(simd, rest, sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers<R: Float>(count: usize, seed: u64) -> Vec<R> {
        let next = |i: u64| (i.wrapping_mul(seed) % 1009) as f64 / 1009.0 - 0.5;
        (0..count as u64).map(|i| R::from_f64(next(i))).collect()
    }

    const SIZES: [(usize, usize, usize); 4] = [(1, 1, 1), (29, 7, 5), (13, 40, 100), (16, 33, 64)];

    /// Compares products by `run` with those of a plain loop.
    fn check<R: Float>(tolerance: f64, run: impl Fn(Product<'_, R>)) {
        for (rows, inner, columns) in SIZES {
            let a: Vec<R> = numbers(rows * inner, 7919);
            let b: Vec<R> = numbers(inner * columns, 104_729);
            let c: Vec<R> = numbers(rows * columns, 1_299_709);
            let mut packed = vec![R::from_f64(f64::NAN); packed_elements::<R>(inner, columns)];
            pack(&b, (inner, columns), &mut packed);
            let mut got = c.clone();
            run(Product {
                a: &a,
                packed: &packed,
                inner,
                columns,
                c: &mut got,
            });
            for (i, got) in got.iter().enumerate() {
                let (row, column) = (i / columns, i % columns);
                let term =
                    |l: usize| a[row * inner + l].to_f64() * b[l * columns + column].to_f64();
                let want = c[i].to_f64() + (0..inner).map(term).sum::<f64>();
                let near = (got.to_f64() - want).abs() < tolerance;
                assert!(near, "{rows}×{inner}×{columns}: {i}");
            }
        }
    }

    #[test]
    fn products_of_every_instruction_set_are_those_of_a_plain_loop() {
        check::<f32>(1e-5, |product| Arch::new().dispatch(product));
        check::<f64>(1e-13, |product| Arch::new().dispatch(product));
        check::<f32>(1e-5, |product| {
            Simd::vectorize(pulp::Scalar::new(), product)
        });
        check::<f64>(1e-13, |product| {
            Simd::vectorize(pulp::Scalar::new(), product)
        });
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = pulp::x86::V3::try_new() {
            check::<f32>(1e-5, |product| Simd::vectorize(v3, product));
            check::<f64>(1e-13, |product| Simd::vectorize(v3, product));
        }
    }

    #[test]
    fn the_partition_of_the_rows_does_not_change_the_bits() {
        for (rows, inner, columns) in SIZES {
            let a: Vec<f32> = numbers(rows * inner, 7919);
            let b: Vec<f32> = numbers(inner * columns, 104_729);
            let mut packed = vec![0.0; packed_elements::<f32>(inner, columns)];
            pack(&b, (inner, columns), &mut packed);
            let mut all: Vec<f32> = numbers(rows * columns, 1_299_709);
            let mut each = all.clone();
            multiply_add(&a, &packed, (inner, columns), &mut all);
            for (a, c) in a.chunks(inner).zip(each.chunks_mut(columns)) {
                multiply_add(a, &packed, (inner, columns), c);
            }
            assert_eq!(all, each);
        }
    }
}
