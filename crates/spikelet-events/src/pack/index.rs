//! The index of a pack: the data set and its samples.

use crate::{EventSample, Sensor, Split};

/// What a pack tells of its data set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackInfo {
    /// The name of the data set.
    pub name: String,
    /// The size of the sensor, or the largest of the recordings; events outside are errors. `None` if it is not known.
    pub sensor: Option<Sensor>,
    /// The names of the classes by label; empty without labels.
    pub classes: Vec<String>,
}

/// What is known of a sample besides its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SampleInfo {
    /// The split.
    pub split: Split,
    /// The class; `None` for recordings with other annotations.
    pub label: Option<u32>,
    /// The speaker of spiking audio, if the file says it.
    pub speaker: Option<i64>,
}

impl SampleInfo {
    /// A sample without a speaker.
    #[must_use]
    pub const fn new(split: Split, label: Option<u32>) -> Self {
        Self {
            split,
            label,
            speaker: None,
        }
    }
}

impl From<&EventSample> for SampleInfo {
    fn from(sample: &EventSample) -> Self {
        Self {
            split: sample.split,
            label: sample.label,
            speaker: sample.speaker,
        }
    }
}

/// A sample of a pack, whose events are not read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackedSample {
    /// Its split and label.
    pub info: SampleInfo,
    /// The number of events.
    pub events: u64,
    /// The position of its bytes in the file.
    pub offset: u64,
    /// The number of its bytes in the file.
    pub bytes: u64,
    /// The CRC-32 of these bytes.
    pub checksum: u32,
}

const SPLITS: [Split; 4] = [Split::Train, Split::Valid, Split::Test, Split::All];

/// The bytes of the entry of a sample.
const ENTRY: usize = 8 + 8 + 4 + 1 + 1 + 4 + 8;

/// The bits of the byte that tells what an entry has.
const HAS_LABEL: u8 = 1;
const HAS_SPEAKER: u8 = 2;

pub(super) fn encode(info: &PackInfo, samples: &[PackedSample]) -> Vec<u8> {
    let mut out = vec![];
    put_text(&info.name, &mut out);
    out.push(u8::from(info.sensor.is_some()));
    let Sensor { width, height } = info.sensor.unwrap_or(Sensor::new(0, 0));
    out.extend(width.to_le_bytes());
    out.extend(height.to_le_bytes());
    out.extend((info.classes.len() as u32).to_le_bytes());
    for class in &info.classes {
        put_text(class, &mut out);
    }
    out.extend((samples.len() as u64).to_le_bytes());
    for sample in samples {
        let SampleInfo {
            split,
            label,
            speaker,
        } = sample.info;
        out.extend(sample.bytes.to_le_bytes());
        out.extend(sample.events.to_le_bytes());
        out.extend(sample.checksum.to_le_bytes());
        out.push(SPLITS.iter().position(|&own| own == split).unwrap_or(0) as u8);
        let label_flag = if label.is_some() { HAS_LABEL } else { 0 };
        let speaker_flag = if speaker.is_some() { HAS_SPEAKER } else { 0 };
        out.push(label_flag | speaker_flag);
        out.extend(label.unwrap_or(0).to_le_bytes());
        out.extend(speaker.unwrap_or(0).to_le_bytes());
    }
    out
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

/// The index in `bytes`; the first sample is at `start`, and the last ends at `end`. `None` if they are no index.
pub(super) fn decode(bytes: &[u8], start: u64, end: u64) -> Option<(PackInfo, Vec<PackedSample>)> {
    let rest = &mut &bytes[..];
    let name = text(rest)?;
    let has_sensor = take::<1>(rest)? != [0];
    let sensor = Sensor::new(u32_of(rest)?, u32_of(rest)?);
    // Memory grows with the names that are there.
    let classes: Option<Vec<String>> = (0..u32_of(rest)?).map(|_| text(rest)).collect();
    let info = PackInfo {
        name,
        sensor: has_sensor.then_some(sensor),
        classes: classes?,
    };
    let count = u64_of(rest)?;
    if count.checked_mul(ENTRY as u64)? != rest.len() as u64 {
        return None;
    }
    let mut offset = start;
    let mut entry = |rest: &mut &[u8]| {
        let (bytes, events, checksum) = (u64_of(rest)?, u64_of(rest)?, u32_of(rest)?);
        let [split, flags] = take(rest)?;
        let (label, speaker) = (u32_of(rest)?, i64::from_le_bytes(take(rest)?));
        let info = SampleInfo {
            split: *SPLITS.get(usize::from(split))?,
            label: (flags & HAS_LABEL != 0).then_some(label),
            speaker: (flags & HAS_SPEAKER != 0).then_some(speaker),
        };
        let sample = PackedSample {
            info,
            events,
            offset,
            bytes,
            checksum,
        };
        offset = offset.checked_add(bytes)?;
        Some(sample)
    };
    let samples: Option<Vec<PackedSample>> = (0..count).map(|_| entry(rest)).collect();
    let samples = samples?;
    (offset == end).then_some((info, samples))
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (own, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*own)
}

fn u32_of(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(take(rest)?))
}

fn u64_of(rest: &mut &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(take(rest)?))
}

fn text(rest: &mut &[u8]) -> Option<String> {
    let len = u32_of(rest)? as usize;
    let (own, after) = rest.split_at_checked(len)?;
    *rest = after;
    String::from_utf8(own.to_vec()).ok()
}
