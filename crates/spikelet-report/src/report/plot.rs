//! The axes and lines that plots share.

use super::axis::Axis;
use super::svg::{AXIS, Anchor, Area, GRID, Stroke, Svg, TextStyle, number};

/// The style of tick labels.
pub(super) const LABEL: TextStyle = TextStyle::caption(11.0);

/// The area of a plot with its two axes.
pub(super) struct Plot<'a> {
    pub(super) area: Area,
    pub(super) horizontal: &'a Axis,
    pub(super) vertical: &'a Axis,
}

impl Plot<'_> {
    /// The position of a point; `None` if a value is not finite or outside its axis.
    pub(super) fn place(&self, x: f64, y: f64) -> Option<[f64; 2]> {
        let x = self.area.x + self.horizontal.position(x)? * self.area.width;
        Some([x, y_of(self.area, self.vertical, y)?])
    }

    /// Draws the grid lines of the vertical axis, the ticks of the horizontal axis and all labels.
    pub(super) fn draw_axes(&self, svg: &mut Svg) {
        draw_grid(svg, self.area, self.vertical);
        let bottom = self.area.bottom();
        for (value, label) in self.horizontal.ticks() {
            if let Some(position) = self.horizontal.position(*value) {
                let x = self.area.x + position * self.area.width;
                svg.line([x, bottom], [x, bottom + 4.0], Stroke::new(AXIS, 1.0));
                svg.text([x, bottom + 16.0], LABEL.anchored(Anchor::Middle), label);
            }
        }
    }
}

/// The y of a value on the vertical axis of `area`.
pub(super) fn y_of(area: Area, axis: &Axis, value: f64) -> Option<f64> {
    Some(area.bottom() - axis.position(value)? * area.height)
}

/// Draws the grid lines and labels of the vertical axis of `area`.
pub(super) fn draw_grid(svg: &mut Svg, area: Area, axis: &Axis) {
    for (value, label) in axis.ticks() {
        if let Some(y) = y_of(area, axis, *value) {
            svg.line([area.x, y], [area.right(), y], Stroke::new(GRID, 1.0));
            svg.text([area.x - 6.0, y + 3.5], LABEL.anchored(Anchor::End), label);
        }
    }
}

/// The commands of a path through points, with a gap where a point is missing.
pub(super) fn line_through(points: &[Option<[f64; 2]>]) -> String {
    let mut commands = String::new();
    let segments = points.split(Option::is_none);
    for segment in segments.filter(|segment| segment.len() > 1) {
        for (k, [x, y]) in segment.iter().flatten().enumerate() {
            let command = if k == 0 { 'M' } else { 'L' };
            commands.push_str(&format!("{command}{} {}", number(*x), number(*y)));
        }
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_point_leaves_a_gap_and_a_single_point_no_line() {
        let at = |x: f64| Some([x, 2.0]);
        let points = [at(0.0), at(1.0), None, at(3.0), None, at(5.0), at(6.0)];
        assert_eq!(line_through(&points), "M0 2L1 2M5 2L6 2");
        assert_eq!(line_through(&[None, None]), "");
    }
}
