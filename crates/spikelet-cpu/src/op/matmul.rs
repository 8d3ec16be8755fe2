//! Matrix products: of dense operands by the matrix library, of spikes and mostly silent rows by sums of weight rows.
//! The bits of a row do not depend on the number of rows, so that single steps give the same bits as all steps at once.

use super::{CpuKernel, Float, Kernel, Lowered, PrepareContext, RunResult, words_of};
use crate::gemm::{Factor, Gemm, Rounding};
use crate::memory::{Element, View, ViewMut};
use crate::spikes::{self, DenseRow, LinearShape, SparseRows};
use crate::transpose::transpose;
use spikelet_graph::op::MatMul;
use spikelet_graph::{DType, TensorType};

impl CpuKernel for MatMul {
    fn lower<'a, R: Float>(&'a self, cx: &'a PrepareContext<'_>) -> Lowered<'a> {
        let [a, b] = [0, 1].map(|k| &cx.types.inputs[k]);
        let (m, n, k) = self.sizes(a, b);
        let sizes = Sizes { m, n, k };
        match (self.transpose_a, self.transpose_b) {
            (false, true) if a.dtype == DType::Bits => {
                let table = words_of::<f32>(spikes::table_elements(k, n));
                Lowered::new(table, move || Ok(Box::new(SpikesForward(sizes))))
            }
            (true, false) if b.dtype == DType::Bits => {
                let scratch = spikes::weight_grad_scratch_words(sizes.weight_grad_shape());
                let words = line_words(n.saturating_mul(m)).saturating_add(scratch);
                Lowered::new(words, move || Ok(Box::new(SpikesWeightGrad(sizes))))
            }
            _ => Lowered::new(0, move || Ok(Box::new(Dense::<R>::new(*self, sizes)))),
        }
    }

    fn reads_bits(&self, inputs: &[TensorType], operand: usize) -> bool {
        let result = self.out.unwrap_or(inputs[1 - operand].dtype);
        let single = result.arithmetic() == DType::F32;
        let place = match (self.transpose_a, self.transpose_b) {
            (false, true) => operand == 0,
            (true, false) => operand == 1,
            _ => false,
        };
        single && place
    }
}

/// Words of this many floats, rounded up to a cache line.
fn line_words(floats: usize) -> usize {
    floats.div_ceil(2).next_multiple_of(8)
}

#[derive(Clone, Copy)]
struct Sizes {
    m: usize,
    n: usize,
    k: usize,
}

impl Sizes {
    fn weight_grad_shape(self) -> LinearShape {
        LinearShape {
            rows: self.k,
            in_features: self.n,
            out_features: self.m,
        }
    }
}

/// Products with weights of at most this many elements are rounded before they are added.
const SMALL_WEIGHTS: usize = 16 * 1024;

struct Dense<R> {
    sizes: Sizes,
    rounding: Rounding,
    /// The rows of `a`, if they are mostly zeros.
    sparse: Option<SparseRows>,
    a: (usize, usize),
    b: (usize, usize),
    element: std::marker::PhantomData<R>,
}

impl<R> Dense<R> {
    fn new(op: MatMul, sizes: Sizes) -> Self {
        let Sizes { m, n, k } = sizes;
        Self {
            sizes,
            rounding: Rounding::of(!op.transpose_a && n.saturating_mul(k) <= SMALL_WEIGHTS),
            sparse: (op.sparse && !op.transpose_a && n > 0 && k > 0).then(|| SparseRows::new(m, k)),
            a: if op.transpose_a { (1, m) } else { (k, 1) },
            b: if op.transpose_b { (1, k) } else { (n, 1) },
            element: std::marker::PhantomData,
        }
    }
}

impl<R: Float> Kernel for Dense<R> {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let (a, b) = (R::of(&reads[0]), R::of(&reads[1]));
        let c = R::of_mut(&mut writes[0]);
        let Sizes { m, n, k } = self.sizes;
        let mut sparse = self.sparse.as_mut();
        if let Some(rows) = &mut sparse
            && rows.multiply(a, (b, self.b), (n, k), c, DenseRow::Stop)
        {
            return Ok(());
        }
        let product = Gemm {
            m,
            n,
            k,
            a: (a, self.a),
            b: Factor::Matrix((b, self.b)),
            accumulate: false,
            rounding: self.rounding,
        };
        product.run(c, n);
        if let Some(rows) = sparse {
            rows.multiply(a, (b, self.b), (n, k), c, DenseRow::Skip);
        }
        Ok(())
    }
}

/// Sums, for each row of spikes, the weights of the features that fired.
struct SpikesForward(Sizes);

impl Kernel for SpikesForward {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let Sizes { m, n, k } = self.0;
        let shape = LinearShape {
            rows: m,
            in_features: k,
            out_features: n,
        };
        let out = f32::of_mut(&mut writes[0]);
        let table = &mut f32::from_words(workspace)[..spikes::table_elements(k, n)];
        spikes::fill_table(f32::of(&reads[1]), (n, k), table);
        spikes::forward(shape, u64::of(&reads[0]), table, out);
        Ok(())
    }
}

/// Sums, for each feature, the gradients of the rows in which it fired.
struct SpikesWeightGrad(Sizes);

impl Kernel for SpikesWeightGrad {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> RunResult {
        let Sizes { m, n, .. } = self.0;
        let shape = self.0.weight_grad_shape();
        let (transposed, scratch) = workspace.split_at_mut(line_words(n * m));
        let transposed = &mut f32::from_words(transposed)[..n * m];
        let (grad, bits) = (f32::of(&reads[0]), u64::of(&reads[1]));
        spikes::weight_grad(shape, bits, grad, transposed, scratch);
        let out = f32::of_mut(&mut writes[0]);
        transpose(transposed, (n, m), (out, n), 0.0);
        Ok(())
    }
}
