//! The network in its three forms, and its training step.

use crate::options::Options;
use spikelet::graph::Tensor;
use spikelet::layer::{Feedback, RandomFeedback};
use spikelet::learning::{EpropError, EpropFeedback, OnlineEprop};
use spikelet::neuron::{EpropAlif, LeakyIntegrator};
use spikelet::prelude::*;
use spikelet::train::metric::{self, Metric};
use spikelet::train::{Outputs, Step};
use spikelet_random::{Generator, Stream};

/// How the network is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Bptt,
    Eprop,
    Online,
}

/// The decay of the readout in a step.
const KAPPA: f64 = 0.95;

impl Method {
    pub const ALL: [Self; 3] = [Self::Bptt, Self::Eprop, Self::Online];

    pub fn name(self) -> &'static str {
        match self {
            Self::Bptt => "bptt",
            Self::Eprop => "eprop",
            Self::Online => "online",
        }
    }
}

fn network(options: &Options, method: Method) -> Box<dyn Module> {
    let (inputs, outputs) = (options.task.inputs(), options.task.outputs());
    let neuron = EpropAlif::default();
    if method == Method::Online {
        let error = match options.task.is_pattern() {
            true => EpropError::Squared,
            false => EpropError::CrossEntropy,
        };
        let layer = OnlineEprop::new([inputs, options.neurons, outputs], neuron)
            .readout_decay(KAPPA)
            .error(error)
            .feedback(options.feedback);
        return Box::new(layer);
    }
    let feedback = Feedback::new(options.neurons).zero_diagonal(true);
    let recurrent = Recurrent::through(neuron, feedback);
    let recurrent = match method {
        Method::Eprop => recurrent.local_gradient(),
        _ => recurrent,
    };
    let filter = LeakyIntegrator {
        alpha: KAPPA,
        ..LeakyIntegrator::default()
    };
    let net = Sequential::new()
        .add_named("input", Linear::new(inputs, options.neurons).bias(false))
        .add_named("neurons", recurrent)
        .add_named("filter", filter);
    Box::new(match (method, options.feedback) {
        (Method::Bptt, _) | (_, EpropFeedback::Symmetric) => {
            net.add_named("readout", Linear::new(options.neurons, outputs).bias(true))
        }
        (_, feedback) => {
            let mut readout = RandomFeedback::new(options.neurons, outputs)
                .adaptive(feedback == EpropFeedback::Adaptive);
            readout.linear = readout.linear.bias(true);
            net.add_named("readout", readout)
        }
    })
}

/// The training step.
pub fn step(options: &Options, method: Method) -> Step<'static> {
    let task = options.task.clone();
    let net = network(options, method);
    let is_pattern = task.is_pattern();
    let t = task.time_steps;
    Step::new(move |cx, inputs| {
        let (target, weight) = (&inputs["target"], &inputs["weight"]);
        cx.give_signal("target", target);
        cx.give_signal("error_weight", weight);
        let y = net.forward(cx, &inputs["x"])?;
        if is_pattern {
            let (error, size) = ((&y - target).square().sum_all(), target.square().sum_all());
            let normalized = Metric::new(&error / size, |sums, _| sums[0]);
            return Ok(Outputs::loss(error * 0.5).metric("normalized error", normalized));
        }
        let weight = weight.unsqueeze(2);
        let loss = (target * y.log_softmax() * &weight).sum_all() * -1.0;
        let scores = (y.softmax() * weight).sum(&[0]);
        let labels = target.slice(0, 0..1).squeeze(0).argmax();
        Ok(Outputs::loss(loss).metric("accuracy", metric::accuracy(&scores, &labels)))
    })
    .batch_size(task.batch_size)
    .sequence("x", DType::F32, [t, task.inputs()])
    .sequence("target", DType::F32, [t, task.outputs()])
    .sequence("weight", DType::F32, [t])
    .optimizer(Adam::new(options.rate))
}

/// Sets the weights before training, which are the same for all methods.
pub fn start(
    options: &Options,
    method: Method,
    store: &mut VarStore,
) -> Result<(), Box<dyn std::error::Error>> {
    let (inputs, n, outputs) = (
        options.task.inputs(),
        options.neurons,
        options.task.outputs(),
    );
    let recurrent = match method {
        Method::Online => "recurrent.weight",
        _ => "neurons.feedback.weight",
    };
    let feedback = match method {
        Method::Online => "feedback.weight",
        _ => "readout.feedback",
    };
    let tensors = [
        ("input.weight", vec![n, inputs]),
        (recurrent, vec![n, n]),
        ("readout.weight", vec![outputs, n]),
        (feedback, vec![outputs, n]),
    ];
    for (id, (name, shape)) in tensors.into_iter().enumerate() {
        if !store.names().any(|known| known == name) {
            continue;
        }
        let stream = Stream {
            seed: options.seed,
            id: 2 + id as u32,
            step: 0,
        };
        let mut random = Generator::new(stream);
        let deviation = 1.0 / (shape[1] as f32).sqrt();
        let count = shape.iter().product();
        let values: Vec<f32> = (0..count).map(|_| deviation * random.normal()).collect();
        store.set(name, &Tensor::f32(shape, values))?;
    }
    Ok(())
}
