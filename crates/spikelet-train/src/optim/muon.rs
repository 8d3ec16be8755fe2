//! Muon (MomentUm Orthogonalized by Newton–Schulz).
//!
//! m ← μm + (1 − μ)g; u = (1 − μ)g + μm; w ← w·(1 − lr·λ) − lr·√max(1, rows/columns)·orthogonal(u)
//!
//! orthogonal(X): X ← X/(‖X‖ + 10⁻⁷); 5 times: A = XXᵀ; X ← aX + (bA + cA²)X
//! with a = 3.4445, b = −4.7750, c = 2.0315. The singular values of the result are between about 0.7 and 1.2.
//!
//! Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024,
//! <https://kellerjordan.github.io/posts/muon>; the order of operations is that of the author's program.

use super::{ElementUpdate, Optimizer, StateSpec, Update, Updated};
use spikelet_expr::Expr;
use spikelet_graph::op::{MatMul, MatmulPrecision};
use spikelet_graph::{DType, Precision, Var};
use spikelet_schema::Schema;
use std::sync::Arc;

/// Muon: momentum whose steps are orthogonalized matrices.
///
/// A parameter with two or more axes is a matrix `[out, …]`: the axes after the first are folded, as those of the
/// kernel of a convolution. Parameters with fewer axes, such as biases, are updated by AdamW with the learning rate
/// lr · `adam_factor`. The author uses AdamW for the last layer and for embeddings as well: put them into a group of
/// their own.
///
/// The matrix products have the precision of the network: f32, tf32, or factors in bf16 (also for f16).
///
/// ```
/// use spikelet_train::optim::{Muon, Optimizer};
/// let optimizer = Muon::default();
/// assert_eq!(optimizer.states(&[10, 784]).len(), 1); // momentum
/// assert_eq!(optimizer.states(&[10]).len(), 2); // Adam's mean and variance
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Muon {
    /// Learning rate before the schedule.
    #[schema(default = 2e-3, at_least = 0, kept)]
    pub lr: f64,
    /// The decay μ of the momentum.
    #[schema(default = 0.95, from = 0, below = 1)]
    pub momentum: f64,
    /// Whether Nesterov momentum is used.
    #[schema(default = true)]
    pub nesterov: bool,
    /// The number of Newton–Schulz iterations.
    #[schema(default = 5, from = 1, to = 20)]
    pub iterations: u32,
    /// Decoupled weight decay λ.
    #[schema(at_least = 0)]
    pub weight_decay: f64,
    /// The learning rate of AdamW relative to that of the matrices.
    #[schema(default = 0.015, above = 0)]
    pub adam_factor: f64,
    /// β₁ of AdamW.
    #[schema(default = 0.9, from = 0, below = 1)]
    pub adam_beta1: f64,
    /// β₂ of AdamW.
    #[schema(default = 0.95, from = 0, below = 1)]
    pub adam_beta2: f64,
    /// ε of AdamW.
    #[schema(default = 1e-10, above = 0)]
    pub adam_epsilon: f64,
}

impl Optimizer for Muon {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        match is_matrix(weight) {
            true => vec![StateSpec::new("momentum", weight)],
            false => StateSpec::all(&["mean", "variance"], weight),
        }
    }

    fn scalars(&self, step: u64, lr: f64) -> Vec<f64> {
        let t = step as f64;
        let mean = 1.0 - self.adam_beta1.powf(t);
        let variance = 1.0 - self.adam_beta2.powf(t);
        vec![lr, mean, variance]
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        match is_matrix(u.weight.shape()) {
            true => self.matrix(u),
            false => u.elementwise(|u| self.adam(u)),
        }
    }

    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        Some(Arc::new(Self {
            weight_decay,
            ..*self
        }))
    }
}

fn is_matrix(shape: &[usize]) -> bool {
    shape.len() >= 2 && !shape.contains(&0)
}

impl Muon {
    /// Muon with this learning rate.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            ..Self::default()
        }
    }

    fn matrix(&self, u: &Update<'_>) -> Updated {
        let (shape, mu) = (u.weight.shape(), self.momentum);
        let made = Var::map_many(&[u.grad, &u.states[0]], |x| {
            let (g, m) = (&x[0], &x[1]);
            let m = m + (1.0 - mu) * (g - m);
            let direction = if self.nesterov {
                g + mu * (&m - g)
            } else {
                m.clone()
            };
            vec![direction, m]
        });
        let (direction, momentum) = (&made[0], &made[1]);
        let (rows, columns) = (shape[0], shape[1..].iter().product());
        let direction = direction.reshape([rows, columns]);
        let direction = orthogonalize(&direction, self.iterations).reshape(shape);
        // The factor of a kernel is 1, as in the author's program for quadratic kernels.
        let factor = match shape {
            [rows, columns] => (*rows as f64 / *columns as f64).max(1.0).sqrt(),
            _ => 1.0,
        };
        let weight = Var::map(&[u.weight, &direction, &u.scalars[0]], |x| {
            let lr = &x[2];
            &x[0] * (1.0 - lr * self.weight_decay) - lr * (factor * &x[1])
        });
        u.tensors(vec![weight, momentum.clone()])
    }

    fn adam(&self, u: &ElementUpdate<'_>) -> Vec<Expr> {
        let (beta1, beta2) = (self.adam_beta1, self.adam_beta2);
        let lr = self.adam_factor * &u.scalars[0];
        let mean = beta1 * &u.states[0] + (1.0 - beta1) * u.grad;
        let variance = beta2 * &u.states[1] + (1.0 - beta2) * (u.grad * u.grad);
        let root = (&variance / &u.scalars[2]).sqrt() + self.adam_epsilon;
        let direction = &mean / &u.scalars[1] / root;
        let w = u.weight * (1.0 - &lr * self.weight_decay) - &lr * direction;
        vec![w, mean, variance]
    }
}

/// The coefficients of the iteration, which increase small singular values most quickly.
const A: f64 = 3.4445;
const B: f64 = -4.7750;
const C: f64 = 2.0315;

/// A matrix with about the singular vectors of `x`, `[rows, columns]`, and singular values near 1.
fn orthogonalize(x: &Var, iterations: u32) -> Var {
    let (rows, columns) = (x.dim(0), x.dim(1));
    let squares = x.square().sum_all();
    let mut x = Var::map(&[x, &squares], |x| &x[0] / (x[1].sqrt() + 1e-7));
    for _ in 0..iterations {
        // The smaller of the two Gram matrices: (bA + cA²)X = X(bG + cG²) for A = XXᵀ and G = XᵀX.
        let wide = rows <= columns;
        let gram = product(&x, &x, !wide, wide);
        let square = product(&gram, &gram, false, false);
        let polynomial = Var::map(&[&gram, &square], |g| B * &g[0] + C * &g[1]);
        let next = match wide {
            true => product(&polynomial, &x, false, false),
            false => product(&x, &polynomial, false, false),
        };
        x = Var::map(&[&x, &next], |x| A * &x[0] + &x[1]);
    }
    x
}

/// A matrix product in the precision of the network, with an f32 result.
fn product(a: &Var, b: &Var, transpose_a: bool, transpose_b: bool) -> Var {
    let tracer = a.tracer();
    let mut op = MatMul::new(transpose_a, transpose_b);
    let (a, b) = match tracer.precision() {
        Precision::F32 => (a.clone(), b.clone()),
        Precision::Tf32 => {
            op.precision = MatmulPrecision::Tf32;
            (a.clone(), b.clone())
        }
        // In f16 small elements would underflow.
        Precision::Bf16 | Precision::F16 => {
            op.out = Some(DType::F32);
            (a.cast(DType::BF16), b.cast(DType::BF16))
        }
    };
    tracer.apply1(op, &[&a, &b])
}
