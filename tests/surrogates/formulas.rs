//! The formula of each surrogate in plain Rust.

use serde_json::{Value, json};
use spikelet::surrogate::{Surrogate, from_spec};
use spikelet_expr::Expr;
use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::Arc;

pub type Formula = Box<dyn Fn(f64) -> f64>;

/// One surrogate with one set of constants, and what is expected of it.
pub struct Case {
    pub spec: Value,
    pub derivative: Formula,
    pub primitive: Option<Formula>,
    /// Where g′ jumps or has a corner.
    pub kinks: Vec<f64>,
    /// g′(NaN).
    pub at_nan: f64,
    /// How far g′ may be from the derivative of g.
    pub slack: f64,
}

impl Case {
    pub fn new(spec: Value, derivative: impl Fn(f64) -> f64 + 'static) -> Self {
        Self {
            spec,
            derivative: Box::new(derivative),
            primitive: None,
            kinks: vec![],
            at_nan: f64::NAN,
            slack: 1e-7,
        }
    }

    fn primitive(mut self, primitive: impl Fn(f64) -> f64 + 'static) -> Self {
        self.primitive = Some(Box::new(primitive));
        self
    }

    fn kinks(mut self, kinks: impl Into<Vec<f64>>) -> Self {
        self.kinks = kinks.into();
        self
    }

    fn at_nan(mut self, value: f64) -> Self {
        self.at_nan = value;
        self
    }

    pub fn surrogate(&self) -> Arc<dyn Surrogate> {
        from_spec(&self.spec).expect("a known name and known constants")
    }

    pub fn derivative_expr(&self) -> Expr {
        self.surrogate().derivative(&Expr::symbol("x"))
    }

    pub fn primitive_expr(&self) -> Option<Expr> {
        self.surrogate().primitive(&Expr::symbol("x"))
    }
}

/// Two or more for each surrogate, the one with its defaults first.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![];
    smooth(&mut cases);
    piecewise(&mut cases);
    rational(&mut cases);
    sparse_fast_sigmoid(&mut cases);
    scaled(&mut cases);
    straight_through(&mut cases);
    cases
}

fn smooth(cases: &mut Vec<Case>) {
    for alpha in [2.0, 0.7] {
        let spec = json!({"name": "atan", "alpha": alpha});
        cases.push(
            Case::new(spec, move |x| {
                alpha / 2.0 / (1.0 + (FRAC_PI_2 * alpha * x).powi(2))
            })
            .primitive(move |x| (FRAC_PI_2 * alpha * x).atan() / PI + 0.5),
        );
    }
    for alpha in [2.0, 0.7] {
        let spec = json!({"name": "erf", "alpha": alpha});
        cases.push(
            Case::new(spec, move |x| {
                alpha / PI.sqrt() * (-alpha * alpha * x * x).exp()
            })
            .primitive(move |x| 0.5 * (1.0 + erf(alpha * x))),
        );
    }
    for alpha in [1.0, 3.0] {
        let spec = json!({"name": "piecewise_exp", "alpha": alpha});
        let primitive = move |x: f64| match x < 0.0 {
            true => 0.5 * (alpha * x).exp(),
            false => 1.0 - 0.5 * (-alpha * x).exp(),
        };
        cases.push(
            Case::new(spec, move |x| alpha / 2.0 * (-alpha * x.abs()).exp())
                .primitive(primitive)
                .kinks([0.0]),
        );
    }
    for (alpha, beta) in [(4.0, 1.0), (2.5, 0.5)] {
        let spec = json!({"name": "s2nn", "alpha": alpha, "beta": beta});
        let derivative = move |x: f64| match x < 0.0 {
            true => alpha * sigmoid(alpha * x) * (1.0 - sigmoid(alpha * x)),
            false => beta / (x + 1.0),
        };
        let primitive = move |x: f64| match x < 0.0 {
            true => sigmoid(alpha * x),
            false => beta * ((x + 1.0).abs() + 1e-5).ln() + 0.5,
        };
        let mut case = Case::new(spec, derivative)
            .primitive(primitive)
            .kinks([-1.0, 0.0]);
        case.slack = 2e-5;
        cases.push(case);
    }
    for alpha in [4.0, 1.0] {
        let spec = json!({"name": "sigmoid", "alpha": alpha});
        cases.push(
            Case::new(spec, move |x| {
                alpha * sigmoid(alpha * x) * (1.0 - sigmoid(alpha * x))
            })
            .primitive(move |x| sigmoid(alpha * x)),
        );
    }
    for beta in [5.0_f64, 1.5] {
        let spec = json!({"name": "sign_swish", "beta": beta});
        let derivative = move |x: f64| {
            beta * (2.0 - beta * x * (beta * x / 2.0).tanh()) / (1.0 + (beta * x).cosh())
        };
        let primitive = move |x: f64| {
            let s = sigmoid(beta * x);
            2.0 * s * (1.0 + beta * x * (1.0 - s)) - 0.5
        };
        cases.push(Case::new(spec, derivative).primitive(primitive));
    }
    for alpha in [1.0_f64, 0.3] {
        let spec = json!({"name": "circ", "alpha": alpha});
        let root = move |x: f64| (x * x + alpha * alpha).sqrt();
        cases.push(
            Case::new(spec, move |x| (alpha / root(x)).powi(3))
                .primitive(move |x| alpha * (1.0 + x / root(x))),
        );
    }
    for (beta, slope) in [(1.0, 25.0), (3.0, 0.5)] {
        let spec = json!({"name": "spike_rate_escape", "beta": beta, "slope": slope});
        let derivative = move |x: f64| slope * (-beta * (x - 1.0).abs()).exp();
        cases.push(Case::new(spec, derivative).kinks([1.0]));
    }
    for (alpha, c) in [(5.0, 0.4), (2.0, 1.5)] {
        let spec = json!({"name": "slayer", "alpha": alpha, "c": c});
        let primitive = move |x: f64| match x < 0.0 {
            true => 0.5 * c * (alpha * x).exp(),
            false => c - 0.5 * c * (-alpha * x).exp(),
        };
        cases.push(
            Case::new(spec, move |x| c * alpha / (2.0 * (alpha * x.abs()).exp()))
                .primitive(primitive)
                .kinks([0.0]),
        );
    }
    for (sigma, h, s, gamma) in [(0.5, 0.15, 6.0, 0.5), (0.25, 0.5, 2.0, 1.0)] {
        let spec = json!({
            "name": "multi_gaussian", "sigma": sigma, "height": h, "scale": s, "gamma": gamma,
        });
        let normal = |x: f64, mean: f64, deviation: f64| {
            (-(x - mean).powi(2) / (2.0 * deviation.powi(2))).exp() / (2.0 * PI).sqrt() / deviation
        };
        let derivative = move |x: f64| {
            let flanks = normal(x, sigma, s * sigma) + normal(x, -sigma, s * sigma);
            gamma * ((1.0 + h) * normal(x, 0.0, sigma) - h * flanks)
        };
        let primitive = move |x: f64| {
            let phi = |mean: f64, deviation: f64| {
                0.5 * (1.0 + erf((x - mean) / (2.0_f64.sqrt() * deviation)))
            };
            let flanks = phi(sigma, s * sigma) + phi(-sigma, s * sigma);
            gamma * ((1.0 + h) * phi(0.0, sigma) - h * flanks)
        };
        cases.push(Case::new(spec, derivative).primitive(primitive));
    }
    for (n, period) in [(2, 8.0), (4, 12.0), (1, 8.0)] {
        let spec = json!({"name": "squarewave_fourier_series", "n": n, "t_period": period});
        let harmonics = move || (1..n).map(|i| 2.0 * f64::from(i) - 1.0);
        cases.push(
            Case::new(spec, move |x| {
                let terms = harmonics().map(|k| (k * 2.0 * PI * x / period).cos());
                4.0 / period * terms.sum::<f64>()
            })
            .primitive(move |x| {
                let terms = harmonics().map(|k| (k * 2.0 * PI * x / period).sin() / k);
                0.5 + 2.0 / PI * terms.sum::<f64>()
            })
            .at_nan(if n == 1 { 0.0 } else { f64::NAN }),
        );
    }
}

fn piecewise(cases: &mut Vec<Case>) {
    for (a, b, c) in [(1.0, 0.01, 0.5), (3.0, 0.25, 0.125)] {
        let spec = json!({"name": "bilinear_leaky_relu", "a": a, "b": b, "c": c});
        let derivative = move |x: f64| if x.abs() <= c { a } else { b };
        let primitive = move |x: f64| match x {
            _ if x < -c => b * x + b * c - a * c + 0.5,
            _ if x <= c => a * x + 0.5,
            _ => b * x - b * c + a * c + 0.5,
        };
        cases.push(
            Case::new(spec, derivative)
                .primitive(primitive)
                .kinks([-c, c])
                .at_nan(b),
        );
    }
    for (leak, k) in [(0.0, 1.0), (0.1, 2.0)] {
        let spec = json!({"name": "leaky_k_relu", "leak": leak, "k": k});
        let derivative = move |x: f64| if x >= 0.0 { k } else { leak };
        cases.push(
            Case::new(spec, derivative)
                .primitive(move |x| derivative(x) * x)
                .kinks([0.0])
                .at_nan(leak),
        );
    }
    for leak in [0.1, 0.0] {
        let spec = json!({"name": "leaky_spike_operator", "leak": leak});
        let derivative = move |x: f64| if x > 0.0 { 1.0 } else { leak };
        cases.push(
            Case::new(spec, derivative)
                .primitive(move |x| derivative(x) * x)
                .kinks([0.0])
                .at_nan(leak),
        );
    }
    for alpha in [0.0, 0.2] {
        let spec = json!({"name": "log_tailed_relu", "alpha": alpha});
        let derivative = move |x: f64| match x {
            _ if x <= 0.0 => alpha,
            _ if x <= 1.0 => 1.0,
            _ => 1.0 / x,
        };
        let primitive = move |x: f64| match x {
            _ if x <= 0.0 => alpha * x,
            _ if x <= 1.0 => x,
            _ => x.ln() + 1.0,
        };
        cases.push(
            Case::new(spec, derivative)
                .primitive(primitive)
                .kinks([0.0, 1.0]),
        );
    }
    for (w, c) in [(1.0, 0.01), (0.25, 0.125)] {
        let spec = json!({"name": "piecewise_leaky_relu", "w": w, "c": c});
        let derivative = move |x: f64| if x.abs() < w { 1.0 / (2.0 * w) } else { c };
        let primitive = move |x: f64| match x {
            _ if x < -w => c * x + c * w,
            _ if x > w => c * x - c * w + 1.0,
            _ => x / (2.0 * w) + 0.5,
        };
        cases.push(
            Case::new(spec, derivative)
                .primitive(primitive)
                .kinks([-w, w])
                .at_nan(c),
        );
    }
    for alpha in [1.0, 3.0] {
        let spec = json!({"name": "piecewise_quadratic", "alpha": alpha});
        let end = 1.0 / alpha;
        let derivative = move |x: f64| match x.abs() > end {
            true => 0.0,
            false => alpha - alpha * alpha * x.abs(),
        };
        let primitive = move |x: f64| match x {
            _ if x < -end => 0.0,
            _ if x > end => 1.0,
            _ => 0.5 + alpha * x - 0.5 * alpha * alpha * x.abs() * x,
        };
        cases.push(
            Case::new(spec, derivative)
                .primitive(primitive)
                .kinks([-end, 0.0, end]),
        );
    }
    for alpha in [1.0, 4.0] {
        let spec = json!({"name": "boxcar", "alpha": alpha});
        let end = 0.5 / alpha;
        let derivative = move |x: f64| if -end < x && x <= end { alpha } else { 0.0 };
        cases.push(
            Case::new(spec, derivative)
                .primitive(move |x| (alpha * x + 0.5).clamp(0.0, 1.0))
                .kinks([-end, end])
                .at_nan(0.0),
        );
        let spec = json!({"name": "rect", "alpha": alpha});
        let end = 0.5 / alpha;
        cases.push(
            Case::new(spec, move |x| if x.abs() < end { alpha } else { 0.0 })
                .primitive(move |x| (alpha * x + 0.5).clamp(0.0, 1.0))
                .kinks([-end, end])
                .at_nan(0.0),
        );
    }
}

fn rational(cases: &mut Vec<Case>) {
    for alpha in [0.3, 1.5] {
        let spec = json!({"name": "fake_numerical_gradient", "alpha": alpha});
        let derivative = move |x: f64| match x {
            _ if x > 0.0 => (1.0 / x).min(alpha),
            _ if x < 0.0 => (-1.0 / x).min(alpha),
            _ => alpha,
        };
        cases.push(Case::new(spec, derivative));
    }
    for alpha in [1.0, 3.0] {
        let spec = json!({"name": "nonzero_sign_log_abs", "alpha": alpha});
        let primitive = move |x: f64| {
            let log = ((alpha * x).abs() + 1.0).ln();
            if x < 0.0 { -log } else { log }
        };
        cases.push(
            Case::new(spec, move |x| 1.0 / (1.0 / alpha + x.abs()))
                .primitive(primitive)
                .kinks([0.0]),
        );
    }
    for alpha in [2.0_f64, 1.5, 3.0, 3.5, 4.0, 5.0] {
        let spec = json!({"name": "q_pseudo_spike", "alpha": alpha});
        let derivative = move |x: f64| (1.0 + 2.0 * x.abs() / (alpha - 1.0)).powf(-alpha);
        let primitive = move |x: f64| match x < 0.0 {
            true => 0.5 * (1.0 - 2.0 * x / (alpha - 1.0)).powf(1.0 - alpha),
            false => 1.0 - 0.5 * (1.0 + 2.0 * x / (alpha - 1.0)).powf(1.0 - alpha),
        };
        cases.push(
            Case::new(spec, derivative)
                .primitive(primitive)
                .kinks([0.0]),
        );
    }
    for alpha in [2.0, 0.7] {
        let spec = json!({"name": "soft_sign", "alpha": alpha});
        let derivative = move |x: f64| 1.0 / (2.0 * alpha * (1.0 / alpha + x.abs()).powi(2));
        cases.push(
            Case::new(spec, derivative)
                .primitive(move |x| 0.5 * (alpha * x / (1.0 + (alpha * x).abs()) + 1.0))
                .kinks([0.0]),
        );
    }
    for alpha in [1.0, 10.0] {
        let slope = 25.0 / alpha;
        let spec = json!({"name": "fast_sigmoid", "slope": slope});
        cases.push(Case::new(spec, move |x| 1.0 / (slope * x.abs() + 1.0).powi(2)).kinks([0.0]));
        let spec = json!({"name": "super_spike", "alpha": alpha});
        let derivative = move |x: f64| alpha / (1.0 + x.abs()).powi(2);
        cases.push(Case::new(spec, derivative));
    }
}

fn sparse_fast_sigmoid(cases: &mut Vec<Case>) {
    for (slope, b) in [(25.0, 1.0), (2.0, -0.5)] {
        let spec = json!({"name": "sparse_fast_sigmoid", "slope": slope, "b": b});
        let derivative = move |x: f64| match x > b {
            true => 1.0 / (slope * x.abs() + 1.0).powi(2),
            false => 0.0,
        };
        cases.push(Case::new(spec, derivative).kinks([b, 0.0]).at_nan(0.0));
    }
}

/// Surrogates with a factor.
fn scaled(cases: &mut Vec<Case>) {
    for factor in [0.25, -2.0] {
        let spec = json!({"name": "soft_sign", "alpha": 2.0, "factor": factor});
        let derivative = move |x: f64| factor / (4.0 * (0.5 + x.abs()).powi(2));
        cases.push(
            Case::new(spec, derivative)
                .primitive(move |x| factor * 0.5 * (2.0 * x / (1.0 + (2.0 * x).abs()) + 1.0))
                .kinks([0.0]),
        );
    }
}

fn straight_through(cases: &mut Vec<Case>) {
    for name in ["deterministic_pass", "poisson_pass"] {
        let case = Case::new(json!({"name": name}), |_| 1.0);
        cases.push(case.primitive(|x| x).at_nan(1.0));
    }
    for (count, low, high, end) in [
        (4, 0.0, Value::Null, 4.0),
        (3, 0.0, Value::Null, 3.0),
        (3, -0.5, json!(3.5), 3.5),
    ] {
        let spec = json!({
            "name": "multi_level_spike_count",
            "max_spike_count": count, "grad_min": low, "grad_max": high,
        });
        let inside = move |x: f64| low <= x && x <= end;
        cases.push(
            Case::new(spec, move |x| if inside(x) { 1.0 } else { 0.0 })
                .primitive(move |x| x.clamp(low, end))
                .kinks([low, end])
                .at_nan(0.0),
        );
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// erf x = 2/√π e^(−x²) Σ 2ⁿ x²ⁿ⁺¹ / (2n + 1)!!; all terms have one sign. It is ±1 beyond ±8.
fn erf(x: f64) -> f64 {
    let x = x.clamp(-8.0, 8.0);
    let (mut term, mut sum) = (x, 0.0);
    for n in 1..500 {
        sum += term;
        term *= 2.0 * x * x / (2.0 * f64::from(n) + 1.0);
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}
