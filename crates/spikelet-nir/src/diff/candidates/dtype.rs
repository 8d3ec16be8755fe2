//! Another type of the computation, or weights that were rounded to a smaller type.

use super::super::cause::{Candidate, Cause};
use super::{Situation, node_mut};
use crate::graph::{Graph, NodeKind};
use spikelet_graph::{DType, Tensor};
use spikelet_weights::Tensor as NirTensor;

pub(super) fn candidates(situation: &Situation<'_>) -> Vec<Candidate> {
    let (other, name) = match situation.runnable.options.float {
        DType::F64 => (DType::F32, "f32"),
        _ => (DType::F64, "f64"),
    };
    let mut found = vec![Candidate::new(
        Cause::Dtype,
        format!("computed in {name}"),
        move |runnable| {
            runnable.options.float = other;
            // Programs in f64 run on the CPU only.
            if other == DType::F64 {
                runnable.options.device = None;
            }
            Ok(())
        },
    )];
    let paths: Vec<String> = situation.graph.nodes.keys().cloned().collect();
    // In f32 all weights are rounded to f32.
    let full = (situation.runnable.options.float == DType::F64).then_some((DType::F32, "f32"));
    let smaller = [(DType::F16, "f16"), (DType::BF16, "bf16")];
    for (dtype, name) in smaller.into_iter().chain(full) {
        let mut rounded = situation.runnable.graph.clone();
        // Weights that have this type already stay as they are.
        if !round_all(&mut rounded, &paths, dtype) {
            continue;
        }
        found.push(Candidate::new(
            Cause::Dtype,
            format!("weights rounded to {name}"),
            move |runnable| {
                runnable.graph = rounded.clone();
                Ok(())
            },
        ));
    }
    found
}

/// Rounds the weights and biases of all nodes; whether any of them changed.
fn round_all(graph: &mut Graph, paths: &[String], dtype: DType) -> bool {
    let mut changed = false;
    for path in paths {
        let Some(node) = node_mut(graph, path) else {
            continue;
        };
        let tensors = match &mut node.kind {
            NodeKind::Linear(linear) => vec![&mut linear.weight],
            NodeKind::Affine(affine) => vec![&mut affine.weight, &mut affine.bias],
            NodeKind::Conv1d(conv) | NodeKind::Conv2d(conv) => {
                vec![&mut conv.weight, &mut conv.bias]
            }
            NodeKind::Scale(scale) => vec![&mut scale.scale],
            _ => vec![],
        };
        for tensor in tensors {
            let values = tensor.to_f64();
            let rounded = Tensor::f64([values.len()], values.clone())
                .cast(dtype)
                .to_f64();
            changed |= rounded != values;
            if let Ok(rounded) = NirTensor::from_f64(tensor.shape(), &rounded) {
                *tensor = rounded;
            }
        }
    }
    changed
}
