//! Random draws from the counter-based generator.

use super::*;
use std::ops::Range;

/// The distribution of a draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// Uniform on (0, 1].
    #[default]
    Uniform,
    /// Standard normal.
    Normal,
    /// 1 with the probability in the second operand, else 0.
    Bernoulli,
}

const DISTRIBUTIONS: [(&str, Distribution); 3] = [
    ("uniform", Distribution::Uniform),
    ("normal", Distribution::Normal),
    ("bernoulli", Distribution::Bernoulli),
];

/// Independent random numbers, the same on every device and for every number of threads.
///
/// Operand 0 is the generator's state, i64 `[4]`: seed, step, the offset of the program's first time
/// step, and the offset of its first image in the complete batch. Operand 1, for Bernoulli draws, is the
/// probability, broadcast to the shape. A draw is indexed by its element in the time step, the time
/// step, the stream and the step: see `spikelet_random::Stream`. Micro-batches draw the numbers of the
/// complete batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draw {
    /// The distribution of a draw.
    pub distribution: Distribution,
    /// The stream: different for each draw of a program.
    pub stream: u32,
    /// Whether axis 0 is time; otherwise the draw is the same at every time step.
    pub over_time: bool,
    /// The time step of the program at which axis 0 begins; unused for a draw that is not over time.
    pub first_step: u32,
    /// The elements of an image in a time step; 0 if all images share the draws.
    pub per_image: usize,
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// The element type of the result.
    pub dtype: DType,
}

/// The number of elements of a generator's state.
pub const GENERATOR_STATE: usize = 4;

/// Checks that an operand is a generator's state.
pub(super) fn expect_generator(ty: &TensorType) -> std::result::Result<(), InvalidOp> {
    if *ty == TensorType::new(DType::I64, [GENERATOR_STATE]) {
        return Ok(());
    }
    invalid!("the generator's state is {ty}";
        "pass i64[4]: seed, step, offset in time steps, offset in images")
}

impl Draw {
    /// Whether the draws can be written as bits: they are spikes, and each row starts, in every
    /// micro-batch, at a multiple of the four draws that the generator computes together.
    pub fn writes_bits(&self) -> bool {
        let row = self.shape.last().copied().unwrap_or(1);
        let whole = row > 0 && row.is_multiple_of(4) && self.per_image.is_multiple_of(4);
        self.distribution == Distribution::Bernoulli && self.shape.len() > 1 && whole
    }
}

impl Operation for Draw {
    fn kind(&self) -> Kind {
        let of = |(_, other): &&(&str, Distribution)| *other == self.distribution;
        let name = DISTRIBUTIONS.iter().find(of).map_or("draw", |name| name.0);
        Kind::new(name, Class::Source).stored(Storage::Drawn)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.one_of(&mut self.distribution, &DISTRIBUTIONS);
        t.word("[stream ").value(&mut self.stream);
        t.unless(&mut self.first_step, 0, ", from step ", Text::value)
            .flag(&mut self.over_time, ", over time")
            .unless(&mut self.per_image, 0, ", image of ", Text::value)
            .word("]")
            .results(|types| {
                self.shape.clone_from(&types[0].shape);
                self.dtype = types[0].dtype;
            });
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let bernoulli = self.distribution == Distribution::Bernoulli;
        arity(inputs, if bernoulli { 2 } else { 1 })?;
        expect_generator(&inputs[0])?;
        // The storage types may differ, the types of arithmetic may not.
        let fits = |p: DType| p.is_float() && p.arithmetic() == self.dtype.arithmetic();
        if !self.dtype.is_float() || inputs.get(1).is_some_and(|p| !fits(p.dtype)) {
            let given = inputs.get(1).map_or(String::new(), |p| {
                format!(" from probabilities in {}", p.dtype)
            });
            return invalid!("draws {}{given}", self.dtype;
                "draw in the floating-point type of the probabilities");
        }
        if bernoulli {
            expect_broadcast("probabilities do not broadcast", &inputs[1], &self.shape)?;
        }
        if self.over_time && self.shape.is_empty() {
            return invalid!("draws over time need a time axis; the shape is {}",
                ShapeText(&self.shape);
                "make the shape [T, ...]");
        }
        Ok(vec![TensorType::new(self.dtype, self.shape.clone())])
    }

    /// The gradient of a Bernoulli draw is passed to its probability unchanged (straight-through estimator).
    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let mut grads = vec![None; node.inputs.len()];
        if let (Some(g), Some(&p)) = (b.grads[0], node.inputs.get(1)) {
            grads[1] = Some(b.sum_to_shape_of(g, p)?);
        }
        Ok(grads)
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let mut s = Semantics::new(inputs, outputs);
        if self.over_time {
            // A draw depends on its element in the time step, so that only time can be divided.
            let (rank, time) = (self.shape.len(), self.shape[0]);
            let place = inputs.get(1).and_then(|p| aligned(&p.shape, rank, 0, time));
            s.axis(Role::Parallel, time, place.map(|at| (1, at)), [(0, 0)]);
        }
        s
    }

    fn resized(&self, _axis: usize, range: &Range<usize>, results: &[TensorType]) -> Option<Op> {
        Some(
            Draw {
                shape: results[0].shape.clone(),
                first_step: self.first_step + u32::try_from(range.start).ok()?,
                ..self.clone()
            }
            .into(),
        )
    }

    fn stored_as(&self, dtype: DType) -> Option<Op> {
        Some(
            Draw {
                dtype,
                ..self.clone()
            }
            .into(),
        )
    }

    fn is_binary(&self, _: usize) -> bool {
        self.distribution == Distribution::Bernoulli
    }

    fn flops(&self, _: &[TensorType], outputs: &[TensorType]) -> u64 {
        // Ten rounds of two products and four exclusive ors give four draws.
        elements(outputs).saturating_mul(15)
    }
}
