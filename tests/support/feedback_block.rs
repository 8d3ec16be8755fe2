//! Images through a block with feedback between two convolutions.

use spikelet::layer::RecurrentBlock;
use spikelet::prelude::*;

/// `[T, N, 16] → [T, N, 1, 4, 4]`
struct Unflatten;

impl Module for Unflatten {
    fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
        Ok(x.reshape([x.dim(0), x.dim(1), 1, 4, 4]))
    }

    fn tree(&self) -> spikelet::module::Tree {
        spikelet::module::Tree::new("Unflatten")
    }
}

/// `[T, N, 16] → [T, N, 32]`
pub fn feedback_block(neuron: impl Module + Clone + 'static) -> Sequential {
    let block = RecurrentBlock::new()
        .layer(
            "a",
            Conv2d::new(1, 3, 3).bias(false).padding(1),
            neuron.clone(),
        )
        .layer("b", Conv2d::new(3, 2, 1).bias(true), neuron)
        .connect("b", "a", Conv2d::new(2, 3, 3).bias(false).padding(1));
    Sequential::new().add(Unflatten).add(block).add(Flatten)
}
