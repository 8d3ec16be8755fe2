//! `{ residual = […], shortcut = […], join = "add" }`: main branch and shortcut, which is the input itself if it is
//! not given. Both are a list of layers or a single layer. With `names = ["conv", ""]`, the branches have these names
//! in paths instead of `main` and `shortcut`; an empty one adds nothing. With `stochastic_depth = 0.1`, one of ten samples
//! skips the main branch in training.

use super::dropout::below_one;
use super::keys::key;
use super::{Kind, MainValue};
use crate::layer::{Join, Residual};
use crate::network::layer_fields::{LayerFields, group_name};
use crate::network::problem::NetworkProblem;
use spikelet_core::document::Located;
use std::sync::Arc;

pub(super) const RESIDUAL: Kind = Kind {
    name: "residual",
    types: &["Residual"],
    summary: "a main branch joined with a shortcut",
    main: MainValue::Layers(key!(layers: "layers", "the layers of the main branch")),
    keys: &[
        key!(shortcut: "layers" = "null", "the layers of the shortcut; by default the input itself"),
        key!(join: "text" = "\"add\"", "how both are joined: `add`, `and` or `iand`"),
        key!(names: "texts" = "null", "the names of main branch and shortcut in paths of parameters"),
        key!(stochastic_depth: "number" = "0.0", "the probability that a sample skips the main branch in training"),
    ],
    example: (&[4, 6, 6], "{ residual = [{ pointwise = 4 }] }"),
    build: |layer, b| {
        let node = layer.main()?;
        let input = (b.shape.clone(), b.one_step);
        let names = names(layer)?;
        let mut module = Residual::new(b.body(node, &names[0])?).names(&names[0], &names[1]);
        let main = (std::mem::replace(&mut b.shape, input.0), b.one_step);
        b.one_step = input.1;
        if let Some(shortcut) = layer.fields.get("shortcut") {
            module = module.shortcut(b.body(shortcut, &names[1])?);
        }
        let other = (b.shape.clone(), b.one_step);
        if main != other {
            let text = |(shape, one_step): &(Vec<usize>, bool)| match one_step {
                true => format!("{shape:?} of one time step"),
                false => format!("{shape:?}"),
            };
            let problem = NetworkProblem::Branches {
                first: "the main branch".to_string(),
                first_output: text(&main),
                second: "the shortcut".to_string(),
                second_output: text(&other),
                concat: false,
            };
            return Err(problem.at(layer.fields.span()));
        }
        if let Some(join) = layer.fields.get("join") {
            module = module.join(match join.choice("join", &["add", "and", "iand"])? {
                "and" => Join::And,
                "iand" => Join::IAnd,
                _ => Join::Add,
            });
        }
        if let Some(p) = layer.fields.get("stochastic_depth") {
            module = module.stochastic_depth(below_one("stochastic_depth", p)?);
        }
        Ok(Arc::new(module))
    },
};

/// The names of the branches in paths.
fn names(layer: &LayerFields<'_>) -> Result<[String; 2], Located> {
    let Some(node) = layer.fields.get("names") else {
        return Ok(["main", "shortcut"].map(String::from));
    };
    let wrong = || node.wrong("names", "a list of two names, such as [\"main\", \"\"]");
    let [main, shortcut] = node.list("names").map_err(|_| wrong())? else {
        return Err(wrong());
    };
    Ok([group_name(main)?, group_name(shortcut)?].map(String::from))
}
