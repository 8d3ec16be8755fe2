//! Adafactor: adaptive steps whose squares are stored by rows and columns.
//!
//! For a matrix: R ← βR + (1 − β)·mean over columns of g²; C ← βC + (1 − β)·mean over rows of g²; V = R·C / max(mean of R, ε₁)
//! Otherwise: V ← βV + (1 − β)g², with β = 1 − t^`beta2_decay` in step t.
//! u = g / √max(V, ε₁²); w ← w·(1 − lr·λ) − min(lr, 1/√t) · max(ε₂, rms(w)) · u / max(1, rms(u)/d)
//!
//! ε₁ is the precision of f32, 2⁻²³. Source: Shazeer & Stern, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost,
//! ICML 2018. The order of operations is that of PyTorch's `Adafactor`.

use super::{Optimizer, StateSpec, Update, Updated};
use spikelet_graph::Var;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Adafactor: steps relative to the size of the weights, in less memory than Adam: of a parameter with two or more axes, the squares of
/// gradients are stored by rows and columns of its last two axes. The defaults are those of PyTorch, but for `lr`, which is 0.01 there.
///
/// ```
/// use spikelet_train::optim::{Adafactor, Optimizer};
/// let states = Adafactor::default().states(&[10, 784]);
/// let shapes: Vec<_> = states.iter().map(|state| &state.shape[..]).collect();
/// assert_eq!(shapes, [[10, 1], [1, 784]]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct Adafactor {
    /// Learning rate before the schedule.
    #[schema(default = 2e-3, at_least = 0, kept)]
    pub lr: f64,
    /// The decay of the mean of squares grows with the steps t as 1 − t^`beta2_decay`.
    #[schema(default = -0.8, at_most = 0)]
    pub beta2_decay: f64,
    /// ε₂, the least size of the weights to which a step is relative.
    #[schema(default = 1e-3, at_least = 0)]
    pub epsilon: f64,
    /// The root mean square of a step, in units of its size, above which it is scaled down.
    #[schema(default = 1.0, at_least = 1)]
    pub d: f64,
    /// Decoupled weight decay λ.
    #[schema(at_least = 0)]
    pub weight_decay: f64,
}

/// ε₁.
const PRECISION: f64 = f32::EPSILON as f64;

/// The axes of the matrices of a parameter, if it has two or more.
fn matrix_axes(weight: &[usize]) -> Option<[usize; 2]> {
    let rows = weight.len().checked_sub(2)?;
    (!weight.contains(&0)).then_some([rows, rows + 1])
}

impl Adafactor {
    /// Adafactor with this learning rate.
    pub fn new(lr: f64) -> Self {
        Self {
            lr,
            ..Self::default()
        }
    }
}

impl Optimizer for Adafactor {
    fn lr(&self) -> f64 {
        self.lr
    }

    fn with_lr(&self, lr: f64) -> Arc<dyn Optimizer> {
        Arc::new(Self { lr, ..*self })
    }

    fn states(&self, weight: &[usize]) -> Vec<StateSpec> {
        let without = |axis: usize| {
            let mut shape = weight.to_vec();
            shape[axis] = 1;
            shape
        };
        match matrix_axes(weight) {
            Some([rows, columns]) => vec![
                StateSpec::new("square.rows", &without(columns)),
                StateSpec::new("square.columns", &without(rows)),
            ],
            None => vec![StateSpec::new("square", weight)],
        }
    }

    fn scalars(&self, step: u64, lr: f64) -> Vec<f64> {
        let t = step as f64;
        let new = t.powf(self.beta2_decay);
        vec![lr, lr.min(1.0 / t.sqrt()), new]
    }

    fn update(&self, u: &Update<'_>) -> Updated {
        let new = &u.scalars[2];
        let mean = |state: &Var, squares: &Var| {
            Var::map(&[state, squares, new], |x| &x[0] + &x[2] * (&x[1] - &x[0]))
        };
        let squares = u.grad.square();
        let (states, squares) = match matrix_axes(u.weight.shape()) {
            Some([rows, columns]) => {
                let by_rows = squares.mean(&[columns]).unsqueeze(columns);
                let by_columns = squares.mean(&[rows]).unsqueeze(rows);
                let by_rows = mean(&u.states[0], &by_rows);
                let by_columns = mean(&u.states[1], &by_columns);
                let all = by_rows.mean(&[rows]).unsqueeze(rows);
                let product = Var::map(&[&by_rows, &by_columns, &all], |x| {
                    &x[0] * &x[1] / x[2].max(PRECISION)
                });
                (vec![by_rows, by_columns], product)
            }
            None => {
                let squares = mean(&u.states[0], &squares);
                (vec![squares.clone()], squares)
            }
        };
        let direction = Var::map(&[u.grad, &squares], |x| {
            &x[0] / x[1].max(PRECISION * PRECISION).sqrt()
        });
        let sizes = [u.weight, &direction].map(|x| x.square().mean_all());
        let weight = Var::map(
            &[
                u.weight,
                &direction,
                &u.scalars[0],
                &u.scalars[1],
                &sizes[0],
                &sizes[1],
            ],
            |x| {
                let size = x[4].sqrt().max(self.epsilon);
                let excess = (x[5].sqrt() / self.d).max(1.0);
                &x[0] * (1.0 - &x[2] * self.weight_decay) - &x[3] * size / excess * &x[1]
            },
        );
        u.tensors([vec![weight], states].concat())
    }

    fn with_weight_decay(&self, weight_decay: f64) -> Option<Arc<dyn Optimizer>> {
        Some(Arc::new(Self {
            weight_decay,
            ..*self
        }))
    }
}
