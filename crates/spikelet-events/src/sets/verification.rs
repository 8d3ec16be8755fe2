//! The result of verifying a data set.

use std::fmt;

use super::{Checksum, Download, Split};
use crate::Faults;
use crate::error::{Error, Result};

/// The most damaged files whose errors are kept.
const MAX_ERRORS: usize = 100;

/// What was found in the folder of a data set.
#[derive(Debug)]
#[non_exhaustive]
pub struct Verification {
    /// The archives, and the checksums of those in the folder.
    pub archives: Vec<(&'static Download, Option<Checksum>)>,
    /// Why the unpacked files cannot be listed.
    pub layout: Option<Error>,
    /// The samples of each split: the number of those found, and of those published.
    pub splits: Vec<(Split, usize, Option<usize>)>,
    /// The result of reading the recordings.
    pub recordings: VerifiedRecordings,
}

/// What was found in recordings.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct VerifiedRecordings {
    /// The samples that were read to their ends.
    pub samples: usize,
    /// Their events.
    pub events: u64,
    /// The samples without events.
    pub empty: usize,
    /// What was wrong and could be handled.
    pub faults: Faults,
    /// The samples that cannot be read to their ends.
    pub damaged: usize,
    /// The errors of the first files that are damaged, sorted by file.
    pub errors: Vec<Error>,
}

impl Verification {
    /// Whether no checksum is wrong, the files are complete as far as it is known, and all recordings can be read.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        let is_wrong = |sum: &Option<Checksum>| matches!(sum, Some(Checksum::Wrong { .. }));
        let is_short =
            |&(_, found, all): &(Split, usize, Option<usize>)| all.is_some_and(|all| found < all);
        self.layout.is_none()
            && self.recordings.damaged == 0
            && !self.archives.iter().any(|(_, sum)| is_wrong(sum))
            && !self.splits.iter().any(is_short)
    }
}

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (download, checksum) in &self.archives {
            match checksum {
                None => writeln!(f, "{}: not in the folder", download.file)?,
                Some(Checksum::Right) => writeln!(f, "{}: the checksum is right", download.file)?,
                Some(Checksum::Wrong { found, expected }) => writeln!(
                    f,
                    "{}: the checksum is {found}, not {expected}: download it again",
                    download.file
                )?,
                Some(Checksum::NotPublished { found }) => writeln!(
                    f,
                    "{}: the checksum is {found}; none is published",
                    download.file
                )?,
            }
        }
        if let Some(error) = &self.layout {
            writeln!(f, "{error}")?;
        }
        for (split, found, published) in &self.splits {
            match published {
                Some(all) if all != found => {
                    writeln!(f, "{split}: {found} samples; {all} are published")?
                }
                _ => writeln!(f, "{split}: {found} samples")?,
            }
        }
        let VerifiedRecordings {
            samples,
            events,
            empty,
            faults,
            damaged,
            errors,
        } = &self.recordings;
        if samples + damaged > 0 {
            writeln!(
                f,
                "{samples} samples with {events} events were read to their ends"
            )?;
        }
        if *empty > 0 {
            writeln!(f, "{empty} samples have no events")?;
        }
        for (fault, count) in faults.iter() {
            writeln!(f, "{count} {fault}")?;
        }
        if *damaged > 0 {
            writeln!(f, "{damaged} samples are damaged")?;
        }
        errors.iter().try_for_each(|error| writeln!(f, "{error}"))
    }
}

impl VerifiedRecordings {
    /// Adds what was found in other recordings.
    pub(super) fn add(&mut self, other: Self) {
        self.samples += other.samples;
        self.events += other.events;
        self.empty += other.empty;
        self.damaged += other.damaged;
        for (fault, count) in other.faults.iter() {
            self.faults.add(fault, count);
        }
        let left = MAX_ERRORS - self.errors.len().min(MAX_ERRORS);
        self.errors.extend(other.errors.into_iter().take(left));
    }

    /// Takes note of a sample of this many events, or of a damaged one.
    pub(super) fn add_sample(&mut self, events: Result<usize>) {
        match events {
            Ok(events) => {
                self.samples += 1;
                self.events += events as u64;
                self.empty += usize::from(events == 0);
            }
            Err(error) => {
                self.damaged += 1;
                self.errors.push(error);
            }
        }
    }
}
