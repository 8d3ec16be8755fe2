//! Rectangles, text and images that are exported as SVG or PNG.

use super::canvas::Canvas;
use super::image::Picture;
use super::png;
use super::svg::{Area, Svg, TextStyle};

/// A shape of the page.
#[derive(Clone, Debug)]
enum Shape {
    Rectangle(Area, &'static str),
    Text([f64; 2], TextStyle, String),
    Picture(Area, Picture),
}

/// A page that grows downwards; shapes lie above those drawn before them.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    width: f64,
    height: f64,
    label: String,
    shapes: Vec<Shape>,
}

impl Drawing {
    /// An empty page; `label` is its text for screen readers.
    pub(super) fn new(width: f64, label: &str) -> Self {
        Self {
            width,
            height: 0.0,
            label: label.to_string(),
            shapes: vec![],
        }
    }

    /// The lower edge of all shapes.
    pub(super) fn bottom(&self) -> f64 {
        self.height
    }

    /// Extends the page down to `bottom`.
    pub(super) fn end(&mut self, bottom: f64) {
        self.height = self.height.max(bottom);
    }

    pub(super) fn rectangle(&mut self, area: Area, fill: &'static str) {
        self.end(area.bottom());
        self.shapes.push(Shape::Rectangle(area, fill));
    }

    /// A line of text on the base line `at[1]`.
    pub(super) fn text(&mut self, at: [f64; 2], style: TextStyle, text: &str) {
        self.end(at[1]);
        self.shapes.push(Shape::Text(at, style, text.to_string()));
    }

    /// A picture of square pixels, scaled to fill `area`.
    pub(super) fn picture(&mut self, area: Area, picture: Picture) {
        self.end(area.bottom());
        self.shapes.push(Shape::Picture(area, picture));
    }

    pub(super) fn to_svg(&self) -> String {
        let mut svg = Svg::new(self.width, self.height, &self.label);
        for shape in &self.shapes {
            match shape {
                Shape::Rectangle(area, fill) => svg.rectangle(*area, fill),
                Shape::Text(at, style, text) => svg.text(*at, *style, text),
                Shape::Picture(area, picture) => {
                    let file = png::encode(picture.width, picture.height, &picture.pixels);
                    file.iter().for_each(|file| svg.picture(*area, file));
                }
            }
        }
        svg.finish()
    }

    /// The page as a PNG file with one pixel per unit.
    pub(super) fn to_png(&self) -> Vec<u8> {
        let mut canvas = Canvas::new(self.width.ceil() as usize, self.height.ceil() as usize);
        for shape in &self.shapes {
            match shape {
                Shape::Rectangle(area, fill) => canvas.rectangle(*area, fill),
                Shape::Text(at, style, text) => canvas.text(*at, *style, text),
                Shape::Picture(area, picture) => canvas.picture(*area, picture),
            }
        }
        canvas.finish()
    }
}
