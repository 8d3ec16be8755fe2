//! The formats of event files that are written.

use crate::failure::Failure;
use spikelet_events::Format;
use std::path::Path;

pub fn writable(text: &str) -> Result<Format, String> {
    let mut formats = writable_formats();
    let found = formats.find(|format| format.name() == text);
    found.ok_or_else(|| format!("formats that are written: {}", names()))
}

fn writable_formats() -> impl Iterator<Item = Format> {
    Format::ALL
        .iter()
        .copied()
        .filter(|format| format.is_writable())
}

fn names() -> String {
    writable_formats()
        .map(Format::name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Extensions of several formats that are written.
const SHARED: [(&str, &str); 2] = [("raw", "evt2, evt3"), ("aedat", "aedat2-dvs128, aedat4")];

/// The format of an output: the given one, or that of the extension.
pub fn format_of(given: Option<Format>, out: &Path) -> Result<Format, Failure> {
    if let Some(format) = given {
        return Ok(format);
    }
    let extension = out.extension().and_then(|extension| extension.to_str());
    let named = Format::detect(&[], extension).ok();
    // AEDAT 4 and DAT are told by content otherwise; their names are their extensions.
    let named = named.or_else(|| Format::find(extension?).ok());
    named.filter(|format| format.is_writable()).ok_or_else(|| {
        if let Some((extension, formats)) = SHARED.iter().find(|(own, _)| Some(*own) == extension) {
            return Failure::argument(
                format!(
                    "the extension `{extension}` of {} is that of several formats",
                    out.display()
                ),
                format!("give --to, one of {formats}"),
            );
        }
        Failure::argument(
            format!(
                "the extension of {} is that of no format that is written",
                out.display()
            ),
            format!("give --to, one of {}", names()),
        )
    })
}
