//! Population encoder: Gaussian tuning curves.

use super::{Encoder, Latency, check};
use crate::DefinitionError;
use crate::domain::{Constant, Domain};
use crate::module::Context;
use spikelet_graph::{Error, Var};
use spikelet_schema::Schema;
use std::sync::Arc;

/// The maximal number of curves. Each is an expression; more would not compile in reasonable time.
const MOST_CURVES: u32 = 256;

/// Each value by several tuning curves, whose responses are encoded: the last axis of `[N, …, F]` becomes F·m.
///
/// Each value is encoded by the responses of m neurons, exp(−(x − μᵢ)²/2σ²), which are passed to another encoder:
/// μᵢ = low + (2i − 3)/2 · (high − low)/(m − 2) for i = 1 … m, σ = (high − low)/(β·(m − 2)).
///
/// Source: Bohte, Kok & La Poutré, Error-backpropagation in temporally encoded networks of spiking
/// neurons, Neurocomputing 48:17, 2002.
///
/// ```
/// use spikelet_nn::encoder::{Encoder, Population};
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x", DType::F32, [2, 4]);
/// assert_eq!(Population::default().encode(&cx, &x, 10).shape(), [10, 2, 32]);
/// ```
#[derive(Clone, Debug, Schema)]
#[schema(check = Self::check)]
pub struct Population {
    /// The number m of curves for each value.
    #[schema(default = 8, from = 3, to = MOST_CURVES)]
    pub curves: usize,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    #[schema(default = 1.0)]
    pub high: f64,
    /// The inverse width of the curves.
    #[schema(default = 1.5, above = 0.0)]
    pub beta: f64,
    /// The encoder of the responses, which are from 0 to 1.
    #[schema(default = Arc::new(Latency::default()))]
    pub then: Arc<dyn Encoder>,
}

impl Population {
    /// The range of the values is not empty.
    fn check(&self) -> Result<(), DefinitionError> {
        Constant::new("high", self.high, Domain::above(self.low)).check("encoder `population`")?;
        check(&*self.then)
    }
}

impl Encoder for Population {
    fn encode(&self, cx: &Context, x: &Var, time_steps: usize) -> Var {
        if x.rank() == 0 {
            cx.tracer().fail(Error::Shape {
                layer: "input encoder".to_string(),
                operation: "population".to_string(),
                problem: "the tuning curves cannot be laid out".to_string(),
                given: format!("{self:?} of {}", x.ty()),
                help: "give values [N, …]".to_string(),
            });
            return x.clone();
        }
        let between = (self.high - self.low) / (self.curves as f64 - 2.0);
        let narrow = -0.5 * (self.beta / between).powi(2);
        let mut shape = x.shape().to_vec();
        let features = shape.pop().unwrap_or(1);
        let column = x.reshape([&shape[..], &[features, 1]].concat());
        let responses = Var::map_many(&[&column], |x| {
            let curve = |i: usize| {
                let distance = &x[0] - (self.low + (i as f64 - 1.5) * between);
                (&distance * &distance * narrow).exp()
            };
            (1..=self.curves).map(curve).collect()
        });
        let axis = shape.len() + 1;
        let joined = Var::concat(&responses.iter().collect::<Vec<_>>(), axis);
        shape.push(features * self.curves);
        self.then.encode(cx, &joined.reshape(shape), time_steps)
    }
}
