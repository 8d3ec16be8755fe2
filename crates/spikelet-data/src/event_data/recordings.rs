//! The recordings of a data set: from its files, from a pack, or generated.

use std::path::Path;

use spikelet_events::pack::{Pack, SampleInfo};
use spikelet_events::synthetic::SyntheticSet;
use spikelet_events::{EventBuffer, EventDataset, Sensor, Split};
use spikelet_schema::Member;

use crate::digest::Parts;
use crate::error::Result;
use crate::parallel;

/// The recordings of a data set: what is known of each, and where its events come from.
#[derive(Debug)]
pub(super) struct Recordings {
    pub name: String,
    pub classes: Vec<String>,
    pub sensor: Option<Sensor>,
    pub samples: Vec<SampleInfo>,
    store: Store,
}

/// Where the events of a recording come from.
#[derive(Debug)]
enum Store {
    Pack(Pack),
    Files(Box<EventDataset>),
    /// Generated, with the index of each sample.
    Synthetic(Member<dyn SyntheticSet>, Vec<u32>),
}

/// The seed of generated recordings. It is not the seed of a run, so that runs are comparable.
const SEED: u64 = 0;

impl Recordings {
    /// Those of a pack.
    pub fn of_pack(path: &Path) -> Result<Self> {
        let pack = Pack::open(path)?;
        let info = pack.info();
        Ok(Self {
            name: info.name.clone(),
            classes: info.classes.clone(),
            sensor: info.sensor,
            samples: pack.samples().iter().map(|sample| sample.info).collect(),
            store: Store::Pack(pack),
        })
    }

    /// Those of files.
    pub fn of_files(data: EventDataset) -> Self {
        let samples = data.samples().iter().map(SampleInfo::from);
        Self {
            name: data.name().to_owned(),
            classes: data.classes().to_owned(),
            sensor: data.sensor(),
            samples: samples.collect(),
            store: Store::Files(Box::new(data)),
        }
    }

    /// Those of a generated set.
    pub fn of_synthetic(set: Member<dyn SyntheticSet>) -> Self {
        let (mut samples, mut indices) = (vec![], vec![]);
        for split in [Split::Train, Split::Test] {
            for index in set.indices(split) {
                samples.push(SampleInfo::new(split, Some(set.label(index))));
                indices.push(index);
            }
        }
        Self {
            name: set.title().to_owned(),
            classes: set
                .classes()
                .iter()
                .map(|&class| class.to_owned())
                .collect(),
            sensor: Some(set.sensor()),
            samples,
            store: Store::Synthetic(set, indices),
        }
    }

    /// The events of a recording.
    pub fn read(&self, index: usize) -> spikelet_events::Result<EventBuffer> {
        match &self.store {
            Store::Pack(pack) => {
                let mut events = EventBuffer::default();
                pack.read(index, &mut events)?;
                Ok(events)
            }
            Store::Files(data) => data.read(index),
            Store::Synthetic(set, indices) => set.events(SEED, indices[index]),
        }
    }

    /// The largest number of events of a recording: packs know it, others are read.
    pub fn most_events(&self) -> Result<usize> {
        let most = match &self.store {
            Store::Pack(pack) => pack
                .samples()
                .iter()
                .map(|sample| sample.events as usize)
                .max(),
            _ => {
                let counts = parallel::map(self.samples.len(), |index| {
                    self.read(index).map(|events| events.len())
                });
                counts
                    .into_iter()
                    .collect::<spikelet_events::Result<Vec<_>>>()?
                    .into_iter()
                    .max()
            }
        };
        Ok(most.unwrap_or(0).max(1))
    }

    /// A digest of the identity of all recordings: of packed ones their checksums, of files their names and lengths, of
    /// generated ones their settings.
    pub fn digest(&self) -> Result<[u8; 32]> {
        let mut parts = Parts::of("recordings").part(self.name.as_bytes());
        match &self.store {
            Store::Pack(pack) => {
                for sample in pack.samples() {
                    parts = parts.number(sample.events as usize);
                    parts = parts.number(sample.checksum as usize);
                }
            }
            Store::Files(data) => {
                for sample in data.samples() {
                    let path = data.folder().join(&sample.file);
                    let len = std::fs::metadata(&path).map_or(0, |file| file.len());
                    parts = parts.part(sample.file.to_string_lossy().as_bytes());
                    parts = parts.number(len as usize);
                    parts = parts.part(format!("{:?}", sample.part).as_bytes());
                }
            }
            Store::Synthetic(set, _) => parts = parts.part(set.to_string().as_bytes()),
        }
        Ok(parts.finish())
    }
}
