//! Weights and leaky integrators with EventProp's backward pass.

use super::{EventPropTime, Product, TimeKeys};
use crate::layer::{Linear, setters};
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

/// Weights and leaky integrators with exponential synapses, which do not fire: spikes `[T, N, in] →` potentials
/// `[T, N, out]`, trained by EventProp on a grid. For every loss of the potentials: mean, sum, maximum or last over time
/// ([`Membrane`](crate::loss::Membrane)), a loss at each step, mean square error to a target.
///
/// Parameter `weight` `[out, in]`: uniform, bound 1/√in, or [`weight_init`](Self::weight_init). States: `v`, `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventPropReadout {
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// Time constants and the length of a step.
    pub time: EventPropTime,
    /// The initialization of `weight`, if it is not PyTorch's default.
    pub weight_init: Option<Init>,
}

impl EventPropReadout {
    /// A readout.
    pub fn new(inputs: usize, outputs: usize, time: EventPropTime) -> Self {
        Self {
            inputs,
            outputs,
            time,
            weight_init: None,
        }
    }

    setters!(weight_init);

    fn recurrence(&self) -> Recurrence {
        let f = self.time.factors();
        let [v, x, weights, spikes] = ["v", "x", "weights", "spikes"].map(Expr::symbol);
        let charged = f.charged(&v, &x);
        // The loss drives both adjoints during the step.
        let of_v = f.tau_m * (1.0 - f.al) / f.dt;
        let of_x = (f.tau_s * (1.0 - f.be) - f.tau_m * f.c) / f.dt;
        let potential = Expr::custom_gradient(&charged, of_v * &v + of_x * &x);
        let next_v = f.next_potential(charged, Expr::constant(f.al), [&v, &x, &spikes]);
        Recurrence::new("eventprop_readout", ["weights", "spikes"], ["v", "x"])
            .output("y", potential, false)
            .next(vec![next_v, f.next_current(&x, &weights, &spikes)])
    }
}

impl Module for EventPropReadout {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        Linear::check(cx, x, self.inputs, self.outputs)?;
        self.time.check(cx, "eventprop_readout")?;
        let init = self.weight_init.unwrap_or(Init::fan_in(self.inputs));
        let weight = cx.parameter("weight", [self.outputs, self.inputs], init);
        let input = Product::new(x, &weight);
        let shape = &input.weights.shape()[1..];
        let states = ["v", "x"].map(|name| cx.state(name, shape, 0.0));
        let step = Arc::new(self.recurrence());
        let made = Var::scan(
            &step,
            x.dim(0),
            &[&input.weights, &input.spikes],
            &[&states[0], &states[1]],
            &[],
        );
        let [outputs, lasts, _] = step.split_results(&made);
        for (state, last) in states.iter().zip(lasts) {
            cx.set_state(state, last);
        }
        Ok(outputs[0].clone())
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Fully connected layer and leaky integrators with exponential synapses, trained by EventProp.
///
/// `{ eventprop-readout = 10, tau_s = 5.0 }`
#[derive(Debug, Schema)]
#[schema(name = "eventprop-readout")]
pub(crate) struct EventPropReadoutKeys {
    /// The number of outputs.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    features: usize,
    #[schema(flatten)]
    time: TimeKeys,
    /// Initial weights: `fan-in` (the default), `kaiming-normal`, or a table with `normal = 0.02` or `uniform = [0.0, 0.3]`.
    init: Option<WeightInit>,
}

impl LayerKeys for EventPropReadoutKeys {
    const EXAMPLE: (&[usize], &str) = (&[8], "{ eventprop-readout = 3 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let (outputs, inputs) = (self.features, b.features(layer)?);
        let mut module = EventPropReadout::new(inputs, outputs, (&self.time).into());
        module.weight_init = self.init.and_then(|init| init.of(outputs));
        b.fully_connected(layer, module, inputs.checked_mul(outputs))
    }
}
