//! Splits of sets that have none.

use std::collections::BTreeMap;

use super::{EventDataset, Split};
use crate::error::Result;

/// The order in which the samples of a class are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassOrder {
    /// The order of the samples.
    Listed,
    /// A random order, which the seed determines.
    Random(u64),
}

impl EventDataset {
    /// Divides the samples class by class: the first `ratio` of each class, rounded up, for training, the others for
    /// testing. Samples without a label are one class.
    ///
    /// [`ClassOrder::Listed`] with 0.9 is the split of CIFAR10-DVS in the line of SEW ResNet and Spikformer.
    ///
    /// Source: SpikingJelly 2.0 `split_to_train_test_set`.
    ///
    /// ```
    /// use spikelet_events::ClassOrder;
    ///
    /// let folder = tempfile::tempdir()?;
    /// std::fs::create_dir(folder.path().join("cat"))?;
    /// for name in ["1.bin", "2.bin", "3.bin"] {
    ///     std::fs::write(folder.path().join("cat").join(name), [])?;
    /// }
    /// let data = spikelet_events::recording_folder(folder.path(), &Default::default())?;
    /// assert_eq!(data.split_by_class(0.5, ClassOrder::Listed), (vec![0, 1], vec![2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn split_by_class(&self, ratio: f64, order: ClassOrder) -> (Vec<usize>, Vec<usize>) {
        let labels: Vec<_> = self.samples().iter().map(|sample| sample.label).collect();
        split_classes(&labels, ratio, order)
    }

    /// Divides the samples of a split into those of other speakers and those of `speakers`, for validation with
    /// speakers that were not heard in training. SHD has no validation samples of its own.
    ///
    /// # Errors
    /// [`ErrorKind::Layout`](crate::ErrorKind::Layout) if there are no samples of the split, or a sample has no
    /// speaker, or one of the two parts is empty.
    pub fn leave_speakers_out(
        &self,
        split: Split,
        speakers: &[i64],
    ) -> Result<(Vec<usize>, Vec<usize>)> {
        let indices = self.indices(split)?;
        let speaker = |index: usize| self.samples()[index].speaker;
        let lacking = |found: &str, expected: &str| {
            Err(self.layout(found, expected, "name speakers that the split has"))
        };
        if indices.iter().any(|&index| speaker(index).is_none()) {
            return lacking("recordings without a speaker", "extra/speaker in the file");
        }
        let mut known: Vec<i64> = indices.iter().filter_map(|&index| speaker(index)).collect();
        known.sort_unstable();
        known.dedup();
        let is_left_out = |&index: &usize| speaker(index).is_some_and(|s| speakers.contains(&s));
        let (valid, train): (Vec<usize>, Vec<usize>) = indices.into_iter().partition(is_left_out);
        if valid.is_empty() || train.is_empty() {
            let found = format!("the speakers {known:?} in the split {split}");
            return lacking(
                &found,
                &format!("some, but not all, of them in {speakers:?}"),
            );
        }
        Ok((train, valid))
    }
}

/// Divides samples with these labels, as [`EventDataset::split_by_class`] does: the indices for training and for testing.
///
/// ```
/// use spikelet_events::{ClassOrder, split_classes};
///
/// let labels = [Some(0), Some(0), Some(1), Some(1)];
/// assert_eq!(split_classes(&labels, 0.5, ClassOrder::Listed), (vec![0, 2], vec![1, 3]));
/// ```
#[must_use]
pub fn split_classes(
    labels: &[Option<u32>],
    ratio: f64,
    order: ClassOrder,
) -> (Vec<usize>, Vec<usize>) {
    let mut classes = BTreeMap::<_, Vec<usize>>::new();
    for (index, &label) in labels.iter().enumerate() {
        classes.entry(label).or_default().push(index);
    }
    let mut random = match order {
        ClassOrder::Listed => None,
        ClassOrder::Random(seed) => Some(SplitMix64(seed)),
    };
    let (mut train, mut test) = (vec![], vec![]);
    for mut indices in classes.into_values() {
        if let Some(random) = &mut random {
            random.shuffle(&mut indices);
        }
        let first = (indices.len() as f64 * ratio.clamp(0.0, 1.0)).ceil() as usize;
        let rest = indices.split_off(first.min(indices.len()));
        train.extend(indices);
        test.extend(rest);
    }
    (train, test)
}

/// Random numbers. Source: G. Steele, D. Lea, C. Flood, Fast Splittable Pseudorandom Number Generators, 2014.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Fisher and Yates; the bias of the multiplication is below 2⁻³² for any number of files.
    fn shuffle(&mut self, values: &mut [usize]) {
        for last in (1..values.len()).rev() {
            let other = (u128::from(self.next()) * (last as u128 + 1)) >> 64;
            values.swap(last, other as usize);
        }
    }
}
