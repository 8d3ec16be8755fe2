//! The program that measures a training batch without training on it: spikes of all layers, norms of weights and of
//! their gradients.
//!
//! It has the forward and backward pass of training and no updates, so that weights and running statistics keep their
//! values. All figures are computed on the device and returned as one vector.

use super::EvalStep;
use super::batch::{Values, converted};
use super::metrics::{MetricInfo, MetricSet};
use super::plan::EvalPlan;
use super::recorded::{SPIKES, layers_with};
use super::trace::TraceInfo;
use super::{PendingMetrics, Step, StepError, StepMetrics};
use crate::metric::{LOSS, Metric};
use crate::probe::{LayerProbe, ParameterProbe, Probe};
use crate::scaling::LossScale;
use spikelet_core::Result;
use spikelet_data::{Batch, BatchTensor};
use spikelet_expr::Expr;
use spikelet_graph::{DType, Plan, Target, Var};
use spikelet_nn::module::{Mode, Trace};
use spikelet_nn::runtime::VarStore;
use std::sync::Arc;

/// The name of the figures among the metrics.
const FIGURES: &str = "probe";
/// The number of figures of a layer, and of a weight.
const OF_LAYER: usize = 4;
const OF_WEIGHT: usize = 2;

/// The layers and weights of a probe.
#[derive(Clone)]
struct Probed {
    /// Paths and shapes `[T, N, …]`.
    layers: Vec<(String, Vec<usize>)>,
    /// Names and shapes.
    weights: Vec<(String, Vec<usize>)>,
}

/// A planned probe.
pub(crate) struct ProbePlan {
    plan: EvalPlan,
    probed: Probed,
}

/// A compiled probe.
pub(crate) struct ProbeStep {
    step: EvalStep,
    probed: Probed,
}

impl Step<'_> {
    /// Plans the probe of a batch of this step's size.
    pub(crate) fn plan_probe(&self, target: &dyn Target) -> Result<ProbePlan> {
        let cx = self.context(Mode::TRAIN);
        let (outputs, mut info) = self.call(&cx, false)?;
        let tracer = cx.tracer();
        tracer.discard_updates();
        let (probed, figures) = self.figures(&cx, &outputs.loss)?;
        let metric = Metric::new(
            Var::stack(&figures.iter().collect::<Vec<_>>(), 0),
            |_, _| 0.0,
        );
        let sums = MetricInfo::new(FIGURES, figures.len(), metric.function());
        tracer.output(LOSS, &outputs.loss);
        tracer.output(sums.output(), metric.sums());
        info = TraceInfo {
            metrics: MetricSet::new(vec![sums]),
            outputs: vec![],
            ..info
        };
        tracer.remove_unread_inputs();
        tracer.check()?;
        let plan = EvalPlan {
            trace: cx.plan(target, None, 0)?,
            common: self.common(&cx),
            info,
        };
        plan.plan().check_target(target)?;
        Ok(ProbePlan { plan, probed })
    }

    /// The figures of all layers and weights.
    fn figures(&self, cx: &Trace, loss: &Var) -> Result<(Probed, Vec<Var>)> {
        let traced = cx.traced();
        let tracer = cx.tracer();
        let mut figures = vec![];
        let mut layers = vec![];
        for (layer, spikes) in layers_with(&traced.recorded, SPIKES) {
            if spikes.rank() >= 2 {
                figures.extend(spike_figures(&spikes));
                layers.push((layer, spikes.shape().to_vec()));
            }
        }
        let assignment = self.groups.assign(&traced)?;
        let trained = assignment.trained.iter();
        let weights: Vec<(String, Var)> = trained
            .filter_map(|trained| Some((trained.name.clone(), tracer.find_input(&trained.name)?)))
            .filter(|(_, weight)| weight.rank() >= 2)
            .collect();
        let scale = self.scales_loss().then(|| LossScale::new(tracer));
        let start = scale.as_ref().map_or(loss.clone(), |s| s.scaled(loss));
        let grads = tracer.gradients(&start, &weights.iter().map(|(_, w)| w).collect::<Vec<_>>());
        for ((_, weight), grad) in weights.iter().zip(&grads) {
            let grad = grad.cast(DType::F32);
            let grad = match &scale {
                Some(scale) => Var::map(&[&grad, scale.scale()], |x| &x[0] / &x[1]),
                None => grad,
            };
            figures.push(weight.cast(DType::F32).square().sum_all());
            figures.push(grad.square().sum_all());
        }
        let weights = weights.into_iter();
        let weights = weights
            .map(|(name, weight)| (name, weight.shape().to_vec()))
            .collect();
        Ok((Probed { layers, weights }, figures))
    }
}

/// The number of spikes, of neurons that never fire, of neurons that always fire, and the distance of the values from 0
/// and 1.
fn spike_figures(spikes: &Var) -> [Var; OF_LAYER] {
    let shape = spikes.shape();
    let most = (shape[0] * shape[1]) as f64;
    let spikes = spikes.cast(DType::F32);
    let fires = spikes.map1(|s| Expr::select(s.abs().gt(0.0), 1.0, 0.0));
    let fired = fires.sum(&[0, 1]);
    let graded = spikes.map1(|s| s.abs() * (s - 1.0).abs());
    [
        spikes.sum_all(),
        fired.map1(|n| Expr::select(n.gt(0.0), 0.0, 1.0)).sum_all(),
        fired.map1(|n| Expr::select(n.ge(most), 1.0, 0.0)).sum_all(),
        graded.sum_all(),
    ]
}

impl ProbePlan {
    pub(crate) fn plan(&self) -> &Plan {
        self.plan.plan()
    }

    pub(crate) fn load(self, store: &mut VarStore) -> Result<ProbeStep> {
        let Self { plan, probed } = self;
        let step = plan.load(store)?;
        Ok(ProbeStep { step, probed })
    }
}

impl ProbeStep {
    /// Starts to measure the first samples of a batch.
    pub(crate) fn start(&mut self, batch: &Batch) -> Result<PendingMetrics> {
        let mut values: Vec<(Arc<str>, Values<'_>)> = vec![];
        for input in &self.step.common.inputs {
            let Some(tensor) = batch.get(&input.name) else {
                continue;
            };
            let unfit = || StepError::BatchTensor {
                name: input.name.to_string(),
                element: tensor.type_name().to_string(),
                shape: tensor.shape.clone(),
                expected: input.ty.clone(),
            };
            let all = converted(tensor, &input.ty).ok_or_else(unfit)?;
            values.push((
                input.name.clone(),
                first_samples(all, tensor, &input.ty.shape),
            ));
        }
        self.step.start(&values[..], 0)
    }

    /// The figures of a finished measurement.
    pub(crate) fn read(&self, found: &StepMetrics, into: &mut Probe) {
        into.loss = found.loss;
        let figures = found.sums(FIGURES).unwrap_or_default();
        let (spikes, weights) =
            figures.split_at((self.probed.layers.len() * OF_LAYER).min(figures.len()));
        let layers = self.probed.layers.iter().zip(spikes.chunks_exact(OF_LAYER));
        let layers = layers.map(|((name, shape), own)| {
            let neurons: usize = shape[2..].iter().product();
            let count = neurons.max(1) as f64;
            LayerProbe {
                name: name.clone(),
                neurons,
                rate: own[0] / (count * (shape[0] * shape[1]) as f64),
                dead: own[1] / count,
                saturated: own[2] / count,
                graded: own[3] > 0.0,
            }
        });
        into.layers = layers.collect();
        let parameters = self
            .probed
            .weights
            .iter()
            .zip(weights.chunks_exact(OF_WEIGHT));
        let parameters = parameters.map(|((name, shape), own)| ParameterProbe {
            name: name.clone(),
            shape: shape.clone(),
            norm: own[0].sqrt(),
            gradient: own[1].sqrt(),
        });
        into.parameters = parameters.collect();
    }
}

/// The values of the first samples of a tensor, as many as `shape` has.
fn first_samples<'b>(values: Values<'b>, tensor: &BatchTensor, shape: &[usize]) -> Values<'b> {
    if tensor.shape == shape {
        return values;
    }
    let axis = tensor.batch_axis;
    let inner: usize = tensor.shape.iter().skip(axis + 1).product();
    let row = inner * tensor.shape.get(axis).copied().unwrap_or(1);
    let kept = inner * shape.get(axis).copied().unwrap_or(1);
    fn leading<T: Clone>(values: &[T], row: usize, kept: usize) -> Vec<T> {
        let rows = values.chunks_exact(row.max(1));
        rows.flat_map(|row| row[..kept.min(row.len())].to_vec())
            .collect()
    }
    match values {
        Values::F32(values) => Values::F32(leading(&values, row, kept).into()),
        Values::I64(values) => Values::I64(leading(&values, row, kept).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::Adam;
    use crate::{Inputs, Outputs};
    use spikelet_data::{DataLoader, LoaderConfig, synthetic};
    use spikelet_nn::layer::{BatchNorm1d, Flatten, Linear};
    use spikelet_nn::loss;
    use spikelet_nn::module::{Context, Module, Precision, Sequential};
    use spikelet_nn::neuron::Lif;

    const N: usize = 12;
    const T: usize = 3;

    fn step(precision: Precision) -> Step<'static> {
        let net = Sequential::new()
            .add(Flatten)
            .add(Linear::new(784, 20).bias(false))
            .add(BatchNorm1d::new(20))
            .add(Lif::new(2.0))
            .add(Linear::new(20, 10).bias(true));
        Step::new(move |cx: &Context, inputs: &Inputs| {
            let x = inputs["images"].repeat_over_time(T);
            let scores = net.forward(cx, &x)?.mean(&[0]);
            Ok(Outputs::loss(loss::cross_entropy(
                &scores,
                &inputs["labels"],
            )))
        })
        .batch_size(N)
        .input("images", DType::F32, [1, 28, 28])
        .input("labels", DType::I64, [])
        .optimizer(Adam::new(1e-2))
        .precision(precision)
        .read_gradients("*")
        .read_activations("*.spike_seq")
    }

    fn batch() -> Result<Batch> {
        let config = LoaderConfig {
            batch_size: N,
            ..LoaderConfig::default()
        };
        let loader = DataLoader::new(synthetic::digits_of(4, N, 1).train, config)?;
        Ok(loader.epoch(0, 0).next().expect("a batch")?)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-4 * b.abs().max(1e-6)
    }

    fn norm(tensor: &spikelet_graph::Tensor) -> f64 {
        tensor.to_f64().iter().map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn a_probe_measures_the_step_and_changes_nothing() -> Result<()> {
        for precision in [Precision::F32, Precision::F16] {
            let (step, batch) = (step(precision), batch()?);
            let mut store = VarStore::new(spikelet_nn::device::cpu()?);
            let mut train = step.compile(&mut store)?;
            let mut probe = step.plan_probe(&**store.backend())?.load(&mut store)?;
            let tensors = |store: &VarStore| -> Result<Vec<Vec<f64>>> {
                let names: Vec<String> = store.names().map(String::from).collect();
                names
                    .iter()
                    .map(|name| Ok(store.get(name)?.to_f64()))
                    .collect()
            };
            let before = tensors(&store)?;
            let weights = ["1.weight", "4.weight"].map(|name| store.get(name).map(|w| norm(&w)));
            let found = probe.start(&batch)?.wait()?;
            assert_eq!(tensors(&store)?, before, "{precision:?}");
            let mut measured = Probe::default();
            probe.read(&found, &mut measured);

            let trained = train.run_batch(&batch)?;
            assert!(near(measured.loss, trained.loss));
            assert_eq!(
                measured.parameters.len(),
                2,
                "batch norm and bias are vectors"
            );
            for (parameter, weight) in measured.parameters.iter().zip(weights) {
                let gradient = norm(&train.gradient(&parameter.name)?);
                assert!(near(parameter.norm, weight?), "{parameter:?}");
                assert!(
                    near(parameter.gradient, gradient),
                    "{parameter:?} {gradient}"
                );
            }
            let spikes = train.activation("3.spike_seq")?.to_f64();
            let [layer] = &measured.layers[..] else {
                panic!("{measured:?}");
            };
            let rate = spikes.iter().sum::<f64>() / spikes.len() as f64;
            assert!(near(layer.rate, rate), "{layer:?} {rate}");
            let counts: Vec<f64> = (0..20)
                .map(|k| spikes.iter().skip(k).step_by(20).sum())
                .collect();
            let share = |test: &dyn Fn(f64) -> bool| {
                counts.iter().filter(|&&count| test(count)).count() as f64 / 20.0
            };
            assert!(
                near(layer.dead, share(&|count| count == 0.0)),
                "{layer:?} {counts:?}"
            );
            assert!(near(
                layer.saturated,
                share(&|count| count == (N * T) as f64)
            ));
            assert_eq!((layer.neurons, layer.graded), (20, false));
        }
        Ok(())
    }

    #[test]
    fn a_probe_of_fewer_samples_takes_the_first_ones() -> Result<()> {
        let (small, batch) = (step(Precision::F32).with_batch(5), batch()?);
        let mut store = VarStore::new(spikelet_nn::device::cpu()?);
        let _train = step(Precision::F32).compile(&mut store)?;
        let mut probe = small.plan_probe(&**store.backend())?.load(&mut store)?;
        let found = probe.start(&batch)?.wait()?;
        let first = Batch::of_images(
            [1, 28, 28],
            batch.f32("images")?[..5 * 784].to_vec(),
            batch.i64("labels")?[..5].to_vec(),
        );
        let again = probe.start(&first)?.wait()?;
        assert_eq!(found, again);
        // A sequence is cut at each time step.
        let tensor = BatchTensor::f32(&[2, 3, 2], (0..12).map(|k| k as f32).collect()).sequence();
        let values = Values::F32(tensor.as_f32().unwrap_or_default().into());
        let Values::F32(kept) = first_samples(values, &tensor, &[2, 2, 2]) else {
            panic!("f32");
        };
        assert_eq!(kept[..], [0.0, 1.0, 2.0, 3.0, 6.0, 7.0, 8.0, 9.0]);
        Ok(())
    }
}
