//! `{ group-norm = 8 }`

use super::keys::{EPSILON, key};
use super::{Kind, MainValue};
use crate::layer::GroupNorm;
use crate::network::Layers;
use crate::network::problem::NetworkProblem;

pub(super) const GROUP_NORM: Kind = Kind {
    name: "group-norm",
    types: &["GroupNorm"],
    summary: "group normalization of channels",
    main: MainValue::Required(key!(groups: "integer", "the number of groups")),
    keys: &[EPSILON],
    example: (&[4, 6, 6], "{ group-norm = 2 }"),
    build: |layer, b| {
        let main = layer.main()?;
        let groups = main.integer("group-norm", 1..=Layers::MAX_SIZE)?;
        let channels = b.shape[0];
        if !channels.is_multiple_of(groups) {
            let problem = NetworkProblem::Divisor {
                what: "groups",
                parts: groups,
                whole: format!("the {channels} channels of its input"),
            };
            return Err(problem.at(main.span.clone()));
        }
        let mut norm = GroupNorm::new(groups, channels);
        norm.epsilon = layer.fields.number("epsilon")?.unwrap_or(norm.epsilon);
        b.leaf(layer.kind.name, norm, channels.checked_mul(2), |_| Some(0))
    },
};
