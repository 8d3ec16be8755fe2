//! The items that the code of `#[derive(Module)]` uses.

pub use super::{Context, Module, Tree};
pub use spikelet_core::Result;
pub use spikelet_graph::Var;

use std::convert::Infallible;

/// Runs the child `name`.
pub fn child(cx: &Context, name: &str, module: &impl Module, x: &Var) -> Result<Var> {
    cx.child(name, |cx| module.forward(cx, x))
}

/// Runs the children `name.0`, `name.1`, …, one after the other.
pub fn children<M: Module>(cx: &Context, name: &str, modules: &[M], x: &Var) -> Result<Var> {
    let mut modules = modules.iter().enumerate();
    modules.try_fold(x.clone(), |x, (k, module)| {
        child(cx, &format!("{name}.{k}"), module, &x)
    })
}

/// Adds the child `name`.
pub fn child_tree(tree: Tree, name: &str, module: &impl Module) -> Tree {
    tree.child(name, module)
}

/// Adds the children `name.0`, `name.1`, …
pub fn children_tree<M: Module>(tree: Tree, name: &str, modules: &[M]) -> Tree {
    let modules = modules.iter().enumerate();
    modules.fold(tree, |tree, (k, module)| {
        tree.child(format!("{name}.{k}"), module)
    })
}

/// A function `forward` of every type, which makes the path `Self::forward` ambiguous where the type has none of its own.
pub trait StructHasNoForward {
    /// Cannot be called.
    fn forward(never: Infallible) -> Infallible {
        never
    }
}

impl<T: ?Sized> StructHasNoForward for T {}
