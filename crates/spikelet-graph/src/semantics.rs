//! The axes of operations.
//!
//! Every operation states its iteration space ([`Operation::semantics`](crate::op::Operation::semantics)): which axes of
//! its operands and results are one axis, and whether its iterations are independent. With its [`Class`], its [`InPlace`]
//! and [`Storage`] rules, that is what passes and devices ask instead of listing operations, so that a new operation is
//! hoisted, divided and checked like the others.
//!
//! A product `[T, N, in] · [out, in]ᵀ → [T, N, out]` has the axes
//!
//! | axis | role | first operand | second operand | result |
//! |---|---|---|---|---|
//! | T | parallel | 0 | | 0 |
//! | N | parallel | 1 | | 1 |
//! | in | reduced | 2 | 1 | |
//! | out | parallel | | 0 | 2 |
//!
//! It can run on some of the T steps, with all of the second operand; or on some of the input features, and then the
//! results are added.

use crate::types::TensorType;
use std::ops::Range;

/// What an operation does to the axes of its operands and results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semantics {
    /// The axes that the operation can be divided along.
    pub axes: Vec<Axis>,
    /// The axes of each operand.
    pub operands: Vec<Access>,
    /// The axes of each result.
    pub results: Vec<Access>,
    /// How each result is computed from those of parts, along an axis that it does not have.
    pub joins: Vec<Join>,
    /// The results that are operands of the next part along a carried axis, and these operands.
    pub carries: Vec<(usize, usize)>,
}

/// The kind of computation of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// An element of the result is computed from one element of each operand.
    Elementwise,
    /// Elements of the operands, at other places.
    Movement,
    /// Sums of products.
    Contraction,
    /// Sums, maxima or statistics over axes.
    Reduction,
    /// Steps, each of which reads the results of the one before.
    Recurrence,
    /// One number in all elements.
    Constant,
    /// Values that depend on their place: random draws, frames of events.
    Source,
    /// Communication between ranks.
    Collective,
    /// Other computations.
    Opaque,
}

/// The properties that all operations of a kind have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The name, such as `matmul`.
    pub name: &'static str,
    /// The kind of computation.
    pub class: Class,
    /// The element types under a 16-bit precision.
    pub storage: Storage,
}

impl Kind {
    /// A kind whose results follow the types of the operands if it moves elements, and else keep them.
    pub const fn new(name: &'static str, class: Class) -> Self {
        let storage = match class {
            Class::Movement => Storage::Follows,
            _ => Storage::Full,
        };
        Self {
            name,
            class,
            storage,
        }
    }

    /// The kind with another storage rule.
    #[must_use]
    pub const fn stored(self, storage: Storage) -> Self {
        Self { storage, ..self }
    }
}

/// An axis of an iteration space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The relation of its iterations.
    pub role: Role,
    /// The number of iterations.
    pub length: usize,
}

/// The relation of the iterations along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Independent: every result has the axis.
    Parallel,
    /// Independent: a result without the axis is joined ([`Join`]).
    Reduced,
    /// In order, from the first to the last or in `reverse`.
    Carried {
        /// Whether the last iteration comes first.
        reverse: bool,
    },
}

/// By axis of a tensor, the axis of the iteration space. `None` for an axis that every iteration has completely: one that
/// is broadcast, or whose elements depend on each other.
///
/// A tensor's axis may be a multiple of the axis of the iteration space: each iteration then has as many of its elements,
/// such as the rows of one step of `[T·N, C]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access(pub Vec<Option<usize>>);

impl Access {
    /// The axis of the tensor that is this axis of the iteration space.
    pub fn place(&self, axis: usize) -> Option<usize> {
        self.0.iter().position(|own| *own == Some(axis))
    }
}

/// The result of an operation from the results of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Join {
    /// Their sum.
    Sum,
    /// Their maximum.
    Max,
    /// The mean and the variance, the two results of the operation, from those of parts with as many elements.
    MeanVar,
    /// That of the last part.
    Last,
    /// Parts do not compute it.
    Never,
}

/// Whether a result may take the memory of an operand of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InPlace {
    /// It may not.
    Never,
    /// That of any operand: each element is read before it is written.
    Elements,
    /// As [`InPlace::Elements`], that of one operand.
    ElementsOf(usize),
    /// That of one operand which is no other operand as well.
    Operand(usize),
}

/// The element types of an operation under a 16-bit precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Operands and results keep their types.
    Full,
    /// 16-bit operands and results, accumulated in f32.
    Product,
    /// 16-bit results if an operand is 16-bit; the other operands are cast.
    Follows,
    /// Operands of any type; 16-bit results if the largest operands are 16-bit.
    Elementwise,
    /// Operands of any type, and results in f32: sums, statistics and scores.
    Accumulated,
    /// The type that its reader asks for.
    Drawn,
    /// 16-bit sequences, and states and parameters in f32.
    Sequences,
}

impl Semantics {
    /// An operation that cannot be divided, for operands and results of these types; axes are added to it.
    pub(crate) fn new(inputs: &[TensorType], outputs: &[TensorType]) -> Self {
        let whole = |ty: &TensorType| Access(vec![None; ty.shape.len()]);
        Self {
            axes: vec![],
            operands: inputs.iter().map(whole).collect(),
            results: outputs.iter().map(whole).collect(),
            joins: vec![Join::Sum; outputs.len()],
            carries: vec![],
        }
    }

    /// Adds an axis: of each listed operand and result the number, and which of its axes it is.
    pub(crate) fn axis(
        &mut self,
        role: Role,
        length: usize,
        operands: impl IntoIterator<Item = (usize, usize)>,
        results: impl IntoIterator<Item = (usize, usize)>,
    ) {
        let axis = self.axes.len();
        for (k, at) in operands {
            self.operands[k].0[at] = Some(axis);
        }
        for (k, at) in results {
            self.results[k].0[at] = Some(axis);
        }
        self.axes.push(Axis { role, length });
    }

    /// Adds parallel axes that have the same place in all operands and results.
    pub(crate) fn alike(mut self, places: Range<usize>, shape: &[usize]) -> Self {
        let (operands, results) = (self.operands.len(), self.results.len());
        for at in places {
            let all = |count: usize| (0..count).map(move |k| (k, at));
            self.axis(Role::Parallel, shape[at], all(operands), all(results));
        }
        self
    }

    /// Adds the axes of all results as parallel axes, to which the operands `of` are broadcast.
    pub(crate) fn broadcasting(
        mut self,
        of: Range<usize>,
        inputs: &[TensorType],
        shape: &[usize],
    ) -> Self {
        let results = self.results.len();
        for (k, &length) in shape.iter().enumerate() {
            let place = |at: usize| Some((at, aligned(&inputs[at].shape, shape.len(), k, length)?));
            let operands: Vec<(usize, usize)> = of.clone().filter_map(place).collect();
            self.axis(
                Role::Parallel,
                length,
                operands,
                (0..results).map(|r| (r, k)),
            );
        }
        self
    }

    /// The axis that all operands and results that have it have as their first one: an operation on a sequence of steps
    /// has time there.
    pub fn leading_axis(&self) -> Option<usize> {
        let all = || self.operands.iter().chain(&self.results);
        (0..self.axes.len()).find(|axis| all().all(|a| a.place(*axis).is_none_or(|at| at == 0)))
    }

    /// Whether it sums over an axis: its results may have other bits if it is divided, along any axis, since the order of a
    /// sum may depend on the sizes.
    pub fn reduces(&self) -> bool {
        self.axes.iter().any(|axis| axis.role == Role::Reduced)
    }

    /// The type of a part of a tensor with this access: the iterations `range` of an axis.
    pub fn part(
        &self,
        access: &Access,
        ty: &TensorType,
        axis: usize,
        range: &Range<usize>,
    ) -> TensorType {
        let mut part = ty.clone();
        if let Some(at) = access.place(axis) {
            part.shape[at] = ty.shape[at] / self.axes[axis].length.max(1) * range.len();
        }
        part
    }
}

/// The axis of `shape` that is axis `k` of a frame of this rank to which it is broadcast, if it has this length.
pub(crate) fn aligned(shape: &[usize], rank: usize, k: usize, length: usize) -> Option<usize> {
    let at = (k + shape.len()).checked_sub(rank)?;
    (shape.get(at) == Some(&length)).then_some(at)
}

/// The axes that two shapes of the same elements, in row-major order, have in common: the length, and the place in both.
/// An axis that only one of them divides into several has the length of the first of these.
pub(crate) fn common_axes(a: &[usize], b: &[usize]) -> Vec<(usize, usize, usize)> {
    let mut found = vec![];
    let (mut i, mut j) = (0, 0);
    if a.contains(&0) || b.contains(&0) {
        return found;
    }
    while i < a.len() && j < b.len() {
        match (a[i], b[j]) {
            (1, n) if n != 1 => i += 1,
            (n, 1) if n != 1 => j += 1,
            (x, y) => {
                found.push((greatest_common_divisor(x, y), i, j));
                let (mut left, mut right) = (x, y);
                (i, j) = (i + 1, j + 1);
                // The other axes of the same elements.
                while left != right {
                    let (side, at, shape) = match left < right {
                        true => (&mut left, &mut i, a),
                        false => (&mut right, &mut j, b),
                    };
                    let Some(n) = shape.get(*at) else {
                        return found;
                    };
                    *side = side.saturating_mul(*n);
                    *at += 1;
                }
            }
        }
    }
    found
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    match b {
        0 => a,
        b => greatest_common_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::common_axes;

    #[test]
    fn axes_of_a_reshape_are_those_with_the_same_elements() {
        let common = |a: &[usize], b: &[usize]| common_axes(a, b);
        assert_eq!(common(&[4, 3, 5], &[4, 15]), [(4, 0, 0), (3, 1, 1)]);
        assert_eq!(common(&[4, 15], &[4, 3, 5]), [(4, 0, 0), (3, 1, 1)]);
        assert_eq!(common(&[12, 5], &[4, 3, 5]), [(4, 0, 0), (5, 1, 2)]);
        assert_eq!(common(&[6, 2], &[4, 3]), [(2, 0, 0)]);
        assert_eq!(common(&[1, 3, 2], &[3, 2]), [(3, 1, 0), (2, 2, 1)]);
        assert_eq!(common(&[1, 6], &[1, 2, 3]), [(1, 0, 0), (2, 1, 1)]);
        assert_eq!(common(&[6], &[1, 6, 1]), [(6, 0, 1)]);
        assert_eq!(common(&[], &[1, 1]), []);
        assert_eq!(common(&[0, 2], &[2, 0]), []);
    }
}
