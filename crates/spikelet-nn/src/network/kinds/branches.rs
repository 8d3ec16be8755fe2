//! `{ branches = [[…], […]], combine = "concat" }`: branches with the same input, each a list of layers or a single
//! layer, whose outputs are added or concatenated.

use super::keys::key;
use super::{Kind, MainValue};
use crate::layer::{Combine, Parallel};
use crate::network::problem::NetworkProblem;
use std::sync::Arc;

pub(super) const BRANCHES: Kind = Kind {
    name: "branches",
    types: &["Parallel"],
    summary: "parallel branches, added or concatenated",
    main: MainValue::Layers(key!(branches: "layers", "a list of branches, each a list of layers")),
    keys: &[key!(combine: "text" = "\"sum\"", "`sum`, or `concat` along the channels or features")],
    example: (
        &[4, 6, 6],
        r#"{ branches = [[{ pointwise = 4 }], ["neuron"]] }"#,
    ),
    build: |layer, b| {
        let node = layer.main()?;
        let branches = node.list("branches")?;
        let concat = match layer.fields.get("combine") {
            Some(combine) => combine.choice("combine", &["sum", "concat"])? == "concat",
            None => false,
        };
        let input = (b.shape.clone(), b.one_step);
        let mut made: Option<Parallel> = None;
        let mut output = input.clone();
        for (k, branch) in branches.iter().enumerate() {
            b.shape.clone_from(&input.0);
            b.one_step = input.1;
            let module = b.body(branch, &k.to_string())?;
            let Some(known) = made else {
                made = Some(Parallel::new(module));
                output = (b.shape.clone(), b.one_step);
                continue;
            };
            made = Some(known.branch(module));
            let (first, other) = (&mut output.0, &b.shape);
            let fits = match concat {
                true => first.len() == other.len() && first[1..] == other[1..],
                false => first == other,
            };
            if !fits || output.1 != b.one_step {
                let problem = NetworkProblem::Branches {
                    first: "branch 0".to_string(),
                    first_output: format!("{first:?}"),
                    second: format!("branch {k}"),
                    second_output: format!("{other:?}"),
                    concat,
                };
                return Err(problem.at(branch.span.clone()));
            }
            if concat {
                first[0] = first[0].saturating_add(other[0]);
            }
        }
        let Some(made) = made else {
            return Err(node.wrong("branches", "a list with at least one branch"));
        };
        (b.shape, b.one_step) = output;
        b.check_elements()?;
        let combine = if concat {
            Combine::Concat
        } else {
            Combine::Sum
        };
        Ok(Arc::new(made.combine(combine)))
    },
};
