//! The shapes of charts as scalable vector graphics.

use base64::prelude::{BASE64_STANDARD as STANDARD, Engine};

/// The color of main text.
pub const INK: &str = "#1c2430";
/// The color of captions and tick labels.
pub const FAINT_INK: &str = "#5b6675";
/// Axes and frames.
pub const AXIS: &str = "#9aa4b1";
/// Grid lines.
pub const GRID: &str = "#e4e8ed";
/// Bars and spikes that are not highlighted.
pub const NEUTRAL: &str = "#7d8896";
/// The first curve. This and the next two can be distinguished with any color vision (Okabe and Ito).
pub const BLUE: &str = "#0072b2";
/// The second curve, and wrong predictions.
pub const VERMILION: &str = "#d55e00";
/// Correct predictions.
pub const GREEN: &str = "#009e73";

const FONT: &str =
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', Arial, sans-serif";

/// A rectangle of the drawing, in its units (CSS pixels).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge.
    pub x: f64,
    /// Upper edge; y grows downwards.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// Right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// Lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// The anchor of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// The style of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextStyle {
    /// Height in units.
    pub size: f64,
    /// Any CSS color.
    pub color: &'static str,
    /// The anchor.
    pub anchor: Anchor,
    /// Heavy letters.
    pub bold: bool,
}

impl TextStyle {
    /// Faint text of this size that begins at its position.
    pub const fn caption(size: f64) -> Self {
        Self {
            size,
            color: FAINT_INK,
            anchor: Anchor::Start,
            bold: false,
        }
    }

    /// The same, placed by its middle or end.
    #[must_use]
    pub const fn anchored(mut self, anchor: Anchor) -> Self {
        self.anchor = anchor;
        self
    }

    /// The same in another color.
    #[must_use]
    pub const fn colored(mut self, color: &'static str) -> Self {
        self.color = color;
        self
    }

    /// The same in heavy letters.
    #[must_use]
    pub const fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    /// The approximate width of `text`: an upper bound for common sans-serif fonts.
    pub fn width_of(&self, text: &str) -> f64 {
        let letters: f64 = text.chars().map(letter_width).sum();
        let weight = if self.bold { 1.1 } else { 1.0 };
        letters * weight * self.size
    }

    /// `text`, shortened with an ellipsis if it would be wider than `width`.
    pub fn fit(&self, text: &str, width: f64) -> String {
        if self.width_of(text) <= width {
            return text.to_string();
        }
        let mut available = width - self.width_of("…");
        let kept: String = text
            .chars()
            .take_while(|letter| {
                available -= self.width_of(letter.encode_utf8(&mut [0; 4]));
                available >= 0.0
            })
            .collect();
        format!("{}…", kept.trim_end())
    }
}

/// Width of a letter of size 1, as in DejaVu Sans, the widest of the fonts.
fn letter_width(letter: char) -> f64 {
    match letter {
        ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | 'i' | 'j' | 'l' | 'I' | '·' => 0.33,
        'f' | 'r' | 't' | '(' | ')' | '-' | '/' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 1.0,
        letter if letter.is_ascii_uppercase() => 0.74,
        letter if letter.is_ascii() => 0.62,
        // Ideographs and the like take a full square.
        letter if letter > '\u{2e80}' => 1.0,
        _ => 0.7,
    }
}

/// The style of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Any CSS color.
    pub color: &'static str,
    /// Width in units.
    pub width: f64,
}

impl Stroke {
    /// A stroke of this color and width.
    pub const fn new(color: &'static str, width: f64) -> Self {
        Self { color, width }
    }
}

/// A drawing on a white background; shapes lie above those drawn before them.
///
/// ```
/// use spikelet_report::report::svg::{Area, Stroke, Svg, TextStyle};
/// let mut svg = Svg::new(200.0, 100.0, "a line");
/// svg.line([10.0, 90.0], [190.0, 10.0], Stroke::new("black", 1.5));
/// svg.text([10.0, 20.0], TextStyle::caption(12.0), "U < 1");
/// let text = svg.finish();
/// assert!(text.starts_with("<svg") && text.contains("U &lt; 1"));
/// ```
#[derive(Clone, Debug)]
pub struct Svg {
    text: String,
}

impl Svg {
    /// An empty drawing; `label` is its text for screen readers.
    pub fn new(width: f64, height: f64, label: &str) -> Self {
        let (width, height, label) = (number(width), number(height), escaped(label));
        let mut svg = Self {
            text: format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
                 width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
                 font-family=\"{FONT}\">\n<title>{label}</title>\n"
            ),
        };
        svg.push(format!(
            "<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>"
        ));
        svg
    }

    fn push(&mut self, element: String) {
        self.text.push_str(&element);
        self.text.push('\n');
    }

    /// A filled rectangle.
    pub fn rectangle(&mut self, area: Area, fill: &str) {
        self.push(format!("<rect {} fill=\"{fill}\"/>", box_of(area)));
    }

    /// The outline of a rectangle.
    pub fn frame(&mut self, area: Area, stroke: Stroke) {
        self.push(format!(
            "<rect {} fill=\"none\" {}/>",
            box_of(area),
            stroke_of(stroke)
        ));
    }

    /// A straight line.
    pub fn line(&mut self, from: [f64; 2], to: [f64; 2], stroke: Stroke) {
        let [x1, y1, x2, y2] = [from[0], from[1], to[0], to[1]].map(number);
        self.push(format!(
            "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {}/>",
            stroke_of(stroke)
        ));
    }

    /// The outline of a path, written as SVG path commands.
    pub fn path(&mut self, commands: &str, stroke: Stroke) {
        if !commands.is_empty() {
            self.push(format!(
                "<path d=\"{commands}\" fill=\"none\" stroke-linejoin=\"round\" {}/>",
                stroke_of(stroke)
            ));
        }
    }

    /// A filled disc with a rim.
    pub fn disc(&mut self, center: [f64; 2], radius: f64, fill: &str, rim: Stroke) {
        let [x, y, r] = [center[0], center[1], radius].map(number);
        self.push(format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{fill}\" {}/>",
            stroke_of(rim)
        ));
    }

    /// A line of text on the base line `at[1]`.
    pub fn text(&mut self, at: [f64; 2], style: TextStyle, text: &str) {
        let [x, y] = at.map(number);
        let anchor = match style.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if style.bold {
            " font-weight=\"600\""
        } else {
            ""
        };
        self.push(format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" fill=\"{}\"{anchor}{weight}>{}</text>",
            number(style.size),
            style.color,
            escaped(text)
        ));
    }

    /// An image, as a PNG file, scaled to fill `area`.
    pub fn picture(&mut self, area: Area, png: &[u8]) {
        // `xlink:href` too, for readers older than SVG 2.
        self.push(format!(
            "<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" \
             xlink:href=\"data:image/png;base64,{}\"/>",
            box_of(area),
            STANDARD.encode(png)
        ));
    }

    /// Draws a group of shapes with a tooltip.
    pub fn hinted(&mut self, hint: &str, draw: impl FnOnce(&mut Self)) {
        self.push(format!("<g><title>{}</title>", escaped(hint)));
        draw(self);
        self.push("</g>".to_string());
    }

    /// The finished document.
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

fn box_of(area: Area) -> String {
    let [x, y, width, height] = [area.x, area.y, area.width, area.height].map(number);
    format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
}

fn stroke_of(stroke: Stroke) -> String {
    format!(
        "stroke=\"{}\" stroke-width=\"{}\"",
        stroke.color,
        number(stroke.width)
    )
}

/// A coordinate with at most two decimals.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_string()
}

/// `text` as XML content; characters that XML forbids are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let shown = [0.0, -0.001, 1.0, 100.0, 2.5, 1.0 / 3.0, -7.126].map(number);
        assert_eq!(shown, ["0", "0", "1", "100", "2.5", "0.33", "-7.13"]);
    }

    #[test]
    fn text_cannot_break_the_document() {
        assert_eq!(
            escaped("a<b & \"c\">\u{0}\u{7}d"),
            "a&lt;b &amp; &quot;c&quot;&gt;  d"
        );
    }

    #[test]
    fn text_that_is_too_long_ends_in_an_ellipsis() {
        let style = TextStyle::caption(10.0);
        assert_eq!(style.fit("short", 100.0), "short");
        let fitted = style.fit(&"long ".repeat(40), 100.0);
        assert!(fitted.ends_with('…') && style.width_of(&fitted) <= 100.0);
        assert_eq!(style.fit("abc", 0.0), "…");
    }
}
