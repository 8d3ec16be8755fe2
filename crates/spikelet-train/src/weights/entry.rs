//! The entries of a map.

use super::value::Relation;
use spikelet_core::{Error, Result};
use spikelet_graph::Tensor;

/// A tensor of a network and its name in a framework.
#[derive(Clone, Debug, PartialEq)]
pub struct MapEntry {
    /// Its name in spikelet.
    pub ours: String,
    /// Its shape in spikelet.
    pub shape: Vec<usize>,
    /// Its name in the framework.
    pub theirs: String,
    /// The difference of the two.
    pub transform: Transform,
}

/// The difference of a tensor in spikelet and in a framework.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Transform {
    /// None.
    Same,
    /// Rows are columns.
    Transposed,
    /// The matrix `[n, 2n]` of the framework has the identity in front: it acts on the input.
    BesideIdentity,
    /// The values of a constant of a neuron, one for all neurons or several; with a formula, such as 1/τ = σ(w). `axes`
    /// is the number of axes of length 1 that the framework's tensor has behind the others, to broadcast over images.
    Constant {
        /// The formula.
        relation: Relation,
        /// Axes of length 1 behind the others.
        axes: usize,
    },
}

impl Transform {
    /// The shape in the framework.
    pub(super) fn shape(&self, ours: &[usize]) -> Vec<usize> {
        match self {
            Self::Same => ours.to_vec(),
            Self::Transposed => ours.iter().rev().copied().collect(),
            Self::BesideIdentity => match *ours {
                [rows, columns] => vec![rows, rows + columns],
                _ => ours.to_vec(),
            },
            Self::Constant { axes, .. } => [ours, &vec![1; *axes]].concat(),
        }
    }

    /// Whether a tensor of the framework of this shape is understood, for a tensor `ours` of the network.
    pub(super) fn accepts(&self, ours: &[usize], given: &[usize]) -> bool {
        let elements = |shape: &[usize]| shape.iter().product::<usize>();
        match self {
            Self::Constant { .. } => {
                let without_ones = |shape: &[usize]| -> Vec<usize> {
                    shape.iter().copied().filter(|&size| size != 1).collect()
                };
                elements(given) == 1 || without_ones(ours) == without_ones(given)
            }
            _ => self.shape(ours) == given,
        }
    }

    /// The tensor of the framework.
    pub(super) fn to_theirs(&self, tensor: &Tensor) -> Result<spikelet_weights::Tensor> {
        let shape = self.shape(&tensor.shape);
        let values = tensor.to_f64();
        let values: Vec<f64> = match (self, &tensor.shape[..]) {
            (Self::Transposed, &[rows, columns]) => transposed(&values, rows, columns),
            (Self::BesideIdentity, &[rows, columns]) => (0..rows)
                .flat_map(|row| {
                    let identity = (0..rows).map(move |k| if k == row { 1.0 } else { 0.0 });
                    identity.chain(values[row * columns..][..columns].iter().copied())
                })
                .collect(),
            (Self::Constant { relation, .. }, _) => values
                .into_iter()
                .map(|value| relation.theirs(value))
                .collect(),
            _ => values,
        };
        let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
        spikelet_weights::Tensor::from_f32(&shape, &values).map_err(Error::other)
    }

    /// The tensor of the network, from one whose shape is accepted.
    ///
    /// # Errors
    /// The reason, if the values cannot be those of the network.
    pub(super) fn to_ours(
        &self,
        tensor: &spikelet_weights::Tensor,
        shape: &[usize],
    ) -> Result<Tensor, String> {
        if *self == Self::Same {
            return Ok(Tensor::f32(shape, tensor.to_f32()));
        }
        let values = tensor.to_f64();
        let values: Vec<f64> = match (self, shape) {
            (Self::Transposed, &[rows, columns]) => transposed(&values, columns, rows),
            (Self::BesideIdentity, &[rows, columns]) => {
                let width = rows + columns;
                let on_input = |row: usize, k: usize| values[row * width + k];
                let is_identity = (0..rows).all(|row| {
                    (0..rows).all(|k| on_input(row, k) == if k == row { 1.0 } else { 0.0 })
                });
                if !is_identity {
                    return Err(
                        "its first half, which acts on the input, is not the identity".to_string(),
                    );
                }
                (0..rows)
                    .flat_map(|row| values[row * width + rows..][..columns].iter().copied())
                    .collect()
            }
            (Self::Constant { relation, .. }, _) => {
                let count = shape.iter().product();
                let each = values.into_iter().map(|value| {
                    relation.ours(value).map_err(|value| {
                        format!("{value} is outside the bound of the trained constant")
                    })
                });
                let each: Vec<f64> = each.collect::<Result<_, String>>()?;
                match each[..] {
                    [one] => vec![one; count],
                    _ => each,
                }
            }
            _ => values,
        };
        let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
        Ok(Tensor::f32(shape, values))
    }
}

fn transposed(values: &[f64], rows: usize, columns: usize) -> Vec<f64> {
    let columns_first = (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column)));
    columns_first
        .map(|(row, column)| values[row * columns + column])
        .collect()
}

/// An entry of a state dict that is no tensor of the network.
#[derive(Clone, Debug, PartialEq)]
pub struct MapConstant {
    /// Its name in the framework.
    pub theirs: String,
    /// Its value.
    pub value: spikelet_weights::Tensor,
    /// Whether the framework's state dict has it; otherwise it is compared only where a file has it.
    pub stored: bool,
    /// Whether another value in a file means another network.
    pub compared: bool,
}
