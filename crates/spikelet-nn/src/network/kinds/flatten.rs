//! `"flatten"`

use super::{Kind, MainValue};
use crate::layer::Flatten;

pub(super) const FLATTEN: Kind = Kind {
    name: "flatten",
    types: &["Flatten"],
    summary: "merges all axes into features",
    main: MainValue::None,
    keys: &[],
    example: (&[4, 6, 6], r#""flatten""#),
    build: |_, b| b.leaf("flatten", Flatten, Some(0), |_| Some(0)),
};
