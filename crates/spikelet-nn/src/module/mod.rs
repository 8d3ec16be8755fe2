//! Modules: ordinary Rust that is called once to trace a network.
//!
//! A module's value is its configuration; parameters and states live outside, under the path of
//! the module (`fc.0.weight`). Every sequence is `[T, N, …]`: a stateless layer treats all time
//! steps alike, a neuron runs over them. A network that is run step by step ([`Propagation`]) calls
//! its modules with `[1, N, …]` for one step after the other.

mod context;
mod init;
mod propagation;
mod sequential;
mod tree;
mod unroll;

pub use context::{BEFORE, GENERATOR};
pub use context::{
    Chunk, ChunkState, Context, LearnedStart, Mode, Traced, TracedState, TracedTensor,
};
pub use init::Init;
pub use propagation::Propagation;
pub use sequential::Sequential;
pub use spikelet_graph::Precision;
pub use tree::Tree;
pub use unroll::StepOutputs;

use crate::{LayerError, LayerProblem};
use spikelet_core::Result;
use spikelet_graph::Var;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Something that maps a sequence to a sequence.
///
/// ```
/// use spikelet::prelude::*;
///
/// /// Adds what it computes to what it was given.
/// struct Residual(Sequential);
///
/// impl Module for Residual {
///     fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
///         Ok(cx.child("inner", |cx| self.0.forward(cx, x.clone()))? + x)
///     }
/// }
/// ```
pub trait Module: Send + Sync {
    /// Builds the graph of this module for the sequence `x`, `[T, N, …]`.
    ///
    /// # Errors
    /// When shapes do not fit; the error names the layer.
    fn forward(&self, cx: &Context, x: Var) -> Result<Var>;

    /// The modules that this one runs one after the other, with their paths in it, such as
    /// `conv.0`; none if it is not such a chain. A pipeline cuts it between two of them.
    fn chain(&self) -> Vec<(String, Arc<dyn Module>)> {
        vec![]
    }

    /// How the module prints. A module of one's own that says nothing else is called like its type.
    fn tree(&self) -> Tree {
        Tree::of::<Self>()
    }
}

impl Module for Box<dyn Module> {
    fn forward(&self, cx: &Context, x: Var) -> Result<Var> {
        (**self).forward(cx, x)
    }

    fn chain(&self) -> Vec<(String, Arc<dyn Module>)> {
        (**self).chain()
    }

    fn tree(&self) -> Tree {
        (**self).tree()
    }
}

/// The chain of a module that is called `name` in another one's, or the module itself.
pub fn links(name: &str, module: &Arc<dyn Module>) -> Vec<(String, Arc<dyn Module>)> {
    let inner = module.chain();
    if inner.is_empty() {
        return vec![(name.to_string(), module.clone())];
    }
    let named = |(path, link): (String, Arc<dyn Module>)| match name {
        "" => (path, link),
        _ => (format!("{name}.{path}"), link),
    };
    inner.into_iter().map(named).collect()
}

/// Refuses modules of one name in `place`.
pub fn check_names(place: &str, modules: &[(String, Arc<dyn Module>)]) -> Result<()> {
    let mut names = BTreeSet::new();
    match modules.iter().find(|(name, _)| !names.insert(name)) {
        None => Ok(()),
        Some((twice, _)) => Err(LayerError {
            layer: place.to_string(),
            problem: LayerProblem::DuplicateName {
                name: twice.clone(),
            },
        }
        .into()),
    }
}
