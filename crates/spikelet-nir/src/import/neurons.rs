//! Neurons: the constants of each are tensors with an element for each neuron, with time constants in steps.

use super::super::choices::{Fires, Reset, VStart};
use super::super::options::ImportOptions;
use super::part::{Built, Part};
use super::semantics::NodeSemantics;
use crate::graph::NodeKind;
use spikelet_graph::Tensor;
use spikelet_nn::neuron::{
    Common, Granularity, Heaviside, Neuron, NirCubaLif, NirIf, NirLif, Trainable,
};
use spikelet_weights::Tensor as NirTensor;
use std::sync::Arc;

/// The longest time constant that training may lead to, in steps.
const LONGEST: f64 = 1e9;

/// The neuron of a node, whose neurons have this shape; `None` if the node is none.
pub(super) fn build(
    kind: &NodeKind,
    shape: &[usize],
    semantics: &NodeSemantics,
    options: &ImportOptions,
) -> Option<Built> {
    let dt = semantics.dt;
    let mut values = Values {
        shape,
        train: options.train_neurons,
        tensors: vec![],
        common: Common {
            surrogate: options.surrogate.clone(),
            reset_grad: options.reset_grad,
            strict: semantics.fires == Fires::Above,
            v_reset: (semantics.reset == Reset::Value).then_some(0.0),
            fires: !matches!(kind, NodeKind::I(_) | NodeKind::Li(_) | NodeKind::CubaLi(_)),
            ..Common::default()
        },
    };
    let discretization = semantics.discretization;
    let reset_delay = semantics.reset_delay;
    let lif = |common| NirLif {
        discretization,
        common,
        ..NirLif::default()
    };
    let cuba = |common| NirCubaLif {
        discretization,
        common,
        ..NirCubaLif::default()
    };
    let neuron: Arc<dyn Neuron> = match kind {
        NodeKind::I(n) => {
            values.set("r", &n.r, |r| dt * r);
            Arc::new(NirIf {
                common: values.common.clone(),
                ..NirIf::default()
            })
        }
        NodeKind::If(n) => {
            values.set("r", &n.r, |r| dt * r);
            values.threshold(&n.v_threshold, n.v_reset.as_ref(), None, semantics);
            Arc::new(NirIf {
                reset_delay,
                common: values.common.clone(),
                ..NirIf::default()
            })
        }
        NodeKind::Li(n) => {
            values.tau("tau", &n.tau, dt);
            values.set("r", &n.r, |r| r);
            values.leak(&n.v_leak, semantics);
            Arc::new(lif(values.common.clone()))
        }
        NodeKind::Lif(n) => {
            values.tau("tau", &n.tau, dt);
            values.set("r", &n.r, |r| r);
            values.set("v_leak", &n.v_leak, |v| v);
            let v_leak = Some(&n.v_leak);
            values.threshold(&n.v_threshold, n.v_reset.as_ref(), v_leak, semantics);
            Arc::new(NirLif {
                reset_delay,
                ..lif(values.common.clone())
            })
        }
        NodeKind::CubaLi(n) => {
            values.tau("tau_syn", &n.tau_syn, dt);
            values.tau("tau_mem", &n.tau_mem, dt);
            values.set("r", &n.r, |r| r);
            values.leak(&n.v_leak, semantics);
            values.optional("w_in", n.w_in.as_ref(), 1.0);
            Arc::new(cuba(values.common.clone()))
        }
        NodeKind::CubaLif(n) => {
            values.tau("tau_syn", &n.tau_syn, dt);
            values.tau("tau_mem", &n.tau_mem, dt);
            values.set("r", &n.r, |r| r);
            values.set("v_leak", &n.v_leak, |v| v);
            values.optional("w_in", n.w_in.as_ref(), 1.0);
            let v_leak = Some(&n.v_leak);
            values.threshold(&n.v_threshold, n.v_reset.as_ref(), v_leak, semantics);
            Arc::new(NirCubaLif {
                reset_delay,
                ..cuba(values.common.clone())
            })
        }
        NodeKind::Threshold(n) => {
            values.set("v_threshold", &n.threshold, |v| v);
            Arc::new(Heaviside {
                common: values.common.clone(),
            })
        }
        _ => return None,
    };
    Some(Built {
        part: Part::Neuron(neuron),
        tensors: values.tensors,
    })
}

/// The tensors of a neuron, and its constants that are tensors.
struct Values<'a> {
    /// The shape of the neurons.
    shape: &'a [usize],
    /// Whether parameters are trained.
    train: bool,
    tensors: Vec<(&'static str, Tensor)>,
    common: Common,
}

impl Values<'_> {
    /// Adds a constant; `convert` changes its unit.
    fn set(&mut self, name: &'static str, given: &NirTensor, convert: impl Fn(f64) -> f64) {
        let values = given.to_f64().into_iter().map(convert).collect();
        self.add(
            name,
            values,
            Trainable::new(Granularity::Neuron).frozen(!self.train),
        );
    }

    /// Adds a constant that the node may leave out.
    fn optional(&mut self, name: &'static str, given: Option<&NirTensor>, default: f64) {
        let values = given.map_or_else(|| vec![default], NirTensor::to_f64);
        self.add(
            name,
            values,
            Trainable::new(Granularity::Neuron).frozen(!self.train),
        );
    }

    /// Adds a time constant, which stays positive in training.
    fn tau(&mut self, name: &'static str, given: &NirTensor, dt: f64) {
        let steps: Vec<f64> = given.to_f64().into_iter().map(|tau| tau / dt).collect();
        let smallest = steps.iter().copied().fold(1.0, f64::min);
        let each = Trainable::new(Granularity::Neuron).project(smallest, LONGEST);
        self.add(name, steps, each.frozen(!self.train));
    }

    /// Adds the constants of fire and reset.
    fn threshold(
        &mut self,
        v_threshold: &NirTensor,
        v_reset: Option<&NirTensor>,
        v_leak: Option<&NirTensor>,
        semantics: &NodeSemantics,
    ) {
        self.set("v_threshold", v_threshold, |v| v);
        if semantics.reset == Reset::Value {
            self.optional("v_reset", v_reset, 0.0);
        }
        match semantics.v_start {
            VStart::Zero => {}
            VStart::Leak => self.start(v_leak),
            VStart::Reset => self.start(v_reset),
            VStart::HalfThreshold => {
                let thresholds = v_threshold.to_f64().into_iter();
                self.start_from(thresholds.map(|v| 0.5 * v).collect());
            }
        }
    }

    /// Adds the resting potential of a neuron that does not fire.
    fn leak(&mut self, v_leak: &NirTensor, semantics: &NodeSemantics) {
        self.set("v_leak", v_leak, |v| v);
        if semantics.v_start == VStart::Leak {
            self.start(Some(v_leak));
        }
    }

    /// Adds the potential before the first step, if it is not 0 for all neurons. It is not trained: NIR has no such
    /// parameter.
    fn start(&mut self, given: Option<&NirTensor>) {
        self.start_from(given.map(NirTensor::to_f64).unwrap_or_default());
    }

    fn start_from(&mut self, values: Vec<f64>) {
        if values.iter().any(|v| *v != 0.0) {
            self.add(
                "v_start",
                values,
                Trainable::new(Granularity::Neuron).frozen(true),
            );
        }
    }

    /// Adds a constant with one value, which is that of all neurons, or with one for each.
    fn add(&mut self, name: &'static str, values: Vec<f64>, how: Trainable) {
        let count = self.shape.iter().product();
        let values: Vec<f64> = (0..count).map(|k| values[k % values.len()]).collect();
        self.tensors.push((name, Tensor::f64(self.shape, values)));
        self.common.trainable.insert(name.to_string(), how);
    }
}
