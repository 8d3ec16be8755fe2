//! Merges the feature axes.

use crate::module::{Context, Description, Module, Tree};
use crate::network::kind::{Kind, MainValue};
use spikelet_core::Result;
use spikelet_graph::Var;

/// `[T, N, …] → [T, N, features]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flatten;

impl Module for Flatten {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        cx.expect_rank("flatten", &x, 2)?;
        Ok(x.flatten(2))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Flatten
    }
}

/// `"flatten"`
pub(crate) const FLATTEN: Kind = Kind {
    names: &["flatten"],
    types: &["Flatten"],
    summary: "merges all axes into features",
    main: MainValue::None,
    keys: &[],
    example: (&[4, 6, 6], r#""flatten""#),
    build: |layer, b| b.without_weights(layer, Flatten),
};
