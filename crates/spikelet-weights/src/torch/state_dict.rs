//! The state dict in what a checkpoint holds.
//!
//! A checkpoint is a state dict, or a container that has one beside an optimizer and an epoch, or dictionaries in
//! dictionaries, whose names are joined by dots.

use std::collections::HashSet;

use super::pickle::{Heap, TensorRef, Value};
use crate::error::{ErrorKind, Result};

/// Where frameworks keep a state dict, by their habit.
const KEYS: [&str; 11] = [
    "state_dict",
    "model_state_dict",
    "model",
    "net",
    "network",
    "net_state_dict",
    "model_state",
    "module",
    "weights",
    "params",
    "parameters",
];

/// The most levels of containers.
const MAX_LEVELS: usize = 16;

/// The most entries of dictionaries that are visited; dictionaries may share others.
const MAX_ENTRIES: usize = 1 << 20;

/// The most bytes of a tensor's name, and of all names: a pickle may say a long key once and use it for many tensors.
const MAX_NAME: usize = 4 << 10;
const MAX_NAMES: usize = 64 << 20;

const CHOOSE: &str = "choose one with `WeightOptions::state_dict`";
const SAVE: &str = "save model.state_dict() with torch.save";

/// A state dict: its tensors in order, and the names of its other entries.
#[derive(Debug, Default)]
pub(super) struct StateDict<'a> {
    pub tensors: Vec<(String, &'a TensorRef)>,
    pub skipped: Vec<String>,
}

/// Finds the state dict: under a key, or where it usually is.
pub(super) fn find<'a>(heap: &'a Heap, root: Value, key: Option<&str>) -> Result<StateDict<'a>> {
    let finder = Finder {
        with_tensors: with_tensors(heap),
        heap,
    };
    let Some(entries) = heap.dict(root) else {
        return Err(ErrorKind::StateDict {
            problem: "there is no state dict",
            found: heap.describe(root).into(),
            help: SAVE,
        }
        .into());
    };
    let dict = match key {
        None => finder.descend(root, entries)?,
        Some(key) => finder.under(root, key)?,
    };
    let state = finder.flattened(dict)?;
    if state.tensors.is_empty() {
        return Err(finder.error("there is no tensor with a name", entries, SAVE));
    }
    Ok(state)
}

struct Finder<'a> {
    heap: &'a Heap,
    /// The dictionaries that have a tensor, or a dictionary that has one.
    with_tensors: HashSet<u32>,
}

/// The dictionaries from which keys that are strings lead to a tensor. Each entry is visited once, whatever
/// dictionaries share.
fn with_tensors(heap: &Heap) -> HashSet<u32> {
    let mut parents: Vec<(u32, u32)> = vec![];
    let mut queue = vec![];
    for (number, entries) in heap.dicts() {
        for &(_, value) in entries.iter().filter(|&&(key, _)| heap.text(key).is_some()) {
            if heap.tensor(value).is_some() {
                queue.push(number);
            } else if let (Value::Object(child), Some(_)) = (value, heap.dict(value)) {
                parents.push((child, number));
            }
        }
    }
    parents.sort_unstable();
    let mut found = HashSet::new();
    while let Some(number) = queue.pop() {
        if found.insert(number) {
            let start = parents.partition_point(|&(child, _)| child < number);
            let own = parents[start..]
                .iter()
                .take_while(|&&(child, _)| child == number);
            queue.extend(own.map(|&(_, parent)| parent));
        }
    }
    found
}

impl<'a> Finder<'a> {
    fn error(
        &self,
        problem: &'static str,
        entries: &[(Value, Value)],
        help: &'static str,
    ) -> crate::Error {
        let entry = |&(key, value): &(Value, Value)| {
            let key: String = self
                .heap
                .text(key)
                .unwrap_or("(no string)")
                .chars()
                .take(40)
                .collect();
            format!("`{key}` ({})", self.heap.describe(value))
        };
        let mut found: Vec<String> = entries.iter().take(12).map(entry).collect();
        if entries.len() > found.len() {
            found.push(format!("{} more", entries.len() - found.len()));
        }
        if found.is_empty() {
            found.push("nothing".into());
        }
        ErrorKind::StateDict {
            problem,
            found: found.join(", "),
            help,
        }
        .into()
    }

    /// The dictionary under keys that are separated by dots, or under a key that has dots.
    fn under(&self, root: Value, key: &str) -> Result<Value> {
        let mut dict = root;
        let mut rest = key;
        loop {
            let entries = self.heap.dict(dict).unwrap_or(&[]);
            let value = |key: &str| {
                let own = entries
                    .iter()
                    .rev()
                    .find(|&&(own, _)| self.heap.text(own) == Some(key));
                own.map(|&(_, value)| value)
                    .filter(|&value| self.heap.dict(value).is_some())
            };
            if let Some(value) = value(rest) {
                return Ok(value);
            }
            match rest
                .split_once('.')
                .and_then(|(first, rest)| Some((value(first)?, rest)))
            {
                Some((value, behind)) => (dict, rest) = (value, behind),
                None => {
                    let problem = "there is no dictionary under the key that was given";
                    return Err(self.error(problem, entries, CHOOSE));
                }
            }
        }
    }

    /// The state dict in a container.
    fn descend(&self, root: Value, entries: &[(Value, Value)]) -> Result<Value> {
        let mut dict = root;
        let mut entries = entries;
        let mut visited = HashSet::new();
        for _ in 0..MAX_LEVELS {
            if let Value::Object(number) = dict
                && !visited.insert(number)
            {
                break;
            }
            let dicts: Vec<(&str, Value)> = entries
                .iter()
                .filter_map(|&(key, value)| Some((self.heap.text(key)?, value)))
                .filter(|&(_, value)| self.has_tensors(value))
                .collect();
            // Beside a state dict there may be a number that is a tensor, such as the best accuracy.
            let tensors = entries
                .iter()
                .filter_map(|&(_, value)| self.heap.tensor(value));
            let mut tensors = tensors.peekable();
            let has_tensors = tensors.peek().is_some();
            if tensors.any(|tensor| !tensor.shape.is_empty()) {
                break;
            }
            let known: Vec<Value> = dicts
                .iter()
                .filter(|(key, _)| KEYS.contains(key))
                .map(|&(_, value)| value)
                .collect();
            dict = match (&known[..], &dicts[..]) {
                (&[known], _) => known,
                ([_, _, ..], _) => {
                    return Err(self.error(
                        "several entries may be the state dict",
                        entries,
                        CHOOSE,
                    ));
                }
                ([], &[(_, only)]) if !has_tensors && self.is_state_dict(only) => only,
                _ => break,
            };
            entries = self.heap.dict(dict).unwrap_or(&[]);
        }
        Ok(dict)
    }

    /// Whether a dictionary is the state dict of a module with parts: its names have dots.
    fn is_state_dict(&self, dict: Value) -> bool {
        let entries = self.heap.dict(dict).unwrap_or(&[]).iter();
        let mut tensors = entries.filter(|&&(_, value)| self.heap.tensor(value).is_some());
        match tensors.next() {
            None => true,
            Some(first) => {
                let has_dot = |&(key, _): &(Value, Value)| {
                    self.heap.text(key).is_some_and(|key| key.contains('.'))
                };
                has_dot(first) || tensors.any(has_dot)
            }
        }
    }

    /// Whether there is a tensor in a dictionary or in those in it, with names that are strings.
    fn has_tensors(&self, dict: Value) -> bool {
        match dict {
            Value::Object(number) => self.with_tensors.contains(&number),
            _ => false,
        }
    }

    /// The tensors of a dictionary and of those in it, by names that are joined by dots.
    fn flattened(&self, dict: Value) -> Result<StateDict<'a>> {
        let mut state = StateDict::default();
        let mut names = HashSet::new();
        let mut open = HashSet::new();
        let mut left = MAX_ENTRIES;
        let mut left_for_names = MAX_NAMES;
        // Dictionaries with their prefix, and the entry that is next.
        let mut stack = vec![(dict, String::new(), 0)];
        while let Some((dict, prefix, next)) = stack.last_mut() {
            let entries = self.heap.dict(*dict).unwrap_or(&[]);
            let Some(&(key, value)) = entries.get(*next) else {
                if let Value::Object(number) = *dict {
                    open.remove(&number);
                }
                stack.pop();
                continue;
            };
            *next += 1;
            left -= 1;
            if left == 0 {
                let problem = "dictionaries have too many entries";
                return Err(self.error(problem, entries, SAVE));
            }
            let (is_tensor, is_dict) = (self.heap.tensor(value), self.heap.dict(value));
            let Some(key) = self.heap.text(key) else {
                if is_tensor.is_some() {
                    let problem = "the name of a tensor is no string";
                    return Err(self.error(problem, entries, SAVE));
                }
                continue;
            };
            let len = prefix.len() + key.len();
            if len > MAX_NAME {
                let problem = "a name of a tensor has more than 4 KiB";
                return Err(self.error(problem, entries, SAVE));
            }
            let Some(rest) = left_for_names.checked_sub(len) else {
                let problem = "the names of tensors have more than 64 MiB in all";
                return Err(self.error(problem, entries, SAVE));
            };
            left_for_names = rest;
            let name = format!("{prefix}{key}");
            if let Some(tensor) = is_tensor {
                if !names.insert(name.clone()) {
                    return Err(ErrorKind::Tensor {
                        tensor: name,
                        problem: "two tensors have this name".into(),
                        help: SAVE,
                    }
                    .into());
                }
                state.tensors.push((name, tensor));
            } else if is_dict.is_some() && self.has_tensors(value) {
                let Value::Object(number) = value else {
                    continue;
                };
                if stack.len() >= MAX_LEVELS || !open.insert(number) {
                    let problem = "dictionaries contain themselves, or are nested too deep";
                    return Err(self.error(problem, entries, SAVE));
                }
                stack.push((value, format!("{name}."), 0));
            } else {
                state.skipped.push(name);
            }
        }
        Ok(state)
    }
}
