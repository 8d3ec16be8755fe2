//! The description of a step, by which a resumed run recognizes it.

use super::Step;
use super::groups::Group;
use super::trace::Phase;
use crate::RankInfo;
use crate::hexadecimal::hexadecimal;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spikelet_core::Result;
use spikelet_graph::TensorType;

impl Step<'_> {
    /// The settings of the step and a digest of its graph. Neither depends on the number of ranks or on the memory
    /// budget.
    pub(crate) fn description(&self) -> Result<Value> {
        let alone = self.clone().on_rank(RankInfo::default());
        let (cx, ..) = alone.trace_training(Phase::Update)?;
        let graph = cx.tracer().finish()?;
        let digest = hexadecimal(&Sha256::digest(graph.to_string().as_bytes()));
        let inputs = self.inputs.iter().map(|input| {
            let ty = TensorType::new(input.dtype, input.shape.clone());
            let layout = format!("{:?}", input.layout).to_lowercase();
            json!({ "name": input.name, "type": ty.to_string(), "layout": layout })
        });
        let group = |group: &Group| {
            let constants = group.optimizer.constants();
            json!({
                "parameters": group.names.as_ref().map_or("*", |names| names.text()),
                "optimizer": group.optimizer.name(),
                "constants": constants,
                "learning_rate": group.learning_rate,
            })
        };
        let mut description = json!({
            "name": self.name,
            "inputs": inputs.collect::<Vec<_>>(),
            "batch_size": self.samples,
            "groups": self.groups.groups.iter().map(group).collect::<Vec<_>>(),
            "accumulate": self.accumulate,
            "clip": self.clip,
            "ema": self.ema,
            "precision": self.precision,
            // As in earlier files, which are compared with it.
            "propagation": self.propagation.name().replace('-', "_"),
            "seed": self.seed,
            "graph": digest,
        });
        if let Some(factor) = self.groups.layer_decay {
            description["layer_decay"] = factor.into();
        }
        if let Some(eta) = self.groups.gradient_noise {
            description["gradient_noise"] = eta.into();
        }
        Ok(description)
    }

    /// The types of the outputs of the function in an evaluation.
    pub(super) fn output_types(&self) -> Result<Vec<TensorType>> {
        let (_, info) = self.trace_forward(super::Purpose::EVALUATE, false)?;
        Ok(info.outputs.into_iter().map(|(_, ty)| ty).collect())
    }
}
