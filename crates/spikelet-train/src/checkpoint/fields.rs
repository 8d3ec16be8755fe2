//! Compares settings, networks and progress as JSON, field by field.

use super::error::{CheckpointProblem, Difference};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A field that differs between two values: its path, and its value in each of them.
struct Differing<'a> {
    path: String,
    left: Option<&'a Value>,
    right: Option<&'a Value>,
}

/// The path of a field of the value at a path.
pub(crate) fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_string(),
        _ => format!("{path}.{name}"),
    }
}

/// Adds the fields in which two values differ.
fn compare<'a>(path: &str, left: &'a Value, right: &'a Value, out: &mut Vec<Differing<'a>>) {
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                let path = joined(path, name);
                match b.get(name) {
                    Some(other) => compare(&path, value, other, out),
                    None => out.push(Differing {
                        path,
                        left: Some(value),
                        right: None,
                    }),
                }
            }
            for (name, value) in b.iter().filter(|(name, _)| !a.contains_key(*name)) {
                out.push(Differing {
                    path: joined(path, name),
                    left: None,
                    right: Some(value),
                });
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (k, (a, b)) in a.iter().zip(b).enumerate() {
                compare(&joined(path, &k.to_string()), a, b, out);
            }
        }
        _ if left != right => out.push(Differing {
            path: path.to_string(),
            left: Some(left),
            right: Some(right),
        }),
        _ => {}
    }
}

fn json_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Reads a value with exactly the known fields.
pub(super) fn parse<T: DeserializeOwned + Serialize>(
    name: &str,
    given: &Value,
) -> Result<T, CheckpointProblem> {
    let bad = |e: serde_json::Error| CheckpointProblem::NotACheckpoint(format!("{name}: {e}"));
    let read: T = serde_json::from_value(given.clone()).map_err(bad)?;
    let known = json_of(&read);
    let mut differing = vec![];
    compare(name, given, &known, &mut differing);
    let paths = |missing: bool| -> Vec<String> {
        let of_kind = |d: &&Differing<'_>| match missing {
            true => d.left.is_none(),
            false => d.right.is_none(),
        };
        differing
            .iter()
            .filter(of_kind)
            .map(|d| d.path.clone())
            .collect()
    };
    let (missing, unknown) = (paths(true), paths(false));
    if !missing.is_empty() {
        return Err(CheckpointProblem::MissingFields(missing));
    }
    if !unknown.is_empty() {
        return Err(CheckpointProblem::UnknownFields(unknown));
    }
    Ok(read)
}

/// The fields in which a checkpoint differs from the current run.
pub(crate) fn differences(
    name: &str,
    checkpoint: &impl Serialize,
    here: &impl Serialize,
) -> Vec<Difference> {
    let (left, right) = (json_of(checkpoint), json_of(here));
    let mut differing = vec![];
    compare(name, &left, &right, &mut differing);
    let shown = |value: Option<&Value>| value.map_or("absent".to_string(), Value::to_string);
    let each = differing.into_iter().map(|d| Difference {
        checkpoint: shown(d.left),
        here: shown(d.right),
        field: d.path,
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Progress;
    use serde_json::json;

    #[test]
    fn every_field_must_be_there_and_no_other() {
        let whole = json_of(&Progress::default());
        assert!(parse::<Progress>("progress", &whole).is_ok());
        let mut less = whole.clone();
        less.as_object_mut()
            .expect("an object")
            .remove("peak_bytes");
        assert_eq!(
            parse::<Progress>("progress", &less).err(),
            Some(CheckpointProblem::MissingFields(vec![
                "progress.peak_bytes".to_string()
            ]))
        );
        let mut more = whole;
        more["oops"] = json!(1);
        assert_eq!(
            parse::<Progress>("progress", &more).err(),
            Some(CheckpointProblem::UnknownFields(vec![
                "progress.oops".to_string()
            ]))
        );
    }

    #[test]
    fn differences_have_their_path_and_both_values() {
        let a = json!({"x": 1, "inner": {"y": [1, 2]}, "old": true});
        let b = json!({"x": 1, "inner": {"y": [1, 3]}, "new": null});
        let found = differences("run", &a, &b);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "run.inner.y.1 is 2 in the checkpoint and 3 here",
                "run.old is true in the checkpoint and absent here",
                "run.new is absent in the checkpoint and null here",
            ]
        );
    }
}
