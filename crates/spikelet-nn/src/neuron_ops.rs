//! The number of operations of one update of a neuron.

use serde::{Deserialize, Serialize};

/// The operations of one update of a neuron: charge, fire and reset.
///
/// Equal subexpressions are computed once. Expressions without input and state are computed once for all updates,
/// and not counted. A division by such a value is a multiplication by its reciprocal. Selections, signs and absolute
/// values are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeuronOps {
    /// Additions and subtractions.
    pub additions: u64,
    /// Multiplications, and divisions by values that are the same for all updates.
    pub multiplications: u64,
    /// Divisions by values that depend on the input or on a state.
    pub divisions: u64,
    /// Comparisons, minima and maxima.
    pub comparisons: u64,
    /// Elementary functions, such as exponentials, and roundings.
    pub functions: u64,
    /// State variables, each of which is read and written.
    pub states: u64,
}
