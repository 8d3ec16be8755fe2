//! Parts of scalable vector graphics.

use std::fmt::Write;

use base64::prelude::{BASE64_STANDARD, Engine};

/// The color of texts and lines, which has a contrast of 4 to white and of 5 to black.
const GRAY: &str = "#76808e";

const FONT: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif";

/// The end of a text at its position.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing without a background.
pub(super) struct Svg {
    text: String,
}

impl Svg {
    /// An empty drawing with a style sheet.
    pub fn new(width: usize, height: usize, title: &str, style: &str) -> Self {
        let title = escaped(title);
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONT}\">\n\
             <title>{title}</title>\n<style>text{{fill:{GRAY};font-size:12px}}{style}</style>\n"
        );
        Self { text }
    }

    /// A text.
    pub fn text(&mut self, x: usize, y: usize, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escaped(text);
        self.add(&format!("<text x=\"{x}\" y=\"{y}\"{anchor}>{text}</text>"));
    }

    /// A text in heavy letters.
    pub fn title(&mut self, x: usize, y: usize, text: &str) {
        let text = escaped(text);
        let style = "style=\"font-size:14px\" font-weight=\"600\"";
        self.add(&format!("<text x=\"{x}\" y=\"{y}\" {style}>{text}</text>"));
    }

    /// The area of a sensor.
    pub fn area(&mut self, [x, y, width, height]: [usize; 4]) {
        self.add(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{GRAY}\" \
             fill-opacity=\"0.08\" stroke=\"{GRAY}\" stroke-opacity=\"0.5\"/>"
        ));
    }

    /// A tick of an axis.
    pub fn tick(&mut self, from: [usize; 2], to: [usize; 2]) {
        let ([x1, y1], [x2, y2]) = (from, to);
        self.add(&format!(
            "<path d=\"M{x1} {y1}L{x2} {y2}\" stroke=\"{GRAY}\" stroke-opacity=\"0.5\"/>"
        ));
    }

    /// A square of a color with its meaning.
    pub fn key(&mut self, x: usize, y: usize, [r, g, b]: [u8; 3], text: &str) {
        let top = y - 9;
        self.add(&format!(
            "<rect x=\"{x}\" y=\"{top}\" width=\"9\" height=\"9\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>"
        ));
        self.text(x + 14, y, Anchor::Start, text);
    }

    /// Appends an element.
    pub fn add(&mut self, element: &str) {
        self.text.push_str(element);
        self.text.push('\n');
    }

    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// A PNG file as the value of `href`.
pub(super) fn data_uri(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", BASE64_STANDARD.encode(png))
}

/// Text between tags. Control characters, which XML does not have, are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars().filter(|character| !character.is_control()) {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            // Not characters of XML.
            '\u{fffe}' | '\u{ffff}' => {}
            _ => escaped.push(character),
        }
    }
    escaped
}

/// The multiples of a round number in 0 … `end`, at most `most` and 0.
pub(super) fn ticks(end: u64, most: u64) -> Vec<u64> {
    let steps = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let step = steps.into_iter().find(|step| end / step <= most);
    let step = step.unwrap_or(u64::MAX);
    (0..=end / step).map(|k| k * step).collect()
}

/// A duration in microseconds as a number of milliseconds or seconds, whichever the longest of all, `end`, has.
pub(super) fn duration(time: u64, end: u64) -> String {
    let mut text = String::new();
    let (value, unit) = match end {
        0..1_000 => (time as f64, "µs"),
        1_000..10_000_000 => (time as f64 / 1e3, "ms"),
        _ => (time as f64 / 1e6, "s"),
    };
    write!(text, "{value} {unit}").expect("writing to a string does not fail");
    text
}
