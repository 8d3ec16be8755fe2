//! A panel of curves over the epochs.

use super::axis::{Axis, drawable, range};
use super::plot::{LABEL, Plot, line_through};
use super::svg::{AXIS, Anchor, Area, INK, Stroke, Svg, TextStyle};
use crate::Goal;

/// The quantity on the vertical axis of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quantity {
    /// Values without a unit. The axis is logarithmic if they are positive and span a factor of 30 or more.
    Plain,
    /// Fractions of 1, shown in percent.
    Percentage,
}

impl Quantity {
    fn show(self, value: f64) -> String {
        match self {
            Self::Percentage => format!("{:.1} %", 100.0 * value),
            Self::Plain if value == 0.0 || (1e-3..1e5).contains(&value.abs()) => {
                format!("{value:.3}")
            }
            Self::Plain => format!("{value:.1e}"),
        }
    }

    /// The value in the units of the axis.
    fn scaled(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Percentage => 100.0 * value,
        }
    }

    fn axis(self, values: impl Iterator<Item = f64> + Clone) -> Axis {
        let values = values.map(|value| self.scaled(value));
        match (self, range(values.clone())) {
            (Self::Percentage, _) => Axis::linear(values, [0.0, 100.0], 5),
            (Self::Plain, Some((min, max))) if min > 0.0 && max / min >= 30.0 => {
                Axis::logarithmic(min, max)
            }
            (Self::Plain, _) => Axis::linear(values, [f64::NEG_INFINITY, f64::INFINITY], 5),
        }
    }
}

/// A curve.
#[derive(Clone, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: &'static str,
    /// Its color.
    pub color: &'static str,
    /// Epochs and values. A value that is not finite leaves a gap.
    pub points: Vec<(usize, f64)>,
}

/// A panel: title, legend, axes and curves.
#[derive(Clone, Debug)]
pub struct Panel {
    /// The title.
    pub title: String,
    /// The quantity of the values.
    pub quantity: Quantity,
    /// The curves. A curve without points is not in the legend.
    pub series: Vec<Series>,
    /// Whether the maximum or minimum of the last curve is marked with a ring and listed in the legend.
    pub mark_best: Option<Goal>,
}

/// The maximal number of epochs for curves with a dot at each epoch.
const MAX_DOTS: usize = 30;
/// The maximal number of epochs for thick curves.
const MANY: usize = 200;

impl Panel {
    /// Draws the panel into `area`.
    pub fn draw(&self, svg: &mut Svg, area: Area) {
        let series: Vec<&Series> = self
            .series
            .iter()
            .filter(|s| !s.points.is_empty())
            .collect();
        let best = self.best(&series);
        self.draw_head(svg, area, &series, best);

        let plot = Area {
            x: area.x + 44.0,
            y: area.y + 48.0,
            width: area.width - 44.0,
            height: area.height - 48.0 - 38.0,
        };
        let points = || series.iter().flat_map(|s| s.points.iter());
        let epochs = points().map(|&(epoch, _)| epoch);
        let first = epochs.clone().min().unwrap_or(1);
        let across = Axis::whole(first, epochs.max().unwrap_or(1), 8);
        let upwards = self.quantity.axis(points().map(|&(_, value)| value));
        let axes = Plot {
            area: plot,
            horizontal: &across,
            vertical: &upwards,
        };
        axes.draw_axes(svg);
        draw_frame(svg, plot);

        let place =
            |epoch: usize, value: f64| axes.place(epoch as f64, self.quantity.scaled(value));
        for one in &series {
            draw_curve(svg, one, place);
        }
        if let Some((epoch, value, color)) = best
            && let Some(at) = place(epoch, value)
        {
            svg.disc(at, 5.0, "#ffffff", Stroke::new(color, 2.0));
        }
        if !points().any(|&(_, value)| drawable(value)) {
            let at = [plot.x + plot.width / 2.0, plot.y + plot.height / 2.0];
            svg.text(at, LABEL.anchored(Anchor::Middle), "no finite values");
        }
    }

    /// The epoch, value and color of the first best value.
    fn best(&self, series: &[&Series]) -> Option<(usize, f64, &'static str)> {
        let (last, goal) = (series.last()?, self.mark_best?);
        let better = |a: f64, b: f64| match goal {
            Goal::Maximize => a > b,
            Goal::Minimize => a < b,
        };
        let values = last.points.iter().filter(|&&(_, value)| drawable(value));
        let (epoch, value) = values
            .copied()
            .reduce(|best, point| if better(point.1, best.1) { point } else { best })?;
        Some((epoch, value, last.color))
    }

    /// Draws the title, and below it the name and last value of each curve, and the best value.
    fn draw_head(
        &self,
        svg: &mut Svg,
        area: Area,
        series: &[&Series],
        best: Option<(usize, f64, &'static str)>,
    ) {
        let title = TextStyle::caption(14.0).colored(INK).bold();
        svg.text([area.x, area.y + 12.0], title, &self.title);

        let mut entries: Vec<(String, &'static str, bool)> = Vec::new();
        for one in series {
            let last = one.points.iter().rfind(|&&(_, value)| drawable(value));
            let value = last.map_or("–".to_string(), |&(_, value)| self.quantity.show(value));
            entries.push((format!("{} {value}", one.name), one.color, false));
        }
        if let Some((epoch, value, color)) = best {
            let text = format!("best {} (epoch {epoch})", self.quantity.show(value));
            entries.push((text, color, true));
        }
        let style = TextStyle::caption(12.0);
        let mut base = area.y + 34.0;
        let mut x = area.x;
        for (text, color, ring) in &entries {
            let width = 23.0 + style.width_of(text);
            if x + width > area.right() {
                // Beside the title there is space.
                base = area.y + 12.0;
                x = area.right() - width;
            }
            let y = base - 4.0;
            if *ring {
                svg.disc([x + 5.0, y], 4.0, "#ffffff", Stroke::new(color, 2.0));
                x += 15.0;
            } else {
                svg.line([x, y], [x + 17.0, y], Stroke::new(color, 2.5));
                x += 23.0;
            }
            svg.text([x, base], style, text);
            x += style.width_of(text) + 16.0;
        }
    }
}

/// Draws the lines of the two axes and the name of the horizontal one.
fn draw_frame(svg: &mut Svg, plot: Area) {
    let bottom = plot.bottom();
    svg.line(
        [plot.x, bottom],
        [plot.right(), bottom],
        Stroke::new(AXIS, 1.0),
    );
    svg.line([plot.x, plot.y], [plot.x, bottom], Stroke::new(AXIS, 1.0));
    let middle = [plot.x + plot.width / 2.0, bottom + 33.0];
    svg.text(middle, LABEL.anchored(Anchor::Middle), "epoch");
}

/// Draws a line through the points, with a gap where a value is not finite, and dots: at each point if there
/// are few, and at points without a neighbor.
fn draw_curve(svg: &mut Svg, series: &Series, place: impl Fn(usize, f64) -> Option<[f64; 2]>) {
    let places: Vec<Option<[f64; 2]>> = series
        .points
        .iter()
        .map(|&(epoch, value)| place(epoch, value))
        .collect();
    let width = if places.len() <= MANY { 2.0 } else { 1.25 };
    svg.path(&line_through(&places), Stroke::new(series.color, width));
    for (index, at) in places.iter().enumerate() {
        let near = |offset: isize| {
            let neighbor = index.checked_add_signed(offset);
            neighbor.and_then(|i| *places.get(i)?).is_some()
        };
        let alone = !near(-1) && !near(1);
        if let Some(at) = at
            && (places.len() <= MAX_DOTS || alone)
        {
            svg.disc(*at, 2.5, series.color, Stroke::new(series.color, 0.5));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::svg::{BLUE, VERMILION};

    fn drawn(values: &[f64], mark_best: Option<Goal>) -> String {
        let points = values
            .iter()
            .enumerate()
            .map(|(i, &v)| (i + 1, v))
            .collect();
        let panel = Panel {
            title: "accuracy".to_string(),
            quantity: Quantity::Percentage,
            series: vec![
                Series {
                    name: "train",
                    color: BLUE,
                    points: Vec::new(),
                },
                Series {
                    name: "test",
                    color: VERMILION,
                    points,
                },
            ],
            mark_best,
        };
        let mut svg = Svg::new(400.0, 300.0, "");
        let area = Area {
            x: 0.0,
            y: 0.0,
            width: 400.0,
            height: 300.0,
        };
        panel.draw(&mut svg, area);
        svg.finish()
    }

    #[test]
    fn values_that_are_not_finite_leave_gaps() {
        let svg = drawn(&[0.1, 0.2, f64::NAN, 0.4, f64::INFINITY, 0.5, 0.6], None);
        let path = svg
            .split("<path d=\"")
            .nth(1)
            .unwrap()
            .split('"')
            .next()
            .unwrap();
        assert_eq!(
            (path.matches('M').count(), path.matches('L').count()),
            (2, 2)
        );
        assert_eq!(svg.matches("<circle").count(), 5);
        assert!(!svg.contains("NaN") && !svg.contains("inf\""));
    }

    #[test]
    fn a_point_between_gaps_is_drawn_in_long_runs_too() {
        let mut values = vec![0.5; 200];
        (values[99], values[101]) = (f64::NAN, f64::NAN);
        assert_eq!(drawn(&values, None).matches("<circle").count(), 1);
    }

    #[test]
    fn the_best_is_named_with_its_first_epoch() {
        let svg = drawn(&[0.90, 0.954, f64::NAN, 0.954, 0.93], Some(Goal::Maximize));
        assert!(svg.contains("best 95.4 % (epoch 2)"), "{svg}");
        assert!(svg.contains("test 93.0 %"), "{svg}");
        assert!(!svg.contains("train"), "a curve without points is left out");
    }

    #[test]
    fn the_legend_lies_within_the_panel() {
        let curve = |name| Series {
            name,
            color: BLUE,
            points: vec![(1, 0.5), (1000, 0.989)],
        };
        let panel = Panel {
            title: "Accuracy in %".to_string(),
            quantity: Quantity::Percentage,
            series: ["train", "test", "val"].map(curve).into(),
            mark_best: Some(Goal::Maximize),
        };
        let (mut svg, width) = (Svg::new(500.0, 300.0, ""), 432.0);
        let area = Area {
            x: 0.0,
            y: 0.0,
            width,
            height: 300.0,
        };
        panel.draw(&mut svg, area);
        let svg = svg.finish();
        let best = "best 98.9 % (epoch 1000)";
        let (before, _) = svg.split_once(best).expect("the best epoch is named");
        let (_, x) = before.rsplit_once("x=\"").unwrap();
        let x: f64 = x.split('"').next().unwrap().parse().unwrap();
        let title = TextStyle::caption(14.0).bold().width_of("Accuracy in %");
        assert!(x > title + 10.0 && x + TextStyle::caption(12.0).width_of(best) <= width);
    }

    #[test]
    fn the_best_value_of_an_error_is_the_smallest() {
        let svg = drawn(&[0.5, 0.25, 0.4], Some(Goal::Minimize));
        assert!(svg.contains("best 25.0 % (epoch 2)"), "{svg}");
    }

    #[test]
    fn a_panel_without_finite_values_says_so() {
        assert!(drawn(&[f64::NAN], Some(Goal::Maximize)).contains("no finite values"));
        assert!(drawn(&[], Some(Goal::Maximize)).contains("no finite values"));
    }
}
