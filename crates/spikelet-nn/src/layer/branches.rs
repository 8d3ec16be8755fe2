//! Branches branches: modules with the same input whose outputs are added or concatenated.
//!
//! Source of the concatenation: C. Szegedy et al., *Going deeper with convolutions*, CVPR 2015.

use crate::LayerProblem;
use crate::module::{Context, Module, Tree, print_as_tree};
use crate::network::NetworkProblem;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::LayerList;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;
use std::sync::Arc;

/// The function that combines the outputs of [`Branches`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[non_exhaustive]
pub enum Combine {
    /// Their sum; all have the same shape.
    #[default]
    Sum,
    /// Their concatenation along axis 2, the channels or features; all other axes are equal.
    Concat,
}

/// Branches with the same input, named `0`, `1`, `2` … in their parameters' paths.
///
/// ```
/// use spikelet_nn::layer::{Branches, Combine};
/// use spikelet_nn::prelude::*;
/// let net = Branches::new(Conv2d::new(8, 4, 1))
///     .branch(Conv2d::new(8, 12, 3).padding(1))
///     .combine(Combine::Concat);
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 2, 8, 14, 14]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [4, 2, 16, 14, 14]);
/// assert_eq!(cx.traced().parameters[2].name, "1.weight");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "Inception")]
pub struct Branches {
    first: Arc<dyn Module>,
    others: Vec<Arc<dyn Module>>,
    combine: Combine,
}

impl Branches {
    /// The first branch. The outputs of all branches are added.
    pub fn new(first: impl Module + 'static) -> Self {
        Self {
            first: Arc::new(first),
            others: vec![],
            combine: Combine::Sum,
        }
    }

    /// Adds a branch.
    #[must_use]
    pub fn branch(mut self, module: impl Module + 'static) -> Self {
        self.others.push(Arc::new(module));
        self
    }

    /// Sets the function that combines the branches.
    #[must_use]
    pub fn combine(mut self, combine: Combine) -> Self {
        self.combine = combine;
        self
    }
}

impl Module for Branches {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("branches", x, 2)?;
        let first = cx.child("0", |cx| self.first.forward(cx, x))?;
        let mut outputs = vec![first];
        for (k, module) in (1..).zip(&self.others) {
            let output = cx.child(&k.to_string(), |cx| module.forward(cx, x))?;
            let mut shape = output.shape().to_vec();
            // Only the lengths of the concatenated axis may differ.
            if self.combine == Combine::Concat && shape.len() > 2 && outputs[0].rank() > 2 {
                shape[2] = outputs[0].dim(2);
            }
            if outputs[0].rank() < 3 && self.combine == Combine::Concat
                || shape != outputs[0].shape()
            {
                return Err(cx.error(
                    "branches",
                    LayerProblem::ParallelBranches {
                        first: outputs[0].ty().clone(),
                        index: k,
                        other: output.ty().clone(),
                    },
                ));
            }
            outputs.push(output);
        }
        Ok(match self.combine {
            Combine::Sum => outputs
                .into_iter()
                .reduce(|a, b| a + b)
                .unwrap_or_else(|| x.clone()),
            Combine::Concat => concat(cx, &outputs),
        })
    }

    fn tree(&self) -> Tree {
        let tree = Tree::for_type::<Self>().settings(format!("combine={:?}", self.combine));
        let branches = std::iter::once(&self.first).chain(&self.others);
        let numbered = (0..).zip(branches);
        numbered.fold(tree, |tree, (k, branch): (usize, _)| {
            tree.child(k.to_string(), &**branch)
        })
    }
}

/// The concatenation along axis 2. In mixed precision, spikes and products may have different types.
fn concat(cx: &Context, outputs: &[Var]) -> Var {
    let dtype = outputs[0].ty().dtype;
    let dtype = match outputs.iter().all(|output| output.ty().dtype == dtype) {
        true => dtype,
        false => cx.tracer().float(),
    };
    let outputs: Vec<Var> = outputs.iter().map(|output| output.cast(dtype)).collect();
    Var::concat(&outputs.iter().collect::<Vec<_>>(), 2)
}

print_as_tree!(Branches);

/// Parallel branches, added or concatenated.
///
/// `{ branches = [[…], […]], combine = "concat" }`: each branch is a list of layers or a single layer.
#[derive(Debug, Schema)]
#[schema(name = "branches")]
pub(crate) struct BranchesKeys {
    /// A list of branches, each a list of layers.
    #[schema(main, required)]
    branches: LayerList,
    /// `sum`, or `concat` along the channels or features.
    combine: Combine,
}

impl LayerKeys for BranchesKeys {
    const OTHER_NAMES: &[&str] = &["parallel"];
    const EXAMPLE: (&[usize], &str) = (
        &[4, 6, 6],
        r#"{ branches = [[{ pointwise = 4 }], ["neuron"]] }"#,
    );

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let branches = self.branches.list(layer.name())?;
        let concat = self.combine == Combine::Concat;
        let input = (b.shape.clone(), b.one_step);
        let mut made: Option<Branches> = None;
        let mut output = input.clone();
        for (k, branch) in branches.iter().enumerate() {
            b.shape.clone_from(&input.0);
            b.one_step = input.1;
            let module = b.body(branch, &k.to_string())?;
            let Some(known) = made else {
                made = Some(Branches::new(module));
                output = (b.shape.clone(), b.one_step);
                continue;
            };
            made = Some(known.branch(module));
            let (first, other) = (&mut output.0, &b.shape);
            let fits = match concat {
                true => first.len() == other.len() && first[1..] == other[1..],
                false => first == other,
            };
            if !fits || output.1 != b.one_step {
                let problem = NetworkProblem::Branches {
                    first: "branch 0".to_string(),
                    first_output: format!("{first:?}"),
                    second: format!("branch {k}"),
                    second_output: format!("{other:?}"),
                    concat,
                };
                return Err(problem.at(branch.span.clone()));
            }
            if concat {
                first[0] = first[0].saturating_add(other[0]);
            }
        }
        let Some(made) = made else {
            return Err(layer.wrong(layer.name(), "a list with at least one branch"));
        };
        (b.shape, b.one_step) = output;
        b.check_elements()?;
        Ok(Arc::new(made.combine(self.combine)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Linear;
    use crate::module::Mode;
    use spikelet_graph::DType;

    fn shape_of(net: &Branches) -> Result<Vec<usize>> {
        let cx = Context::new(Mode::EVAL, DType::F32);
        let x = cx.tracer().input("x_seq", DType::F32, [2, 3, 5]);
        Ok(cx.trace(net, x)?.shape().to_vec())
    }

    #[test]
    fn sums_need_equal_shapes_and_concatenations_only_equal_other_axes() {
        let net = |features| {
            Branches::new(Linear::new(5, 4).bias(false))
                .branch(Linear::new(5, features).bias(false))
        };
        let concat = |features| net(features).combine(Combine::Concat);
        assert_eq!(shape_of(&net(4)).expect("a sum"), [2, 3, 4]);
        assert_eq!(shape_of(&concat(6)).expect("features"), [2, 3, 10]);
        let error = shape_of(&net(6)).expect_err("no sum").to_string();
        assert!(
            error.contains("branch 0 has the output f32[2, 3, 4], branch 1 f32[2, 3, 6]"),
            "{error}"
        );
    }

    #[test]
    fn one_branch_is_the_module_itself() {
        for combine in [Combine::Sum, Combine::Concat] {
            let net = Branches::new(Linear::new(5, 4).bias(false)).combine(combine);
            assert_eq!(shape_of(&net).expect("traced"), [2, 3, 4]);
        }
    }
}
