//! Voting: several outputs for each class.
//!
//! Source: W. Fang et al., *Incorporating learnable membrane time constant to enhance learning of spiking neural
//! networks*, ICCV 2021; SpikingJelly's `VotingLayer`.

use crate::LayerProblem;
use crate::domain::{Constant, Domain};
use crate::module::{Context, Description, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// The mean of `votes` consecutive features: `[…, classes · votes] → […, classes]`.
///
/// ```
/// use spikelet_nn::layer::Voting;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 100]);
/// assert_eq!(cx.trace(&Voting::new(10), x)?.shape(), [4, 8, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[doc(alias = "VotingLayer")]
pub struct Voting {
    /// Features of each class.
    pub votes: usize,
}

impl Voting {
    /// The mean of `votes` features for each class.
    pub fn new(votes: usize) -> Self {
        Self { votes }
    }
}

impl Module for Voting {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("voting", x, 2)?;
        let votes = Constant::new("votes", self.votes as f64, Domain::at_least(1.0));
        cx.expect_domains("voting", &[votes])?;
        let mut shape = x.shape().to_vec();
        let features = shape.pop().unwrap_or_default();
        if !features.is_multiple_of(self.votes) {
            return Err(cx.error(
                "voting",
                LayerProblem::Votes {
                    votes: self.votes,
                    given: x.ty().clone(),
                },
            ));
        }
        shape.extend([features / self.votes, self.votes]);
        Ok(x.reshape(&shape[..]).mean(&[shape.len() - 1]))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }

    fn describe(&self) -> Description<'_> {
        Description::Voting(self.votes)
    }
}

/// The mean of several outputs for each class.
///
/// `{ voting = 10 }`
#[derive(Debug, Schema)]
#[schema(name = "voting")]
pub(crate) struct VotingKeys {
    /// The number of outputs for each class.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    votes: usize,
}

impl LayerKeys for VotingKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], "{ voting = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let parts = (self.votes, "votes for each class");
        let whole = (b.features(layer)?, "features of its input");
        layer.expect_divisor(layer.name(), parts, whole)?;
        b.without_weights(layer, Voting::new(self.votes))
    }
}
