//! The labels of DVS128 Gesture: the windows of a recording in which a gesture is performed.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::formats::damaged;

const NAME: &str = "gesture-csv";
const HEADER: &str = "class,startTime_usec,endTime_usec";

/// The most bytes of a file; those of the data set have some 300.
const MAX_BYTES: u64 = 1 << 20;

/// A window of a recording. Its events are those with `start` ≤ time < `end`; windows may overlap, and may have no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GestureWindow {
    /// The class, 0 … 10; the file has it as 1 … 11.
    pub label: u8,
    /// The first time, in microseconds.
    pub start: i64,
    /// The time after the last, in microseconds.
    pub end: i64,
}

/// Reads the windows of a `…_labels.csv` of DVS128 Gesture, in the order of the file.
///
/// ```
/// use spikelet_events::gesture_windows;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("user01_led_labels.csv");
/// std::fs::write(&path, "class,startTime_usec,endTime_usec\n11,60000,900000\n")?;
/// let windows = gesture_windows(&path)?;
/// assert_eq!((windows[0].label, windows[0].start, windows[0].end), (10, 60_000, 900_000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Open`] and [`ErrorKind::Read`]; [`ErrorKind::Damaged`] without the header line, for classes other than
/// 1 … 11, and for windows that end before they start.
///
/// Source: the README of the data set; A. Amir et al., A Low Power, Fully Event-Based Gesture Recognition System, 2017.
pub fn gesture_windows(path: impl AsRef<Path>) -> Result<Vec<GestureWindow>> {
    let path = path.as_ref();
    let in_file = |error: Error| error.in_file(path);
    let file = File::open(path).map_err(|error| in_file(ErrorKind::Open(error).into()))?;
    let mut text = vec![];
    let read = file.take(MAX_BYTES).read_to_end(&mut text);
    let failed = |source| ErrorKind::Read {
        position: 0,
        source,
    };
    read.map_err(|source| in_file(failed(source).into()))?;
    parse(&String::from_utf8_lossy(&text)).map_err(in_file)
}

fn parse(text: &str) -> Result<Vec<GestureWindow>> {
    let mut windows = vec![];
    let mut offset = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_start_matches('\u{feff}').trim();
        let parsed = if number == 0 {
            let is_header = content == HEADER;
            let problem = || format!("the first line is `{content}`, not `{HEADER}`");
            is_header.then_some(()).ok_or_else(problem)
        } else if content.is_empty() {
            Ok(())
        } else {
            window(content).map(|window| windows.push(window))
        };
        parsed
            .map_err(|problem| damaged(NAME, offset, format!("line {}: {problem}", number + 1)))?;
        offset += line.len() as u64;
    }
    if offset == 0 {
        return Err(damaged(
            NAME,
            0,
            format!("the file is empty; the line `{HEADER}` is expected"),
        ));
    }
    Ok(windows)
}

fn window(line: &str) -> Result<GestureWindow, String> {
    let numbers: Result<Vec<i64>, _> = line.split(',').map(|n| n.trim().parse()).collect();
    let Ok(&[class, start, end]) = numbers.as_deref() else {
        return Err(format!("`{line}` is not a class, a start and an end"));
    };
    let label = u8::try_from(class)
        .ok()
        .filter(|class| (1..=11).contains(class));
    let label = label.ok_or_else(|| format!("class {class} is not 1 … 11"))? - 1;
    if end < start {
        return Err(format!(
            "the window ends at {end}, before its start at {start}"
        ));
    }
    Ok(GestureWindow { label, start, end })
}
