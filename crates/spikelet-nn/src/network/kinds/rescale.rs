//! `{ rescale = 0.5 }`; `{ layer = "rescale", each_channel = true }`: a stored factor for each channel.

use super::keys::key;
use super::{Kind, MainValue};
use crate::layer::Scale;

pub(super) const RESCALE: Kind = Kind {
    name: "rescale",
    types: &["Scale"],
    summary: "multiplication by a constant, or by a stored one for each channel",
    main: MainValue::Optional(key!(factor: "number" = "1.0", "the factor")),
    keys: &[key!(each_channel: "flag" = "false", "whether each channel has a stored factor")],
    example: (&[4, 6, 6], r#"{ layer = "rescale", each_channel = true }"#),
    build: |layer, b| {
        let factor = match layer.main {
            Some(node) => node.number("rescale")?,
            None => 1.0,
        };
        let channels = match layer.fields.flag("each_channel")? {
            Some(true) => Some(b.shape[0]),
            _ => None,
        };
        let module = Scale { factor, channels };
        b.leaf("rescale", module, Some(channels.unwrap_or(0)), |elements| {
            Some(elements)
        })
    },
};
