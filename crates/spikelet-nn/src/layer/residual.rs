//! Residual connections.
//!
//! Sources: the spike-element-wise joins, W. Fang et al., *Deep residual learning in spiking neural networks* (SEW ResNet),
//! NeurIPS 2021; stochastic depth, G. Huang et al., *Deep networks with stochastic depth*, ECCV 2016.

use super::dropout::{PROBABILITY, drop_samples};
use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Description, Module, Tree, print_as_tree};
use crate::network::NetworkProblem;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::layer_fields::group_name;
use crate::network::values::LayerList;
use serde_json::{Value, json};
use spikelet_core::Result;
use spikelet_core::document::{Located, Node};
use spikelet_graph::Var;
use spikelet_schema::{Field, FieldValue, Kind, Schema};
use std::sync::Arc;

/// The function that combines the main branch `a` and the shortcut `b` of a residual block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[non_exhaustive]
pub enum Join {
    /// a + b
    #[default]
    Add,
    /// a · b: both fired.
    And,
    /// (1 − a) · b: the input fired, the block did not.
    #[schema(name = "iand")]
    IAnd,
}

/// `join(main(x), shortcut(x))`; without a shortcut, `x` itself.
///
/// ```
/// use spikelet_nn::prelude::*;
/// let block = Residual::new(
///     Sequential::new().add(Conv2d::new(8, 8, 3).bias(false).padding(1)).add(BatchNorm2d::new(8)).add(If::new()),
/// );
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 8, 14, 14]);
/// assert_eq!(cx.trace(&block, x)?.shape(), [4, 2, 8, 14, 14]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "SEWResNet")]
pub struct Residual {
    main: Box<dyn Module>,
    shortcut: Option<Box<dyn Module>>,
    join: Join,
    stochastic_depth: f64,
    names: [String; 2],
}

impl Residual {
    /// Adds its input to the output of `main`. Parameters are named `main.…`.
    pub fn new(main: impl Module + 'static) -> Self {
        Self {
            main: Box::new(main),
            shortcut: None,
            join: Join::Add,
            stochastic_depth: 0.0,
            names: ["main", "shortcut"].map(String::from),
        }
    }

    /// Sets the module of the shortcut, named `shortcut.…`; required if the shape changes.
    #[must_use]
    pub fn shortcut(mut self, module: impl Module + 'static) -> Self {
        self.shortcut = Some(Box::new(module));
        self
    }

    /// Sets the names of the main branch and the shortcut in paths of parameters, such as those of another program. An
    /// empty name adds nothing to the paths.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let conv = Sequential::new().add_named("conv1", Conv2d::new(8, 8, 3).padding(1));
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 8, 14, 14]);
    /// cx.trace(&Residual::new(conv).names("", "downsample"), x)?;
    /// assert_eq!(cx.traced().parameters[0].name, "conv1.weight");
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn names(mut self, main: &str, shortcut: &str) -> Self {
        self.names = [main, shortcut].map(String::from);
        self
    }

    /// Sets the function that combines the branches.
    #[must_use]
    pub fn join(mut self, join: Join) -> Self {
        self.join = join;
        self
    }

    /// Sets the probability that the main branch of a sample is 0 during training, at all time steps; otherwise it is
    /// divided by 1 − `p`. In evaluation nothing is dropped. [`Join::And`] would drop the shortcut too and allows 0 only.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// let conv = Sequential::new().add(Conv2d::new(8, 8, 3).bias(false).padding(1)).add(BatchNorm2d::new(8)).add(If::new());
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 8, 14, 14]);
    /// let y = cx.trace(&Residual::new(conv).stochastic_depth(0.1), x)?;
    /// assert_eq!(y.shape(), [4, 2, 8, 14, 14]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[doc(alias = "DropPath")]
    #[must_use]
    pub fn stochastic_depth(mut self, p: f64) -> Self {
        self.stochastic_depth = p;
        self
    }
}

impl Residual {
    /// The main branch without those that are dropped.
    fn dropped(&self, cx: &Context, a: Var) -> Result<Var> {
        let domain = match self.join {
            Join::And => Domain::at_least(0.0).at_most(0.0),
            _ => PROBABILITY,
        };
        let p = Constant::new("stochastic_depth", self.stochastic_depth, domain);
        cx.expect_domains("residual", &[p])?;
        match self.stochastic_depth > 0.0 {
            true => drop_samples(cx, &a, self.stochastic_depth),
            false => Ok(a),
        }
    }
}

impl Module for Residual {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let a = cx.child(&self.names[0], |cx| self.main.forward(cx, x))?;
        let a = self.dropped(cx, a)?;
        let b = match &self.shortcut {
            Some(module) => cx.child(&self.names[1], |cx| module.forward(cx, x))?,
            None => x.clone(),
        };
        if a.shape() != b.shape() {
            return Err(cx.error(
                "residual",
                LayerProblem::Branches {
                    main: a.ty().clone(),
                    shortcut: b.ty().clone(),
                },
            ));
        }
        Ok(match self.join {
            Join::Add => a + b,
            Join::And => a * b,
            Join::IAnd => Var::map(&[&a, &b], |v| (1.0 - &v[0]) * &v[1]),
        })
    }

    fn tree(&self) -> Tree {
        let mut settings = format!("join={:?}", self.join);
        if self.stochastic_depth > 0.0 {
            settings += &format!(" stochastic_depth={}", self.stochastic_depth);
        }
        let tree = Tree::for_type::<Self>().settings(settings);
        let tree = tree.child(&self.names[0], &*self.main);
        match &self.shortcut {
            Some(module) => tree.child(&self.names[1], &**module),
            None => tree,
        }
    }

    fn describe(&self) -> Description<'_> {
        let [main, shortcut] = &self.names;
        let branches = [
            (main.as_str(), Some(&*self.main)),
            (shortcut, self.shortcut.as_deref()),
        ];
        Description::Branches(branches, self.join)
    }
}

print_as_tree!(Residual);

/// A main branch joined with a shortcut.
///
/// `{ residual = […], shortcut = […], join = "add" }`: a branch is a list of layers or a single layer.
#[derive(Debug, Schema)]
#[schema(name = "residual")]
pub(crate) struct ResidualKeys {
    /// The layers of the main branch.
    #[schema(main, required)]
    layers: LayerList,
    /// The layers of the shortcut; by default the input itself.
    shortcut: LayerList,
    /// How both are joined: `add`, `and` or `iand`.
    join: Join,
    /// The names of main branch and shortcut in paths of parameters.
    names: Option<BranchNames>,
    /// The probability that a sample skips the main branch in training.
    #[schema(from = 0, below = 1)]
    stochastic_depth: f64,
}

impl LayerKeys for ResidualKeys {
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ residual = [{ pointwise = 4 }] }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let input = (b.shape.clone(), b.one_step);
        let BranchNames(names) = self.names.clone().unwrap_or_default();
        let main = b.body(&self.layers, &names[0])?;
        let mut module = Residual::new(main).names(&names[0], &names[1]);
        let main = (std::mem::replace(&mut b.shape, input.0), b.one_step);
        b.one_step = input.1;
        if let Some(shortcut) = self.shortcut.given() {
            module = module.shortcut(b.body(shortcut, &names[1])?);
        }
        let other = (b.shape.clone(), b.one_step);
        if main != other {
            let text = |(shape, one_step): &(Vec<usize>, bool)| match one_step {
                true => format!("{shape:?} of one time step"),
                false => format!("{shape:?}"),
            };
            return Err(layer.refused(NetworkProblem::Branches {
                first: "the main branch".to_string(),
                first_output: text(&main),
                second: "the shortcut".to_string(),
                second_output: text(&other),
                concat: false,
            }));
        }
        let module = module.join(self.join);
        Ok(Arc::new(module.stochastic_depth(self.stochastic_depth)))
    }
}

/// The names of the branches in paths.
#[derive(Clone, Debug)]
pub(crate) struct BranchNames([String; 2]);

impl Default for BranchNames {
    fn default() -> Self {
        Self(["main", "shortcut"].map(String::from))
    }
}

impl FieldValue for BranchNames {
    fn kind() -> Kind {
        <[String; 2]>::kind()
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        let expected = "a list of two names, such as [\"main\", \"\"]";
        match node.list(field.key) {
            Ok([main, shortcut]) => {
                self.0 = [group_name(main)?, group_name(shortcut)?].map(String::from);
                Ok(())
            }
            _ => Err(node.wrong(field.key, expected)),
        }
    }

    fn write(&self) -> Value {
        json!(self.0)
    }
}
