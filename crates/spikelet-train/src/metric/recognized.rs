//! The class that a network recognizes.

/// The class with the highest score, the first of several. `None` if all scores are 0: an output without a spike recognizes
/// nothing. [`accuracy`](super::accuracy) counts such a sample as one of class 0, as the argmax of other frameworks does.
///
/// ```
/// use spikelet_train::metric::recognized;
/// assert_eq!(recognized(&[0.0, 0.5, 0.5]), Some(1));
/// assert_eq!(recognized(&[0.0, 0.0]), None);
/// ```
pub fn recognized(scores: &[f64]) -> Option<usize> {
    let is_silent = scores.iter().all(|score| *score == 0.0);
    (!is_silent).then(|| predicted(scores))
}

/// The class with the highest score, the first of several.
pub(crate) fn predicted<S: PartialOrd>(scores: &[S]) -> usize {
    (0..scores.len()).fold(0, |best, k| if scores[k] > scores[best] { k } else { best })
}
