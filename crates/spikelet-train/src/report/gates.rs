//! What surrogates stand for: gates that are smooth, their derivatives, and the potential after a
//! reset through them.

use super::axis::Axis;
use super::svg::{
    AXIS, Anchor, Area, BLUE, GREEN, GRID, INK, NEUTRAL, Stroke, Svg, TextStyle, VERMILION, number,
};
use spikelet_core::{Error, Result};
use spikelet_expr::{Expr, Program};
use spikelet_nn::surrogate::Surrogate;
use std::sync::Arc;

/// Curves of several surrogates, or of one with several values of a constant.
///
/// ```
/// use spikelet::report::Gates;
/// use spikelet::surrogate::Sigmoid;
/// use std::sync::Arc;
/// let of = |alpha: f64| (format!("α = {alpha}"), Arc::new(Sigmoid { alpha }) as _);
/// let gates = Gates { title: "sigmoid".to_string(), surrogates: vec![of(1.0), of(4.0)] };
/// assert!(gates.to_svg()?.starts_with("<svg"));
/// # Ok::<(), spikelet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gates {
    /// What stands above the picture.
    pub title: String,
    /// Names and surrogates. Those without a primitive have a derivative alone.
    pub surrogates: Vec<(String, Arc<dyn Surrogate>)>,
}

/// Points of a curve: every hundredth of the range, as far as x = ±3.
const POINTS: usize = 601;
const RANGE: f64 = 3.0;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 16.0;
const PANEL: f64 = 160.0;
/// From one panel's lower edge to the next one's upper edge.
const BETWEEN: f64 = 52.0;
const TOP: f64 = 80.0;
const LABEL: TextStyle = TextStyle::caption(11.0);
const COLORS: [&str; 6] = [BLUE, VERMILION, GREEN, "#cc79a7", "#e69f00", "#56b4e9"];

/// A curve: a value, if it is one, at each place.
type Curve = Vec<f64>;

impl Gates {
    /// The picture as an SVG document: the gates beside the step function, the potential after the
    /// reset (v_threshold = 1, v_reset = 0), and the derivatives.
    ///
    /// # Errors
    /// When a surrogate's definition uses other symbols than x.
    pub fn to_svg(&self) -> Result<String> {
        let xs: Vec<f64> = (0..POINTS).map(place).collect();
        let step: Curve = xs.iter().map(|x| f64::from(u8::from(*x >= 0.0))).collect();
        // V = H · (1 − S), with H = x + v_threshold.
        let reset = |gate: &Curve| -> Curve {
            let both = xs.iter().zip(gate);
            both.map(|(x, s)| (x + 1.0) * (1.0 - s)).collect()
        };
        let (mut gates, mut resets, mut derivatives) = (vec![], vec![], vec![]);
        for (k, (name, surrogate)) in self.surrogates.iter().enumerate() {
            let color = COLORS[k % COLORS.len()];
            let x = Expr::symbol("x");
            if let Some(gate) = surrogate.primitive(&x) {
                let gate = values(&gate, &xs)?;
                resets.push((name.as_str(), color, reset(&gate)));
                gates.push((name.as_str(), color, gate));
            }
            let derivative = values(&surrogate.derivative(&x), &xs)?;
            derivatives.push((name.as_str(), color, derivative));
        }
        let mut panels = vec![];
        if !gates.is_empty() {
            resets.push(("forward", NEUTRAL, reset(&step)));
            gates.push(("forward", NEUTRAL, step));
            panels.push(("gate g(x), x = H − v_threshold", gates));
            panels.push((
                "potential V after the reset, v_threshold = 1, v_reset = 0",
                resets,
            ));
        }
        panels.push(("derivative g′(x)", derivatives));
        let height = TOP + panels.len() as f64 * (PANEL + BETWEEN);
        let mut svg = Svg::new(WIDTH, height, &self.title);
        let title = TextStyle::caption(15.0).colored(INK).bold();
        svg.text([LEFT, 26.0], title, &self.title);
        let mut x = LEFT;
        for (name, color, _) in &panels[0].1 {
            let style = LABEL.colored(color).bold();
            svg.text([x, 46.0], style, name);
            x += style.width_of(name) + 14.0;
        }
        for (k, (name, curves)) in panels.iter().enumerate() {
            let area = Area {
                x: LEFT,
                y: TOP + k as f64 * (PANEL + BETWEEN),
                width: RIGHT - LEFT,
                height: PANEL,
            };
            draw(&mut svg, area, name, curves);
        }
        Ok(svg.finish())
    }
}

/// Where a point lies.
fn place(k: usize) -> f64 {
    // Whole numbers first, so that x = 0 is met exactly.
    (2 * k as i64 - (POINTS as i64 - 1)) as f64 * RANGE / (POINTS - 1) as f64
}

/// An expression of x at these places.
fn values(expr: &Expr, xs: &[f64]) -> Result<Curve> {
    let program = Program::compile(std::slice::from_ref(expr), &[], &["x"]).map_err(|error| {
        Error::invalid(
            "surrogate",
            error.to_string(),
            "write it as a function of x alone",
        )
    })?;
    let mut work = program.workspace::<f64>(xs.len());
    program.set_uniform(&mut work, &[]);
    let mut out = vec![0.0; xs.len()];
    program.step(&mut work, &[xs], &mut [&mut out]);
    Ok(out)
}

fn draw(svg: &mut Svg, area: Area, title: &str, curves: &[(&str, &'static str, Curve)]) {
    svg.text([area.x, area.y - 6.0], LABEL.colored(INK), title);
    let free = [f64::NEG_INFINITY, f64::INFINITY];
    let all = curves
        .iter()
        .flat_map(|(.., values)| values.iter().copied());
    let upwards = Axis::linear(all, free, 4);
    let across = Axis::linear([-RANGE, RANGE].into_iter(), free, 6);
    let height_of = |value: f64| Some(area.bottom() - upwards.position(value)? * area.height);
    let width_of = |x: f64| Some(area.x + across.position(x)? * area.width);
    for (value, label) in upwards.ticks() {
        if let Some(y) = height_of(*value) {
            svg.line([area.x, y], [area.right(), y], Stroke::new(GRID, 1.0));
            svg.text([area.x - 6.0, y + 3.5], LABEL.anchored(Anchor::End), label);
        }
    }
    for (value, label) in across.ticks() {
        if let Some(x) = width_of(*value) {
            let end = [x, area.bottom() + 4.0];
            svg.line([x, area.bottom()], end, Stroke::new(AXIS, 1.0));
            let style = LABEL.anchored(Anchor::Middle);
            svg.text([x, area.bottom() + 16.0], style, label);
        }
    }
    for (_, color, values) in curves.iter().rev() {
        let (mut commands, mut begins) = (String::new(), true);
        for (k, value) in values.iter().enumerate() {
            // What is not finite leaves a gap.
            let (Some(x), Some(y)) = (width_of(place(k)), height_of(*value)) else {
                begins = true;
                continue;
            };
            let step = if begins { "M" } else { "L" };
            commands.push_str(&format!("{step}{} {}", number(x), number(y)));
            begins = false;
        }
        svg.path(&commands, Stroke::new(color, 1.6));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Map;
    use spikelet_nn::surrogate;

    #[test]
    fn a_gate_is_half_at_the_threshold_and_its_derivative_is_the_surrogates() -> Result<()> {
        let x = Expr::symbol("x");
        let sigmoid = spikelet_nn::surrogate::Sigmoid { alpha: 2.0 };
        let gate = sigmoid.primitive(&x).map(|gate| values(&gate, &[0.0, 1.0]));
        let gate = gate.transpose()?.unwrap_or_default();
        assert_eq!(gate[0], 0.5);
        assert!((gate[1] - 1.0 / (1.0 + (-2.0_f64).exp())).abs() < 1e-6);
        assert_eq!(values(&sigmoid.derivative(&x), &[0.0])?, [0.5]);
        assert_eq!((place(0), place(300), place(600)), (-3.0, 0.0, 3.0));
        Ok(())
    }

    #[test]
    fn every_surrogate_is_drawn() -> Result<()> {
        for entry in surrogate::entries() {
            let built = (entry.build)(&Map::new()).expect("defaults are usable");
            let primitive = built.primitive(&Expr::symbol("x")).is_some();
            let gates = Gates {
                title: entry.name.to_string(),
                surrogates: vec![(entry.name.to_string(), built)],
            };
            let svg = gates.to_svg()?;
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{}",
                entry.name
            );
            assert_eq!(svg.contains("after the reset"), primitive, "{}", entry.name);
        }
        Ok(())
    }
}
