//! Prefixes of all names.

use spikelet_weights::Weights;

/// The most prefixes that are removed.
const MOST: usize = 4;

/// Removes `module.` of `DataParallel`, and then first parts that all names have in common, such as `net.` of Lightning,
/// until `fits` is true. If it is true with none of them removed, only `module.` is.
///
/// Returns the prefixes that were removed.
///
/// ```
/// use spikelet_weights::{Tensor, Weights};
/// use spikelet_train::weights::strip_prefixes;
///
/// let mut weights = Weights::default();
/// weights.insert("module.net.fc.bias", Tensor::from_f32(&[1], &[0.5])?)?;
/// let removed = strip_prefixes(&mut weights, |weights| weights.get("fc.bias").is_some());
/// assert_eq!(removed, ["module.", "net."]);
/// # Ok::<(), spikelet_weights::Error>(())
/// ```
pub fn strip_prefixes(weights: &mut Weights, fits: impl Fn(&Weights) -> bool) -> Vec<String> {
    let mut removed = vec![];
    if weights.strip_module() {
        removed.push("module.".to_string());
    }
    let (mut stripped, kept) = (weights.clone(), removed.len());
    for _ in 0..MOST {
        if fits(&stripped) {
            *weights = stripped;
            return removed;
        }
        let Some(prefix) = common_part(&stripped) else {
            break;
        };
        if stripped.strip_prefix(&prefix).is_err() {
            break;
        }
        removed.push(prefix);
    }
    removed.truncate(kept);
    removed
}

/// The first part of all names, with its dot.
fn common_part(weights: &Weights) -> Option<String> {
    let (first, _) = weights.iter().next()?;
    let (part, _) = first.split_once('.')?;
    let prefix = format!("{part}.");
    let all = weights.iter().all(|(name, _)| name.starts_with(&prefix));
    all.then_some(prefix)
}
