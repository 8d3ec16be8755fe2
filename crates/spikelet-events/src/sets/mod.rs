//! The data sets of the field by name, one in each file, and one's own recordings.
//!
//! A set lists its samples without reading events; [`EventDataset::read`] reads those of one sample.

mod asl_dvs;
mod cifar10_dvs;
mod dataset;
mod download;
mod dvs128_gesture;
mod dvs_lip;
mod es_imagenet;
mod fetch;
mod gen1;
mod n_caltech101;
mod n_cars;
mod n_mnist;
mod own;
mod published;
mod shd;
mod split;
mod ssc;
mod verification;
mod verify;
mod walk;

use std::path::Path;

use spikelet_schema::{UnknownName, named};

use crate::error::Result;
use crate::{Options, Sensor};

pub use dataset::{EventDataset, EventSample, SamplePart, Split};
pub use download::{Checksum, Download};
pub use own::{recording_folder, recording_list};
pub use split::{ClassOrder, split_classes};
pub use verification::{Verification, VerifiedRecordings};
pub use verify::{VerifyOptions, VerifyProgress};
use walk::Walk;

/// All data sets, in the order of their names.
///
/// ```
/// let names: Vec<&str> = spikelet_events::event_sets().iter().map(|set| set.name).collect();
/// assert!(names.contains(&"n-mnist"));
/// ```
#[must_use]
pub fn event_sets() -> &'static [EventSet] {
    &[
        asl_dvs::SET,
        cifar10_dvs::SET,
        dvs128_gesture::SET,
        dvs_lip::SET,
        es_imagenet::SET,
        gen1::SET,
        n_caltech101::SET,
        n_cars::SET,
        n_mnist::SET,
        shd::SET,
        ssc::SET,
    ]
}

/// A data set by its name: its sensor, its classes, its folders and where to get it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EventSet {
    /// The name, as on the command line.
    pub name: &'static str,
    /// The name in papers.
    pub title: &'static str,
    /// The size of the sensor, or the largest of the recordings.
    pub sensor: Sensor,
    /// The names of the classes by label; empty if the folders name them, or there are none.
    pub classes: &'static [&'static str],
    /// The usual frames, as text of a [`FrameRule`](crate::frames::FrameRule).
    pub frames: &'static str,
    /// The speakers in training of a set that has no validation samples: those of one of them may validate.
    pub speakers: &'static [i64],
    /// Whether each sample has a class.
    pub has_labels: bool,
    /// The splits; [`Split::All`] if the authors give none.
    pub splits: &'static [Split],
    /// The files, relative to the folder.
    pub layout: &'static str,
    /// The page that describes the set.
    pub page: &'static str,
    /// The licence, as far as it is stated.
    pub licence: &'static str,
    /// The archives.
    pub downloads: &'static [Download],
    /// The folders below the given one that may have the files; the given one itself is tried first.
    folders: &'static [&'static str],
    /// The files and folders of which at least one must exist.
    contains: &'static [&'static str],
    /// How files are read.
    options: Options,
    list: fn(&Walk<'_>) -> Result<Listing>,
}

/// The samples that a set finds in a folder.
struct Listing {
    classes: Vec<String>,
    samples: Vec<EventSample>,
    options: Options,
}

impl EventSet {
    /// The set with this name.
    ///
    /// # Errors
    /// When no set has this name; the error names the closest one.
    pub fn find(name: &str) -> Result<&'static Self, UnknownName> {
        named("event data set", name, event_sets(), |set| set.name)
    }

    /// Lists the samples in a folder, which has the unpacked files of at least one split. Reads no events.
    ///
    /// ```
    /// use spikelet_events::{EventSet, Split};
    ///
    /// let folder = tempfile::tempdir()?;
    /// std::fs::create_dir_all(folder.path().join("Train/7"))?;
    /// std::fs::write(folder.path().join("Train/7/00001.bin"), [3, 7, 0x80, 0, 40])?;
    /// let set = EventSet::find("n-mnist").expect("a known set");
    /// let data = set.open(folder.path())?;
    /// let train = data.indices(Split::Train)?;
    /// assert_eq!(data.samples()[train[0]].label, Some(7));
    /// assert_eq!(data.read(train[0])?.t, [40]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Layout`](crate::ErrorKind::Layout) if the folder does not have the files, with the addresses of
    /// the downloads; errors of files with labels.
    pub fn open(&'static self, folder: impl AsRef<Path>) -> Result<EventDataset> {
        let folder = folder.as_ref();
        let walk = Walk::new(self, folder)?;
        let Listing {
            classes,
            samples,
            options,
        } = (self.list)(&walk)?;
        if samples.is_empty() {
            return Err(walk.unexpected(&walk.base, "no recordings"));
        }
        let sensor = Some(self.sensor);
        Ok(EventDataset::new(
            self.name, folder, sensor, classes, samples, options,
        ))
    }

    /// Where to get the files.
    fn help(&self) -> String {
        let files = self.downloads.iter().map(|download| {
            let from = download.url.map_or(String::new(), |url| format!(" {url}"));
            let md5 = download
                .md5
                .map_or(String::new(), |md5| format!(" (MD5 {md5})"));
            format!("\n    {}{from}{md5}", download.file)
        });
        let files: String = files.collect();
        format!(
            "get {} from {} and unpack it:{files}",
            self.title, self.page
        )
    }

    fn class_names(&self) -> Vec<String> {
        self.classes.iter().map(|&class| class.to_owned()).collect()
    }
}
