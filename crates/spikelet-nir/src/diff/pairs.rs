//! The layers of two networks that correspond to each other.
//!
//! Layers that are named correspond, then those with the same name, then those of the same kind and shape in the order
//! in which they run, if both networks have as many of them.

use super::super::error::NirError;
use super::recording::{Layer, LayerKind, Recording};
use std::collections::BTreeSet;

/// Layers that correspond, and the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Pairs {
    /// Names in A and B, in the order in which the layers run.
    pub(super) names: Vec<(String, String)>,
    /// Layers of A without a counterpart.
    pub(super) only_a: Vec<String>,
    /// Layers of B without a counterpart.
    pub(super) only_b: Vec<String>,
}

impl Pairs {
    /// The counterpart of a layer of A.
    pub(super) fn in_b(&self, name: &str) -> Option<&str> {
        let pair = self.names.iter().find(|(a, _)| a == name);
        pair.map(|(_, b)| b.as_str())
    }

    /// The pairs with A and B exchanged.
    pub(super) fn swapped(&self) -> Self {
        Self {
            names: self
                .names
                .iter()
                .map(|(a, b)| (b.clone(), a.clone()))
                .collect(),
            only_a: self.only_b.clone(),
            only_b: self.only_a.clone(),
        }
    }
}

/// The counterparts, in the order of the layers of `order`, which is A or B.
pub(super) fn pair(
    a: &Recording,
    b: &Recording,
    map: &[(String, String)],
    order: &Recording,
) -> Result<Pairs, NirError> {
    let mut found: Vec<(&Layer, &Layer)> = vec![];
    for (name_a, name_b) in map {
        let of_a = named("A", a, name_a)?;
        let of_b = named("B", b, name_b)?;
        if !comparable(of_a, of_b) {
            return Err(NirError::diff(
                format!(
                    "`{name_a}` of A is {:?}, `{name_b}` of B {:?}",
                    of_a.shape(),
                    of_b.shape()
                ),
                "map layers of the same shape to each other",
            ));
        }
        found.push((of_a, of_b));
    }
    for layer in &a.layers {
        if let Some(other) = b.get(&layer.name)
            && is_free(layer, other, &found)
        {
            same_steps(layer, other)?;
            if comparable(layer, other) {
                found.push((layer, other));
            }
        }
    }
    by_order(a, b, &mut found);
    if found.is_empty() {
        return Err(NirError::diff(
            format!(
                "no layers correspond. A has: {}; B has: {}",
                a.names(),
                b.names()
            ),
            "name layers that correspond: --map LAYER_OF_A=LAYER_OF_B; layers of other sizes or numbers of time steps \
             or samples cannot be compared",
        ));
    }
    let of_a: BTreeSet<&str> = found.iter().map(|(a, _)| a.name.as_str()).collect();
    let of_b: BTreeSet<&str> = found.iter().map(|(_, b)| b.name.as_str()).collect();
    let rest = |recording: &Recording, known: &BTreeSet<&str>| -> Vec<String> {
        let names = recording.layers.iter().map(|layer| &layer.name);
        names
            .filter(|name| !known.contains(name.as_str()))
            .cloned()
            .collect()
    };
    let (only_a, only_b) = (rest(a, &of_a), rest(b, &of_b));
    let is_one_of = |(a, b): &(&Layer, &Layer), layer: &Layer| {
        std::ptr::eq(*a, layer) || std::ptr::eq(*b, layer)
    };
    found.sort_by_key(|pair| order.layers.iter().position(|layer| is_one_of(pair, layer)));
    let names = found.iter().map(|(a, b)| (a.name.clone(), b.name.clone()));
    Ok(Pairs {
        names: names.collect(),
        only_a,
        only_b,
    })
}

/// A layer that an option names.
fn named<'a>(side: &str, recording: &'a Recording, name: &str) -> Result<&'a Layer, NirError> {
    recording.get(name).ok_or_else(|| {
        NirError::diff(
            format!(
                "{side} has no layer `{name}`; it has: {}",
                recording.names()
            ),
            "correct the name: --map LAYER_OF_A=LAYER_OF_B",
        )
    })
}

/// Pairs layers of one kind and shape in their order.
fn by_order<'a>(a: &'a Recording, b: &'a Recording, found: &mut Vec<(&'a Layer, &'a Layer)>) {
    fn free<'a>(recording: &'a Recording, known: &BTreeSet<&str>) -> Vec<&'a Layer> {
        let layers = recording
            .layers
            .iter()
            .filter(|layer| !known.contains(layer.name.as_str()));
        layers
            .filter(|layer| layer.kind != LayerKind::Other)
            .collect()
    }
    let known_a: BTreeSet<&str> = found.iter().map(|(a, _)| a.name.as_str()).collect();
    let known_b: BTreeSet<&str> = found.iter().map(|(_, b)| b.name.as_str()).collect();
    let (rest_a, rest_b) = (free(a, &known_a), free(b, &known_b));
    for (k, first) in rest_a.iter().enumerate() {
        if rest_a[..k].iter().any(|before| before.resembles(first)) {
            continue;
        }
        let like = |rest: &[&'a Layer]| -> Vec<&'a Layer> {
            rest.iter()
                .copied()
                .filter(|layer| layer.resembles(first))
                .collect()
        };
        let (of_a, of_b) = (like(&rest_a), like(&rest_b));
        if of_a.len() == of_b.len() {
            found.extend(of_a.into_iter().zip(of_b));
        }
    }
}

fn is_free(a: &Layer, b: &Layer, found: &[(&Layer, &Layer)]) -> bool {
    found
        .iter()
        .all(|(known_a, known_b)| known_a.name != a.name && known_b.name != b.name)
}

/// Whether the layers have as many time steps, samples and neurons.
fn comparable(a: &Layer, b: &Layer) -> bool {
    let size = |layer: &Layer| layer.shape().iter().product::<usize>();
    a.shape().get(..2) == b.shape().get(..2) && size(a) == size(b)
}

/// Checks that two layers with one name have as many time steps and samples.
fn same_steps(a: &Layer, b: &Layer) -> Result<(), NirError> {
    let (of_a, of_b) = (a.shape(), b.shape());
    let what = match (of_a.first() == of_b.first(), of_a.get(1) == of_b.get(1)) {
        (true, true) => return Ok(()),
        (false, _) => "time steps",
        (true, false) => "samples",
    };
    Err(NirError::diff(
        format!(
            "layer `{}` is {of_a:?} in A and {of_b:?} in B: other {what}",
            a.name
        ),
        "run or record both networks on the same input, [T, N, …]: time steps, samples, …",
    ))
}
