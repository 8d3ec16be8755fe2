//! Population encoder: Gaussian tuning curves.
//!
//! Each value is encoded by the responses of m neurons, exp(−(x − μᵢ)²/2σ²), which are passed to another encoder:
//! μᵢ = low + (2i − 3)/2 · (high − low)/(m − 2) for i = 1 … m, σ = (high − low)/(β·(m − 2)).
//!
//! Source: Bohte, Kok & La Poutré, Error-backpropagation in temporally encoded networks of spiking
//! neurons, Neurocomputing 48:17, 2002.

use super::{Encoder, Latency, from_spec};
use crate::domain::{Constant, Domain, constant};
use crate::module::Context;
use crate::registry::spec;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use spikelet_graph::{Error, Var};
use std::fmt;
use std::sync::Arc;

/// The maximal number of curves. Each is an expression; more would not compile in reasonable time.
const MOST_CURVES: u32 = 256;

/// Encodes each value by several tuning curves: the last axis of `[N, …, F]` becomes F·m.
///
/// | field | default | |
/// |---|---|---|
/// | `curves` | 8 | m, at least 3 |
/// | `low`, `high` | 0, 1 | the range of the values |
/// | `beta` | 1.5 | inverse width of the curves |
/// | `then` | latency | encoder of the responses, which are between 0 and 1 |
///
/// ```
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x", DType::F32, [2, 4]);
/// assert_eq!(Population::default().encode(&cx, &x, 10).shape(), [10, 2, 32]);
/// ```
#[derive(Clone, Serialize, Deserialize)]
pub struct Population {
    /// The number of curves for each value.
    pub curves: usize,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
    /// The inverse width of the curves.
    pub beta: f64,
    /// The encoder of the responses.
    #[serde(serialize_with = "encoder_out", deserialize_with = "encoder_in")]
    pub then: Arc<dyn Encoder>,
}

fn encoder_out<S: Serializer>(from: &Arc<dyn Encoder>, to: S) -> Result<S::Ok, S::Error> {
    from.spec().serialize(to)
}

fn encoder_in<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<dyn Encoder>, D::Error> {
    from_spec(&Value::deserialize(from)?).map_err(serde::de::Error::custom)
}

impl fmt::Debug for Population {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.spec())
    }
}

impl Default for Population {
    fn default() -> Self {
        Self {
            curves: 8,
            low: 0.0,
            high: 1.0,
            beta: 1.5,
            then: Arc::new(Latency::default()),
        }
    }
}

impl Encoder for Population {
    spec!("population");

    fn domains(&self) -> Vec<Constant> {
        let own = vec![
            constant("curves", self.curves, Domain::whole(3, MOST_CURVES)),
            constant("low", self.low, Domain::FINITE),
            constant("high", self.high, Domain::above(self.low)),
            constant("beta", self.beta, Domain::above(0.0)),
        ];
        [own, self.then.domains()].concat()
    }

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
