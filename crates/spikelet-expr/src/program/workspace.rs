//! The registers of a program.

use super::{Evaluate, Instruction, Program};
use crate::block::Block;

/// The registers of a [`Program`]; each thread needs its own.
///
/// All memory is allocated on creation.
#[derive(Debug)]
pub struct Workspace<R> {
    pub(super) block: usize,
    pub(super) fixed: Vec<Block<R>>,
    pub(super) temps: Vec<Block<R>>,
}

impl<R: Evaluate> Workspace<R> {
    pub(super) fn new(program: &Program, block: usize) -> Self {
        let mut fixed = vec![Block::filled(R::ZERO, block); program.fixed];
        for (register, &value) in fixed.iter_mut().zip(&program.constants) {
            register.fill(R::from_f64(value));
        }
        let mut work = Self {
            block,
            fixed,
            temps: vec![Block::filled(R::ZERO, block); program.temps],
        };
        if program.uniform == 0 {
            work.run_prelude(&program.prelude);
        }
        work
    }

    /// The largest number of elements in a block.
    pub fn block(&self) -> usize {
        self.block
    }

    pub(super) fn set_uniform(&mut self, first: usize, values: &[&[R]]) {
        for (register, values) in self.fixed[first..].iter_mut().zip(values) {
            match values {
                [value] => register.fill(*value),
                _ => {
                    let n = values.len().min(register.len());
                    register[..n].copy_from_slice(&values[..n]);
                }
            }
        }
    }

    pub(super) fn run_prelude(&mut self, code: &[Instruction]) {
        let n = self.block;
        R::run(self, code, &[], &mut [], n);
    }

    #[inline]
    pub(super) fn run_step(
        &mut self,
        code: &[Instruction],
        inputs: &[&[R]],
        outputs: &mut [&mut [R]],
    ) {
        let n = match (inputs.first(), outputs.first()) {
            (Some(x), _) => x.len(),
            (None, Some(y)) => y.len(),
            (None, None) => return,
        };
        assert!(
            n <= self.block,
            "a block has at most {} elements",
            self.block
        );
        assert!(
            inputs.iter().all(|x| x.len() == n) && outputs.iter().all(|y| y.len() == n),
            "all slices of a block have the same length"
        );
        R::run(self, code, inputs, outputs, n);
    }
}
