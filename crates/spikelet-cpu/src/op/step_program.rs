//! The step of a recurrence for tiles of rows of neurons.

use super::scan_ports::Operands;
use super::{BLOCK, Float};
use spikelet_expr::{Block, Program, Workspace};

/// How a step is divided into tiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tiles {
    /// Of one block, or of any number of blocks where all parameters are scalars ([`Operands::most`]).
    Any,
    /// Of full rows of neurons.
    Rows { features: usize },
}

/// A compiled step whose parameters are set once for a tile, although the tile has several blocks.
pub(super) struct StepProgram {
    program: Program,
    tiles: Tiles,
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
    /// `by_channel` states whether each parameter is a scalar or has one value for each neuron of a row.
    pub(super) fn new(
        program: Program,
        operands: &Operands,
        tiles: Tiles,
        by_channel: bool,
    ) -> Self {
        let has_params = !operands.params.is_empty();
        let period = match tiles {
            Tiles::Rows { features } if has_params && by_channel && features > 0 => {
                match BLOCK / features {
                    0 => features,
                    rows => rows * features,
                }
            }
            _ => BLOCK,
        };
        Self {
            program,
            tiles,
            period: period.min(operands.elements.max(1)),
            by_element: tiles != Tiles::Any && has_params && !by_channel,
        }
    }

    pub(super) fn scratch<R: Float>(&self, params: usize) -> StepScratch<R> {
        let works = self.period.div_ceil(BLOCK);
        StepScratch {
            works: (0..works).map(|_| self.program.workspace(BLOCK)).collect(),
            params: vec![Block::filled(R::ZERO, BLOCK); params],
        }
    }

    /// Sets the parameters for a tile.
    pub(super) fn begin<R: Float>(
        &self,
        (operands, reads): (&Operands, &[&[R]]),
        (start, length): (usize, usize),
        scratch: &mut StepScratch<R>,
    ) {
        if self.by_element {
            return;
        }
        let StepScratch { works, params } = scratch;
        for (place, work) in works.iter_mut().enumerate() {
            let (first, length) = match self.tiles {
                Tiles::Any => (start, length),
                // Each row has the parameters of the first.
                Tiles::Rows { .. } => (place * BLOCK, self.period - place * BLOCK),
            };
            operands.hold(reads, first, length, params, &mut [(&self.program, work)]);
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
