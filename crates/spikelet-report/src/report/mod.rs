//! Figures: `report.svg` at the end of a training run, and the activity of a network.
//!
//! The report has loss and accuracy over the epochs, and some inputs with the output spikes. `svg.rs` has
//! the shapes, `axis.rs` the ticks, `plot.rs` axes and lines, `curves.rs` and `raster.rs` the two
//! kinds of figures, and this file the page. Other figures are [`Activity`], the spikes of each layer for a
//! few images, as SVG or PNG; [`Response`], a neuron with a step input; [`Gates`], surrogates and their
//! derivatives; and [`Bars`], bar charts.

mod activity;
pub mod axis;
mod bars;
mod canvas;
mod curves;
mod drawing;
mod font;
mod gates;
#[doc(hidden)]
pub mod html;
mod image;
mod plot;
mod png;
mod portrait;
mod raster;
mod response;
pub mod svg;

pub use activity::{Activity, LayerActivity};
pub use bars::{BarPanel, Bars};
pub use gates::Gates;
pub use raster::Example;
pub use response::Response;

use crate::Goal;
use axis::Axis;
use curves::{Panel, Quantity, Series};
use spikelet_core::files::{self, FileError};
use std::path::Path;
use svg::{Area, BLUE, GREEN, GRID, INK, Stroke, Svg, TextStyle, VERMILION};

/// The results of one epoch. Values that are not finite are gaps in the curves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochPoint {
    /// The number of the epoch, from 1.
    pub epoch: usize,
    /// Mean loss in training.
    pub train_loss: f64,
    /// Mean loss on the test set, if it was measured.
    pub test_loss: Option<f64>,
    /// Mean loss on the validation set, if there is one.
    pub validation_loss: Option<f64>,
    /// The report's metric in training.
    pub train: Option<f64>,
    /// The metric on the validation set, if there is one.
    pub validation: Option<f64>,
    /// The metric on the test set, if it was measured.
    pub test: Option<f64>,
}

/// The report of a training run.
///
/// ```
/// use spikelet_report::Goal;
/// use spikelet_report::report::{EpochPoint, Report};
/// let report = Report {
///     title: "mnist-fc on MNIST".to_string(),
///     subtitle: "cpu, 2 threads · test accuracy 98.0 %".to_string(),
///     metric: "accuracy".to_string(),
///     goal: Goal::Maximize,
///     epochs: vec![EpochPoint {
///         epoch: 1,
///         train_loss: 0.41,
///         test_loss: None,
///         validation_loss: None,
///         train: Some(0.91),
///         validation: Some(0.95),
///         test: Some(0.95),
///     }],
///     examples: Vec::new(),
///     classes: Vec::new(),
/// };
/// assert!(report.to_svg().contains("best 95.0 % (epoch 1)"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The network and the data set.
    pub title: String,
    /// The device, the accuracy and similar.
    pub subtitle: String,
    /// The metric of the second panel. An `accuracy` is drawn in percent; for `loss` there is no second panel.
    pub metric: String,
    /// Whether its larger or smaller values are better.
    pub goal: Goal,
    /// The epochs in order.
    pub epochs: Vec<EpochPoint>,
    /// The inputs, three in a row. May be empty.
    pub examples: Vec<Example>,
    /// The names of their classes.
    pub classes: Vec<String>,
}

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 32.0;
const INNER: f64 = WIDTH - 2.0 * MARGIN;
const PANELS_TOP: f64 = 96.0;
const PANELS_HEIGHT: f64 = 300.0;
const EXAMPLES_TOP: f64 = PANELS_TOP + PANELS_HEIGHT + 28.0;
const EXAMPLES_IN_A_ROW: usize = 3;
const EXAMPLE_HEIGHT: f64 = 164.0;
const GAP: f64 = 32.0;

impl Report {
    /// The report as an SVG document, 960 units wide, on a white background.
    pub fn to_svg(&self) -> String {
        let rows = self.examples.len().div_ceil(EXAMPLES_IN_A_ROW) as f64;
        let height = if self.examples.is_empty() {
            PANELS_TOP + PANELS_HEIGHT + MARGIN
        } else {
            EXAMPLES_TOP + 34.0 + rows * EXAMPLE_HEIGHT + (rows - 1.0) * 18.0 + MARGIN
        };
        let mut svg = Svg::new(WIDTH, height, &self.title);
        self.draw_title(&mut svg);
        self.draw_panels(&mut svg);
        if !self.examples.is_empty() {
            self.draw_examples(&mut svg);
        }
        svg.finish()
    }

    /// Writes [`to_svg`](Self::to_svg) to a file.
    ///
    /// # Errors
    /// [`FileError::Io`] naming the path.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        files::write_atomically(path, self.to_svg().as_bytes())
    }

    fn draw_title(&self, svg: &mut Svg) {
        let title = TextStyle::caption(21.0).colored(INK).bold();
        svg.text([MARGIN, 44.0], title, &title.fit(&self.title, INNER));
        let subtitle = TextStyle::caption(13.5);
        svg.text(
            [MARGIN, 67.0],
            subtitle,
            &subtitle.fit(&self.subtitle, INNER),
        );
    }

    fn draw_panels(&self, svg: &mut Svg) {
        let series = |name, color, value: &dyn Fn(&EpochPoint) -> Option<f64>| Series {
            name,
            color,
            points: self
                .epochs
                .iter()
                .filter_map(|point| Some((point.epoch, value(point)?)))
                .collect(),
        };
        let validated = self.epochs.iter().any(|point| point.validation.is_some());
        // The best epoch is that of the validation set; the test set chooses none.
        let best = validated.then_some(self.goal);
        let mut loss = Panel {
            title: "Loss".to_string(),
            quantity: Quantity::Plain,
            series: vec![
                series("train", BLUE, &|point| Some(point.train_loss)),
                series("test", VERMILION, &|point| point.test_loss),
            ],
            mark_best: None,
        };
        let (title, quantity) = match self.metric.as_str() {
            "accuracy" => ("Accuracy in %", Quantity::Percentage),
            metric => (metric, Quantity::Plain),
        };
        if title == "loss" {
            let validation = |point: &EpochPoint| point.validation_loss;
            loss.series.push(series("val", GREEN, &validation));
            loss.mark_best = best;
            let area = Area {
                x: MARGIN,
                y: PANELS_TOP,
                width: INNER,
                height: PANELS_HEIGHT,
            };
            return loss.draw(svg, area);
        }
        let metric = Panel {
            title: title.to_string(),
            quantity,
            series: vec![
                series("train", BLUE, &|point| point.train),
                series("test", VERMILION, &|point| point.test),
                series("val", GREEN, &|point| point.validation),
            ],
            mark_best: best,
        };
        let width = (INNER - GAP) / 2.0;
        for (panel, x) in [(loss, MARGIN), (metric, MARGIN + width + GAP)] {
            panel.draw(
                svg,
                Area {
                    x,
                    y: PANELS_TOP,
                    width,
                    height: PANELS_HEIGHT,
                },
            );
        }
    }

    fn draw_examples(&self, svg: &mut Svg) {
        svg.line(
            [MARGIN, EXAMPLES_TOP - 12.0],
            [WIDTH - MARGIN, EXAMPLES_TOP - 12.0],
            Stroke::new(GRID, 1.0),
        );
        let base = EXAMPLES_TOP + 14.0;
        let heading = TextStyle::caption(14.0).colored(INK).bold();
        let text = "Inputs, output spikes over time, firing rates";
        svg.text([MARGIN, base], heading, text);
        raster::draw_legend(svg, WIDTH - MARGIN, base);

        // One scale for all, so that examples can be compared.
        let largest = self
            .examples
            .iter()
            .map(Example::largest_rate)
            .fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let rates = Axis::linear([0.0, largest].into_iter(), [0.0, 1.0], 4);
        let columns = EXAMPLES_IN_A_ROW as f64;
        let width = (INNER - (columns - 1.0) * GAP) / columns;
        for (index, example) in self.examples.iter().enumerate() {
            let (row, column) = (index / EXAMPLES_IN_A_ROW, index % EXAMPLES_IN_A_ROW);
            let area = Area {
                x: MARGIN + column as f64 * (width + GAP),
                y: EXAMPLES_TOP + 34.0 + row as f64 * (EXAMPLE_HEIGHT + 18.0),
                width,
                height: EXAMPLE_HEIGHT,
            };
            example.draw(svg, area, &rates, &self.classes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(epochs: usize) -> Report {
        Report {
            title: "mnist-fc on <MNIST>".to_string(),
            subtitle: "a very long line ".repeat(30),
            metric: "accuracy".to_string(),
            goal: Goal::Maximize,
            epochs: (1..=epochs)
                .map(|epoch| EpochPoint {
                    epoch,
                    train_loss: 2.3 / epoch as f64,
                    test_loss: Some(2.4 / epoch as f64),
                    validation_loss: Some(2.5 / epoch as f64),
                    train: Some(1.0 - 0.9 / epoch as f64),
                    validation: Some(1.0 - 0.95 / epoch as f64),
                    test: Some(1.0 - 0.95 / epoch as f64),
                })
                .collect(),
            examples: (0..6)
                .map(|label| Example {
                    image: (0..784).map(|pixel| (pixel % 256) as u8).collect(),
                    width: 28,
                    height: 28,
                    spikes: (0..500).map(|i| i % 10 == label || i % 7 == 0).collect(),
                    time_steps: 50,
                    classes: 10,
                    label: Some(label),
                    predicted: Some(label),
                })
                .collect(),
            classes: vec![],
        }
    }

    /// Every coordinate and size in the document.
    fn coordinates(svg: &str) -> Vec<(&'static str, f64)> {
        let names = [
            "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height",
        ];
        let mut found = Vec::new();
        for name in names {
            for rest in svg.split(&format!(" {name}=\"")).skip(1) {
                found.push((name, rest.split('"').next().unwrap().parse().unwrap()));
            }
        }
        found
    }

    #[test]
    fn everything_lies_on_the_page_for_one_to_a_thousand_epochs() {
        for epochs in [0, 1, 2, 7, 30, 31, 100, 1000] {
            let svg = report(epochs).to_svg();
            for (name, value) in coordinates(&svg) {
                assert!(
                    (0.0..=WIDTH).contains(&value),
                    "{epochs} epochs: {name} = {value}"
                );
            }
            assert!(!svg.contains("NaN"), "{epochs} epochs");
        }
    }

    #[test]
    fn a_run_that_went_wrong_is_still_drawn() {
        let mut report = report(5);
        for point in &mut report.epochs[2..] {
            point.train_loss = f64::NAN;
            point.test_loss = Some(f64::INFINITY);
            point.test = None;
            point.validation = None;
        }
        let svg = report.to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf "));
        assert!(svg.contains("(epoch 2)"));
    }

    #[test]
    fn a_regression_has_its_own_metric_or_only_the_loss() {
        let mut report = report(5);
        report.metric = "r2".to_string();
        let svg = report.to_svg();
        assert!(svg.contains(">r2</text>") && !svg.contains("Accuracy"));
        report.metric = "loss".to_string();
        report.goal = Goal::Minimize;
        let svg = report.to_svg();
        assert!(svg.contains("best 0.500 (epoch 5)"), "{svg}");
        assert!(!svg.contains("r2"));
    }

    #[test]
    fn the_title_is_escaped_and_a_long_line_shortened() {
        let svg = report(3).to_svg();
        assert!(svg.contains("mnist-fc on &lt;MNIST&gt;"));
        assert!(svg.contains("…</text>"));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn examples_have_the_names_of_their_classes_and_silent_ones_are_not_recognized() {
        let mut report = report(2);
        report.classes = vec!["box".to_string(), "disc".to_string()];
        report.examples.truncate(2);
        report.examples[0].predicted = Some(1);
        report.examples[1].predicted = None;
        let svg = report.to_svg();
        for part in [
            ">box<",
            ">taken for disc<",
            ">disc<",
            ">not recognized: no spikes<",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn a_report_is_saved_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs/report.svg");
        report(2).save(&path).unwrap();
        assert_eq!(files::read(path).unwrap(), report(2).to_svg().as_bytes());
    }
}
