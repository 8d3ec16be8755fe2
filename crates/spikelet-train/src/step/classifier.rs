//! The step of a classifier of images or sequences with the settings of a [`Trainer`](crate::Trainer).

use super::event_input::{self, EVENT_COUNTS, EVENTS};
use super::step_labels;
use super::{Inputs, Outputs, SampleBatch, SampleShape, Step};
use crate::metric::ACCURACY;
use crate::scaling::scales_loss;
use crate::{Settings, metric};
use spikelet_core::{Error, Result};
#[cfg(doc)]
use spikelet_data::Field;
use spikelet_data::Unlabeled;
use spikelet_graph::{DType, Var};
use spikelet_nn::module::{Context, Module, StepOutputs};
use spikelet_nn::sequence;

/// The inputs of a classifier.
const IMAGES: &str = "images";
const SEQUENCES: &str = "x";
pub(crate) const LABELS: &str = "labels";
/// The number of time steps of each sequence, where it varies.
const LENGTHS: &str = "x_length";

/// The scores of classes, and the network's output at every step.
pub(crate) const SCORES: &str = "scores";
pub(crate) const OUTPUT_SEQ: &str = "output_seq";

impl<'a> Step<'a> {
    /// The step of a network that classifies images: the inputs `images`, f32 `[N, channels, height, width]`, which the
    /// encoder of the settings turns into a sequence, and `labels`, i64 `[N]`; the metric `accuracy`; the output
    /// `scores`, `[N, classes]`. With [`Settings::mixes`], it trains on mixed images: `labels` are f32
    /// `[N, classes]` then, a probability of each class.
    ///
    /// Of a network that classifies sequences, the inputs are `x`, f32 `[T, N, features]` or `[T, N, channels, height, width]`,
    /// and `labels`; where lengths vary, also `x_length`, i64 `[N]`, so that the scores are means over the time steps of each
    /// sequence. With a label for
    /// each time step these are `[T, N]`, the output `scores` is `[T, N, classes]`, and there may be a second metric,
    /// `labeled_accuracy`: see [`Field::step_labels`].
    ///
    /// In training, [`Settings::penalties`] are part of the loss, and their sum is the metric `penalty`.
    ///
    /// ```
    /// use spikelet_train::prelude::*;
    /// use spikelet_train::{BatchShape, Step};
    /// let net = Sequential::new().add(Flatten).add(Linear::new(784, 10)).add(Lif::new(2.0));
    /// let shape = BatchShape { batch: 32, image: [1, 28, 28] };
    /// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
    /// let step = Step::classifier(&net, &Settings::default(), shape)?.compile(&mut store)?;
    /// assert_eq!(step.parameters().collect::<Vec<_>>(), ["1.weight", "1.bias"]);
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a setting is invalid.
    pub fn classifier(
        module: &'a dyn Module,
        settings: &Settings,
        shape: impl Into<SampleBatch>,
    ) -> Result<Self> {
        Self::train_classifier(module, settings, shape.into())
    }

    /// The same for evaluations and predictions, whose `labels` are always i64 `[N]`.
    ///
    /// # Errors
    /// When a setting is invalid.
    pub fn classifier_eval(
        module: &'a dyn Module,
        settings: &Settings,
        shape: impl Into<SampleBatch>,
    ) -> Result<Self> {
        Self::eval_classifier(module, settings, shape.into())
    }

    /// As [`Step::classifier`], of a module that the step may own.
    pub(crate) fn train_classifier(
        module: impl Module + 'a,
        settings: &Settings,
        shape: SampleBatch,
    ) -> Result<Self> {
        let soft = match settings.mixes() {
            true => Some(classes_of(&module, settings, shape.sample)?),
            false => None,
        };
        Self::classify(module, settings, shape, soft)
    }

    /// As [`Step::classifier_eval`], of a module that the step may own.
    pub(crate) fn eval_classifier(
        module: impl Module + 'a,
        settings: &Settings,
        shape: SampleBatch,
    ) -> Result<Self> {
        Self::classify(module, settings, shape, None)
    }

    /// With `soft` classes, labels are probabilities.
    fn classify(
        module: impl Module + 'a,
        settings: &Settings,
        shape: SampleBatch,
        soft: Option<usize>,
    ) -> Result<Self> {
        settings.check()?;
        check_sample(settings, shape.sample)?;
        let encoder = settings.encoder.clone();
        let own = settings.clone();
        let sample = shape.sample;
        let function = move |cx: &Context, inputs: &Inputs| -> Result<Outputs> {
            // A stream has no labels.
            let learns = cx.learns() && !cx.mode().carry_state;
            if learns && unlabeled_of(sample).is_none() {
                cx.give_label(&inputs[LABELS]);
            }
            let output = match sample {
                SampleShape::Image(_) => {
                    cx.trace_encoded(&module, &*encoder, &inputs[IMAGES], own.time_steps)?
                }
                SampleShape::Sequence { device_frames, .. } => {
                    let x = match device_frames {
                        Some(rule) => {
                            event_input::frames(&rule, &inputs[EVENTS], &inputs[EVENT_COUNTS])?
                        }
                        None => inputs[SEQUENCES].clone(),
                    };
                    cx.trace_steps(&module, x.dim(0), |_| x.clone())?
                }
            };
            // The output is examined with the values of the neurons.
            if cx.watches() {
                cx.record(OUTPUT_SEQ, &output.join());
            }
            let lengths = sample.varies().then(|| &inputs[LENGTHS]);
            let (outputs, scores) = match unlabeled_of(sample) {
                None => of_samples(&own, &output, lengths, &inputs[LABELS]),
                Some(unlabeled) => {
                    let (scores, labels) = (output.join(), &inputs[LABELS]);
                    expect_all_steps(&scores, labels)?;
                    let outputs = step_labels::outputs(&own, &scores, labels, &unlabeled);
                    (outputs, scores)
                }
            };
            Ok(outputs.output(SCORES, &scores))
        };
        let step = Self::new(function).batch_size(shape.batch);
        let step = match shape.sample {
            SampleShape::Image(image) => step.input(IMAGES, DType::F32, image),
            SampleShape::Sequence {
                device_frames: Some(rule),
                varies,
                ..
            } => {
                let step = step.input(EVENTS, DType::I64, [rule.events]).input(
                    EVENT_COUNTS,
                    DType::I64,
                    [],
                );
                match varies {
                    true => step.input(LENGTHS, DType::I64, []),
                    false => step,
                }
            }
            SampleShape::Sequence {
                steps,
                shape,
                varies,
                device_frames: None,
                ..
            } => {
                let x = [&[steps], shape.sizes()].concat();
                let step = step.sequence(SEQUENCES, DType::F32, x);
                match varies {
                    true => step.input(LENGTHS, DType::I64, []),
                    false => step,
                }
            }
        };
        let step = match (soft, shape.sample) {
            (Some(classes), _) => step.input(LABELS, DType::F32, [classes]),
            (
                None,
                SampleShape::Sequence {
                    steps,
                    step_labels: Some(_),
                    ..
                },
            ) => step.sequence(LABELS, DType::I64, [steps]),
            (None, _) => step.input(LABELS, DType::I64, []),
        };
        step.settings(settings)
    }
}

/// Whether the loss is scaled in training with these settings.
pub fn is_scaled(settings: &Settings) -> bool {
    scales_loss(settings.precision)
}

/// The number of scores of a network for samples of this shape.
fn classes_of(module: &dyn Module, settings: &Settings, sample: SampleShape) -> Result<usize> {
    let shape = SampleBatch { batch: 1, sample };
    let step = Step::classify(module, settings, shape, None)?;
    Ok(step.output_types()?.first().map_or(0, |ty| ty.len()))
}

/// The loss and the accuracy of samples with one label each, and the scores: the mean of the output over the time steps of
/// each sample.
fn of_samples(
    settings: &Settings,
    output: &StepOutputs,
    lengths: Option<&Var>,
    labels: &Var,
) -> (Outputs, Var) {
    let scores = match lengths {
        // A readout may have one output for the sequence.
        Some(lengths) if output.join().dim(0) > 1 => sequence::mean(&output.join(), lengths),
        _ => output.mean(),
    };
    let loss = settings.loss.apply(output, &scores, labels);
    let accuracy = match labels.ty().dtype {
        DType::I64 => metric::accuracy(&scores, labels),
        _ => metric::accuracy(&scores, &labels.argmax()),
    };
    (Outputs::loss(loss).metric(ACCURACY, accuracy), scores)
}

/// The labels of time steps without a class, of samples with a label for each time step.
fn unlabeled_of(sample: SampleShape) -> Option<Unlabeled> {
    match sample {
        SampleShape::Sequence { step_labels, .. } => step_labels,
        SampleShape::Image(_) => None,
    }
}

/// Checks that a network has scores at each time step.
fn expect_all_steps(scores: &Var, labels: &Var) -> Result<()> {
    if scores.rank() == 3 && scores.shape()[..2] == *labels.shape() {
        return Ok(());
    }
    Err(Error::invalid(
        "network",
        format!(
            "its output is {}, the labels are {}",
            scores.ty(),
            labels.ty()
        ),
        "use a readout that returns every time step, such as `li-readout`: each step has a label",
    ))
}

/// Checks that settings are for samples of this shape.
fn check_sample(settings: &Settings, sample: SampleShape) -> Result<()> {
    let SampleShape::Sequence {
        steps,
        step_labels,
        varies,
        ..
    } = sample
    else {
        return Ok(());
    };
    let images_only = |what, given: String, help| Err(Error::invalid(what, given, help));
    if settings.encoder.name() != "direct" {
        return images_only(
            "encoder",
            format!("{} was given for sequences", settings.encoder.name()),
            "use \"direct\": each time step is an input of the network",
        );
    }
    if settings.time_steps != steps {
        return images_only(
            "time steps",
            format!(
                "{} were given, the sequences have {steps}",
                settings.time_steps
            ),
            "leave the number of time steps to the data",
        );
    }
    if settings.mixes() {
        let help = "leave mixup and cutmix out";
        return images_only("mixture", "it was given for sequences".to_string(), help);
    }
    if varies && settings.loss.is_over_time() {
        return images_only(
            "loss",
            format!(
                "{} was given for sequences of different lengths",
                settings.loss.name()
            ),
            "use \"cross-entropy\", or frames of a fixed number such as \"number=16\"",
        );
    }
    match step_labels {
        Some(_) => step_labels::check(settings, steps),
        None => Ok(()),
    }
}
