//! The step of a classifier of images with the settings of a [`Trainer`](crate::Trainer).

use super::groups::Names;
#[cfg(feature = "plots")]
use super::trace::Purpose;
use super::{Inputs, Outputs, Step};
use crate::scaling::scales_loss;
use crate::{Settings, metric};
use spikelet_core::Result;
use spikelet_graph::DType;
use spikelet_nn::encoder;
use spikelet_nn::module::{Context, Module};
#[cfg(feature = "plots")]
use std::collections::BTreeSet;

/// The shape of the images of a batch, `[N, channels, height, width]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BatchShape {
    /// Images.
    pub batch: usize,
    /// Channels, height, width.
    pub image: [usize; 3],
}

/// The inputs of a classifier.
const IMAGES: &str = "images";
pub(crate) const LABELS: &str = "labels";

/// The network's output at every step.
const OUTPUT_SEQ: &str = "output_seq";

/// The metric of a classifier.
pub(crate) const ACCURACY: &str = "accuracy";

impl<'a> Step<'a> {
    /// The step of a network that classifies images: the inputs `images`, f32 `[N, channels, height, width]`, which the
    /// encoder of the settings turns into a sequence, and `labels`, i64 `[N]`; the metric `accuracy`; the output
    /// `scores`, `[N, classes]`. With [`Settings::mixes`], it trains on mixed images: `labels` are f32
    /// `[N, classes]` then, a probability of each class.
    ///
    /// ```
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{BatchShape, Step};
    /// let net = Sequential::new().add(Flatten).add(Linear::new(784, 10)).add(Lif::new(2.0));
    /// let shape = BatchShape { batch: 32, image: [1, 28, 28] };
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// let step = Step::classifier(&net, &Settings::default(), shape)?.compile(&mut store)?;
    /// assert_eq!(step.parameters().collect::<Vec<_>>(), ["1.weight"]);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a setting is invalid.
    pub fn classifier(
        module: &'a dyn Module,
        settings: &Settings,
        shape: BatchShape,
    ) -> Result<Self> {
        let soft = match settings.mixes() {
            true => Some(classes_of(module, settings, shape.image)?),
            false => None,
        };
        Self::classify(module, settings, shape, soft, false)
    }

    /// The same for evaluations and predictions, whose `labels` are always i64 `[N]`.
    ///
    /// # Errors
    /// When a setting is invalid.
    pub fn classifier_eval(
        module: &'a dyn Module,
        settings: &Settings,
        shape: BatchShape,
    ) -> Result<Self> {
        Self::classify(module, settings, shape, None, false)
    }

    /// That of [`Step::classifier_eval`], with the network's output at every step as the output `output_seq`, `[T, N, classes]`.
    #[cfg(feature = "plots")]
    pub(crate) fn classifier_with_sequence(
        module: &'a dyn Module,
        settings: &Settings,
        shape: BatchShape,
    ) -> Result<Self> {
        Self::classify(module, settings, shape, None, true)
    }

    /// The same for the report, with the activity of neurons as well.
    #[cfg(feature = "plots")]
    pub(crate) fn classifier_for_report(
        module: &'a dyn Module,
        settings: &Settings,
        shape: BatchShape,
    ) -> Result<Self> {
        let step = Self::classifier_with_sequence(module, settings, shape)?;
        Ok(step.observe(shape.batch))
    }

    /// Whether there are observed layers, each with a path of its own.
    #[cfg(feature = "plots")]
    pub(crate) fn observes_distinct_layers(&self) -> Result<bool> {
        let (_, info) = self.trace_forward(Purpose::EVALUATE, false)?;
        let names: BTreeSet<&str> = (info.observed.iter())
            .map(|layer| layer.name.as_str())
            .collect();
        Ok(!names.is_empty() && names.len() == info.observed.len())
    }

    /// With `soft` classes, labels are probabilities.
    fn classify(
        module: &'a dyn Module,
        settings: &Settings,
        shape: BatchShape,
        soft: Option<usize>,
        sequence: bool,
    ) -> Result<Self> {
        settings.check()?;
        let encoder = encoder::parse(&settings.encoder)?;
        let own = settings.clone();
        let function = move |cx: &Context, inputs: &Inputs| -> Result<Outputs> {
            let output = cx.trace_encoded(module, &*encoder, &inputs[IMAGES], own.time_steps)?;
            let (scores, labels) = (output.mean(), &inputs[LABELS]);
            let loss = own.apply_loss(&output, &scores, labels);
            let accuracy = match labels.ty().dtype {
                DType::I64 => metric::accuracy(&scores, labels),
                _ => metric::accuracy(&scores, &labels.argmax()),
            };
            let outputs = Outputs::loss(loss).metric(ACCURACY, accuracy);
            // The output is examined with the values of the neurons.
            if cx.watches() {
                cx.record(OUTPUT_SEQ, &output.join());
            }
            let outputs = match sequence {
                true => outputs.output(OUTPUT_SEQ, &output.join()),
                false => outputs,
            };
            Ok(outputs.output("scores", &scores))
        };
        let optimizer = settings.optimizer.shared();
        let step =
            Self::new(function)
                .batch_size(shape.batch)
                .input(IMAGES, DType::F32, shape.image);
        let step = match soft {
            Some(classes) => step.input(LABELS, DType::F32, [classes]),
            None => step.input(LABELS, DType::I64, []),
        };
        let step = step
            .in_group(None, optimizer, settings.learning_rate)
            .accumulate(settings.accumulate)
            .clip(settings.clip)
            .ema(settings.ema)
            .precision(settings.precision)
            .propagation(settings.propagation)
            .memory_budget(settings.memory_budget)
            .seed(settings.seed);
        let step = match settings.bias_decay {
            true => step,
            false => step.no_weight_decay_on_vectors(),
        };
        settings.groups.iter().try_fold(step, |step, group| {
            if group.frozen {
                return Ok(step.freeze(&group.parameters));
            }
            let optimizer = group.config(settings.optimizer)?.shared();
            let rate = group.learning_rate.unwrap_or(settings.learning_rate);
            Ok(step.in_group(Some(Names::new(&group.parameters)), optimizer, rate))
        })
    }
}

/// Whether the loss is scaled in training with these settings.
pub fn is_scaled(settings: &Settings) -> bool {
    scales_loss(settings.precision)
}

/// The number of scores of a network for images of this shape.
fn classes_of(module: &dyn Module, settings: &Settings, image: [usize; 3]) -> Result<usize> {
    let shape = BatchShape { batch: 1, image };
    let step = Step::classify(module, settings, shape, None, false)?;
    Ok(step.output_types()?.first().map_or(0, |ty| ty.len()))
}
