//! Elementwise equality of labels.

use super::{Float, Kernel};
use crate::memory::{Element, View, ViewMut};
use std::marker::PhantomData;

pub(super) struct EqualKernel<R>(PhantomData<R>);

impl<R> EqualKernel<R> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<R: Float> Kernel for EqualKernel<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        let pairs = i64::of(&reads[0]).iter().zip(i64::of(&reads[1]));
        for ((a, b), y) in pairs.zip(R::of_mut(&mut writes[0])) {
            *y = if a == b { R::ONE } else { R::ZERO };
        }
        Ok(())
    }
}
