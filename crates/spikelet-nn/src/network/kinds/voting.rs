//! `{ voting = 10 }`

use super::keys::key;
use super::{Kind, MainValue};
use crate::layer::Voting;
use crate::network::Layers;
use crate::network::problem::NetworkProblem;

pub(super) const VOTING: Kind = Kind {
    name: "voting",
    types: &["Voting"],
    summary: "the mean of several outputs for each class",
    main: MainValue::Required(key!(votes: "integer", "the number of outputs for each class")),
    keys: &[],
    example: (&[8], "{ voting = 2 }"),
    build: |layer, b| {
        let main = layer.main()?;
        let votes = main.integer("voting", 1..=Layers::MAX_SIZE)?;
        let [features] = b.shape[..] else {
            return Err(b.wrong_axes("voting", "[features]"));
        };
        if !features.is_multiple_of(votes) {
            let problem = NetworkProblem::Divisor {
                what: "votes for each class",
                parts: votes,
                whole: format!("the {features} features of its input"),
            };
            return Err(problem.at(main.span.clone()));
        }
        b.leaf("voting", Voting::new(votes), Some(0), |_| Some(0))
    },
};
