//! The numbers of samples that the authors of data sets, or others who read them, have published.

use super::{EventSet, Split};

/// The numbers by set and split.
///
/// Sources: the papers of the sets; DVS128 Gesture: SpikingJelly and snnTorch, which find twelve windows in each recording;
/// SHD: the files, whose description has other numbers; N-Caltech101: tonic.
const SAMPLES: &[(&str, Split, usize)] = &[
    ("asl-dvs", Split::All, 100_800),
    ("cifar10-dvs", Split::All, 10_000),
    ("dvs128-gesture", Split::Train, 1_176),
    ("dvs128-gesture", Split::Test, 288),
    ("n-caltech101", Split::All, 8_709),
    ("n-mnist", Split::Train, 60_000),
    ("n-mnist", Split::Test, 10_000),
    ("shd", Split::Train, 8_156),
    ("shd", Split::Test, 2_264),
    ("ssc", Split::Train, 75_466),
    ("ssc", Split::Valid, 9_981),
    ("ssc", Split::Test, 20_382),
];

impl EventSet {
    /// The number of samples of a split, if it is published.
    ///
    /// ```
    /// use spikelet_events::{EventSet, Split};
    ///
    /// let set = EventSet::find("n-mnist").expect("a known set");
    /// assert_eq!(set.samples(Split::Test), Some(10_000));
    /// assert_eq!(set.samples(Split::Valid), None);
    /// ```
    #[must_use]
    pub fn samples(&self, split: Split) -> Option<usize> {
        let mut samples = SAMPLES.iter();
        let own = samples.find(|(name, own, _)| *name == self.name && *own == split);
        own.map(|&(_, _, samples)| samples)
    }
}
