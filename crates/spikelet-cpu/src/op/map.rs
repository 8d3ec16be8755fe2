//! Fused elementwise regions.

use super::{
    BLOCK, CHUNK, CpuKernel, Float, Kernel, MAX_OPERANDS, PrepareContext, Prepared, RunResult,
    Types,
};
use crate::broadcast::Broadcast;
use crate::memory::{SharedSlice, View, ViewMut};
use crate::parallel;
use crate::scratch::PerThread;
use arrayvec::ArrayVec;
use spikelet_expr::{Block, CompileError, Program, Workspace};
use spikelet_graph::op::Map;

struct MapKernel<R> {
    program: Program,
    operands: Vec<Broadcast>,
    /// Whether an operand is the same for every block, and therefore gathered once.
    repeats: Vec<bool>,
    length: usize,
    scratch: PerThread<MapScratch<R>>,
}

struct MapScratch<R> {
    work: Workspace<R>,
    /// A block for each operand that cannot be read in place.
    gathered: Vec<Block<R>>,
}

impl CpuKernel for Map {
    fn takes_in_place(&self) -> bool {
        true
    }

    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        cx.boxed(MapKernel::<R>::new(self, &cx.types, cx.threads))
    }

    fn gathered(&self, types: &Types) -> usize {
        types.inputs.len()
    }
}

impl<R: Float> MapKernel<R> {
    fn new(op: &Map, types: &Types, threads: usize) -> Result<Self, CompileError> {
        let program = op.program(types.inputs.len())?;
        let operands: Vec<Broadcast> = types
            .inputs
            .iter()
            .map(|t| Broadcast::new(&t.shape, &op.shape))
            .collect();
        let gathered = vec![Block::filled(R::ZERO, BLOCK); operands.len()];
        Ok(Self {
            scratch: PerThread::new(threads, || MapScratch {
                work: program.workspace(BLOCK),
                gathered: gathered.clone(),
            }),
            program,
            repeats: operands
                .iter()
                .map(|o| o.period().is_some_and(|p| BLOCK.is_multiple_of(p)))
                .collect(),
            operands,
            length: op.shape.iter().product(),
        })
    }

    fn block(
        &self,
        scratch: &mut MapScratch<R>,
        reads: &[Option<&[R]>],
        writes: &mut [&mut [R]],
        in_place: &[usize],
        (start, length): (usize, usize),
    ) {
        for (k, operand) in self.operands.iter().enumerate() {
            let to = &mut scratch.gathered[k][..length];
            match (reads[k], operand) {
                (Some(_), Broadcast::Same) => {}
                // Gathered once per piece.
                (Some(_), _) if self.repeats[k] => {}
                (Some(values), _) => operand.gather(values, start, to),
                (None, _) => to.copy_from_slice(writes[in_place[k]]),
            }
        }
        let mut inputs: ArrayVec<&[R], MAX_OPERANDS> = ArrayVec::new();
        for (k, operand) in self.operands.iter().enumerate() {
            inputs.push(match (reads[k], operand) {
                (Some(values), Broadcast::Same) => &values[start..start + length],
                _ => &scratch.gathered[k][..length],
            });
        }
        self.program.step(&mut scratch.work, &inputs, writes);
    }
}

impl<R: Float> Kernel for MapKernel<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let mut values: [Option<&[R]>; MAX_OPERANDS] = [None; MAX_OPERANDS];
        let mut in_place = [0; MAX_OPERANDS];
        for (k, read) in reads.iter().enumerate() {
            match read {
                View::InPlace(j) => in_place[k] = *j,
                view => values[k] = Some(R::of(view)),
            }
        }
        let mut shared: [Option<SharedSlice<'_, R>>; MAX_OPERANDS] = [const { None }; MAX_OPERANDS];
        for (shared, write) in shared.iter_mut().zip(writes) {
            *shared = Some(SharedSlice::new(R::of_mut(write)));
        }
        let this = &*self;
        let pieces = this.length.div_ceil(CHUNK);
        parallel::for_each(pieces, |piece| {
            let mut scratch = this.scratch.get();
            let end = ((piece + 1) * CHUNK).min(this.length);
            for (k, operand) in this.operands.iter().enumerate() {
                if let (Some(values), true) = (values[k], this.repeats[k]) {
                    let length = BLOCK.min(this.length);
                    operand.gather(values, 0, &mut scratch.gathered[k][..length]);
                }
            }
            let mut start = piece * CHUNK;
            while start < end {
                let length = BLOCK.min(end - start);
                let mut outs: ArrayVec<&mut [R], MAX_OPERANDS> = ArrayVec::new();
                for shared in shared.iter().flatten() {
                    // SAFETY: pieces are disjoint, and so are the blocks of a piece.
                    outs.push(unsafe { shared.range(start, length) });
                }
                this.block(&mut scratch, &values, &mut outs, &in_place, (start, length));
                start += length;
            }
        });
        Ok(())
    }
}
