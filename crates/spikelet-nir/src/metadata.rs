//! The metadata `spikelet` of graphs and nodes: what NIR does not define.
//!
//! A text for each choice, such as `fires` = `ge`; `dt` is a number. The metadata of a node applies to the node.

use super::choices::{FeedbackFrom, Fires, Reset, VStart};
use super::error::NirError;
use crate::graph::{Metadata, MetadataValue};
use spikelet_nn::neuron::Discretization;
use spikelet_weights::Tensor;
use std::fmt::Display;
use std::str::FromStr;

/// The name of the group.
const GROUP: &str = "spikelet";

/// The choices that the metadata of a graph or a node has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Recorded {
    pub(super) dt: Option<f64>,
    pub(super) discretization: Option<Discretization>,
    pub(super) reset: Option<Reset>,
    pub(super) reset_delay: Option<bool>,
    pub(super) fires: Option<Fires>,
    pub(super) feedback: Option<FeedbackFrom>,
    pub(super) v_start: Option<VStart>,
}

impl Recorded {
    /// Reads the metadata of a graph or a node, which is called `owner` in errors.
    pub(super) fn read(owner: &str, metadata: &Metadata) -> Result<Self, NirError> {
        let Some(MetadataValue::Group(group)) = metadata.get(GROUP) else {
            return Ok(Self::default());
        };
        let dt = match group.get("dt") {
            Some(MetadataValue::Tensor(tensor)) => tensor.to_f64().first().copied(),
            _ => None,
        };
        Ok(Self {
            dt,
            discretization: choice(owner, group, "discretization")?,
            reset: choice(owner, group, "reset")?,
            reset_delay: choice(owner, group, "reset_delay")?,
            fires: choice(owner, group, "fires")?,
            feedback: choice(owner, group, "feedback")?,
            v_start: choice(owner, group, "v_start")?,
        })
    }

    /// Adds the choices to metadata.
    pub(super) fn write(&self, metadata: &mut Metadata) -> Result<(), NirError> {
        let mut group = match metadata.remove(GROUP) {
            Some(MetadataValue::Group(group)) => group,
            _ => Metadata::new(),
        };
        if let Some(dt) = self.dt {
            group.insert("dt".to_string(), Tensor::from_f64(&[], &[dt])?.into());
        }
        let texts = [
            (
                "discretization",
                self.discretization.map(|value| value.name()),
            ),
            ("reset", self.reset.map(Reset::name)),
            (
                "reset_delay",
                self.reset_delay
                    .map(|late| if late { "true" } else { "false" }),
            ),
            ("fires", self.fires.map(Fires::name)),
            ("feedback", self.feedback.map(FeedbackFrom::name)),
            ("v_start", self.v_start.map(VStart::name)),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                group.insert(name.to_string(), text.into());
            }
        }
        if !group.is_empty() {
            metadata.insert(GROUP.to_string(), MetadataValue::Group(group));
        }
        Ok(())
    }
}

/// Adds a text to the metadata of a node or a graph.
pub(super) fn note(metadata: &mut Metadata, name: &str, text: &str) {
    let group = metadata
        .entry(GROUP.to_string())
        .or_insert_with(|| MetadataValue::Group(Metadata::new()));
    if let MetadataValue::Group(group) = group {
        group.insert(name.to_string(), text.into());
    }
}

fn choice<T: FromStr<Err: Display>>(
    owner: &str,
    group: &Metadata,
    name: &str,
) -> Result<Option<T>, NirError> {
    let Some(MetadataValue::Text(text)) = group.get(name) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        NirError::node(
            owner,
            format!("the metadata `{GROUP}/{name}` is `{text}`, which is not known"),
            "correct or remove this entry of the metadata",
        )
    })
}
