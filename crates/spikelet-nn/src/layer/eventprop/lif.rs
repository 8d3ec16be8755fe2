//! Weights and LIF neurons with EventProp's backward pass.

use super::{EventPropTime, Factors, Product, TimeKeys};
use crate::domain::{Constant, Domain};
use crate::layer::{Linear, feedback::off_diagonal, setters};
use crate::module::{Context, Init, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::WeightInit;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::Var;
use spikelet_graph::op::Recurrence;
use spikelet_schema::Schema;
use std::sync::Arc;

/// Weights and LIF neurons with exponential synapses: spikes `[T, N, in] → [T, N, out]`, trained by EventProp on a
/// grid.
///
/// | parameter | shape | start |
/// |---|---|---|
/// | `weight` | `[out, in]` | uniform, bound 1/√in, or [`weight_init`](Self::weight_init) |
/// | `feedback.weight` | `[out, out]` | the same with out; only with [`recurrent`](Self::recurrent) |
///
/// Connections of a neuron to itself do not exist: the diagonal of `feedback.weight` is not read, unless
/// [`self_connections`](Self::self_connections) is set. States: `v`, `x`, the potential and the current, 0 before the
/// first step. The layer needs inputs that are spikes, 0 or 1.
///
/// ```
/// use spikelet_nn::layer::{EventPropLif, EventPropReadout, EventPropTime};
/// use spikelet_nn::prelude::*;
/// let time = EventPropTime { tau_m: 20.0, tau_s: 5.0, dt: 0.5 };
/// let net = Sequential::new()
///     .add(EventPropLif::new(20, 16, time).recurrent(true))
///     .add(EventPropReadout::new(16, 10, time));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventPropLif {
    /// Input features.
    pub inputs: usize,
    /// Neurons.
    pub neurons: usize,
    /// Time constants and the length of a step.
    pub time: EventPropTime,
    /// Threshold, > 0; the reset potential is 0.
    pub v_threshold: f64,
    /// Whether there are connections between the neurons.
    pub recurrent: bool,
    /// Whether these include connections of neurons to themselves.
    pub self_connections: bool,
    /// The initialization of `weight`, if it is not PyTorch's default.
    pub weight_init: Option<Init>,
}

impl EventPropLif {
    /// A layer without recurrent connections, threshold 1.
    pub fn new(inputs: usize, neurons: usize, time: EventPropTime) -> Self {
        Self {
            inputs,
            neurons,
            time,
            v_threshold: 1.0,
            recurrent: false,
            self_connections: false,
            weight_init: None,
        }
    }

    /// Sets the threshold.
    #[must_use]
    pub fn v_threshold(mut self, v_threshold: f64) -> Self {
        self.v_threshold = v_threshold;
        self
    }

    /// Sets whether there are connections between the neurons.
    #[must_use]
    pub fn recurrent(mut self, yes: bool) -> Self {
        self.recurrent = yes;
        self
    }

    /// Sets whether a neuron may be connected to itself.
    #[must_use]
    pub fn self_connections(mut self, yes: bool) -> Self {
        self.self_connections = yes;
        self
    }

    setters!(weight_init);

    /// All time steps in one scan.
    fn scan(&self, cx: &Context, input: &Product, [v, x]: [&Var; 2]) -> Var {
        let step = Step {
            factors: self.time.factors(),
            v_threshold: self.v_threshold,
        };
        let [sv, sx, weights, spikes] = ["v", "x", "weights", "spikes"].map(Expr::symbol);
        let recurrence = Recurrence::new("eventprop_lif", ["weights", "spikes"], ["v", "x"])
            .output("s", step.spike(&sv, &sx), true)
            .next(step.next([&sv, &sx], &weights, &spikes).into());
        let sequences = [&input.weights, &input.spikes];
        let steps = input.weights.dim(0);
        let recurrence = Arc::new(recurrence);
        let made = Var::scan(&recurrence, steps, &sequences, &[v, x], &[]);
        let [outputs, lasts, _] = recurrence.split_results(&made);
        for (state, last) in [v, x].into_iter().zip(lasts) {
            cx.set_state(state, last);
        }
        outputs[0].clone()
    }

    /// One time step after the other.
    fn steps(&self, cx: &Context, input: &Product) -> Result<Var> {
        let neurons = self.neurons;
        let feedback = cx.child("feedback", |cx| {
            let weight = || cx.parameter("weight", [neurons, neurons], Init::fan_in(neurons));
            Ok(cx.once(|| match self.self_connections {
                true => weight(),
                false => weight() * off_diagonal(cx, neurons),
            }))
        })?;
        let step = Step {
            factors: self.time.factors(),
            v_threshold: self.v_threshold,
        };
        let shape = input.weights.shape()[1..].to_vec();
        let sequences = [input.weights.clone(), input.spikes.clone()];
        let outputs = cx.step_loop_many(&sequences, |pieces| {
            let [v, x] = ["v", "x"].map(|name| cx.state(name, shape.clone(), 0.0));
            let wide = [&v, &x].map(|state| state.expand(&shape[..]));
            let spikes = Var::map(&[&wide[0], &wide[1]], |e| step.spike(&e[0], &e[1]));
            // A step `[1, N, neurons]`: the gradient of the weight is one product over all steps.
            let spikes = spikes.unsqueeze(0);
            let fed = Product::new(&spikes, &feedback);
            let one = |piece: &Var| piece.reshape(&shape[..]);
            let given = [&pieces[0], &pieces[1], &fed.weights, &fed.spikes].map(one);
            let [weights, times, fed_weights, fed_times] = &given;
            let operands = [&wide[0], &wide[1], weights, times, fed_weights, fed_times];
            let next = Var::map_many(&operands, |e| {
                step.next([&e[0], &e[1]], &(&e[2] + &e[4]), &(&e[3] + &e[5]))
                    .into()
            });
            for (state, next) in [&v, &x].into_iter().zip(&next) {
                cx.set_state(state, next);
            }
            Ok(vec![spikes])
        })?;
        Ok(outputs[0].clone())
    }
}

/// The expressions of a step.
#[derive(Clone, Copy)]
struct Step {
    factors: Factors,
    v_threshold: f64,
}

impl Step {
    /// s/(X − V): what the adjoint's jump divides by.
    fn jump(&self, v: &Expr, x: &Expr) -> Expr {
        let charged = self.factors.charged(v, x);
        let fires = charged.ge(self.v_threshold);
        Expr::select(fires, 1.0 / (x - charged), 0.0).detach()
    }

    fn spike(&self, v: &Expr, x: &Expr) -> Expr {
        let fires = self.factors.charged(v, x).ge(self.v_threshold);
        Expr::custom_gradient(fires, -self.factors.tau_m * self.jump(v, x) * v)
    }

    /// The next potential and current; `weights` and `spikes`: the input, for the two adjoints.
    fn next(&self, [v, x]: [&Expr; 2], weights: &Expr, spikes: &Expr) -> [Expr; 2] {
        let charged = self.factors.charged(v, x);
        let value = Expr::select(charged.ge(self.v_threshold), 0.0, &charged);
        let decay = self.factors.al * (1.0 + self.v_threshold * self.jump(v, x));
        [
            self.factors.next_potential(value, decay, [v, x, spikes]),
            self.factors.next_current(x, weights, spikes),
        ]
    }
}

impl Module for EventPropLif {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let what = "eventprop_lif";
        Linear::check(cx, x, self.inputs, self.neurons)?;
        self.time.check(cx, what)?;
        let threshold = Constant::new("v_threshold", self.v_threshold, Domain::above(0.0));
        let neurons = Constant::new("neurons", self.neurons as f64, Domain::at_least(1.0));
        cx.expect_domains(what, &[threshold, neurons])?;
        let init = self.weight_init.unwrap_or(Init::fan_in(self.inputs));
        let weight = cx.parameter("weight", [self.neurons, self.inputs], init);
        let input = Product::new(x, &weight);
        let spikes = match self.recurrent {
            true => self.steps(cx, &input)?,
            false => {
                let shape = &input.weights.shape()[1..];
                let [v, x] = ["v", "x"].map(|name| cx.state(name, shape, 0.0));
                self.scan(cx, &input, [&v, &x])
            }
        };
        cx.record_binary("spike_seq", &spikes);
        Ok(spikes)
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Fully connected layer and LIF neurons with exponential synapses, trained by EventProp.
///
/// `{ eventprop-lif = 100, tau_s = 5.0, feedback = true }`
#[derive(Debug, Schema)]
#[schema(name = "eventprop-lif")]
pub(crate) struct EventPropLifKeys {
    /// The number of neurons.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    features: usize,
    #[schema(flatten)]
    time: TimeKeys,
    /// The threshold, above 0.
    #[schema(default = 1.0, above = 0)]
    v_threshold: f64,
    /// Whether there are connections between the neurons.
    feedback: bool,
    /// Whether these include connections of neurons to themselves.
    self_connections: bool,
    /// Initial weights: `fan-in` (the default), `kaiming-normal`, or a table with `normal = 0.02` or `uniform = [0.0, 0.3]`.
    init: Option<WeightInit>,
}

impl LayerKeys for EventPropLifKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], "{ eventprop-lif = 6, feedback = true }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (neurons, inputs) = (self.features, b.features(layer)?);
        let mut module = EventPropLif::new(inputs, neurons, (&self.time).into())
            .recurrent(self.feedback)
            .self_connections(self.self_connections);
        module.v_threshold = self.v_threshold;
        module.weight_init = self.init.and_then(|init| init.of(neurons));
        let fed_back = if module.recurrent { neurons } else { 0 };
        let rows = inputs.checked_add(fed_back);
        let weights = rows.and_then(|rows| rows.checked_mul(neurons));
        b.fully_connected(layer, module, weights)
    }
}
