//! Operations that only move or fill: expand, permute, slice, concat, fill.

use super::{CHUNK, Kernel, Types};
use crate::broadcast::Broadcast;
use crate::memory::{Element, View, ViewMut};
use half::{bf16, f16};
use rayon::prelude::*;
use spikelet_graph::broadcast_strides;
use spikelet_graph::op::Op;

/// Every result element comes from one operand element.
pub(super) struct MoveKernel {
    parts: Vec<Part>,
}

/// How one operand lands in the result.
struct Part {
    gather: Broadcast,
    /// Elements of the operand before the first that is read.
    skip: usize,
    /// The result seen as `[outer, row]`; the part fills `length` elements of each row at `at`.
    row: usize,
    at: usize,
    length: usize,
}

fn dense_strides(shape: &[usize]) -> Vec<usize> {
    broadcast_strides(shape, shape).expect("a shape broadcasts to itself")
}

impl MoveKernel {
    pub(super) fn new(op: &Op, types: &Types) -> Self {
        let to = &types.outputs[0].shape;
        let whole = |gather: Broadcast, skip: usize| Part {
            gather,
            skip,
            row: types.outputs[0].len(),
            at: 0,
            length: types.outputs[0].len(),
        };
        let from = types
            .inputs
            .first()
            .map(|t| t.shape.clone())
            .unwrap_or_default();
        let parts = match op {
            Op::Permute(op) => {
                let strides = dense_strides(&from);
                let strides: Vec<usize> = op.order.iter().map(|&k| strides[k]).collect();
                vec![whole(Broadcast::strided(to, &strides), 0)]
            }
            Op::Slice(op) => {
                let inner: usize = from[op.axis + 1..].iter().product();
                let strides = dense_strides(&from);
                vec![whole(Broadcast::strided(to, &strides), op.start * inner)]
            }
            Op::Concat(op) => {
                let row: usize = to[op.axis..].iter().product();
                let mut at = 0;
                let mut parts = vec![];
                for input in &types.inputs {
                    let length = input.shape[op.axis..].iter().product();
                    parts.push(Part {
                        gather: Broadcast::Same,
                        skip: 0,
                        row,
                        at,
                        length,
                    });
                    at += length;
                }
                parts
            }
            _ => vec![whole(Broadcast::new(&from, to), 0)],
        };
        Self { parts }
    }

    fn run_typed<R: Element>(&self, reads: &[View<'_>], to: &mut [R]) {
        if to.is_empty() {
            return;
        }
        for (part, read) in self.parts.iter().zip(reads) {
            let from = &R::of(read)[part.skip..];
            if part.row == part.length {
                to.par_chunks_mut(CHUNK).enumerate().for_each(|(k, to)| {
                    part.gather.gather(from, k * CHUNK, to);
                });
            } else if part.length > 0 {
                let rows = to
                    .par_chunks_mut(part.row)
                    .zip(from.par_chunks(part.length));
                rows.for_each(|(to, from)| {
                    to[part.at..part.at + part.length].copy_from_slice(from);
                });
            }
        }
    }
}

impl Kernel for MoveKernel {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        match &mut writes[0] {
            ViewMut::F32(to) => self.run_typed(reads, to),
            ViewMut::F64(to) => self.run_typed(reads, to),
            ViewMut::F16(to) => self.run_typed(reads, to),
            ViewMut::BF16(to) => self.run_typed(reads, to),
            ViewMut::I64(to) => self.run_typed(reads, to),
            ViewMut::Bits(_) => return Err("bits cannot be moved element by element".to_string()),
            ViewMut::Unused => {}
        }
        Ok(())
    }
}

/// One value everywhere.
pub(super) struct FillKernel {
    pub(super) value: f64,
}

impl Kernel for FillKernel {
    fn run(
        &mut self,
        _: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        _: &mut [u64],
    ) -> Result<(), String> {
        match &mut writes[0] {
            ViewMut::F32(to) => to.fill(self.value as f32),
            ViewMut::F64(to) => to.fill(self.value),
            ViewMut::F16(to) => to.fill(f16::from_f32(self.value as f32)),
            ViewMut::BF16(to) => to.fill(bf16::from_f32(self.value as f32)),
            ViewMut::I64(to) => to.fill(self.value as i64),
            ViewMut::Bits(to) => to.fill(if self.value == 0.0 { 0 } else { u64::MAX }),
            ViewMut::Unused => {}
        }
        Ok(())
    }
}
