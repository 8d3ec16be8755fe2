//! Event data sets by name: recordings whose frames are sequences.
//!
//! The recordings are those of [`spikelet_events::event_sets`], and one's own. Those of a set are packed into one small file
//! at the first start (see [`spikelet_events::pack`]); frames are computed from the events where a sample is read, on the
//! threads of the loader.

mod maker;
mod recordings;
mod samples;
mod settings;
mod splits;
mod synthetic;

pub use settings::{FrameSettings, FramesOn};
pub use synthetic::SyntheticEvents;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spikelet_events::frames::FrameRule;
use spikelet_events::pack::pack_data_set;
use spikelet_events::synthetic::SyntheticSet;
use spikelet_events::{
    EventSet, Options, Sensor, Split as PartOfSet, recording_folder, recording_list,
};
use spikelet_expr::DType;
use spikelet_schema::Member;

use crate::device_frames::DeviceFrames;
use crate::error::{Error, Result};
use crate::field::Field;
use crate::named::{DataOptions, NamedDataset, Origin};
use crate::progress::{ItemBar, Progress};
use crate::sequence_files::folders;
use crate::split::Split;
use maker::FrameMaker;
use recordings::Recordings;
use samples::EventFrames;

/// The name of one's own recordings.
const OWN: &str = "recordings";
/// Their frames, unless others are set.
const OWN_FRAMES: &str = "number=16";
/// The extension of packs.
const PACK: &str = "events";

/// The recordings of a data set by name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum EventRecordings {
    /// A set of the field.
    Set(&'static EventSet),
    /// One's own: a folder for each class, or a list.
    Own,
    /// Generated.
    Synthetic(&'static SyntheticEvents),
}

impl EventRecordings {
    /// All event data sets whose samples have a class.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let sets = spikelet_events::event_sets().iter();
        let sets = sets.filter(|set| set.has_labels);
        let synthetic = synthetic::ALL.iter().map(Self::Synthetic);
        synthetic.chain(sets.map(Self::Set)).chain([Self::Own])
    }

    /// The size of the sensor; `None` for one's own recordings.
    #[must_use]
    pub fn sensor(self) -> Option<Sensor> {
        match self {
            Self::Set(set) => Some(set.sensor),
            Self::Own => None,
            Self::Synthetic(_) => self.generated().ok().flatten().map(|set| set.sensor()),
        }
    }

    /// The usual frames.
    ///
    /// # Errors
    /// None, for the data sets of this crate.
    pub fn frames(self) -> Result<Member<dyn FrameRule>> {
        Ok(match self {
            Self::Set(set) => set.frames,
            Self::Own => OWN_FRAMES,
            Self::Synthetic(own) => own.frames,
        }
        .parse()?)
    }

    /// The generated set; `None` for files.
    ///
    /// # Errors
    /// None, for the data sets of this crate.
    pub fn generated(self) -> Result<Option<Member<dyn SyntheticSet>>> {
        Ok(match self {
            Self::Synthetic(own) => Some(own.set.parse()?),
            _ => None,
        })
    }

    /// The rule of the frames: that of the settings, or else the usual one.
    fn rule(self, settings: &FrameSettings) -> Result<Member<dyn FrameRule>> {
        match &settings.rule {
            Some(rule) => Ok(rule.clone()),
            None => self.frames(),
        }
    }
}

/// The sensor of the settings.
fn given_sensor(settings: &FrameSettings) -> Option<Sensor> {
    settings
        .sensor
        .map(|[width, height]| Sensor::new(width, height))
}

impl NamedDataset for EventRecordings {
    fn name(&self) -> &'static str {
        match self {
            Self::Set(set) => set.name,
            Self::Own => OWN,
            Self::Synthetic(set) => set.name,
        }
    }

    fn summary(&self) -> &'static str {
        match self {
            Self::Set(set) => set.title,
            Self::Own => "One's own event files: a folder for each class, or a list",
            Self::Synthetic(set) => set.summary,
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Set(set) => set.title.into(),
            Self::Own | Self::Synthetic(_) => self.name().into(),
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Self::Set(_) => Origin::Files,
            Self::Own => Origin::OwnFiles,
            Self::Synthetic(_) => Origin::Generated,
        }
    }

    fn events(&self) -> Option<EventRecordings> {
        Some(*self)
    }

    /// The sizes of a time step of one's own recordings are those of a frame, and not known.
    fn fields(&self, options: &DataOptions) -> Result<Vec<Field>> {
        let rule = self.rule(&options.frames)?;
        let steps = rule.steps().unwrap_or(options.time_steps);
        let varies = rule.steps().is_none();
        let labels = Field::new("labels", DType::I64, []);
        let x = match given_sensor(&options.frames).or(self.sensor()) {
            Some(sensor) => {
                let maker = FrameMaker::new(&options.frames, rule, sensor, options.time_steps);
                let shape = [&[maker.steps], maker.step_shape()?.sizes()].concat();
                Field::new("x", DType::F32, shape)
            }
            None => (1..=3).fold(
                Field::new("x", DType::F32, [steps, 1, 1, 1]),
                Field::variable_axis,
            ),
        };
        let x = x.sequence();
        Ok(vec![if varies { x.pad(0.0) } else { x }, labels])
    }

    fn classes(&self, _: &DataOptions) -> Result<Vec<String>> {
        let own = |classes: &[&str]| classes.iter().map(|&class| class.to_owned()).collect();
        Ok(match self {
            Self::Set(set) => own(set.classes),
            Self::Own => vec![],
            Self::Synthetic(_) => match self.generated()? {
                Some(set) => own(set.classes()),
                None => vec![],
            },
        })
    }

    fn splits(&self) -> Vec<String> {
        match self {
            Self::Set(set) => splits::names(set.splits, set.speakers),
            Self::Own => splits::own_names(),
            Self::Synthetic(_) => splits::names(&[PartOfSet::Train, PartOfSet::Test], &[]),
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        match self {
            Self::Set(set) => {
                pack_of(set, folder).is_some() || set.open(folder_of(set, folder)).is_ok()
            }
            Self::Own => open_own(folder, None).is_ok(),
            Self::Synthetic(_) => false,
        }
    }

    /// Recordings of a set are packed.
    fn writes_into(&self, folder: &Path) -> bool {
        match self {
            Self::Set(set) => pack_of(set, folder).is_none(),
            Self::Own | Self::Synthetic(_) => false,
        }
    }

    fn read(&self, options: &DataOptions) -> Result<Split> {
        let (settings, dir) = (&options.frames, options.folder.as_path());
        let sensor = given_sensor(settings).or(self.sensor());
        let mut recordings = match (self, self.generated()?) {
            (Self::Set(set), _) => open_set(set, dir, settings.unpacked, options.progress)?,
            (_, Some(set)) => Recordings::of_synthetic(set),
            _ => open_own(dir, sensor)?,
        };
        // The name in checkpoints, also of a pack.
        recordings.name = self.title();
        let sensor = sensor
            .or(recordings.sensor)
            .ok_or_else(|| Error::NoSensor {
                dataset: self.name().into(),
            })?;
        let maker = FrameMaker::new(settings, self.rule(settings)?, sensor, options.time_steps);
        let device = match settings.frames_on {
            FramesOn::Device => Some(maker.device_frames(recordings.most_events()?)?),
            FramesOn::Host => None,
        };
        let known = self.splits();
        let split = options.split.as_ref().or(known.first());
        divide(recordings, split.map_or("", String::as_str), maker, device)
    }
}

/// The parts of recordings as samples of frames.
fn divide(
    recordings: Recordings,
    split: &str,
    maker: FrameMaker,
    device_frames: Option<DeviceFrames>,
) -> Result<Split> {
    let parts = splits::parts(&recordings, split)?;
    let (recordings, maker) = (Arc::new(recordings), Arc::new(maker));
    let part = |indices: Vec<usize>| -> Result<Arc<dyn crate::Dataset>> {
        Ok(Arc::new(EventFrames::new(
            recordings.clone(),
            indices,
            maker.clone(),
            device_frames,
        )?))
    };
    let validation = (!parts.validation.is_empty()).then(|| part(parts.validation));
    let split = Split::new(part(parts.train)?, part(parts.test)?);
    Ok(split.with_validation(validation.transpose()?))
}

/// The pack of a set, if there is one.
fn pack_of(set: &EventSet, dir: &Path) -> Option<PathBuf> {
    let file = format!("{}.{PACK}", set.name);
    let mut folders = folders(dir, &["", set.name]).into_iter();
    folders.find_map(|folder| Some(folder.join(&file)).filter(|path| path.is_file()))
}

/// The folder of the files of a set.
fn folder_of(set: &EventSet, dir: &Path) -> PathBuf {
    match dir.join(set.name) {
        own if own.is_dir() => own,
        _ => dir.to_owned(),
    }
}

/// The recordings of a set: those of its pack, which is made first from the unpacked files unless these are to be read.
fn open_set(
    set: &'static EventSet,
    dir: &Path,
    unpacked: bool,
    progress: Progress,
) -> Result<Recordings> {
    if let Some(pack) = pack_of(set, dir) {
        return Recordings::of_pack(&pack);
    }
    let data = set.open(folder_of(set, dir))?;
    if unpacked {
        return Ok(Recordings::of_files(data));
    }
    let path = dir.join(format!("{}.{PACK}", set.name));
    let bar = ItemBar::new("Packing recordings", data.samples().len(), progress);
    let threads = std::thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    pack_data_set(&data, &path, threads, |_| bar.advance())?;
    bar.finish();
    Recordings::of_pack(&path)
}

/// One's own recordings: a pack, a list, or a folder for each class.
fn open_own(dir: &Path, sensor: Option<Sensor>) -> Result<Recordings> {
    let options = Options {
        sensor,
        ..Options::default()
    };
    let below = |name: &str| -> PathBuf { dir.join(name) };
    let pack = below(&format!("{OWN}.{PACK}"));
    if pack.is_file() {
        return Recordings::of_pack(&pack);
    }
    let list = below(&format!("{OWN}.csv"));
    let data = if list.is_file() {
        recording_list(list, &options)?
    } else if below(OWN).is_dir() {
        recording_folder(below(OWN), &options)?
    } else {
        recording_folder(dir, &options)?
    };
    let sensor = match sensor {
        Some(_) => sensor,
        None => data.sensor_of(0)?,
    };
    let mut recordings = Recordings::of_files(data);
    recordings.sensor = sensor;
    Ok(recordings)
}

#[cfg(test)]
mod tests;
