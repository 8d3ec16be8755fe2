//! Losses of the membrane potential of output neurons that do not fire.
//!
//! Sources: last and maximum: B. Cramer et al., *The Heidelberg spiking data sets for the systematic evaluation of
//! spiking neural networks*, IEEE TNNLS 2020; sum of softmax: A. Bittar, P. Garner, *A surrogate gradient spiking
//! baseline for speech command recognition*, Frontiers in Neuroscience 2022.

use super::cross_entropy;
use super::target::expect_sequence;
use spikelet_graph::Var;

/// The scores `[N, classes]` of a membrane potential `[T, N, classes]`.
///
/// ```
/// use spikelet_nn::loss::Membrane;
/// use spikelet_nn::prelude::*;
/// let tracer = Tracer::new(DType::F32);
/// let v_seq = tracer.input("v_seq", DType::F32, [100, 32, 20]);
/// let labels = tracer.input("labels", DType::I64, [32]);
/// assert_eq!(Membrane::Max.scores(&v_seq).shape(), [32, 20]);
/// assert!(Membrane::Max.loss(&v_seq, &labels).shape().is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Membrane {
    /// The potential after the last step.
    Last,
    /// The largest potential over time.
    Max,
    /// The mean potential over time.
    Mean,
    /// Σ_t softmax over the classes of the potential at step t.
    SoftmaxSum,
}

impl Membrane {
    /// The scores `[N, classes]`.
    pub fn scores(self, v_seq: &Var) -> Var {
        expect_sequence("membrane loss", v_seq);
        match self {
            Self::Last => {
                let time = v_seq.shape().first().copied().unwrap_or(0);
                v_seq.slice(0, time.saturating_sub(1)..time).sum(&[0])
            }
            Self::Max => v_seq.max(&[0]),
            Self::Mean => v_seq.mean(&[0]),
            Self::SoftmaxSum => v_seq.softmax().sum(&[0]),
        }
    }

    /// The cross entropy of the scores and labels i64 `[N]`.
    pub fn loss(self, v_seq: &Var, labels: &Var) -> Var {
        cross_entropy(&self.scores(v_seq), labels)
    }
}
