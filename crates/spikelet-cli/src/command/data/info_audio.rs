//! What an HDF5 file of spiking audio has.

use crate::command::{path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_events::read_spiking_audio;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

/// Whether a file is to be read as spiking audio, by its extension.
pub fn is_audio(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["h5", "hdf5"].contains(&extension))
}

/// The recordings of a file of SHD or SSC, or of one like these.
pub fn say_audio(console: &Console, file: &Path) -> Result<ExitCode, Failure> {
    let audio = read_spiking_audio(file, i64::MAX)?;
    let recordings = audio.labels.len();
    let ends = audio.offsets.windows(2).map(|range| {
        let times = &audio.times[range[0] as usize..range[1] as usize];
        times.iter().copied().fold(0.0, f32::max)
    });
    let seconds = ends.map(f64::from).sum::<f64>() / recordings.max(1) as f64;
    let channels = audio.units.iter().max().map_or(0, |unit| unit + 1);
    let different = |values: &[i64]| values.iter().collect::<BTreeSet<_>>().len();
    let labels = different(&audio.labels);
    let speakers = audio.speakers.as_deref().map(different);
    console.say_json(&json!({
        "file": path_text(file), "format": "hdf5", "recordings": recordings,
        "spikes": audio.times.len(), "channels": channels, "seconds": seconds,
        "labels": labels, "speakers": speakers,
    }));
    let mut table = Table::new(&["", ""]);
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
    say_table(console, &table);
    Ok(ExitCode::SUCCESS)
}
