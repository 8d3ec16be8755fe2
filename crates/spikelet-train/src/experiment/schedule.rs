//! The table `schedule`.

use super::Experiment;
use super::optimizer::constant_schema;
use super::table::{Key, Table, number_in, refused};
use crate::optim::LrSchedule;
use serde_json::{Map, Value, json};
use spikelet_core::document::{Fields, Located, Node};

pub(super) const TABLE: Table = Table {
    name: "schedule",
    summary: "How the learning rate changes. The constants of the schedule are keys too.",
    keys: &[
        Key {
            name: "name",
            doc: "learning rate schedule",
            schema: || json!({"enum": LrSchedule::NAMES}),
        },
        Key {
            name: "warm_up",
            doc: "epochs of linear growth before the schedule",
            schema: || json!({"type": "number", "minimum": 0}),
        },
        Key {
            name: "per_epoch",
            doc: "change the rate after each epoch instead of each step",
            schema: || json!({"type": "boolean"}),
        },
    ],
    constants: || {
        let all = LrSchedule::NAMES
            .iter()
            .filter_map(|name| LrSchedule::find(name).ok());
        let constants = all.flat_map(|schedule| schedule.constants());
        let constants = constants.map(|(key, value)| match value {
            Value::Array(_) => (key, json!({"type": "array", "items": {"type": "number"}})),
            value => (key, constant_schema(&value)),
        });
        constants
            .chain([(EPOCHS.to_string(), json!({"type": "number"}))])
            .collect()
    },
    read,
    write,
};

/// The length of a cosine; without it, the cosine ends with the training.
const EPOCHS: &str = "epochs";

/// A schedule with the schedules around it.
struct Parts {
    warm_up: f64,
    per_epoch: bool,
    main: LrSchedule,
}

/// The parts of a schedule. Those in another order have the rates of none of the forms that a file has, and are taken
/// as the nearest: warm-up inside of changes by epoch.
fn parts(schedule: &LrSchedule) -> Parts {
    match schedule {
        LrSchedule::PerEpoch { then } => Parts {
            per_epoch: true,
            ..parts(then)
        },
        LrSchedule::WarmUp { epochs, then } => {
            let inner = parts(then);
            Parts {
                warm_up: epochs + inner.warm_up,
                ..inner
            }
        }
        main => Parts {
            warm_up: 0.0,
            per_epoch: false,
            main: main.clone(),
        },
    }
}

fn read(experiment: &mut Experiment, node: &Node) -> Result<(), Located> {
    let own = parts(&experiment.settings.schedule);
    let mut main = match node.get("name") {
        None => own.main,
        Some(node) => {
            let name = node.choice("name", LrSchedule::NAMES)?;
            match name == own.main.name() {
                true => own.main,
                false => LrSchedule::find(name).map_err(|error| refused(&error, node))?,
            }
        }
    };
    if node.get(EPOCHS).is_some() {
        main = main.with_own_length();
    }
    let mut constants = main.constants();
    if main.name() == "cosine" {
        constants.entry(EPOCHS).or_insert(Value::Null);
    }
    let known = constants.keys().map(String::as_str);
    let keys: Vec<&str> = TABLE.key_names().into_iter().chain(known).collect();
    let owner = format!("the schedule `{}`", main.name());
    let fields = Fields::new(node, owner, &keys)?;
    for key in constants.keys() {
        let Some(node) = fields.get(key) else {
            continue;
        };
        let one = Map::from_iter([(key.clone(), node.to_json())]);
        main = main.with(&one).map_err(|error| refused(&error, node))?;
    }
    if matches!(&main, LrSchedule::MultiStep { milestones, .. } if milestones.is_empty()) {
        let problem = "the schedule `multi-step` needs the epochs after which the rate decays";
        let help = "add, for example, `milestones = [30, 60, 80]`";
        return Err(Located::other(problem, help).or_at(node.span.clone()));
    }
    let warm_up = match fields.get("warm_up") {
        Some(node) => number_in(node, "warm_up", "a number of epochs, at least 0", |x| {
            x >= 0.0
        })?,
        None => own.warm_up,
    };
    let per_epoch = fields.flag("per_epoch")?.unwrap_or(own.per_epoch);
    if warm_up > 0.0 {
        let then = Box::new(main);
        main = LrSchedule::WarmUp {
            epochs: warm_up,
            then,
        };
    }
    experiment.settings.schedule = match per_epoch {
        true => LrSchedule::PerEpoch {
            then: Box::new(main),
        },
        false => main,
    };
    Ok(())
}

fn write(experiment: &Experiment) -> Vec<(String, Value)> {
    let Parts {
        warm_up,
        per_epoch,
        main,
    } = parts(&experiment.settings.schedule);
    let mut keys = vec![("name".to_string(), json!(main.name()))];
    keys.extend(main.constants());
    keys.push(("warm_up".to_string(), json!(warm_up)));
    keys.push(("per_epoch".to_string(), json!(per_epoch)));
    keys
}
