//! Modules: Rust code that is called once to trace a network.
//!
//! A module has only its configuration; parameters and states are in a store, under the path of the module
//! (`fc.0.weight`). Every sequence is `[T, N, …]`: a stateless layer is applied to all time steps, a neuron runs over
//! them. A network that is run step by step ([`Propagation`]) calls
//! its modules with `[1, N, …]` for one step after the other.

mod context;
#[doc(hidden)]
pub mod derived;
mod description;
mod init;
pub mod observer;
mod propagation;
mod sequential;
mod step_outputs;
mod stepping;
mod summary;
mod tree;

pub(crate) use context::LABEL;
pub use context::{BEFORE, GENERATOR};
pub use context::{
    Chunk, ChunkState, Context, CountedKind, CountedLayer, LearnedStart, Mode, Trace, Traced,
    TracedState, TracedTensor, TracedTensors,
};
pub use description::{ConvDescription, Description};
pub use init::Init;
pub use observer::Observer;
pub use propagation::Propagation;
pub use sequential::Sequential;
pub use spikelet_graph::Precision;
/// Names the children of a module by the fields of its struct.
///
/// Each field is a child: a module, or a `Vec` or an array of modules. The macro generates
///
/// - for each child a private method of its name: `self.trunk(cx, x)` is
///   `cx.child("trunk", |cx| self.trunk.forward(cx, x))`; that of a `Vec` or an array runs its elements one after the other,
///   and their paths are `blocks.0`, `blocks.1`, …;
/// - `impl Module`, which calls the function `forward` that the struct has, and whose [`Module::tree`] has the children.
///
/// ```
/// use spikelet_nn::prelude::*;
///
/// #[derive(Module)]
/// struct TwoParts {
///     trunk: Sequential,
///     blocks: Vec<Sequential>,
///     head: Linear,
///     #[module(skip)]
///     steps: usize,
/// }
///
/// impl TwoParts {
///     fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
///         let h = self.trunk(cx, &x.repeat_over_time(self.steps))?; // the child `trunk`
///         let h = self.blocks(cx, &h)?; // the children `blocks.0`, `blocks.1`, …
///         self.head(cx, &h)
///     }
/// }
///
/// let layer = |inputs| Sequential::new().add(Linear::new(inputs, 16)).add(Lif::new(2.0));
/// let net = TwoParts { trunk: layer(4), blocks: vec![layer(16)], head: Linear::new(16, 3), steps: 8 };
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x", DType::F32, [2, 4]);
/// assert_eq!(net.forward(&cx, &x)?.shape(), [8, 2, 3]);
/// let names: Vec<String> = cx.traced().parameters.into_iter().map(|p| p.name).collect();
/// assert_eq!(names[..3], ["trunk.0.weight", "trunk.0.bias", "blocks.0.0.weight"]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
///
/// | attribute | of | |
/// |---|---|---|
/// | `#[module(skip)]` | a field | it is not a child |
/// | `#[module(children)]` | the struct | only the methods of the children are generated, for a type with several inputs or outputs |
/// | `#[module(crate = path)]` | the struct | the path of this crate, where it is not `spikelet`; crates named `spikelet-…` use `spikelet_nn` |
///
/// A struct without a function `forward` is an error, "multiple applicable items in scope", that names the trait
/// `StructHasNoForward`.
pub use spikelet_schema_derive::Module;
pub use step_outputs::StepOutputs;
pub use summary::{Summary, SummaryRow};
pub use tree::Tree;
pub(crate) use tree::print_as_tree;

use crate::{LayerError, LayerProblem};
use spikelet_core::Result;
use spikelet_graph::Var;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A module maps a sequence to a sequence.
///
/// ```
/// use spikelet_nn::prelude::*;
///
/// /// Adds its input to its output.
/// struct Residual(Sequential);
///
/// impl Module for Residual {
///     fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
///         Ok(cx.child("inner", |cx| self.0.forward(cx, x))? + x)
///     }
/// }
/// ```
///
/// Children that are fields of a struct are named by `#[derive(Module)]`; `cx.child` is for all others.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module",
    note = "a field that is no module has `#[module(skip)]` in a struct that derives `Module`"
)]
pub trait Module: Send + Sync {
    /// Builds the graph of this module for the sequence `x`, `[T, N, …]`.
    ///
    /// # Errors
    /// When shapes do not match; the error names the layer.
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var>;

    /// The modules that this one runs one after the other, with their paths in it, such as
    /// `conv.0`; empty if it is not a chain. A pipeline is cut between two of them.
    fn chain(&self) -> Vec<(String, Arc<dyn Module>)> {
        vec![]
    }

    /// The printed form of the module. By default, the name of its type.
    fn tree(&self) -> Tree {
        Tree::for_type::<Self>()
    }

    /// The computation of the module, for programs that translate networks into other forms. By default it has no description,
    /// and such programs refuse the module.
    ///
    /// ```
    /// use spikelet_nn::module::Description;
    /// use spikelet_nn::prelude::*;
    /// let module: Box<dyn Module> = Box::new(Linear::new(4, 3));
    /// assert!(matches!(module.describe(), Description::Linear { outputs: 3, .. }));
    /// ```
    fn describe(&self) -> Description<'_> {
        Description::Opaque
    }
}

/// A pointer to a module is a module.
macro_rules! pointers {
    ($($pointer:ty),*) => {$(
        impl Module for $pointer {
            fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
                (**self).forward(cx, x)
            }

            fn chain(&self) -> Vec<(String, Arc<dyn Module>)> {
                (**self).chain()
            }

            fn tree(&self) -> Tree {
                (**self).tree()
            }

            fn describe(&self) -> Description<'_> {
                (**self).describe()
            }
        }
    )*};
}

pointers!(Box<dyn Module>, Arc<dyn Module>, &dyn Module);

/// The chain of the child module `name`, with paths in its parent; or the module itself.
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

/// Checks that all modules of `place` that have names have different ones.
pub fn check_names(place: &str, modules: &[(String, Arc<dyn Module>)]) -> Result<()> {
    let mut names = BTreeSet::new();
    let mut named = modules.iter().filter(|(name, _)| !name.is_empty());
    match named.find(|(name, _)| !names.insert(name)) {
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
