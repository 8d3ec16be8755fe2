//! An animation of frames: one image with all frames below each other moves past a window of the size of a frame.

use super::Preview;
use super::palette::{OFF, ON};
use super::picture::{Counts, Picture};
use super::svg::{Anchor, Svg, data_uri, duration};
use crate::Sensor;

/// The longest side of a frame, and the most rows of the image of all: browsers do not show longer ones.
const MAX_SIDE: usize = 320;
const MAX_ROWS: usize = 16_000;

/// The most bytes of a drawing.
const MAX_BYTES: usize = 2_000_000;

/// The longest side of a frame on the screen.
const SHOWN: usize = 384;

/// The seconds of a frame.
const FRAME_SECONDS: f64 = 0.1;

const MARGIN: usize = 12;

pub(super) fn svg(preview: &Preview<'_>) -> String {
    let mut reduction = reduction(preview.sensor, MAX_SIDE);
    loop {
        let image = strip(preview, reduction);
        let is_smallest = image.width == 1 && image.height == preview.frames as usize;
        if image.height <= MAX_ROWS {
            let text = draw(preview, &image);
            if text.len() <= MAX_BYTES || is_smallest {
                return text;
            }
        }
        reduction *= 2;
    }
}

/// How many pixels of a sensor in a row become one, so that neither side is longer than `side`.
pub(super) fn reduction(sensor: Sensor, side: usize) -> usize {
    (sensor.width.max(sensor.height) as usize).div_ceil(side)
}

/// The frames below each other.
pub(super) fn strip(preview: &Preview<'_>, reduction: usize) -> Picture {
    let (frames, Sensor { width, height }) = (preview.frames as usize, preview.sensor);
    let [width, height] = [width, height].map(|size| (size as usize).div_ceil(reduction));
    let mut counts = Counts::new(width, height * frames);
    let events = preview.events;
    for (k, frame) in preview.parts(frames).enumerate() {
        let [x, y] = [events.x[k], events.y[k]].map(|at| usize::from(at) / reduction);
        counts.add(x, frame * height + y, events.p[k] != 0);
    }
    counts.picture()
}

fn draw(preview: &Preview<'_>, image: &Picture) -> String {
    let frames = preview.frames as usize;
    let (width, height) = (image.width, image.height / frames);
    let scale = (SHOWN / width.max(height)).max(1);
    let (shown_width, shown_height) = (width * scale, height * scale);
    let top = MARGIN + if preview.title.is_empty() { 0 } else { 22 };
    let bottom = top + shown_height;
    let seconds = FRAME_SECONDS * f64::from(preview.frames);
    let style = format!(
        ".frames{{animation:frames {seconds:.1}s steps({frames}) infinite;image-rendering:pixelated}}\
         .time{{animation:time {seconds:.1}s linear infinite;transform-origin:{MARGIN}px 0}}\
         @keyframes frames{{to{{transform:translateY(-{}px)}}}}\
         @keyframes time{{from{{transform:scaleX(0)}}}}\
         @media (prefers-reduced-motion:reduce){{.frames,.time{{animation-play-state:paused}}}}",
        image.height
    );
    // The texts need some width.
    let total_width = (shown_width + 2 * MARGIN).max(280);
    let mut svg = Svg::new(total_width, bottom + 50, preview.title, &style);
    if !preview.title.is_empty() {
        svg.title(MARGIN, MARGIN + 12, preview.title);
    }
    svg.area([MARGIN, top, shown_width, shown_height]);
    svg.add(&format!(
        "<svg x=\"{MARGIN}\" y=\"{top}\" width=\"{shown_width}\" height=\"{shown_height}\" \
         viewBox=\"0 0 {width} {height}\"><image class=\"frames\" width=\"{width}\" height=\"{}\" \
         href=\"{}\"/></svg>",
        image.height,
        data_uri(&image.png(false))
    ));
    svg.add(&format!(
        "<rect class=\"time\" x=\"{MARGIN}\" y=\"{}\" width=\"{shown_width}\" height=\"2\" fill=\"#76808e\"/>",
        bottom + 3
    ));
    let (_, span) = preview.span();
    svg.text(MARGIN, bottom + 20, Anchor::Start, &preview.summary());
    let frame = span / u64::from(preview.frames);
    let text = format!("{frames} frames of {}", duration(frame, frame));
    svg.text(MARGIN, bottom + 38, Anchor::Start, &text);
    svg.key(total_width - 96, bottom + 20, ON, "ON");
    svg.key(total_width - 50, bottom + 20, OFF, "OFF");
    svg.finish()
}
