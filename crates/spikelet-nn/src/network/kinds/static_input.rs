//! `{ static = […] }`: layers whose input is the same at all time steps, such as an image without an encoder. They
//! run once for an image.

use super::keys::key;
use super::{Kind, MainValue};
use crate::layer::StaticInput;
use std::sync::Arc;

pub(super) const STATIC: Kind = Kind {
    name: "static",
    types: &["StaticInput"],
    summary: "layers whose input is the same at all time steps, run once",
    main: MainValue::Layers(key!(layers: "layers", "a list of layers")),
    keys: &[],
    example: (&[8], "{ static = [{ linear = 6 }] }"),
    build: |layer, b| {
        let (first, one_step) = (b.rows(), b.one_step);
        let made = b.unnamed_body(layer.main()?)?;
        b.mark_per_image(first);
        // The output is repeated for all time steps of the input.
        b.one_step = one_step;
        Ok(Arc::new(StaticInput(made)))
    },
};
