//! The scores of sequences.

use crate::command::given::{Input, SequenceReader};
use crate::command::trained::Trained;
use crate::failure::Failure;
use spikelet::graph::op::HostTensor;
use spikelet::train::step::SampleBatch;
use spikelet::train::{EvalStep, SampleShape, Step};

/// A network that classifies sequences one by one.
pub struct SequenceClassifier {
    step: EvalStep,
    steps: usize,
    varies: bool,
    elements: usize,
}

impl SequenceClassifier {
    pub fn new(reader: &SequenceReader, trained: &mut Trained) -> Result<Self, Failure> {
        let module = trained.network.module()?;
        let sample = SampleShape::Sequence {
            steps: reader.steps,
            shape: reader.shape,
            step_labels: None,
            varies: reader.varies,
            device_frames: None,
        };
        let batch = SampleBatch { batch: 1, sample };
        let step = Step::classifier_eval(&*module, trained.checkpoint.settings()?, batch)?;
        Ok(Self {
            step: step.compile_predict(&mut trained.store)?,
            steps: reader.steps,
            varies: reader.varies,
            elements: reader.shape.sizes().iter().product(),
        })
    }

    /// The scores of a sequence.
    pub fn scores(&mut self, input: &Input) -> Result<Vec<f64>, Failure> {
        let length = [input.steps.unwrap_or(self.steps) as i64];
        let mut x = input.sequence.clone();
        x.resize(self.steps * self.elements, 0.0);
        let mut values = vec![("x", HostTensor::F32(&x))];
        if self.varies {
            values.push(("x_length", HostTensor::I64(&length)));
        }
        self.step.predict(values)?;
        Ok(self.step.output("scores")?.to_f64())
    }
}
