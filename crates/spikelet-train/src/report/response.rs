//! What a neuron does with an input that is switched on and off: its states and what comes out.

use super::axis::Axis;
use super::svg::{
    AXIS, Anchor, Area, BLUE, GREEN, GRID, INK, NEUTRAL, Stroke, Svg, TextStyle, VERMILION, number,
};
use spikelet_core::Result;
use spikelet_graph::Tensor;
use spikelet_nn::device;
use spikelet_nn::neuron::{Inputs, Neuron, OutputKind, run};

/// A neuron's answer to a step input.
///
/// ```
/// use spikelet::prelude::*;
/// use spikelet::report::Response;
/// let response = Response::of(&Lif::new(2.0), "lif")?;
/// assert!(response.output.iter().filter(|s| **s == 1.0).count() >= 4);
/// assert!(response.to_svg().starts_with("<svg"));
/// # Ok::<(), spikelet::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// What stands above the picture.
    pub title: String,
    /// The input at each step.
    pub input: Vec<f64>,
    /// Each state after each step, by its name.
    pub states: Vec<(String, Vec<f64>)>,
    /// What comes out at each step.
    pub output: Vec<f64>,
    /// What kind of numbers come out.
    pub output_kind: OutputKind,
}

const STEPS: usize = 60;
/// The steps at which the input is on.
const ON: std::ops::Range<usize> = 5..45;
/// How strong it is: the first of these at which the neuron fires often enough.
const STRENGTHS: [f64; 14] = [
    0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0, 128.0,
];
const OFTEN: usize = 4;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 16.0;
const LABEL: TextStyle = TextStyle::caption(11.0);
const COLORS: [&str; 4] = [BLUE, VERMILION, GREEN, NEUTRAL];

impl Response {
    /// Runs a neuron on the CPU, with an input that is strong enough for it to fire.
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

    /// The picture as an SVG document, 640 units wide.
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

    /// A tick for each spike, downwards for a negative one, higher for more than one.
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

/// Where a time step lies.
fn place(area: Area, steps: usize, t: usize) -> f64 {
    area.x + area.width * (t as f64 + 0.5) / steps as f64
}

/// Curves over the time steps with the axis that they share, and their names if there are several.
fn draw_curves(svg: &mut Svg, area: Area, curves: &[(&str, &[f64])], ticks: usize) {
    let free = [f64::NEG_INFINITY, f64::INFINITY];
    let values = curves.iter().flat_map(|(_, values)| values.iter().copied());
    let axis = Axis::linear(values, free, ticks);
    let height_of = |value: f64| Some(area.bottom() - axis.position(value)? * area.height);
    for (value, label) in axis.ticks() {
        if let Some(y) = height_of(*value) {
            svg.line([area.x, y], [area.right(), y], Stroke::new(GRID, 1.0));
            let end = LABEL.anchored(Anchor::End);
            svg.text([area.x - 6.0, y + 3.5], end, label);
        }
    }
    let mut right = area.right();
    for (k, (name, values)) in curves.iter().enumerate().rev() {
        let color = COLORS[k.min(COLORS.len() - 1)];
        let (mut commands, mut begins) = (String::new(), true);
        for (t, value) in values.iter().enumerate() {
            // What is not finite leaves a gap.
            let Some(y) = height_of(*value) else {
                begins = true;
                continue;
            };
            let x = number(place(area, values.len(), t));
            let step = if begins { "M" } else { "L" };
            commands.push_str(&format!("{step}{x} {}", number(y)));
            begins = false;
        }
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
