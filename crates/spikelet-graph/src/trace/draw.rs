//! Random draws.

use super::Var;
use crate::error::Error;
use crate::op::{Distribution, Draw};
use crate::types::{DType, ShapeText, elements};

/// The meaning of the first axes of a draw. It determines how random numbers are indexed, so that a
/// sequence in time chunks, or a batch in micro-batches, draws the numbers of the complete one.
///
/// ```
/// use spikelet_graph::{DType, RandomAxes, Tracer};
/// let tracer = Tracer::new(DType::F32);
/// let generator = tracer.input("generator", DType::I64, [4]);
/// let image = tracer.input("image", DType::F32, [32, 784]);
/// // New spikes of each image at each of ten steps; a mask that an image keeps.
/// let spikes = image.repeat_over_time(10).bernoulli(&generator, RandomAxes::TimeAndBatch);
/// let mask = generator.uniform([32, 784], RandomAxes::Batch);
/// assert_eq!((spikes.shape(), mask.shape()), (&[10, 32, 784][..], &[32, 784][..]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomAxes {
    /// Neither time nor images: the same draws in every micro-batch, such as noise on weights.
    Nothing,
    /// `[T, …]`: new draws at every time step, the same in every micro-batch.
    Time,
    /// `[N, …]`: draws of each image, the same at every time step, such as a dropout mask.
    Batch,
    /// `[T, N, …]`: draws of each image at every time step, such as an encoder's.
    TimeAndBatch,
}

impl RandomAxes {
    fn has_time(self) -> bool {
        matches!(self, Self::Time | Self::TimeAndBatch)
    }

    /// The elements of a time step for each image; `None` if the shape lacks an axis.
    fn per_image(self, shape: &[usize]) -> Option<usize> {
        let axes = match self {
            Self::Nothing => return Some(0),
            Self::Time => return (!shape.is_empty()).then_some(0),
            Self::Batch => 1,
            Self::TimeAndBatch => 2,
        };
        shape.get(axes..).map(elements)
    }
}

impl Var {
    /// Draws 1 with probability `self`, else 0. `generator` is i64 `[4]`: seed, step, and the offsets of
    /// the first time step and the first image.
    pub fn bernoulli(&self, generator: &Var, over: RandomAxes) -> Var {
        let (shape, dtype) = (self.shape().to_vec(), self.ty.dtype);
        let drawn = Distribution::Bernoulli;
        self.draw(drawn, shape, dtype, over, &[generator, self])
    }

    /// Uniform draws on (0, 1] of the shape; `self` is the generator's state.
    pub fn uniform(&self, shape: impl Into<Vec<usize>>, over: RandomAxes) -> Var {
        let dtype = self.tracer.float();
        self.draw(Distribution::Uniform, shape.into(), dtype, over, &[self])
    }

    /// Standard normal draws of the shape; `self` is the generator's state.
    pub fn normal(&self, shape: impl Into<Vec<usize>>, over: RandomAxes) -> Var {
        let dtype = self.tracer.float();
        self.draw(Distribution::Normal, shape.into(), dtype, over, &[self])
    }

    fn draw(
        &self,
        distribution: Distribution,
        shape: Vec<usize>,
        dtype: DType,
        over: RandomAxes,
        operands: &[&Var],
    ) -> Var {
        let tracer = &self.tracer;
        let per_image = over.per_image(&shape).unwrap_or_else(|| {
            tracer.fail(Error::Shape {
                layer: tracer.path(),
                operation: format!("{distribution:?}").to_lowercase(),
                problem: format!("draws over {over:?} need axes that the shape lacks"),
                given: ShapeText(&shape).to_string(),
                help: "make the shape [T, …], [N, …] or [T, N, …], or use other RandomAxes"
                    .to_string(),
            });
            0
        });
        let op = Draw {
            distribution,
            stream: tracer.next_stream(),
            over_time: over.has_time(),
            first_step: 0,
            per_image,
            shape,
            dtype,
        };
        tracer.apply1(op, operands)
    }
}
