//! The product of the spikes that a scan feeds back with its weight.
//!
//! A tile consists of rows of neurons, the samples of a batch. In a step the rows of the transposed weight of the
//! neurons that fired are added: the cost of the product is proportional to the number of spikes.

use super::scan_ports::Memory;
use super::tile_operand;
use super::{Float, Types, words_of};
use crate::memory::View;
use crate::spikes::{self, Fired};
use spikelet_expr::Block;
use spikelet_graph::TensorType;
use spikelet_graph::op::{Feedback, Port, Ports, Scan};

/// What happens before each step of a scan with feedback: the driven input is computed, and the spikes are stored.
pub(super) struct Drive {
    feedback: Feedback,
    /// The operands: the weight and its type, and the product of the initial spikes.
    weight: (usize, TensorType),
    first_product: usize,
    /// The results.
    driven: usize,
    before: usize,
    /// Neurons of a row.
    features: usize,
}

pub(super) struct DriveScratch<R> {
    driven: Block<R>,
    fired: Fired,
}

impl<R: Float> DriveScratch<R> {
    /// For tiles of this many elements.
    pub(super) fn new(tile: usize, features: usize) -> Self {
        Self {
            driven: Block::filled(R::ZERO, tile),
            fired: Fired::new(tile / features.max(1), features),
        }
    }
}

impl Drive {
    /// The feedback of a scan, if it has any.
    pub(super) fn of(op: &Scan, types: &Types) -> Option<Self> {
        let weight = op.operand(Port::Weight)?;
        Some(Self {
            feedback: op.feedback.clone()?,
            weight: (weight, types.inputs[weight].clone()),
            first_product: op.reads(Port::FirstProduct),
            driven: op.writes(Port::Driven),
            before: op.writes(Port::Before),
            features: types.inputs[0].shape.last().copied().unwrap_or(0),
        })
    }

    /// Words of the table, and of the weight if it is converted.
    pub(super) fn words<R: Float>(&self) -> usize {
        let table = words_of::<R>(spikes::table_elements(self.features, self.features));
        table.saturating_add(tile_operand::weight_words(&self.weight.1))
    }

    /// The transposed weight, in the workspace.
    pub(super) fn table<'a, R: Float>(
        &self,
        reads: &[View<'a>],
        workspace: &'a mut [u64],
    ) -> &'a [R] {
        let (weight, ty) = &self.weight;
        let (weight, table) = tile_operand::weight::<R>(&reads[*weight], ty, workspace);
        spikes::fill_table(weight, (self.features, self.features), table);
        table
    }

    /// Computes the driven input of step `t` of a tile from `x` and the states before it. The first element of the tile
    /// is `at` in sequences, `start` in a step.
    pub(super) fn run<'a, R: Float>(
        &self,
        memory: &'a Memory<'_, R>,
        now: &[Block<R>],
        (t, at, start): (usize, usize, usize),
        x: &[R],
        scratch: &'a mut DriveScratch<R>,
    ) -> &'a [R] {
        let DriveScratch { driven, fired } = scratch;
        let (length, features) = (x.len(), self.features);
        // SAFETY: tiles are disjoint at every step.
        let driven = match unsafe { memory.results[self.driven].range(at, length) } {
            Some(driven) => driven,
            None => &mut driven[..length],
        };
        let before = &memory.results[self.before];
        if t == 0 && !self.feedback.continues {
            let product = &memory.reads[self.first_product][start..start + length];
            for ((driven, x), product) in driven.iter_mut().zip(x).zip(product) {
                *driven = *x + *product;
            }
            // SAFETY: as above.
            unsafe { before.clear((at, length), features) };
        } else {
            let spikes = &now[self.feedback.state][..length];
            let bits = fired.set(spikes, features);
            // SAFETY: as above.
            unsafe { before.copy((at, length), (spikes, bits), features) };
            fired.drive(memory.weight, x, features, driven);
        }
        driven
    }
}
