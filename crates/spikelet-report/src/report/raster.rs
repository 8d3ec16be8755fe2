//! An input image with the output spikes and firing rates of the network.

use super::axis::Axis;
use super::png;
use super::svg::{
    AXIS, Anchor, Area, BLUE, FAINT_INK, GREEN, GRID, INK, NEUTRAL, Stroke, Svg, TextStyle,
    VERMILION, number,
};

/// An input image, the output spikes, the label and the predicted class.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The input image: gray `[height, width]` or color `[height, width, 3]`, one byte per value.
    pub image: Vec<u8>,
    /// The width of the image in pixels.
    pub width: usize,
    /// The height of the image in pixels.
    pub height: usize,
    /// Output spikes `[time_steps, classes]`.
    pub spikes: Vec<bool>,
    /// The number of time steps.
    pub time_steps: usize,
    /// The number of classes.
    pub classes: usize,
    /// The true class, if it is known.
    pub label: Option<usize>,
    /// The predicted class; `None` if no class has a score other than 0.
    pub predicted: Option<usize>,
}

/// The maximal number of rows: for more there is no space for their labels.
const MAX_ROWS: usize = 12;
/// The maximal width of a class's name beside its row.
const MAX_NAME: f64 = 56.0;
const SMALL: TextStyle = TextStyle::caption(10.0);

impl Example {
    /// The fraction of time steps with a spike of `class`.
    pub fn firing_rate(&self, class: usize) -> f64 {
        let spikes = (0..self.time_steps)
            .filter(|&t| self.spike(t, class))
            .count();
        spikes as f64 / self.time_steps.max(1) as f64
    }

    /// The largest firing rate of its classes.
    pub fn largest_rate(&self) -> f64 {
        (0..self.classes)
            .map(|class| self.firing_rate(class))
            .fold(0.0, f64::max)
    }

    fn spike(&self, t: usize, class: usize) -> bool {
        let index = t
            .checked_mul(self.classes)
            .and_then(|row| row.checked_add(class));
        index
            .and_then(|index| self.spikes.get(index))
            .copied()
            .unwrap_or(false)
    }

    /// Whether the predicted class is the label, as text with its color. `name` is the name of a class.
    pub(super) fn prediction(&self, name: impl Fn(usize) -> String) -> (String, &'static str) {
        match (self.label, self.predicted) {
            (None, Some(class)) => (name(class), INK),
            (None, None) => ("no spikes: no class".to_string(), INK),
            (Some(_), None) => ("not recognized: no spikes".to_string(), VERMILION),
            (Some(label), Some(class)) if label == class => ("recognized".to_string(), GREEN),
            (Some(_), Some(class)) => (format!("taken for {}", name(class)), VERMILION),
        }
    }

    /// The x of each spike of `class`, where time step t is at `left + step · t`. Spikes that are closer
    /// than `resolution` to the previous one are omitted.
    pub(super) fn spike_positions(
        &self,
        class: usize,
        [left, step]: [f64; 2],
        resolution: f64,
    ) -> Vec<f64> {
        let mut positions: Vec<f64> = vec![];
        for t in (0..self.time_steps).filter(|&t| self.spike(t, class)) {
            let x = left + step * t as f64;
            if positions.last().is_none_or(|last| x - last >= resolution) {
                positions.push(x);
            }
        }
        positions
    }

    /// The color of a class: that of the label, of a wrong prediction, of a prediction without a label, or neutral.
    pub(super) fn color(&self, class: usize) -> &'static str {
        match (self.label, self.predicted) {
            (Some(label), _) if class == label => GREEN,
            (Some(_), Some(predicted)) if class == predicted => VERMILION,
            (None, Some(predicted)) if class == predicted => BLUE,
            _ => NEUTRAL,
        }
    }

    /// The classes with a row: all, or the label, the predicted class and those with the most spikes.
    fn rows(&self) -> Vec<usize> {
        let mut classes: Vec<(usize, f64)> = (0..self.classes)
            .map(|class| {
                let chosen = [self.label, self.predicted].contains(&Some(class));
                (
                    class,
                    if chosen {
                        f64::INFINITY
                    } else {
                        self.firing_rate(class)
                    },
                )
            })
            .collect();
        classes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut rows: Vec<usize> = classes.into_iter().map(|(class, _)| class).collect();
        rows.truncate(MAX_ROWS);
        rows.sort_unstable();
        rows
    }

    /// Draws the image, spikes and firing rates into `area`, the rates on the axis `rates`. `names` are those of the
    /// classes.
    pub fn draw(&self, svg: &mut Svg, area: Area, rates: &Axis, names: &[String]) {
        let name = |class: usize| match names.get(class) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => class.to_string(),
        };
        let bold = TextStyle::caption(12.0).colored(INK).bold();
        let caption = match self.label {
            Some(label) if name(label) == label.to_string() => format!("class {label}"),
            Some(label) => bold.fit(&name(label), area.width / 2.0),
            None => "unknown class".to_string(),
        };
        svg.text([area.x, area.y + 11.0], bold, &caption);
        let (prediction, color) = self.prediction(name);
        let after = area.x + bold.width_of(&caption) + 6.0;
        let style = TextStyle::caption(12.0).colored(color);
        let prediction = style.fit(&prediction, area.right() - after);
        svg.text([after, area.y + 11.0], style, &prediction);

        let top = area.y + 20.0;
        let height = area.height - 20.0 - 18.0;
        let side = height.min(0.34 * area.width);
        self.draw_picture(
            svg,
            Area {
                x: area.x,
                y: top,
                width: side,
                height: side,
            },
        );

        let rows = self.rows();
        let labels = rows
            .iter()
            .map(|&class| SMALL.bold().fit(&name(class), MAX_NAME));
        let labels: Vec<String> = labels.collect();
        let widths = labels.iter().map(|label| SMALL.bold().width_of(label));
        let left = area.x + side + 14.0 + widths.fold(6.0, f64::max);
        let width = area.right() - left;
        let raster = Area {
            x: left,
            y: top,
            width: 0.62 * width,
            height,
        };
        let bars = Area {
            x: left + 0.68 * width,
            y: top,
            width: 0.32 * width,
            height,
        };
        self.draw_axes(svg, raster, bars, rates);
        let pitch = height / rows.len().max(1) as f64;
        for (row, &class) in rows.iter().enumerate() {
            let y = top + pitch * row as f64;
            let color = self.color(class);
            let mut style = SMALL.anchored(Anchor::End);
            if color != NEUTRAL {
                style = style.colored(color).bold();
            }
            let base = y + 0.5 * pitch + 3.5;
            svg.text([left - 5.0, base], style, &labels[row]);

            let step = raster.width / self.time_steps.max(1) as f64;
            let commands = self.ticks(class, raster.x, step, y + 0.14 * pitch, 0.72 * pitch);
            svg.path(&commands, Stroke::new(color, (0.7 * step).clamp(0.7, 2.5)));

            if let Some(position) = rates.position(self.firing_rate(class)) {
                let bar = Area {
                    y: y + 0.14 * pitch,
                    width: position * bars.width,
                    height: 0.72 * pitch,
                    ..bars
                };
                svg.rectangle(bar, color);
            }
        }
    }

    fn draw_picture(&self, svg: &mut Svg, square: Area) {
        let Some(png) = png::encode(self.width, self.height, &self.image) else {
            svg.frame(square, Stroke::new(GRID, 1.0));
            let at = [
                square.x + square.width / 2.0,
                square.y + square.height / 2.0,
            ];
            svg.text(at, SMALL.anchored(Anchor::Middle), "no picture");
            return;
        };
        // The largest size that fits with the same aspect ratio.
        let scale = square.width / self.width.max(self.height) as f64;
        let fitted = Area {
            width: self.width as f64 * scale,
            height: self.height as f64 * scale,
            ..square
        };
        svg.picture(fitted, &png);
        svg.frame(fitted, Stroke::new(GRID, 1.0));
    }

    fn draw_axes(&self, svg: &mut Svg, raster: Area, bars: Area, rates: &Axis) {
        svg.frame(raster, Stroke::new(GRID, 1.0));
        let base = raster.bottom() + 13.0;
        svg.text([raster.x, base], SMALL, "t = 1");
        let end = SMALL.anchored(Anchor::End);
        svg.text([raster.right(), base], end, &self.time_steps.to_string());

        svg.line(
            [bars.x, bars.y],
            [bars.x, bars.bottom()],
            Stroke::new(AXIS, 1.0),
        );
        svg.text([bars.x, base], SMALL, "rate");
        if let Some((value, label)) = rates.ticks().last()
            && let Some(position) = rates.position(*value)
        {
            let x = bars.x + position * bars.width;
            svg.line([x, bars.y], [x, bars.bottom()], Stroke::new(GRID, 1.0));
            svg.text([x, base], end, label);
        }
    }

    /// A vertical tick for each spike of `class`, as commands of a path.
    fn ticks(&self, class: usize, left: f64, step: f64, y: f64, length: f64) -> String {
        const RESOLUTION: f64 = 0.25;
        let positions = self.spike_positions(class, [left + 0.5 * step, step], RESOLUTION);
        let tick = |x: f64| format!("M{} {}v{}", number(x), number(y), number(length));
        positions.into_iter().map(tick).collect()
    }
}

/// Draws the legend of all examples to the left of `right`.
pub(super) fn draw_legend(svg: &mut Svg, right: f64, base: f64) {
    let style = TextStyle::caption(12.0).colored(FAINT_INK);
    let mut right = right;
    for (text, color) in [
        ("other classes", NEUTRAL),
        ("wrong prediction", VERMILION),
        ("true class", GREEN),
    ] {
        let left = right - style.width_of(text);
        svg.text([left, base], style, text);
        let square = Area {
            x: left - 16.0,
            y: base - 9.0,
            width: 10.0,
            height: 10.0,
        };
        svg.rectangle(square, color);
        right = square.x - 14.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(classes: usize) -> Example {
        Example {
            image: vec![0; 6],
            width: 3,
            height: 2,
            spikes: (0..4 * classes).map(|i| i % 3 == 0).collect(),
            time_steps: 4,
            classes,
            label: Some(1),
            predicted: Some(classes - 1),
        }
    }

    fn draw(example: &Example) -> String {
        let mut svg = Svg::new(300.0, 150.0, "");
        let area = Area {
            x: 0.0,
            y: 0.0,
            width: 300.0,
            height: 150.0,
        };
        let rates = Axis::linear([0.0, 1.0].into_iter(), [0.0, 1.0], 2);
        example.draw(&mut svg, area, &rates, &[]);
        svg.finish()
    }

    #[test]
    fn the_firing_rate_is_the_share_of_steps_with_a_spike() {
        let mut example = example(2);
        example.spikes = vec![true, false, true, false, true, false, false, true];
        assert_eq!(
            [example.firing_rate(0), example.firing_rate(1)],
            [0.75, 0.25]
        );
        assert_eq!(example.largest_rate(), 0.75);
    }

    #[test]
    fn of_many_classes_the_label_the_prediction_and_the_most_active_are_shown() {
        let mut example = example(1000);
        example.spikes = vec![false; 4000];
        (500..510).for_each(|class| example.spikes[class] = true);
        let mut expected = vec![1];
        expected.extend(500..510);
        expected.push(999);
        assert_eq!(example.rows(), expected);
    }

    #[test]
    fn a_wrong_prediction_is_named() {
        assert!(draw(&example(10)).contains("taken for 9"));
        let right = Example {
            predicted: Some(1),
            ..example(10)
        };
        assert!(draw(&right).contains("recognized") && !draw(&right).contains(VERMILION));
    }

    #[test]
    fn data_that_are_too_short_are_drawn_partially() {
        let short = Example {
            image: vec![1],
            spikes: vec![true],
            time_steps: 9,
            ..example(3)
        };
        assert!(draw(&short).contains("no picture"));
        let empty = Example {
            classes: 0,
            time_steps: 0,
            spikes: Vec::new(),
            ..example(3)
        };
        assert!(!draw(&empty).contains("NaN"));
    }

    #[test]
    fn a_thousand_steps_do_not_make_a_thousand_ticks_where_they_would_overlap() {
        let long = Example {
            spikes: vec![true; 20_000],
            time_steps: 10_000,
            classes: 2,
            predicted: Some(1),
            ..example(3)
        };
        assert!(draw(&long).matches('v').count() < 1500);
    }
}
