//! Online training: a layer whose weights are trained with traces of spikes instead of the spikes.
//!
//! Forward, y = M(S); backward, y = M(A), with A the trace of the neuron's spikes: the gradient of the weights of M
//! is computed from A, and the gradient with respect to A is passed to S. With a neuron whose potential has
//! no gradient through time this is online training: no step needs the values of earlier steps.
//!
//! Source: Xiao et al., Online training through time for spiking neural networks, NeurIPS 2022.

use crate::LayerProblem;
use crate::module::{Context, Module, Tree, print_as_tree};
use crate::module::{GENERATOR, Mode};
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys};
use crate::network::values::{InnerLayer, LayerNeuron};
use crate::neuron::Neuron;
use crate::neuron::spiking::spiking;
use spikelet_core::Result;
use spikelet_expr::Expr;
use spikelet_graph::DType;
use spikelet_graph::Var;
use spikelet_schema::Schema;
use std::sync::Arc;

/// A neuron with a state `trace`, and the module after it; parameters are named `neuron.…` and `then.…`.
///
/// The module after it runs on the spikes and on the trace. It must not have states or random numbers.
///
/// ```
/// use spikelet_nn::layer::TraceLearning;
/// use spikelet_nn::neuron::OtttLif;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Linear::new(20, 16))
///     .add(TraceLearning::new(OtttLif::default(), Linear::new(16, 10)));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 20]);
/// assert_eq!(cx.trace(&net, x)?.shape(), [8, 2, 10]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
pub struct TraceLearning {
    neuron: Arc<dyn Neuron>,
    then: Box<dyn Module>,
}

impl TraceLearning {
    /// A neuron, and the layer that is trained with its trace.
    pub fn new(neuron: impl Neuron + 'static, then: impl Module + 'static) -> Self {
        Self::of(Arc::new(neuron), then)
    }

    /// The same with a shared neuron, such as one that was built from a specification.
    pub fn of(neuron: Arc<dyn Neuron>, then: impl Module + 'static) -> Self {
        Self {
            neuron,
            then: Box::new(then),
        }
    }
}

/// The value of one, the derivative of the other.
fn custom_gradient(value: &Var, tangent: &Var) -> Var {
    Var::map(&[value, tangent], |x| Expr::custom_gradient(&x[0], &x[1]))
}

impl Module for TraceLearning {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let made = cx.child("neuron", |cx| spiking(&*self.neuron, cx, x))?;
        let Some(trace) = made.state_seq("trace") else {
            let neuron = self.neuron.name().to_string();
            return Err(cx.error("layer", LayerProblem::NoTrace { neuron }));
        };
        let then = |x: &Var| cx.child("then", |cx| self.then.forward(cx, x));
        if !cx.mode().training {
            return then(&made.out);
        }
        let learns_from = then(&custom_gradient(trace, &made.out))?;
        Ok(custom_gradient(&then(&made.out)?, &learns_from))
    }

    fn tree(&self) -> Tree {
        let tree = Tree::for_type::<Self>().child("neuron", &self.neuron);
        tree.child("then", &*self.then)
    }
}

print_as_tree!(TraceLearning);

/// A neuron, and layers that learn from the trace of its spikes.
///
/// `{ trace-learning = [{ linear = 10 }], cell = "ottt_lif" }`
#[derive(Debug, Schema)]
#[schema(name = "trace-learning")]
pub(crate) struct TraceLearningKeys {
    /// A list of layers, or a layer.
    #[schema(main, required)]
    layers: InnerLayer,
    /// The neuron; by default the network's.
    cell: LayerNeuron,
}

impl LayerKeys for TraceLearningKeys {
    const OTHER_NAMES: &[&str] = &["ottt"];
    const EXAMPLE: (&[usize], &str) = (
        &[8],
        r#"{ trace-learning = { linear = 3 }, cell = "ottt_lif" }"#,
    );

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        let neuron = self.cell.neuron(b);
        if !neuron.states().iter().any(|state| state.name == "trace") {
            let expected = "a neuron with a trace of its spikes, such as \"ottt_lif\"";
            return Err(layer.wrong("cell", expected));
        }
        b.inside("neuron", |b| {
            b.leaf("neuron", neuron.clone(), Some(0), |_| Some(0))
        })?;
        let input = b.shape.clone();
        let then = b.body(&self.layers, "then")?;
        if !runs_twice(&*then, &input, b) {
            let expected =
                "layers without states, statistics and random numbers, such as `linear` and `conv`";
            return Err(layer.wrong(layer.name(), expected));
        }
        Ok(Arc::new(TraceLearning::of(neuron, then)))
    }
}

/// Whether a module may run on the spikes and on their trace: it has parameters only.
fn runs_twice(module: &dyn Module, input: &[usize], b: &Builder) -> bool {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = b.input_of(&cx, input);
    // What it refuses was refused when it was built.
    let traced = cx.trace(module, x).map(|_| cx.traced());
    traced.is_ok_and(|all| {
        let random = cx.tracer().find_input(GENERATOR).is_some();
        all.states.is_empty() && all.buffers.is_empty() && !random
    })
}
