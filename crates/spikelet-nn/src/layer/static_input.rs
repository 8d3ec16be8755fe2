//! Layers whose input is constant over time.

use crate::module::{Context, Module, Tree, print_as_tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::LayerList;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Runs a module whose input is constant over time on the first step only and repeats its output:
/// `[T, N, …] → [T, N, …]`. The output is computed and stored once, like `static_conv` in SpikingJelly's
/// Fashion-MNIST tutorial. Batch norm in the module counts each image once.
pub struct Static<M>(pub M);

impl<M: Module> Module for Static<M> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("static", x, 2)?;
        let time_steps = x.dim(0);
        let mut failure = None;
        let y = cx.once(|| {
            let made = self.0.forward(cx, &x.slice(0, 0..time_steps.min(1)));
            made.unwrap_or_else(|error| {
                failure = Some(error);
                x.clone()
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let mut shape = y.shape().to_vec();
        shape[0] = time_steps;
        Ok(y.expand(shape))
    }

    fn tree(&self) -> Tree {
        Tree::for_type::<Self>().child("", &self.0)
    }
}

print_as_tree!({M: Module} Static<M>);

/// Layers whose input is the same at all time steps, run once.
#[derive(Debug, Schema)]
#[schema(name = "static")]
pub(crate) struct StaticKeys {
    /// A list of layers.
    #[schema(main, required)]
    layers: LayerList,
}

impl LayerKeys for StaticKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], "{ static = [{ linear = 6 }] }");

    fn build(&self, _: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (first, one_step) = (b.rows(), b.one_step);
        let made = b.unnamed_body(&self.layers)?;
        b.mark_per_image(first);
        // The output is repeated for all time steps of the input.
        b.one_step = one_step;
        Ok(Arc::new(Static(made)))
    }
}
