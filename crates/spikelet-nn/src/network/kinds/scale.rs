//! `{ scale = 0.5 }`; `{ layer = "scale", each_channel = true }`: a stored factor for each channel.

use super::{Kind, MainValue};
use crate::layer::Scale;

pub(super) const SCALE: Kind = Kind {
    name: "scale",
    summary: "multiplication by a constant, or by a stored one for each channel",
    main: MainValue::Optional("the factor"),
    keys: &["each_channel"],
    build: |layer, b| {
        let factor = match layer.main {
            Some(node) => node.number("scale")?,
            None => 1.0,
        };
        let channels = match layer.fields.flag("each_channel")? {
            Some(true) => Some(b.shape[0]),
            _ => None,
        };
        let module = Scale { factor, channels };
        b.leaf("scale", module, Some(channels.unwrap_or(0)), |elements| {
            Some(elements)
        })
    },
};
