//! Modules in sequence.

use super::{Context, Description, Module, Tree, check_names, links, print_as_tree};
use spikelet_core::Result;
use spikelet_graph::Var;
use std::sync::Arc;

/// Modules in sequence, named `0`, `1`, `2` … in their parameters' paths, or as given.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Flatten)
///     .add(Linear::new(784, 10))
///     .add(Lif::new(2.0));
/// assert_eq!(net.len(), 3);
/// ```
#[derive(Default)]
pub struct Sequential {
    modules: Vec<(String, Arc<dyn Module>)>,
}

impl Sequential {
    /// An empty sequence: the identity.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a module, named by its position.
    #[allow(
        clippy::should_implement_trait,
        reason = "the name is that of a builder; sums of containers do not exist"
    )]
    #[must_use]
    pub fn add(self, module: impl Module + 'static) -> Self {
        let name = self.modules.len().to_string();
        self.add_named(&name, module)
    }

    /// Adds a module with this name; a duplicate name is an error when the network is traced.
    #[must_use]
    pub fn add_named(mut self, name: &str, module: impl Module + 'static) -> Self {
        self.modules.push((name.to_string(), Arc::new(module)));
        self
    }

    /// The number of modules.
    pub fn len(&self) -> usize {
        self.modules.len()
    }

    /// Whether there is no module.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }
}

impl Module for Sequential {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        check_names(&cx.place("sequential"), &self.modules)?;
        let mut y = x.clone();
        for (name, module) in &self.modules {
            y = cx.child(name, |cx| {
                let y = module.forward(cx, &y)?;
                // A group without a name has the path of its list.
                if !name.is_empty() {
                    (cx.observers()).for_each(|observer| observer.sequence(cx, "output_seq", &y));
                }
                Ok(y)
            })?;
        }
        Ok(y)
    }

    fn chain(&self) -> Vec<(String, Arc<dyn Module>)> {
        let links = self.modules.iter().map(|(name, m)| links(name, m));
        links.flatten().collect()
    }

    fn describe(&self) -> Description<'_> {
        let modules = self.modules.iter();
        Description::Sequence(modules.map(|(name, m)| (name.as_str(), &**m)).collect())
    }

    fn tree(&self) -> Tree {
        let empty = Tree::for_type::<Self>();
        (self.modules.iter()).fold(empty, |tree, (name, module)| tree.child(name, &**module))
    }
}

print_as_tree!(Sequential);
