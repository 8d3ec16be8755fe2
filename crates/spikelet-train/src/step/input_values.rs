//! The values of the inputs of a step.

use spikelet_core::Result;
use spikelet_graph::op::HostTensor;

/// Names of inputs with their values, as [`TrainStep::run`](super::TrainStep::run) and
/// [`EvalStep::predict`](super::EvalStep::predict) take them.
///
/// | form | example |
/// |---|---|
/// | a pair | `("x", &x)` |
/// | a tuple of up to six pairs, whose values may have different types | `(("x", &x), ("labels", &labels))` |
/// | an array, a slice or a `Vec` of pairs, whose values have one type | `[("x", &x[..]), ("target", &y[..])]` |
/// | nothing, for a step without required inputs | `()` |
///
/// The values are everything that converts into a [`HostTensor`]: references to slices, arrays and `Vec`s of `f32` or `i64`,
/// and `&Tensor`. The elements are in row-major order; their number is that of the input.
///
/// ```
/// use spikelet_graph::op::HostTensor;
/// use spikelet_train::step::InputValues;
///
/// /// The sum of the numbers of elements.
/// fn elements(inputs: impl InputValues) -> spikelet_core::Result<usize> {
///     let mut n = 0;
///     inputs.for_each(&mut |_name, values| {
///         n += match values {
///             HostTensor::F32(values) => values.len(),
///             HostTensor::I64(values) => values.len(),
///             _ => 0,
///         };
///         Ok(())
///     })?;
///     Ok(n)
/// }
///
/// let (x, labels) = (vec![0.5; 8], [0, 2]);
/// assert_eq!(elements(("x", &x))?, 8);
/// assert_eq!(elements((("x", &x), ("labels", &labels)))?, 10);
/// assert_eq!(elements([("x", &x), ("y", &vec![1.0; 3])])?, 11);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name the values of inputs",
    note = "give pairs of a name and values: `(\"x\", &x)`, or of several inputs `((\"x\", &x), (\"labels\", &labels))`",
    note = "values are `&[f32]`, `&[i64]`, references to arrays and `Vec`s of these, `&Tensor`, or a `HostTensor`"
)]
pub trait InputValues {
    /// Calls `set` with each name and its values.
    ///
    /// # Errors
    /// The first error of `set`.
    fn for_each(self, set: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>) -> Result<()>;
}

/// Calls `set` with each pair.
fn set_each<'n, 'v, V: Into<HostTensor<'v>>>(
    pairs: impl IntoIterator<Item = (&'n str, V)>,
    set: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>,
) -> Result<()> {
    pairs
        .into_iter()
        .try_for_each(|(name, values)| set(name, values.into()))
}

impl InputValues for () {
    fn for_each(self, _: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

impl<'v, V: Into<HostTensor<'v>>> InputValues for (&str, V) {
    fn for_each(self, set: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>) -> Result<()> {
        set(self.0, self.1.into())
    }
}

impl<'v, V: Into<HostTensor<'v>>, const N: usize> InputValues for [(&str, V); N] {
    fn for_each(self, set: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>) -> Result<()> {
        set_each(self, set)
    }
}

impl<'v, V: Into<HostTensor<'v>>> InputValues for Vec<(&str, V)> {
    fn for_each(self, set: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>) -> Result<()> {
        set_each(self, set)
    }
}

impl<'v, V: Copy + Into<HostTensor<'v>>> InputValues for &[(&str, V)] {
    fn for_each(self, set: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>) -> Result<()> {
        set_each(self.iter().copied(), set)
    }
}

/// Tuples of pairs.
macro_rules! tuples {
    ($(($($values:ident $k:tt),+),)*) => {$(
        impl<'v, $($values: Into<HostTensor<'v>>),+> InputValues for ($((&str, $values),)+) {
            fn for_each(
                self,
                set: &mut dyn FnMut(&str, HostTensor<'_>) -> Result<()>,
            ) -> Result<()> {
                $(self.$k.for_each(set)?;)+
                Ok(())
            }
        }
    )*};
}

tuples! {
    (A 0),
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5),
}
