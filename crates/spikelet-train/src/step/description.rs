//! The description of a step, by which a resumed run recognizes it.

use super::Step;
use super::trace::Phase;
use crate::hexadecimal::hexadecimal;
use crate::step::RankInfo;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use spikelet_core::Result;
use spikelet_graph::TensorType;

impl Step<'_> {
    /// The name, inputs and groups of the step, and a digest of its graph. Neither depends on the number of ranks or on
    /// the memory budget.
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
        let groups = self.groups.groups.iter().filter_map(|group| {
            let names = group.names.as_ref()?;
            let mut constants = group.optimizer.constants();
            let lr = constants.remove("lr");
            Some(json!({
                "parameters": names.text(),
                "optimizer": group.optimizer.name(),
                "constants": constants,
                "lr": lr,
            }))
        });
        Ok(json!({
            "name": self.name,
            "inputs": inputs.collect::<Vec<_>>(),
            "groups": groups.collect::<Vec<_>>(),
            "graph": digest,
        }))
    }

    /// The types of the outputs of the function in an evaluation.
    pub(super) fn output_types(&self) -> Result<Vec<TensorType>> {
        let (_, info) = self.trace_forward(super::Purpose::EVALUATE, false)?;
        Ok(info.outputs.into_iter().map(|(_, ty)| ty).collect())
    }
}
