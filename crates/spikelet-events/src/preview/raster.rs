//! A raster plot of spiking audio: time to the right, channels upwards.

use super::Preview;
use super::palette::{OFF, ON};
use super::picture::{Counts, Picture};
use super::svg::{Anchor, Svg, data_uri, duration, ticks};

/// The parts of the time, and the most rows of channels.
const PARTS: usize = 360;
const MAX_ROWS: usize = 175;

/// The size of a part and of the smallest row, so that a spike can be seen.
const DOT: usize = 2;

/// The size of the plot.
const WIDTH: usize = DOT * PARTS;
const HEIGHT: usize = DOT * MAX_ROWS;

/// The texts on the left and below.
const LEFT: usize = 48;
const MARGIN: usize = 12;

pub(super) fn png(preview: &Preview<'_>) -> Vec<u8> {
    let plot = plot(preview);
    // Few channels are made higher.
    let scale = HEIGHT / plot.height;
    let mut pixels = vec![];
    for row in plot.pixels.chunks(plot.width) {
        let row: Vec<u8> = row.iter().flat_map(|&pixel| [pixel; DOT]).collect();
        (0..scale).for_each(|_| pixels.extend_from_slice(&row));
    }
    let (width, height) = (WIDTH, plot.height * scale);
    Picture {
        width,
        height,
        pixels,
    }
    .png(true)
}

/// The spikes by part of the time; neighboring channels are one row if there are too many.
fn plot(preview: &Preview<'_>) -> Picture {
    let channels = preview.sensor.width as usize;
    let group = channels.div_ceil(MAX_ROWS);
    let rows = channels.div_ceil(group);
    let mut counts = Counts::new(PARTS, rows);
    let events = preview.events;
    for (k, part) in preview.parts(PARTS).enumerate() {
        let row = rows - 1 - usize::from(events.x[k]) / group;
        counts.add(part, row, events.p[k] != 0);
    }
    counts.picture()
}

pub(super) fn svg(preview: &Preview<'_>) -> String {
    let image = plot(preview);
    let top = MARGIN + if preview.title.is_empty() { 0 } else { 22 };
    let (bottom, right) = (top + HEIGHT, LEFT + WIDTH);
    let style = "image{image-rendering:pixelated}";
    let mut svg = Svg::new(right + MARGIN, bottom + 50, preview.title, style);
    if !preview.title.is_empty() {
        svg.title(LEFT, MARGIN + 12, preview.title);
    }
    svg.area([LEFT, top, WIDTH, HEIGHT]);
    svg.add(&format!(
        "<image x=\"{LEFT}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         preserveAspectRatio=\"none\" href=\"{}\"/>",
        data_uri(&image.png(false))
    ));
    let (_, span) = preview.span();
    for time in ticks(span, 8) {
        let x = LEFT + position(time, span, WIDTH);
        svg.tick([x, bottom], [x, bottom + 4]);
        svg.text(x, bottom + 18, Anchor::Middle, &duration(time, span));
    }
    let channels = u64::from(preview.sensor.width);
    for channel in ticks(channels - 1, 8) {
        let y = bottom - position(channel, channels, HEIGHT);
        svg.tick([LEFT - 4, y], [LEFT, y]);
        svg.text(LEFT - 8, y + 4, Anchor::End, &channel.to_string());
    }
    let text = format!("{}, {channels} channels", preview.summary());
    svg.text(LEFT, bottom + 38, Anchor::Start, &text);
    if preview.events.p.contains(&0) {
        svg.key(right - 96, bottom + 38, ON, "ON");
        svg.key(right - 50, bottom + 38, OFF, "OFF");
    }
    svg.finish()
}

/// The place of a value in 0 … `end` on an axis.
fn position(value: u64, end: u64, len: usize) -> usize {
    (value as f64 / end.max(1) as f64 * len as f64).round() as usize
}
