//! Permutations whose operand is contiguous along another axis than the result.

use super::CHUNK;
use crate::parallel;
use crate::transpose::{EDGE, transpose_block};
use spikelet_graph::dense_strides;

/// An axis of the result: its length, and its strides in the result and in the operand.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Axis {
    len: usize,
    to: usize,
    from: usize,
}

/// A permutation whose operand is contiguous along another axis than the result: transposed matrices, tile by tile.
pub(super) struct Transpose {
    /// The first axis of the result, which is divided between threads.
    first: Axis,
    /// The axes that are neither the first nor part of the matrices.
    others: Vec<Axis>,
    /// The axis along which the operand is contiguous; `None` where it is the first.
    rows: Option<Axis>,
    /// The last axis of the result.
    columns: Axis,
}

impl Transpose {
    /// `None` if operand and result are contiguous along the same axis.
    pub(super) fn new(shape: &[usize], strides: &[usize]) -> Option<Self> {
        let mut axes: Vec<Axis> = vec![];
        for ((&len, to), &from) in shape.iter().zip(dense_strides(shape)).zip(strides) {
            match axes.last_mut() {
                _ if len == 1 => {}
                // Neighbors in both are one axis.
                Some(last) if last.from == len * from => {
                    let len = last.len * len;
                    *last = Axis { len, to, from };
                }
                _ => axes.push(Axis { len, to, from }),
            }
        }
        let columns = axes.pop().filter(|columns| columns.from != 1)?;
        let contiguous = axes.iter().position(|axis| axis.from == 1)?;
        let rows = (contiguous > 0).then(|| axes.remove(contiguous));
        let first = axes.remove(0);
        Some(Self {
            first,
            others: axes,
            rows,
            columns,
        })
    }

    /// Copies the elements of the operand to their places in the result, which is not empty.
    pub(super) fn run<R: Copy + Send + Sync>(&self, from: &[R], to: &mut [R]) {
        // Whole tiles of the first axis, and enough elements for a thread.
        let least = CHUNK.div_ceil(self.first.to).max(1);
        let each = match self.rows {
            Some(_) => least,
            None => least.next_multiple_of(EDGE),
        };
        parallel::for_each_chunk(to, each * self.first.to, |part, to| {
            let start = part * each * self.first.from;
            let count = to.len() / self.first.to;
            match self.rows {
                Some(rows) => {
                    for k in 0..count {
                        let to = &mut to[k * self.first.to..(k + 1) * self.first.to];
                        self.transpose(to, &from[start + k * self.first.from..], rows);
                    }
                }
                None => {
                    let rows = Axis {
                        len: count,
                        ..self.first
                    };
                    self.transpose(to, &from[start..], rows);
                }
            }
        });
    }

    /// All matrices of a part of the result.
    fn transpose<R: Copy>(&self, to: &mut [R], from: &[R], rows: Axis) {
        let matrices: usize = self.others.iter().map(|axis| axis.len).product();
        for matrix in 0..matrices {
            let (mut rest, mut offsets) = (matrix, [0, 0]);
            for axis in self.others.iter().rev() {
                offsets[0] += rest % axis.len * axis.to;
                offsets[1] += rest % axis.len * axis.from;
                rest /= axis.len;
            }
            let (to, from) = (&mut to[offsets[0]..], &from[offsets[1]..]);
            let matrix = (self.columns.len, rows.len);
            transpose_block((from, self.columns.from), matrix, (to, rows.to));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broadcast::Broadcast;

    /// Compares with a gather of every element.
    fn check(shape: &[usize], order: &[usize]) -> bool {
        let strides = dense_strides(shape);
        let strides: Vec<usize> = order.iter().map(|&k| strides[k]).collect();
        let result: Vec<usize> = order.iter().map(|&k| shape[k]).collect();
        let values: Vec<f32> = (0..shape.iter().product::<usize>())
            .map(|k| k as f32)
            .collect();
        let mut expected = vec![0.0; values.len()];
        Broadcast::strided(&result, &strides).gather(&values, 0, &mut expected);
        let Some(transpose) = Transpose::new(&result, &strides) else {
            return false;
        };
        let mut found = vec![-1.0_f32; values.len()];
        transpose.run(&values, &mut found);
        assert_eq!(found, expected, "{shape:?} {order:?}");
        true
    }

    #[test]
    fn transposed_elements_are_those_of_a_gather() {
        for (shape, order) in [
            (vec![5, 7], vec![1, 0]),
            (vec![100, 333], vec![1, 0]),
            (vec![300, 50, 3, 3], vec![0, 2, 3, 1]),
            (vec![40, 3, 3, 70], vec![0, 3, 1, 2]),
            (vec![4, 3, 19, 21], vec![0, 2, 3, 1]),
            (vec![2, 3, 4, 5, 6], vec![4, 2, 0, 3, 1]),
            (vec![2, 3, 4, 5, 6], vec![1, 4, 3, 0, 2]),
            (vec![6, 1, 50, 1, 9], vec![4, 1, 0, 3, 2]),
            (vec![9, 2000], vec![1, 0]),
        ] {
            assert!(check(&shape, &order), "{shape:?} {order:?}");
        }
    }

    #[test]
    fn an_axis_that_stays_the_last_is_copied_in_runs() {
        for (shape, order) in [
            (vec![5, 7, 3], vec![1, 0, 2]),
            (vec![5, 7], vec![0, 1]),
            (vec![5, 1], vec![1, 0]),
        ] {
            assert!(!check(&shape, &order), "{shape:?} {order:?}");
        }
    }
}
