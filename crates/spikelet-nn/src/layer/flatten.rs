//! Merges the feature axes.

use crate::module::{Context, Description, Module, Tree};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// `[T, N, …] → [T, N, features]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flatten;

impl Module for Flatten {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("flatten", x, 2)?;
        Ok(x.flatten(2))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Flatten
    }
}

/// Merges all axes into features.
#[derive(Debug, Schema)]
#[schema(name = "flatten")]
pub(crate) struct FlattenKeys {}

impl LayerKeys for FlattenKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], r#""flatten""#);

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        b.without_weights(layer, Flatten)
    }
}
