//! Plots of surrogates: the primitive g(x), a smooth gate, its derivative, and the membrane potential after
//! a reset by g(x).

use super::axis::Axis;
use super::plot::{LABEL, Plot, line_through};
use super::svg::{Area, BLUE, GREEN, INK, NEUTRAL, Stroke, Svg, TextStyle, VERMILION};
use spikelet_core::{Error, Result};
use spikelet_expr::{Expr, Program};
use spikelet_nn::surrogate::Surrogate;
use std::sync::Arc;

/// A plot of several surrogates, or of one surrogate with several values of a constant.
///
/// ```
/// use spikelet_report::report::Gates;
/// use spikelet_nn::surrogate::Sigmoid;
/// use std::sync::Arc;
/// let of = |alpha: f64| (format!("α = {alpha}"), Arc::new(Sigmoid { alpha }) as _);
/// let gates = Gates { title: "sigmoid".to_string(), surrogates: vec![of(1.0), of(4.0)] };
/// assert!(gates.to_svg()?.starts_with("<svg"));
/// # Ok::<(), spikelet_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gates {
    /// The title.
    pub title: String,
    /// The names and surrogates. Only the derivative is drawn of a surrogate without a primitive.
    pub surrogates: Vec<(String, Arc<dyn Surrogate>)>,
}

/// The number of points of a curve: one every 0.01 from x = −3 to 3.
const POINTS: usize = 601;
const RANGE: f64 = 3.0;

const WIDTH: f64 = 640.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = WIDTH - 16.0;
const PANEL: f64 = 160.0;
/// The distance between two panels.
const BETWEEN: f64 = 52.0;
const TOP: f64 = 80.0;
const COLORS: [&str; 6] = [BLUE, VERMILION, GREEN, "#cc79a7", "#e69f00", "#56b4e9"];

/// The values of a curve at the points [`place`].
type Curve = Vec<f64>;

impl Gates {
    /// The plot as an SVG document: the primitives and the step function, the potential after the reset
    /// (v_threshold = 1, v_reset = 0), and the derivatives.
    ///
    /// # Errors
    /// When the definition of a surrogate has a symbol other than x.
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

/// The x of a point.
fn place(k: usize) -> f64 {
    // Computed from integers, so that x = 0 is exact.
    (2 * k as i64 - (POINTS as i64 - 1)) as f64 * RANGE / (POINTS - 1) as f64
}

/// The values of an expression of x at `xs`.
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
    let plot = Plot {
        area,
        horizontal: &Axis::linear([-RANGE, RANGE].into_iter(), free, 6),
        vertical: &Axis::linear(all, free, 4),
    };
    plot.draw_axes(svg);
    for (_, color, values) in curves.iter().rev() {
        let points = (values.iter().enumerate()).map(|(k, value)| plot.place(place(k), *value));
        let commands = line_through(&points.collect::<Vec<_>>());
        svg.path(&commands, Stroke::new(color, 1.6));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_nn::surrogate::SURROGATES;

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
        for name in SURROGATES.names() {
            let built = SURROGATES.named(name).expect("defaults are usable");
            let primitive = built.primitive(&Expr::symbol("x")).is_some();
            let gates = Gates {
                title: name.to_string(),
                surrogates: vec![(name.to_string(), built)],
            };
            let svg = gates.to_svg()?;
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
            assert_eq!(svg.contains("after the reset"), primitive, "{name}");
        }
        Ok(())
    }
}
