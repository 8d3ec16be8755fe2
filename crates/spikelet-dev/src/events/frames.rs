//! Frames of events, by the functions of SpikingJelly, tonic and published experiments.

use super::{Item, Output};
use spikelet::schema::Member;
use spikelet_events::frames::{
    AveragedTimeSurface, BitFrames, ByDuration, ByNumber, ByTime, CountFrames, Decay, EventBins,
    EventCounts, FrameRule, Slicing, SoundFrames, SoundRule, TimeBins, TimeSurface, TimeWindows,
    VoxelGrid,
};

/// Makes the frames, or the slices, of the item's events.
pub fn run(item: &Item) -> Result<Output, String> {
    let function = item.text("function")?;
    if let Some(frames) = sound(item, function)? {
        return sound_frames(item, &frames, function.starts_with("SE-adlif"));
    }
    if function.contains("segment_index") || function.starts_with("tonic.Slice") {
        let slices = slicing(item, function)?.slices(&item.events()?.t);
        let slices = slices.map_err(|e| e.to_string())?.into_iter();
        let pairs: Vec<_> = slices.map(|s| [s.start as i64, s.end as i64]).collect();
        return Ok(Output::default().pairs("slices", &pairs));
    }
    let events = item.events()?;
    let sensor = item.sensor().ok_or("the item has no sensor")?;
    let representation = representation(item, function, events.len())?;
    let frames = representation.tensor(&events, sensor);
    let mut frames = frames.map_err(|e| e.to_string())?;
    if function == "tonic.ToImage" {
        // One frame, without the axis of frames.
        frames.shape.remove(0);
    }
    Ok(Output::default().f32("frames", frames.shape, &frames.values))
}

/// The slicing that the arguments say.
fn slicing(item: &Item, function: &str) -> Result<Member<dyn Slicing>, String> {
    let include_incomplete = item.args()["include_incomplete"] == true;
    let count = |name| item.count(name).map(|count| count as usize);
    let bins = |name| count(name).or_else(|| count("bin_count"));
    let overlap = item.float("overlap").unwrap_or(0.0);
    let by_event = function == "tonic.SliceByEventBins";
    Ok(if let Some(frames) = count("frames_num") {
        match item.args()["split_by"].as_str() {
            Some("number") => ByNumber { frames }.into(),
            Some("time") => ByTime { frames }.into(),
            _ => return Err("split_by: use number or time".to_string()),
        }
    } else if let Some(duration) = item.count("duration") {
        ByDuration { duration }.into()
    } else if let Some(window) = item.count("time_window") {
        TimeWindows {
            window,
            overlap: item.count("overlap").unwrap_or(0),
            include_incomplete,
            start: item.args()["start_time"].as_i64(),
            end: item.args()["end_time"].as_i64(),
        }
        .into()
    } else if let Some(events) = count("event_count") {
        EventCounts {
            events,
            overlap: count("overlap").unwrap_or(0),
            include_incomplete,
        }
        .into()
    } else if let Some(bins) = bins("n_time_bins").filter(|_| !by_event) {
        TimeBins { bins, overlap }.into()
    } else if let Some(bins) = bins("n_event_bins") {
        EventBins { bins, overlap }.into()
    } else {
        return Err(format!(
            "{function}: no slicing has the arguments {}",
            item.args()
        ));
    })
}

/// The representation of a function of SpikingJelly or tonic.
fn representation(
    item: &Item,
    function: &str,
    events: usize,
) -> Result<Box<dyn FrameRule>, String> {
    let count = |name: &str| {
        let found = item.count(name).map(|count| count as usize);
        found.ok_or_else(|| format!("{function}: the argument {name} is missing"))
    };
    let float = |name: &str| {
        let found = item.float(name);
        found.ok_or_else(|| format!("{function}: the argument {name} is missing"))
    };
    Ok(match function {
        "tonic.ToVoxelGrid" => Box::new(VoxelGrid {
            bins: count("n_time_bins")?,
        }),
        "tonic.ToTimesurface" => Box::new(TimeSurface {
            window: count("dt")? as u64,
            tau: float("tau")?,
        }),
        "tonic.ToAveragedTimesurface" => Box::new(AveragedTimeSurface {
            cell: count("cell_size")?,
            surface: count("surface_size")?,
            window: float("time_window")? as u64,
            tau: float("tau")?,
            decay: match item.args()["decay"].as_str() {
                Some("exp") => Decay::Exponential,
                _ => Decay::Linear,
            },
        }),
        name if name.contains("ToBinaRep") => Box::new(BitFrames {
            frames: count("n_frames")?,
            bits: count("n_bits")?,
        }),
        "tonic.ToImage" => Box::new(CountFrames::new(EventCounts {
            events,
            ..EventCounts::default()
        })),
        name if name.contains("ToFrame") || name.contains("integrate_events") => {
            Box::new(CountFrames {
                slicing: slicing(item, function)?,
                merge_polarities: item.polarities() == 1,
            })
        }
        _ => return Err(format!("no frames are made as by {function}")),
    })
}

/// The frames of sound that a published experiment makes; `None` for other functions.
fn sound(item: &Item, function: &str) -> Result<Option<SoundFrames>, String> {
    let missing = |name: &str| format!("{function}: the argument {name} is missing");
    let float = |name: &str| item.float(name).ok_or_else(|| missing(name));
    let count = |name: &str| item.count(name).ok_or_else(|| missing(name));
    let plain = SoundFrames::default();
    let grouped = SoundFrames { group: 5, ..plain };
    let is = |start: &str| function.starts_with(start);
    let half_duration = || {
        Ok::<_, String>(SoundRule::HalfDuration {
            duration: float("duration")? as f32,
        })
    };
    Ok(Some(if is("SNN-delays") {
        SoundFrames {
            rule: half_duration()?,
            ..grouped
        }
    } else if is("spytorch") {
        let (edges, end) = (count("nb_steps")? as usize, float("max_time")?);
        SoundFrames {
            rule: SoundRule::Digitize { edges, end },
            ..plain
        }
    } else if is("SE-adlif") {
        let window = count("window_ms")? as u32;
        SoundFrames {
            rule: SoundRule::Milliseconds { window },
            ..grouped
        }
    } else if is("Efficient-spiking-networks") {
        SoundFrames {
            rule: SoundRule::HalfCeiling { step: float("dt")? },
            binary: true,
            reversed: true,
            ..plain
        }
    } else if is("spikingjelly.datasets.shd") {
        let frames = item.count("frames_num").unwrap_or(0) as usize;
        let rule = match item.args()["split_by"].as_str() {
            Some("number") => SoundRule::Number { frames },
            Some(_) => SoundRule::HalfTime { frames },
            None => half_duration()?,
        };
        SoundFrames { rule, ..plain }
    } else {
        return Ok(None);
    }))
}

/// The frames of one recording; with an axis of one polarity between steps and channels if `polarity`.
fn sound_frames(item: &Item, frames: &SoundFrames, polarity: bool) -> Result<Output, String> {
    let columns = item.columns()?;
    let offsets = columns.get("offsets", i64::from_le_bytes)?;
    let times = columns.get("times", f32::from_le_bytes)?;
    let units = columns.get("units", u16::from_le_bytes)?;
    let sample = item.count("sample").unwrap_or(0) as usize;
    let range = (offsets.get(sample..)).and_then(|rest| {
        Some(usize::try_from(*rest.first()?).ok()?..usize::try_from(*rest.get(1)?).ok()?)
    });
    let range = range.ok_or_else(|| format!("there is no sample {sample}"))?;
    let (times, units) = (times.get(range.clone()), units.get(range));
    let (times, units) = times.zip(units).ok_or("offsets beyond the spikes")?;
    let found = frames.tensor(times, units).map_err(|e| e.to_string())?;
    let mut shape = found.shape;
    if polarity {
        shape.insert(1, 1);
    }
    Ok(Output::default().f32("frames", shape, &found.values))
}
