//! The step of a recurrence for tiles of rows of neurons.

use super::scan_ports::Operands;
use super::{BLOCK, Float};
use spikelet_expr::{Block, Program, Workspace};

/// A compiled step whose parameters are set once for a tile, although the tile has several blocks.
pub(super) struct StepProgram {
    program: Program,
    /// Elements after which the parameters of a step repeat.
    period: usize,
    /// Whether the parameters do not repeat: they are then set for each block.
    by_element: bool,
}

/// The registers of a step program; each thread needs its own.
pub(super) struct StepScratch<R> {
    /// One for each block of a period.
    works: Vec<Workspace<R>>,
    params: Vec<Block<R>>,
}

/// A block of a tile.
pub(super) struct StepBlock {
    /// The first element, counted from the start of the tile.
    pub(super) at: usize,
    pub(super) size: usize,
    /// The index of the block in its period.
    place: usize,
}

impl StepProgram {
    /// The step for rows of `features` neurons. `by_channel` states whether each parameter is a scalar
    /// or has one value for each neuron of a row.
    pub(super) fn new(
        program: Program,
        operands: &Operands,
        features: usize,
        by_channel: bool,
    ) -> Self {
        let period = if operands.params.is_empty() || !by_channel || features == 0 {
            BLOCK
        } else if features <= BLOCK {
            BLOCK / features * features
        } else {
            features
        };
        Self {
            program,
            period: period.min(operands.elements.max(1)),
            by_element: !operands.params.is_empty() && !by_channel,
        }
    }

    pub(super) fn scratch<R: Float>(&self, params: usize) -> StepScratch<R> {
        let works = self.period.div_ceil(BLOCK);
        StepScratch {
            works: (0..works).map(|_| self.program.workspace(BLOCK)).collect(),
            params: vec![Block::filled(R::ZERO, BLOCK); params],
        }
    }

    /// Sets the parameters for a tile, which starts with a row.
    pub(super) fn begin<R: Float>(
        &self,
        operands: &Operands,
        reads: &[&[R]],
        scratch: &mut StepScratch<R>,
    ) {
        if self.by_element {
            return;
        }
        let StepScratch { works, params } = scratch;
        for (place, work) in works.iter_mut().enumerate() {
            let start = place * BLOCK;
            let length = (self.period - start).min(BLOCK);
            operands.hold(reads, start, length, params, &mut [(&self.program, work)]);
        }
    }

    /// The blocks of a tile of `length` elements.
    pub(super) fn blocks(&self, length: usize) -> impl Iterator<Item = StepBlock> + use<> {
        let period = self.period;
        (0..length).step_by(period).flat_map(move |first| {
            let size = period.min(length - first);
            let blocks = (0..size).step_by(BLOCK).enumerate();
            blocks.map(move |(place, at)| StepBlock {
                at: first + at,
                size: BLOCK.min(size - at),
                place,
            })
        })
    }

    /// Runs the step for one block of the tile whose first element is `start`.
    #[inline]
    pub(super) fn run<R: Float>(
        &self,
        (operands, reads): (&Operands, &[&[R]]),
        scratch: &mut StepScratch<R>,
        (start, block): (usize, &StepBlock),
        inputs: &[&[R]],
        outputs: &mut [&mut [R]],
    ) {
        let StepScratch { works, params } = scratch;
        let work = &mut works[block.place];
        if self.by_element {
            let program = &mut [(&self.program, &mut *work)];
            operands.hold(reads, start + block.at, block.size, params, program);
        }
        self.program.step(work, inputs, outputs);
    }
}
