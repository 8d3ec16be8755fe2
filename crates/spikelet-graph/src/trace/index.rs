//! Class numbers and indices.

use super::Var;
use crate::op::{ArgMax, OneHot};

impl Var {
    /// One-hot vectors of class numbers.
    pub fn one_hot(&self, classes: usize) -> Var {
        let dtype = self.tracer.float();
        self.tracer.apply1(OneHot { classes, dtype }, &[self])
    }

    /// The index of the largest element of the last axis, the first of equal ones.
    pub fn argmax(&self) -> Var {
        self.tracer.apply1(ArgMax, &[self])
    }

    /// The index of the smallest element of the last axis, the first of equal ones.
    pub fn argmin(&self) -> Var {
        (-self).argmax()
    }
}
