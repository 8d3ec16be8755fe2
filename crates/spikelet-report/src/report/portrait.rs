//! The activity of a network for some images: for each the input, the spikes of the first layer at each time
//! step, the firing rate of every layer, and the output spikes.

use super::drawing::Drawing;
use super::image::Picture;
use super::svg::{Anchor, Area, BLUE, FAINT_INK, GRID, INK, NEUTRAL, TextStyle};
use super::{Activity, Example, LayerActivity};

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 24.0;
const TOP: f64 = 76.0;
const GAP: f64 = 28.0;
/// The side of the input image.
const INPUT: f64 = 132.0;
/// The side of a spike map, and the distance between two left edges.
const MAP: f64 = 46.0;
const MAP_PITCH: f64 = 50.0;
const MAX_CHANNELS: usize = 8;
const MAX_STEPS: usize = 8;
const MAPS_LEFT: f64 = MARGIN + INPUT + 52.0;
const RATES_LEFT: f64 = MAPS_LEFT + MAX_CHANNELS as f64 * MAP_PITCH + 28.0;
const ROW: f64 = 15.0;
const MAX_CLASSES: usize = 20;

const SMALL: TextStyle = TextStyle::caption(10.5);
const HEAD: TextStyle = TextStyle::caption(11.5).colored(INK).bold();

impl Activity {
    /// The first layer whose output is an image.
    fn shown_layer(&self) -> Option<(&LayerActivity, [usize; 3])> {
        self.layers
            .iter()
            .find_map(|layer| Some((layer, layer.image()?)))
    }

    /// The width of the page, which is narrower without spike maps.
    fn width(&self) -> f64 {
        match self.shown_layer() {
            Some(_) => WIDTH,
            None => MAPS_LEFT + ROW_WIDTH + MARGIN,
        }
    }

    /// The page.
    pub(super) fn draw(&self, title: &str) -> Drawing {
        let width = self.width();
        let mut drawing = Drawing::new(width, title);
        let style = TextStyle::caption(19.0).colored(INK).bold();
        drawing.text(
            [MARGIN, 40.0],
            style,
            &style.fit(title, width - 2.0 * MARGIN),
        );
        let mut top = TOP;
        for k in 0..self.examples.len() {
            drawing.rectangle(
                Area {
                    x: MARGIN,
                    y: top - 18.0,
                    width: width - 2.0 * MARGIN,
                    height: 1.0,
                },
                GRID,
            );
            self.draw_image(&mut drawing, k, top);
            top = drawing.bottom() + GAP + 18.0;
        }
        drawing.end(drawing.bottom() + MARGIN);
        drawing
    }

    fn class(&self, class: usize) -> String {
        let number = class.to_string();
        match self.classes.get(class) {
            Some(name) if *name != number => format!("{number} {name}"),
            _ => number,
        }
    }

    fn draw_image(&self, drawing: &mut Drawing, k: usize, top: f64) {
        let example = &self.examples[k];
        let index = self.indices.get(k).copied().unwrap_or(k);
        let bold = TextStyle::caption(13.0).colored(INK).bold();
        let caption = match (self.captions.get(k), example.label) {
            (Some(caption), _) => caption.clone(),
            (None, Some(label)) => format!("image {index}: {}", self.class(label)),
            (None, None) => format!("image {index}"),
        };
        let caption = bold.fit(&caption, self.width() / 2.0);
        drawing.text([MARGIN, top + 6.0], bold, &caption);
        let (prediction, color) = example.prediction(|class| self.class(class));
        let after = MARGIN + bold.width_of(&caption) + 14.0;
        let style = TextStyle::caption(13.0).colored(color);
        let prediction = style.fit(&prediction, self.width() - MARGIN - after);
        drawing.text([after, top + 6.0], style, &prediction);

        let top = top + 26.0;
        draw_input(drawing, example, top);
        let left = match self.shown_layer() {
            Some((layer, image)) => {
                draw_maps(drawing, layer, image, k, top);
                RATES_LEFT
            }
            None => MAPS_LEFT,
        };
        let below = self.draw_rates(drawing, k, [left, top]);
        self.draw_output(drawing, example, [left, below + 24.0]);
    }

    /// Draws a bar for each layer; returns their lower edge.
    fn draw_rates(&self, drawing: &mut Drawing, k: usize, [left, top]: [f64; 2]) -> f64 {
        drawing.text([left, top], HEAD, "firing rate of each layer");
        let rates: Vec<f64> = self.layers.iter().map(|layer| layer.rate_of(k)).collect();
        let largest = rates.iter().copied().fold(0.0, f64::max);
        for (row, (layer, rate)) in self.layers.iter().zip(&rates).enumerate() {
            let y = top + 8.0 + ROW * row as f64;
            draw_row(drawing, [left, y], &layer.name, (INK, BLUE), *rate, largest);
        }
        top + 8.0 + ROW * self.layers.len() as f64
    }

    /// Draws the spikes and the firing rate of each class.
    fn draw_output(&self, drawing: &mut Drawing, example: &Example, [left, top]: [f64; 2]) {
        let steps = example.time_steps.max(1);
        let heading = match steps {
            1 => "output".to_string(),
            _ => format!("output, spikes of {steps} time steps and firing rate"),
        };
        drawing.text([left, top], HEAD, &heading);
        let largest = example.largest_rate();
        let shown = example.classes.min(MAX_CLASSES);
        for class in 0..shown {
            let y = top + 8.0 + ROW * class as f64;
            let fill = example.color(class);
            let ink = if fill == NEUTRAL { FAINT_INK } else { fill };
            let rate = example.firing_rate(class);
            let name = self.class(class);
            draw_row(drawing, [left, y], &name, (ink, fill), rate, largest);
            draw_spikes(drawing, example, class, [left, y], fill);
        }
        if shown < example.classes {
            let y = top + 8.0 + ROW * (shown as f64 + 0.7);
            let rest = format!("and {} more classes", example.classes - shown);
            drawing.text([left, y], SMALL, &rest);
        }
    }
}

/// The columns of a row: name, spikes, bar, rate.
const NAME_WIDTH: f64 = 92.0;
const SPIKES_WIDTH: f64 = 76.0;
const BAR_WIDTH: f64 = 76.0;
const ROW_WIDTH: f64 = NAME_WIDTH + SPIKES_WIDTH + BAR_WIDTH + 58.0;

fn draw_row(
    drawing: &mut Drawing,
    [left, y]: [f64; 2],
    name: &str,
    (ink, fill): (&'static str, &'static str),
    rate: f64,
    largest: f64,
) {
    let base = y + 0.72 * ROW;
    let style = SMALL.colored(ink);
    drawing.text([left, base], style, &style.fit(name, NAME_WIDTH - 4.0));
    let bar = Area {
        x: left + NAME_WIDTH + SPIKES_WIDTH + 10.0,
        y: y + 0.2 * ROW,
        width: if largest > 0.0 {
            rate / largest * BAR_WIDTH
        } else {
            0.0
        },
        height: 0.6 * ROW,
    };
    drawing.rectangle(bar, fill);
    let end = style.anchored(Anchor::End);
    drawing.text([left + ROW_WIDTH, base], end, &format!("{rate:.3}"));
}

/// Draws a mark for each spike of a class.
fn draw_spikes(
    drawing: &mut Drawing,
    example: &Example,
    class: usize,
    [left, y]: [f64; 2],
    fill: &'static str,
) {
    let step = SPIKES_WIDTH / example.time_steps.max(1) as f64;
    for x in example.spike_positions(class, [left + NAME_WIDTH, step], 1.0) {
        let mark = Area {
            x,
            y: y + 0.2 * ROW,
            width: (step - 1.5).clamp(1.0, 8.0),
            height: 0.6 * ROW,
        };
        drawing.rectangle(mark, fill);
    }
}

fn draw_input(drawing: &mut Drawing, example: &Example, top: f64) {
    drawing.text([MARGIN, top], HEAD, "input");
    let scale = INPUT / example.width.max(example.height).max(1) as f64;
    let area = Area {
        x: MARGIN,
        y: top + 8.0,
        width: example.width as f64 * scale,
        height: example.height as f64 * scale,
    };
    let picture = Picture {
        width: example.width,
        height: example.height,
        pixels: example.image.clone(),
    };
    match picture.is_whole() {
        true => drawing.picture(area, picture),
        false => drawing.text([MARGIN, top + 24.0], SMALL, "no picture"),
    }
}

/// The shades of a spike map: a spike is dark, the background is light.
const GROUND: u8 = 0xe9;
const SPIKE: u8 = 0x1c;

/// Draws the spikes of the first channels at the first time steps, one row per step.
fn draw_maps(
    drawing: &mut Drawing,
    layer: &LayerActivity,
    [channels, height, width]: [usize; 3],
    k: usize,
    top: f64,
) {
    let spikes = layer.spikes_of(k);
    let plane = (height * width).max(1);
    let steps = spikes.len() / (plane * channels.max(1));
    let (rows, columns) = (steps.min(MAX_STEPS), channels.min(MAX_CHANNELS));
    let part = |shown: usize, all: usize, what: &str| match shown == all {
        true => format!("{all} {what}"),
        false => format!("{shown} of {all} {what}"),
    };
    let heading = format!(
        "spikes of {}: {}, {}",
        layer.name,
        part(columns, channels, "channels"),
        part(rows, steps, "time steps"),
    );
    let available = RATES_LEFT - MAPS_LEFT - 12.0;
    drawing.text([MAPS_LEFT, top], HEAD, &HEAD.fit(&heading, available));
    let scale = MAP / height.max(width).max(1) as f64;
    for t in 0..rows {
        let y = top + 8.0 + MAP_PITCH * t as f64;
        let style = SMALL.anchored(Anchor::End);
        let at = [MAPS_LEFT - 7.0, y + 0.5 * MAP + 3.0];
        drawing.text(at, style, &format!("t = {}", t + 1));
        for c in 0..columns {
            let from = (t * channels + c) * plane;
            let map = spikes.get(from..from + plane).unwrap_or_default();
            let shade = |fired: &bool| if *fired { SPIKE } else { GROUND };
            let picture = Picture {
                width,
                height,
                pixels: map.iter().map(shade).collect(),
            };
            let area = Area {
                x: MAPS_LEFT + MAP_PITCH * c as f64,
                y,
                width: width as f64 * scale,
                height: height as f64 * scale,
            };
            drawing.picture(area, picture);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::svg::{GREEN, VERMILION};
    use super::*;
    use spikelet_graph::Tensor;

    fn activity(classes: usize, channels: usize, steps: usize) -> Activity {
        let image = |label: usize| Example {
            image: (0..12).collect(),
            width: 2,
            height: 2,
            spikes: (0..steps * classes).map(|i| i % 3 == 0).collect(),
            time_steps: steps,
            classes,
            label: Some(label),
            predicted: Some(0),
        };
        let spikes = |shape: Vec<usize>| {
            let values: Vec<f32> = (0..shape.iter().product())
                .map(|k| (k % 2) as f32)
                .collect();
            Tensor::f32(shape, values)
        };
        Activity {
            indices: vec![7, 8],
            examples: vec![image(0), image(1)],
            scores: vec![vec![0.5; classes]; 2],
            layers: vec![
                LayerActivity::new("conv.0", spikes(vec![steps, 2, channels, 4, 4])),
                LayerActivity::new("fc.1", spikes(vec![steps, 2, 6])),
            ],
            classes: vec!["0".to_string(), "cat".to_string()],
            captions: vec![],
        }
    }

    #[test]
    fn a_picture_names_layers_classes_and_what_is_left_out() {
        let svg = activity(30, 20, 12).to_svg("csnn on <digits>");
        for part in [
            "csnn on &lt;digits&gt;",
            "image 7: 0<",
            "recognized",
            "image 8: 1 cat",
            "taken for 0",
            "8 of 20 channels, 8 of 12 time steps",
            "fc.1",
            "and 10 more classes",
        ] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(!svg.contains("NaN"));
        // Two inputs, and of each image eight channels at eight steps.
        assert_eq!(svg.matches("<image").count(), 2 + 2 * 64);
    }

    #[test]
    fn an_image_without_a_label_is_neither_right_nor_wrong() {
        let mut shown = activity(10, 1, 4);
        let colors = |shown: &Activity| {
            let svg = shown.to_svg("csnn");
            [GREEN, VERMILION].map(|color| svg.contains(color))
        };
        assert_eq!(colors(&shown), [true, true]);
        for example in &mut shown.examples {
            (example.label, example.predicted) = (None, Some(1));
        }
        assert_eq!(colors(&shown), [false, false]);
        shown.examples[1].predicted = None;
        let svg = shown.to_svg("csnn");
        assert!(
            svg.contains("1 cat</text>") && svg.contains("no spikes: no class"),
            "{svg}"
        );
    }

    #[test]
    fn a_picture_without_maps_is_as_wide_as_its_rows() {
        let mut shown = activity(10, 1, 4);
        shown.layers.remove(0);
        let svg = shown.to_svg("mnist-fc");
        assert!(
            svg.contains(&format!("width=\"{}\"", MAPS_LEFT + ROW_WIDTH + MARGIN)),
            "{svg}"
        );
    }

    #[test]
    fn an_image_with_a_caption_has_its_prediction_without_a_label() {
        let mut shown = activity(10, 1, 4);
        shown
            .examples
            .iter_mut()
            .for_each(|example| example.label = None);
        shown.captions = vec!["cat.png".to_string(), "x".repeat(400)];
        let svg = shown.to_svg("csnn");
        assert!(svg.contains("cat.png") && svg.contains("xxx…"), "{svg}");
        for part in ["image 7", "recognized", "taken for"] {
            assert!(!svg.contains(part), "{part}");
        }
    }

    #[test]
    fn a_network_without_images_is_drawn_without_maps() {
        let mut shown = activity(10, 1, 4);
        shown.layers.remove(0);
        let svg = shown.to_svg("mnist-fc");
        assert_eq!(svg.matches("<image").count(), 2);
        assert!(!svg.contains("spikes of fc.1"));
    }
}
