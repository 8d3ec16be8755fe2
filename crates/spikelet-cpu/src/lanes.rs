//! Floating-point types as SIMD vectors, for kernels that are written for any of them.

use pulp::Simd;
use pulp::bytemuck::Pod;

/// A floating-point type as SIMD vectors.
pub(crate) trait Lanes: Pod {
    type Vector<S: Simd>: Copy;

    /// Elements of a vector.
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// a·b + c, fused where the processor can.
    fn multiply_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn product<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a·b + c: fused where the processor can, or the product rounded before it is added.
    #[inline(always)]
    fn add_product<S: Simd, const FUSED: bool>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S> {
        match FUSED {
            true => Self::multiply_add(simd, a, b, c),
            false => Self::sum(simd, Self::product(simd, a, b), c),
        }
    }
    /// The vectors of a slice, and the elements that do not fill one.
    fn vectors<S: Simd>(slice: &[Self]) -> (&[Self::Vector<S>], &[Self]);
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);
    /// A vector that starts with the elements of a slice shorter than it.
    fn load<S: Simd>(simd: S, slice: &[Self]) -> Self::Vector<S>;
    fn store<S: Simd>(simd: S, slice: &mut [Self], vector: Self::Vector<S>);
}

macro_rules! lanes {
    ($type:ty, $vector:ident, $splat:ident, $multiply_add:ident, $add:ident, $mul:ident, $as_simd:ident,
     $as_mut_simd:ident, $load:ident, $store:ident) => {
        impl Lanes for $type {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn multiply_add<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$multiply_add(a, b, c)
            }
            #[inline(always)]
            fn sum<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn product<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$mul(a, b)
            }
            #[inline(always)]
            fn vectors<S: Simd>(slice: &[Self]) -> (&[S::$vector], &[Self]) {
                S::$as_simd(slice)
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(slice: &mut [Self]) -> (&mut [S::$vector], &mut [Self]) {
                S::$as_mut_simd(slice)
            }
            #[inline(always)]
            fn load<S: Simd>(simd: S, slice: &[Self]) -> S::$vector {
                simd.$load(slice)
            }
            #[inline(always)]
            fn store<S: Simd>(simd: S, slice: &mut [Self], vector: S::$vector) {
                simd.$store(slice, vector)
            }
        }
    };
}

lanes!(
    f32,
    f32s,
    splat_f32s,
    mul_add_e_f32s,
    add_f32s,
    mul_f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    partial_load_f32s,
    partial_store_f32s
);
lanes!(
    f64,
    f64s,
    splat_f64s,
    mul_add_e_f64s,
    add_f64s,
    mul_f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    partial_load_f64s,
    partial_store_f64s
);
