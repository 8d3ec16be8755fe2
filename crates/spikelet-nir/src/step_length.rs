//! The length of a time step, which NIR files do not say.
//!
//! Where a framework integrates without dt, its exports compensate for the dt of NIR's equations: IF with r = 1/dt, LIF
//! with r = τ/dt, CubaLIF with r = τ_mem/dt or w_in = τ_syn/dt. If all neurons agree on such a dt, it is used.

use super::convention::Convention;
use super::error::NirError;
use super::options::StepLengthFrom;
use crate::graph::{ExpandedGraph, NodeKind};
use spikelet_weights::Tensor;

/// How far the dt of two neurons may be apart, relatively.
const TOLERANCE: f64 = 1e-4;

const HELP: &str =
    "give it in the units of the file's time constants: --dt 1e-4, or `ImportOptions::dt`";

/// The length of a step, from the first of these that has one.
pub(super) fn find(
    graph: &ExpandedGraph<'_>,
    given: Option<f64>,
    convention: Option<Convention>,
    recorded: Option<f64>,
) -> Result<(f64, StepLengthFrom), NirError> {
    let by_convention = convention.and_then(|convention| convention.choices().dt);
    let (dt, from) = if let Some(dt) = given {
        (dt, StepLengthFrom::Options)
    } else if let Some(dt) = by_convention {
        (dt, StepLengthFrom::Convention)
    } else if let Some(dt) = recorded {
        (dt, StepLengthFrom::Metadata)
    } else if convention == Some(Convention::Rockpool) {
        (rockpool(graph)?, StepLengthFrom::Convention)
    } else if !graph.nodes.values().any(|node| node.kind.has_state()) {
        (1.0, StepLengthFrom::Unused)
    } else {
        (inferred(graph)?, StepLengthFrom::Parameters)
    };
    if dt.is_finite() && dt > 0.0 {
        return Ok((dt, from));
    }
    Err(NirError::StepLength {
        problem: format!("{dt} was given; expected a finite number above 0"),
        help: HELP.to_string(),
    })
}

/// The dt on which all neurons agree.
fn inferred(graph: &ExpandedGraph<'_>) -> Result<f64, NirError> {
    let mut found: Option<(f64, &str)> = None;
    for (path, node) in &graph.nodes {
        for dt in candidates(&node.kind) {
            match found {
                None => found = Some((dt, path)),
                Some((first, _)) if (dt - first).abs() <= TOLERANCE * first => {}
                Some((first, other)) => {
                    return Err(NirError::StepLength {
                        problem: format!(
                            "the parameters of `{other}` give {first:.4e}, those of `{path}` {dt:.4e}"
                        ),
                        help: HELP.to_string(),
                    });
                }
            }
        }
    }
    found.map(|(dt, _)| dt).ok_or_else(|| NirError::StepLength {
        problem: "the parameters of the graph do not determine it".to_string(),
        help: HELP.to_string(),
    })
}

/// The dt of each neuron of a node whose parameters determine it.
fn candidates(kind: &NodeKind) -> Vec<f64> {
    match kind {
        NodeKind::If(n) => n.r.to_f64().iter().map(|r| 1.0 / r).collect(),
        NodeKind::Lif(n) => ratios(&n.tau, &n.r),
        NodeKind::CubaLif(n) => {
            let by_current = n.w_in.as_ref().map(|w_in| ratios(&n.tau_syn, w_in));
            let by_membrane = ratios(&n.tau_mem, &n.r);
            [by_membrane, by_current.unwrap_or_default()].concat()
        }
        _ => vec![],
    }
}

/// τ/factor of each neuron, if the factor is one that compensates for dt: more than 1, since steps are shorter than τ.
fn ratios(tau: &Tensor, factor: &Tensor) -> Vec<f64> {
    let pairs = pairs(tau, factor);
    let compensating = pairs.filter(|(tau, factor)| *factor > 1.0 + TOLERANCE && tau.is_finite());
    compensating.map(|(tau, factor)| tau / factor).collect()
}

/// The elements of two parameters of which one may be a single number.
fn pairs(a: &Tensor, b: &Tensor) -> impl Iterator<Item = (f64, f64)> {
    let (a, b) = (a.to_f64(), b.to_f64());
    let count = a.len().max(b.len());
    let count = if a.is_empty() || b.is_empty() {
        0
    } else {
        count
    };
    (0..count).map(move |k| (a[k % a.len()], b[k % b.len()]))
}

/// Rockpool writes r = τ e^(−dt/τ)/dt, which is τ/dt − 1 if dt is small, and reads dt back as the smallest τ/(1 + r).
fn rockpool(graph: &ExpandedGraph<'_>) -> Result<f64, NirError> {
    let of_node = |kind: &NodeKind| match kind {
        NodeKind::Lif(n) => pairs(&n.tau, &n.r).collect(),
        NodeKind::CubaLif(n) => pairs(&n.tau_mem, &n.r).collect(),
        _ => vec![],
    };
    let all = graph.nodes.values().flat_map(|node| of_node(&node.kind));
    let smallest = all.map(|(tau, r)| tau / (1.0 + r)).reduce(f64::min);
    smallest.ok_or_else(|| NirError::StepLength {
        problem: "Rockpool's convention takes it from LIF and CubaLIF nodes, and there are none"
            .to_string(),
        help: HELP.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Graph, If, Lif};

    fn lif(tau: f64, r: f64) -> NodeKind {
        let all = |value| Tensor::from_f64(&[2], &[value; 2]).expect("two elements");
        NodeKind::Lif(Lif {
            tau: all(tau),
            r: all(r),
            v_leak: all(0.0),
            v_threshold: all(1.0),
            v_reset: None,
        })
    }

    fn infer(kinds: Vec<NodeKind>) -> Result<(f64, StepLengthFrom), NirError> {
        let mut graph = Graph::default();
        for (k, kind) in kinds.into_iter().enumerate() {
            graph.insert(k.to_string(), kind);
        }
        find(&graph.expand()?, None, None, None)
    }

    #[test]
    fn parameters_that_compensate_for_dt_determine_it() {
        let integrator = NodeKind::If(If {
            r: Tensor::from_f64(&[1], &[1e3]).expect("one element"),
            v_threshold: Tensor::from_f64(&[1], &[1.0]).expect("one element"),
            v_reset: None,
        });
        let (dt, from) = infer(vec![lif(0.02, 20.0), integrator]).expect("they agree");
        assert!((dt - 1e-3).abs() < 1e-12);
        assert_eq!(from, StepLengthFrom::Parameters);
    }

    #[test]
    fn parameters_that_disagree_or_say_nothing_are_errors_that_ask_for_dt() {
        for kinds in [
            vec![lif(0.02, 1.0)],
            vec![lif(0.02, 20.0), lif(0.02, 200.0)],
        ] {
            let error = infer(kinds).unwrap_err().to_string();
            assert!(error.contains("help: give it"), "{error}");
        }
        assert_eq!(
            infer(vec![]).expect("nothing depends on it").1,
            StepLengthFrom::Unused
        );
    }
}
