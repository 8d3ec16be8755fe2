//! Two layers of one type and shape in each other's place: a layer and the next one of its kind.

use super::super::cause::{Candidate, Cause};
use super::{Situation, node_mut};
use crate::graph::{NodeKind, Parameter};

pub(super) fn candidates(situation: &Situation<'_>) -> Vec<Candidate> {
    let suspects = situation.suspects();
    let paths: Vec<&str> = situation
        .a
        .layers
        .iter()
        .map(|layer| layer.name.as_str())
        .collect();
    let mut found = vec![];
    for (k, first) in paths.iter().enumerate() {
        let Some(kind) = situation.node(first).map(|node| &node.kind) else {
            continue;
        };
        let next = paths[k + 1..].iter().find_map(|path| {
            let other = &situation.node(path)?.kind;
            is_like(kind, other).then_some((*path, other))
        });
        let Some((second, other)) = next else {
            continue;
        };
        if kind == other || !(suspects.contains(first) || suspects.contains(&second)) {
            continue;
        }
        let (one, two) = (first.to_string(), second.to_string());
        let change = format!("`{one}` and `{two}` exchanged");
        found.push(Candidate::new(
            Cause::SwappedLayers,
            change,
            move |runnable| {
                let kinds = [&one, &two]
                    .map(|path| node_mut(&mut runnable.graph, path).map(|node| node.kind.clone()));
                if let [Some(kind), Some(other)] = kinds {
                    for (path, kind) in [(&one, other), (&two, kind)] {
                        if let Some(node) = node_mut(&mut runnable.graph, path) {
                            node.kind = kind;
                        }
                    }
                }
                Ok(())
            },
        ));
    }
    found
}

/// Whether two nodes have one type, and parameters of the same shapes.
pub(super) fn is_like(a: &NodeKind, b: &NodeKind) -> bool {
    let shapes = |kind: &NodeKind| -> Vec<(&'static str, Vec<usize>)> {
        let parameters = kind.parameters().into_iter();
        let shapes = parameters.filter_map(|(name, parameter)| match parameter {
            Parameter::Tensor(tensor) => Some((name, tensor.shape().to_vec())),
            _ => None,
        });
        shapes.collect()
    };
    let has_tensors = !shapes(a).is_empty();
    has_tensors && a.name() == b.name() && shapes(a) == shapes(b)
}
