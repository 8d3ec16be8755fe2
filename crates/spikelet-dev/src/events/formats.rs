//! Event files, whole and damaged.

use super::{Item, Output};
use spikelet_events::{
    Format, Options, Orientation, gesture_windows, read_frames, read_spiking_audio, read_undamaged,
};
use std::path::Path;

/// Reads the item's file.
pub fn run(item: &Item) -> Result<Output, String> {
    let path = item.path(item.text("file")?);
    match item.text("format")? {
        "npz-frames" => {
            let frames = read_frames(&path).map_err(|e| e.to_string())?;
            Ok(Output::default().f32("frames", frames.shape, &frames.values))
        }
        "h5-shd" => audio(&path, 20),
        "h5-ssc" => audio(&path, 35),
        "gesture-csv" => windows(&path),
        name => recording(item, &path, name),
    }
}

/// A recording, as far as it is whole.
fn recording(item: &Item, path: &Path, format: &str) -> Result<Output, String> {
    let orientation = match item.option("orientation") {
        Some("spikingjelly") => Some(Orientation::SpikingJelly),
        Some("jaer") | None => None,
        Some(other) => return Err(format!("orientation `{other}`: use spikingjelly or jaer")),
    };
    let options = Options {
        format: Some(Format::find(format).map_err(|e| e.to_string())?),
        sensor: item.sensor(),
        orientation,
    };
    let (recording, error) = read_undamaged(path, &options).map_err(|e| e.to_string())?;
    Ok(Output::events(&recording.events).with_error(error.map(|e| e.to_string())))
}

/// All recordings of a file of SHD or SSC.
fn audio(path: &Path, classes: i64) -> Result<Output, String> {
    let audio = read_spiking_audio(path, classes).map_err(|e| e.to_string())?;
    let output = Output::default()
        .i64("offsets", &audio.offsets)
        .f32("times", vec![audio.times.len()], &audio.times)
        .u16("units", &audio.units)
        .i64("labels", &audio.labels);
    Ok(match &audio.speakers {
        Some(speakers) => output.i64("speakers", speakers),
        None => output,
    })
}

/// The windows of gestures in a recording of DVS128 Gesture.
fn windows(path: &Path) -> Result<Output, String> {
    let windows = gesture_windows(path).map_err(|e| e.to_string())?;
    let labels: Vec<i64> = windows.iter().map(|w| i64::from(w.label)).collect();
    let [starts, ends]: [Vec<i64>; 2] = [
        windows.iter().map(|w| w.start).collect(),
        windows.iter().map(|w| w.end).collect(),
    ];
    Ok(Output::default()
        .i64("label", &labels)
        .i64("start", &starts)
        .i64("end", &ends))
}
