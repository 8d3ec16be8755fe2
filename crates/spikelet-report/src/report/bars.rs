//! Bar charts.

use super::axis::Axis;
use super::plot::{LABEL, draw_grid, y_of};
use super::svg::{
    AXIS, Anchor, Area, BLUE, FAINT_INK, GREEN, INK, NEUTRAL, Stroke, Svg, TextStyle, VERMILION,
};

/// A bar chart of several panels, one below the other. Each bar belongs to a group and a series.
///
/// ```
/// use spikelet_report::report::{BarPanel, Bars};
/// let bars = Bars {
///     title: "LIF".to_string(),
///     subtitle: "cpu".to_string(),
///     series: vec!["step by step".to_string(), "layer by layer".to_string()],
///     panels: vec![BarPanel {
///         title: "forward, ms".to_string(),
///         groups: vec![("T = 8".to_string(), vec![Some(3.0), Some(1.0)])],
///     }],
/// };
/// assert!(bars.to_svg().contains("T = 8"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// The title.
    pub title: String,
    /// The line below the title.
    pub subtitle: String,
    /// The names of the series. Each series has a color.
    pub series: Vec<String>,
    /// The panels. Each has its own axis.
    pub panels: Vec<BarPanel>,
}

/// Bars with one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct BarPanel {
    /// The quantity with its unit.
    pub title: String,
    /// The groups: the name and the value of each series, `None` where a series has no value.
    pub groups: Vec<(String, Vec<Option<f64>>)>,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 16.0;
const PANEL: f64 = 180.0;
/// The distance between two panels.
const BETWEEN: f64 = 64.0;
const TOP: f64 = 108.0;
const COLORS: [&str; 4] = [NEUTRAL, VERMILION, BLUE, GREEN];

impl Bars {
    /// The chart as an SVG document.
    pub fn to_svg(&self) -> String {
        let height = TOP + self.panels.len() as f64 * (PANEL + BETWEEN) - BETWEEN + 36.0;
        let mut svg = Svg::new(WIDTH, height, &self.title);
        let title = TextStyle::caption(15.0).colored(INK).bold();
        svg.text([LEFT, 26.0], title, &title.fit(&self.title, RIGHT - LEFT));
        svg.text(
            [LEFT, 44.0],
            LABEL,
            &LABEL.fit(&self.subtitle, RIGHT - LEFT),
        );
        let mut x = LEFT;
        for (k, name) in self.series.iter().enumerate() {
            let square = Area {
                x,
                y: 56.0,
                width: 10.0,
                height: 10.0,
            };
            svg.rectangle(square, color(k));
            svg.text([x + 15.0, 65.0], LABEL.colored(INK), name);
            x += 15.0 + LABEL.width_of(name) + 18.0;
        }
        for (k, panel) in self.panels.iter().enumerate() {
            let area = Area {
                x: LEFT,
                y: TOP + k as f64 * (PANEL + BETWEEN),
                width: RIGHT - LEFT,
                height: PANEL,
            };
            self.draw(&mut svg, area, panel);
        }
        svg.finish()
    }

    fn draw(&self, svg: &mut Svg, area: Area, panel: &BarPanel) {
        let title = TextStyle::caption(12.0).colored(INK).bold();
        svg.text([area.x, area.y - 14.0], title, &panel.title);
        let values = panel.groups.iter().flat_map(|(_, v)| v.iter().flatten());
        let axis = Axis::linear(values.copied().chain([0.0]), [0.0, f64::INFINITY], 4);
        draw_grid(svg, area, &axis);
        let group = area.width / panel.groups.len().max(1) as f64;
        // A fifth of the width of a group separates it from the next.
        let bar = 0.8 * group / self.series.len().max(1) as f64;
        let style = TextStyle::caption(bar.min(30.0) / 3.0)
            .colored(FAINT_INK)
            .anchored(Anchor::Middle);
        for (k, (name, values)) in panel.groups.iter().enumerate() {
            let left = area.x + group * (k as f64 + 0.1);
            for (series, value) in values.iter().enumerate() {
                let x = left + bar * series as f64;
                let Some((value, y)) = value.and_then(|v| Some((v, y_of(area, &axis, v)?))) else {
                    continue;
                };
                let shape = Area {
                    x,
                    y,
                    width: 0.94 * bar,
                    height: area.bottom() - y,
                };
                svg.rectangle(shape, color(series));
                let at = [x + 0.47 * bar, shape.y - 3.0];
                svg.text(at, style, &three_digits(value));
            }
            let middle = [area.x + group * (k as f64 + 0.5), area.bottom() + 16.0];
            let below = LABEL.anchored(Anchor::Middle);
            svg.text(middle, below, &below.fit(name, group));
        }
        let base = area.bottom();
        svg.line([area.x, base], [area.right(), base], Stroke::new(AXIS, 1.0));
    }
}

fn color(series: usize) -> &'static str {
    COLORS[series % COLORS.len()]
}

/// `0.0123`, `1.23`, `123`, `1234`.
fn three_digits(value: f64) -> String {
    let order = if value > 0.0 {
        value.log10().floor()
    } else {
        0.0
    };
    let decimals = (2.0 - order).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_three_digits() {
        let shown = [0.0, 0.012_34, 1.234, 12.34, 123.4, 1_234.0].map(three_digits);
        assert_eq!(shown, ["0.00", "0.0123", "1.23", "12.3", "123", "1234"]);
    }

    #[test]
    fn the_height_of_a_bar_is_proportional_to_its_value() {
        let bars = Bars {
            title: "a <title>".to_string(),
            subtitle: "long ".repeat(200),
            series: ["one", "two", "three"].map(String::from).to_vec(),
            panels: vec![BarPanel {
                title: "ms".to_string(),
                groups: vec![
                    ("T = 8".to_string(), vec![Some(4.0), Some(2.0), None]),
                    (
                        "T = 16".to_string(),
                        vec![Some(8.0), Some(f64::NAN), Some(1.0)],
                    ),
                ],
            }],
        };
        let svg = bars.to_svg();
        assert!(svg.contains("a &lt;title&gt;") && !svg.contains("NaN"));
        let heights = |color: &str| -> Vec<f64> {
            let bars = svg
                .lines()
                .filter(|l| l.contains("<rect") && l.contains(color));
            let height = |line: &str| {
                line.split("height=\"")
                    .nth(1)?
                    .split('"')
                    .next()?
                    .parse()
                    .ok()
            };
            bars.filter_map(height).filter(|h| *h != 10.0).collect()
        };
        let first = heights(NEUTRAL);
        assert_eq!(first.len(), 2);
        assert!((first[1] - 2.0 * first[0]).abs() < 0.02, "{first:?}");
        assert_eq!((heights(VERMILION).len(), heights(BLUE).len()), (1, 1));
        assert!(first.iter().all(|h| *h <= PANEL));
    }
}
