//! The parameters of the other network, if it is a graph.

use super::super::cause::{Candidate, Cause};
use super::neighbours::is_like;
use super::{Situation, node_mut};
use crate::graph::{NodeKind, Parameter};

pub(super) fn candidates(situation: &Situation<'_>) -> Vec<Candidate> {
    let Some(other) = situation
        .other
        .as_ref()
        .and_then(|(graph, _)| graph.expand().ok())
    else {
        return vec![];
    };
    let mut changed: Vec<(String, NodeKind, String)> = vec![];
    for (path, node) in &situation.graph.nodes {
        let counterpart = situation
            .pairs
            .in_b(path)
            .and_then(|path| other.nodes.get(path));
        let Some(counterpart) = counterpart.filter(|other| is_like(&node.kind, &other.kind)) else {
            continue;
        };
        let names = differing(&node.kind, &counterpart.kind);
        if !names.is_empty() {
            changed.push((path.clone(), counterpart.kind.clone(), names.join(", ")));
        }
    }
    let of = |chosen: Vec<(String, NodeKind, String)>, change: String| {
        Candidate::new(Cause::Parameters, change, move |runnable| {
            for (path, kind, _) in &chosen {
                if let Some(node) = node_mut(&mut runnable.graph, path) {
                    node.kind = kind.clone();
                }
            }
            Ok(())
        })
    };
    let suspects = situation.suspects();
    let near = changed
        .iter()
        .filter(|(path, ..)| suspects.contains(&path.as_str()));
    let mut found: Vec<Candidate> = near
        .map(|one| {
            of(
                vec![one.clone()],
                format!("{} of `{}` as in the other network", one.2, one.0),
            )
        })
        .collect();
    if changed.len() > 1 {
        let change = format!(
            "parameters of {} layers as in the other network",
            changed.len()
        );
        found.push(of(changed, change));
    }
    found
}

/// The names of the parameters that differ, with the largest difference.
fn differing(a: &NodeKind, b: &NodeKind) -> Vec<String> {
    let others = b.parameters();
    let parameters = a.parameters().into_iter().zip(others);
    let differing = parameters.filter_map(|((name, of_a), (_, of_b))| {
        let (Parameter::Tensor(x), Parameter::Tensor(y)) = (of_a, of_b) else {
            return None;
        };
        let (x, y) = (x.to_f64(), y.to_f64());
        let distances = x.iter().zip(&y).map(|(x, y)| (x - y).abs());
        let largest = distances.fold(0.0, f64::max);
        (largest > 0.0).then(|| format!("{name} (by up to {largest:.3e})"))
    });
    differing.collect()
}
