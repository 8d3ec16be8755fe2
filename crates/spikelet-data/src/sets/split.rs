//! Random divisions of a data set.

use std::sync::Arc;

use spikelet_random::{Generator, Stream};

use super::Subset;
use crate::dataset::Dataset;
use crate::error::{Error, Result};

/// The random stream of divisions.
const SPLIT_STREAM: u32 = 0xda7a_0004;

/// The indices of a data set in a random order that depends on their number and the seed alone.
fn shuffled(len: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    let stream = Stream {
        seed,
        id: SPLIT_STREAM,
        step: 0,
    };
    Generator::new(stream).shuffle(&mut order);
    order
}

/// The part of a data set with these indices, in the order of the data set.
fn part(
    dataset: &Arc<dyn Dataset>,
    indices: impl IntoIterator<Item = usize>,
) -> Result<Arc<Subset>> {
    let mut indices: Vec<usize> = indices.into_iter().collect();
    indices.sort_unstable();
    Ok(Arc::new(Subset::new(dataset.clone(), indices)?))
}

/// Divides a data set randomly into parts of these fractions, for training, validation and testing. Every sample is in
/// at most one part; if the sum of the fractions is 1, in exactly one. The division depends only on the number of
/// samples, the fractions and the seed.
///
/// ```
/// use spikelet_data::{Dataset, split, synthetic};
///
/// let parts = split(synthetic::digits_of(1, 1000, 10).train, &[0.8, 0.1, 0.1], 0)?;
/// let sizes: Vec<usize> = parts.iter().map(|part| part.len()).collect();
/// assert_eq!(sizes, [800, 100, 100]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// # Errors
/// [`Error::Division`] if a fraction is not above 0, their sum is above 1, or a part has no sample.
pub fn split(dataset: Arc<dyn Dataset>, fractions: &[f64], seed: u64) -> Result<Vec<Arc<Subset>>> {
    let len = dataset.len();
    let sum: f64 = fractions.iter().sum();
    let error = || Error::Division {
        dataset: dataset.name().into(),
        len,
        given: format!("the fractions {fractions:?}"),
    };
    if sum.is_nan() || sum > 1.0 + 1e-9 || fractions.iter().any(|&fraction| fraction <= 0.0) {
        return Err(error());
    }
    let order = shuffled(len, seed);
    let (mut total, mut begin) = (0.0, 0);
    let mut parts = Vec::new();
    for fraction in fractions {
        total += fraction;
        // Of the sums, so that rounding loses no sample.
        let end = ((len as f64 * total).round() as usize).min(len);
        if end == begin {
            return Err(error());
        }
        parts.push(part(&dataset, order[begin..end].iter().copied())?);
        begin = end;
    }
    Ok(parts)
}

/// One round of cross-validation.
#[derive(Clone, Debug)]
pub struct Fold {
    /// All samples but those for validation.
    pub train: Arc<Subset>,
    /// The samples for validation.
    pub validation: Arc<Subset>,
}

/// The `k` rounds of cross-validation: every sample is in the validation part of exactly one.
///
/// ```
/// use spikelet_data::{Dataset, k_fold, synthetic};
///
/// let folds = k_fold(synthetic::digits_of(1, 100, 10).train, 5, 0)?;
/// assert!(folds.iter().all(|fold| (fold.train.len(), fold.validation.len()) == (80, 20)));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
///
/// # Errors
/// [`Error::Division`] if `k` is less than 2 or more than the number of samples.
pub fn k_fold(dataset: Arc<dyn Dataset>, k: usize, seed: u64) -> Result<Vec<Fold>> {
    let len = dataset.len();
    if k < 2 || k > len {
        return Err(Error::Division {
            dataset: dataset.name().into(),
            len,
            given: format!("{k} folds"),
        });
    }
    let order = shuffled(len, seed);
    let fold = |number: usize| {
        // u128, so that no product overflows.
        let at = |number: usize| (number as u128 * len as u128 / k as u128) as usize;
        let (begin, end) = (at(number), at(number + 1));
        let rest = order[..begin].iter().chain(&order[end..]);
        Ok(Fold {
            train: part(&dataset, rest.copied())?,
            validation: part(&dataset, order[begin..end].iter().copied())?,
        })
    };
    (0..k).map(fold).collect()
}
