//! Loops compiled for the widest SIMD instructions of this machine.

use pulp::{Arch, NullaryFnOnce};

struct Call<A, F>(A, F);

impl<A, R, F: Fn(A) -> R> NullaryFnOnce for Call<A, F> {
    type Output = R;

    #[inline(always)]
    fn call(self) -> R {
        (self.1)(self.0)
    }
}

/// `body(arguments)`, compiled for AVX-512, AVX2 and the baseline, chosen at run time.
///
/// `body` has to be a closure marked `#[inline(always)]` that captures nothing. A closure that
/// captures a `&mut` slice would be called through a shim of the compiler, which may not be inlined,
/// and the loop would silently be compiled for the baseline.
///
/// ```
/// let mut sum = [1.0_f32, 2.0];
/// spikelet_expr::vectorized((&mut sum, [3.0, 4.0]), #[inline(always)] |(a, b)| {
///     for (a, b) in a.iter_mut().zip(b) {
///         *a += b;
///     }
/// });
/// assert_eq!(sum, [4.0, 6.0]);
/// ```
#[inline(always)]
pub fn vectorized<A, R>(arguments: A, body: impl Fn(A) -> R) -> R {
    Arch::new().dispatch(Call(arguments, body))
}
