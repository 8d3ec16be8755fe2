//! `spikelet data info` of an HDF5 file of spiking audio.

use crate::command::{path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::{Sensor, read_spiking_audio, spiking_audio_classes};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

/// The channels of the cochlea of SHD and SSC.
pub const AUDIO_SENSOR: Sensor = Sensor::new(700, 1);

/// The number of classes of SHD, and of SSC, whose files have `ssc` in their names.
const CLASSES: i64 = 20;
const SSC_CLASSES: i64 = 35;

/// The number of classes of a file.
fn classes_of(file: &Path) -> Result<i64, Failure> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_ssc = name.to_ascii_lowercase().contains("ssc");
    let by_name = if is_ssc { SSC_CLASSES } else { CLASSES };
    Ok(spiking_audio_classes(file)?.unwrap_or(by_name))
}

/// The recordings of a file of SHD or SSC, or of one like these.
pub fn say_audio(
    console: &Console,
    file: &Path,
    classes: Option<i64>,
) -> Result<ExitCode, Failure> {
    let classes = classes.map_or_else(|| classes_of(file), Ok)?;
    let audio = read_spiking_audio(file, classes)?;
    let recordings = audio.labels.len();
    let times = |range: &[i64]| &audio.times[range[0] as usize..range[1] as usize];
    let ends = audio.offsets.windows(2).map(times);
    let ends = ends.map(|times| times.iter().copied().fold(0.0, f32::max));
    let decreases = audio.offsets.windows(2).map(times);
    let decreases = decreases.flat_map(|times| times.windows(2));
    let decreases = decreases.filter(|pair| pair[1] < pair[0]).count() as u64;
    let seconds = ends.map(f64::from).sum::<f64>() / recordings.max(1) as f64;
    let channels = audio.units.iter().max().map_or(0, |unit| unit + 1);
    let different = |values: &[i64]| values.iter().collect::<BTreeSet<_>>().len();
    let labels = different(&audio.labels);
    let speakers = audio.speakers.as_deref().map(different);
    console.say_json(&json!({
        "file": path_text(file), "format": "hdf5", "recordings": recordings,
        "spikes": audio.times.len(), "channels": channels, "seconds": seconds,
        "labels": labels, "speakers": speakers, "times_decrease": decreases,
    }));
    let mut table = Table::without_head();
    let mut row = |name: &str, value: String| table.row([name.to_string(), value]);
    row("format", "HDF5, spiking audio".to_string());
    row("recordings", thousands(recordings as u64));
    row("spikes", thousands(audio.times.len() as u64));
    row("channels", format!("up to {channels}"));
    row("duration", format!("{seconds:.3} s on average"));
    row("labels", labels.to_string());
    if let Some(speakers) = speakers {
        row("speakers", speakers.to_string());
    }
    if decreases > 0 {
        row("order", decreases_text(decreases));
    }
    say_table(console, &table);
    Ok(ExitCode::SUCCESS)
}

/// The row `order`.
pub fn decreases_text(decreases: u64) -> String {
    format!("times decrease {} times", thousands(decreases))
}
