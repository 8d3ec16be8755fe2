//! Plots of the response of a neuron to a step input: its states and its output.

use super::axis::Axis;
use super::plot::{LABEL, draw_grid, line_through, y_of};
use super::svg::{
    AXIS, Anchor, Area, BLUE, GREEN, INK, NEUTRAL, Stroke, Svg, TextStyle, VERMILION, number,
};
use spikelet_core::Result;
use spikelet_graph::Tensor;
use spikelet_nn::device;
use spikelet_nn::neuron::{Inputs, Neuron, OutputKind, run};

/// The response of a neuron to an input that is switched on and off.
///
/// ```
/// use spikelet_nn::prelude::*;
/// use spikelet_report::report::Response;
/// let response = Response::of(&Lif::new(2.0), "lif")?;
/// assert!(response.output.iter().filter(|s| **s == 1.0).count() >= 4);
/// assert!(response.to_svg().starts_with("<svg"));
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The title.
    pub title: String,
    /// The input at each step.
    pub input: Vec<f64>,
    /// The name of each state and its values after each step.
    pub states: Vec<(String, Vec<f64>)>,
    /// The output at each step.
    pub output: Vec<f64>,
    /// The kind of the output.
    pub output_kind: OutputKind,
}

const STEPS: usize = 60;
/// The steps at which the input is on.
const ON: std::ops::Range<usize> = 5..45;
/// The amplitudes of the input. The first with at least [`OFTEN`] spikes is used.
const STRENGTHS: [f64; 14] = [
    0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0, 128.0,
];
const OFTEN: usize = 4;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 16.0;
const COLORS: [&str; 4] = [BLUE, VERMILION, GREEN, NEUTRAL];

impl Response {
    /// Runs a neuron on the CPU, with an input that is strong enough for spikes.
    ///
    /// # Errors
    /// When the neuron's definition is wrong.
    pub fn of(neuron: &dyn Neuron, title: &str) -> Result<Self> {
        let at = |strength: f64| -> Result<Self> {
            let x = |t: usize| if ON.contains(&t) { strength } else { 0.0 };
            let input: Vec<f64> = (0..STEPS).map(x).collect();
            let x_seq = input.iter().map(|x| *x as f32).collect::<Vec<f32>>();
            let inputs = Inputs {
                x_seq: Some(Tensor::f32([STEPS, 1], x_seq)),
                ..Inputs::default()
            };
            let made = run(neuron, &inputs, device::cpu()?)?;
            let values = |name: &str| made.get(name).map_or(vec![], Tensor::to_f64);
            let states = neuron.states();
            let states = states
                .iter()
                .map(|s| (s.name.to_string(), values(&format!("{}_seq", s.name))));
            Ok(Self {
                title: title.to_string(),
                input,
                states: states.collect(),
                output: values("spike_seq"),
                output_kind: neuron.output_kind(),
            })
        };
        if neuron.output_kind() == OutputKind::Real {
            return at(1.5);
        }
        let mut response = at(STRENGTHS[0])?;
        for strength in &STRENGTHS[1..] {
            if response.output.iter().filter(|s| **s != 0.0).count() >= OFTEN {
                break;
            }
            response = at(*strength)?;
        }
        Ok(response)
    }

    /// The plot as an SVG document, 640 units wide.
    pub fn to_svg(&self) -> String {
        let states = if self.states.is_empty() { 0.0 } else { 150.0 };
        let real = self.output_kind == OutputKind::Real;
        let heights = [46.0, states, if real { 90.0 } else { 34.0 }];
        let height = 56.0 + heights.iter().sum::<f64>() + 24.0 * 3.0;
        let mut svg = Svg::new(WIDTH, height, &self.title);
        let title = TextStyle::caption(15.0).colored(INK).bold();
        svg.text([LEFT, 26.0], title, &self.title);
        let mut top = 48.0;
        let mut panel = |svg: &mut Svg, name: &str, height: f64| {
            let area = Area {
                x: LEFT,
                y: top,
                width: RIGHT - LEFT,
                height,
            };
            svg.text([LEFT, top - 5.0], LABEL, name);
            top += height + 24.0;
            area
        };
        let area = panel(&mut svg, "input X", heights[0]);
        draw_curves(&mut svg, area, &[("", &self.input)], 2);
        if !self.states.is_empty() {
            let area = panel(&mut svg, "states after each step", heights[1]);
            let curves: Vec<(&str, &[f64])> =
                self.states.iter().map(|(n, v)| (&n[..], &v[..])).collect();
            draw_curves(&mut svg, area, &curves, 4);
        }
        let area = panel(&mut svg, "output", heights[2]);
        match real {
            true => draw_curves(&mut svg, area, &[("", &self.output)], 3),
            false => self.draw_spikes(&mut svg, area),
        }
        svg.text([LEFT, area.bottom() + 14.0], LABEL, "t = 1");
        let last = LABEL.anchored(Anchor::End);
        svg.text(
            [RIGHT, area.bottom() + 14.0],
            last,
            &self.output.len().to_string(),
        );
        svg.finish()
    }

    /// Draws a tick for each spike: downwards if it is negative, longer if its value is above one.
    fn draw_spikes(&self, svg: &mut Svg, area: Area) {
        let most = self
            .output
            .iter()
            .fold(1.0, |most: f64, s| most.max(s.abs()));
        let signed = self.output.iter().any(|s| *s < 0.0);
        let zero = if signed {
            area.y + area.height / 2.0
        } else {
            area.bottom()
        };
        let unit = (zero - area.y) / most;
        svg.line([area.x, zero], [area.right(), zero], Stroke::new(AXIS, 1.0));
        let mut commands = String::new();
        for (t, s) in self.output.iter().enumerate().filter(|(_, s)| **s != 0.0) {
            let x = number(place(area, self.output.len(), t));
            commands.push_str(&format!(
                "M{x} {}V{}",
                number(zero),
                number(zero - unit * s)
            ));
        }
        svg.path(&commands, Stroke::new(INK, 2.0));
    }
}

/// The x of a time step.
fn place(area: Area, steps: usize, t: usize) -> f64 {
    area.x + area.width * (t as f64 + 0.5) / steps as f64
}

/// Draws curves over the time steps on one axis, with their names if there are several.
fn draw_curves(svg: &mut Svg, area: Area, curves: &[(&str, &[f64])], ticks: usize) {
    let free = [f64::NEG_INFINITY, f64::INFINITY];
    let values = curves.iter().flat_map(|(_, values)| values.iter().copied());
    let axis = Axis::linear(values, free, ticks);
    draw_grid(svg, area, &axis);
    let mut right = area.right();
    for (k, (name, values)) in curves.iter().enumerate().rev() {
        let color = COLORS[k.min(COLORS.len() - 1)];
        let points = values
            .iter()
            .enumerate()
            .map(|(t, value)| Some([place(area, values.len(), t), y_of(area, &axis, *value)?]));
        let commands = line_through(&points.collect::<Vec<_>>());
        svg.path(&commands, Stroke::new(color, 1.6));
        if !name.is_empty() {
            let style = LABEL.colored(color).bold().anchored(Anchor::End);
            svg.text([right, area.y - 5.0], style, name);
            right -= style.width_of(name) + 14.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_finite_leave_gaps() {
        let response = Response {
            title: "one".to_string(),
            input: vec![1.0; 5],
            states: vec![(
                "v".to_string(),
                vec![0.1, f64::NAN, 0.3, f64::INFINITY, 0.5],
            )],
            output: vec![0.0, 1.0, -1.0, 2.0, 0.0],
            output_kind: OutputKind::Ternary,
        };
        let svg = response.to_svg();
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        let spikes = svg.rsplit("<path").next().unwrap_or_default();
        assert_eq!(spikes.matches('V').count(), 3, "{spikes}");
    }
}
