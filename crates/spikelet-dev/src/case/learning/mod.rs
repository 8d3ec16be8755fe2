//! Cases of learning rules and of conversions: specifications whose `group` is `learning`.
//!
//! A kind is a file here and a line of [`KINDS`].

mod ann2snn;
mod eprop;
mod eventprop;
mod eventprop_grid;
mod ottt;
mod qcfs;
mod stdp;
mod trace_stdp;
mod traced;

use super::{Results, expect, input, wrong};
use serde::de::DeserializeOwned;
use serde_json::Value;
use spikelet::Result;
use spikelet::graph::{Backend, DType, Tensor};
use spikelet::schema::named;
use spikelet::tensors::TensorFile;
use std::sync::Arc;

/// Computes the results `out.*` and `grad.*` of a case.
type Compute = fn(&Given<'_>) -> Result<Results>;

/// The kinds and their functions, in alphabetical order.
const KINDS: &[(&str, Compute)] = &[
    ("ann2snn", ann2snn::run),
    ("eprop", eprop::run),
    ("eventprop", eventprop::run),
    ("eventprop_grid", eventprop_grid::run),
    ("mstdp", stdp::mstdp),
    ("mstdpet", stdp::mstdpet),
    ("ottt", ottt::ottt),
    ("qcfs", qcfs::run),
    ("sltt", ottt::sltt),
    ("stdp", stdp::stdp),
    ("trace_stdp", trace_stdp::run),
];

/// What the function of a kind reads: the inputs `in.*` and `param.*`, and the constants.
pub struct Given<'a> {
    /// The file.
    pub case: &'a TensorFile,
    /// The device.
    pub backend: Arc<dyn Backend>,
    /// The number type of the computation.
    pub dtype: DType,
    kind: &'a str,
    constants: &'a Value,
}

impl Given<'_> {
    /// The constants of the specification.
    ///
    /// # Errors
    /// When one is missing or of another type; the error names it.
    pub fn constants<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_value(self.constants.clone()).map_err(|e| {
            wrong(
                format!("the constants of {}: {e}", self.kind),
                "correct `constants` of the spec",
            )
        })
    }

    /// An input, in the type of the computation.
    ///
    /// # Errors
    /// When the file does not have it.
    pub fn input(&self, name: &str) -> Result<Tensor> {
        input(self.case, name, self.dtype)
    }

    /// An input of this shape.
    ///
    /// # Errors
    /// When the file does not have it, or has another shape.
    pub fn input_of(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let tensor = self.input(name)?;
        expect(name, &tensor.shape, shape)?;
        Ok(tensor)
    }
}

/// Whether a specification is one of this group.
pub fn is_one(spec: &Value) -> bool {
    spec.get("group").and_then(Value::as_str) == Some("learning")
}

/// Computes a case of the group.
pub fn run(
    case: &TensorFile,
    spec: &Value,
    backend: Arc<dyn Backend>,
    dtype: DType,
) -> Result<Results> {
    let kind = super::kind(spec)?;
    let (_, compute) = named("kind of learning", kind, KINDS, |(name, _)| name)
        .map_err(|error| wrong(error.problem(), &error.help()))?;
    let constants = spec.get("constants").ok_or_else(|| {
        wrong(
            "the spec has no `constants`",
            "give all constants of the kind",
        )
    })?;
    compute(&Given {
        case,
        backend,
        dtype,
        kind,
        constants,
    })
}
