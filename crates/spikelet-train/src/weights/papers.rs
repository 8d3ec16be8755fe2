//! State dicts of the programs of papers, whose names differ from those of their layers.

use super::import::Import;
use spikelet_weights::Weights;

/// The tensors under the names of the layers, if the program has them in containers: `conv1.module.0` and `conv1.module.1`
/// of SEW-ResNet are `conv1` and `bn1`.
pub(super) fn without_containers(weights: &Weights) -> Option<Weights> {
    let mut renamed = Weights::default();
    let mut changed = false;
    for (name, tensor) in weights.iter() {
        let own = without_container(name);
        changed |= own.is_some();
        renamed
            .insert(&own.unwrap_or_else(|| name.to_string()), tensor.clone())
            .ok()?;
    }
    changed.then_some(renamed)
}

fn without_container(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('.').collect();
    let at = parts.iter().position(|part| *part == "module")?;
    let (before, after) = (&parts[..at], &parts[at + 1..]);
    let [first @ .., container] = before else {
        return None;
    };
    let (&index, rest) = after.split_first()?;
    let number = container.strip_prefix("conv").unwrap_or_default();
    let own = match (first.last(), index) {
        (Some(&"downsample"), "0" | "1") => index.to_string(),
        (_, "0") if is_number(number) => (*container).to_string(),
        (_, "1") if is_number(number) => format!("bn{number}"),
        _ => return None,
    };
    Some([first, &[own.as_str()], rest].concat().join("."))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit())
}

/// Removes parameters that take no part in the authors' programs from those that are left over, if all the others are
/// found: layer norms and position embeddings of Spikformer, `talking_heads` of the spike-driven transformer.
pub(super) fn forget_unused(import: &mut Import) {
    if import.names.missing.is_empty() && import.names.mismatched.is_empty() {
        import.names.left_over.retain(|name| !is_unused(name));
    }
}

fn is_unused(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    match parts[..] {
        ["pos_embed"] | ["norm", _] => true,
        ["block", block, "norm1" | "norm2", _] | ["block", block, "attn", "talking_heads", _] => {
            is_number(block)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_containers_are_those_of_layers() {
        for (theirs, own) in [
            ("layer1.0.conv2.module.1.bias", Some("layer1.0.bn2.bias")),
            (
                "layer1.0.conv2.module.0.weight",
                Some("layer1.0.conv2.weight"),
            ),
            (
                "layer2.0.downsample.0.module.1.bias",
                Some("layer2.0.downsample.1.bias"),
            ),
            ("conv.0.0.module.0.weight", None),
            ("fc.weight", None),
        ] {
            assert_eq!(without_container(theirs).as_deref(), own, "{theirs}");
        }
    }
}
