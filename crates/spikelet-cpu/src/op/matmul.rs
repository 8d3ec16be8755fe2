//! Matrix products: of dense operands by the matrix library, of spikes by sums of weight rows.

use super::spike_sums::{Fired, listed_rows};
use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, Types, rows};
use crate::gemm::Gemm;
use crate::memory::{Element, View, ViewMut};
use crate::parallel;
use crate::spikes::{self, LinearShape};
use spikelet_graph::op::MatMul;
use spikelet_graph::{DType, TensorType};

/// The kernel, by the operand that is bit-packed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Dense,
    /// `y = spikes · wᵀ`
    Forward,
    /// `dw = gᵀ · spikes`
    WeightGrad,
}

fn path(op: MatMul, types: &Types) -> Path {
    let bits = |k: usize| types.inputs[k].dtype == DType::Bits;
    match (op.transpose_a, op.transpose_b) {
        (false, true) if bits(0) => Path::Forward,
        (true, false) if bits(1) => Path::WeightGrad,
        _ => Path::Dense,
    }
}

impl CpuKernel for MatMul {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        let (m, n, k) = self.sizes(&cx.types.inputs[0], &cx.types.inputs[1]);
        let sizes = Sizes { m, n, k };
        Ok(match path(*self, cx.types) {
            Path::Forward => Box::new(SpikesForward(sizes)),
            Path::WeightGrad => Box::new(SpikesWeightGrad(sizes)),
            Path::Dense => Box::new(Dense::<R>::new(*self, sizes)),
        })
    }

    fn workspace_words(&self, types: &Types, _: usize) -> usize {
        let (m, n, k) = self.sizes(&types.inputs[0], &types.inputs[1]);
        match path(*self, types) {
            Path::Dense => {
                let bytes = if types.float() == DType::F64 { 8 } else { 4 };
                let elements = Dense::<f32>::scratch_elements(*self, Sizes { m, n, k });
                elements.saturating_mul(bytes).div_ceil(8)
            }
            Path::Forward => k.saturating_mul(spikes::row_stride(n)).div_ceil(2),
            Path::WeightGrad => {
                let shape = Sizes { m, n, k }.weight_grad_shape();
                line_words(n.saturating_mul(m))
                    .saturating_add(spikes::weight_grad_scratch_words(shape))
            }
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

/// The algorithm of a dense product. The bits of a row do not depend on the number of rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// The library: for many rows, or a sum over rows.
    Library,
    /// The library, with rows of zeros appended.
    Padded,
    /// Row by row.
    OneByOne,
}

/// A row of a sparse operand with more nonzero elements than this part of it is multiplied as a dense one.
const SPARSE: usize = 8;

/// Products from which on a sparse row is divided among threads: fewer take less time than to wake a thread.
const DIVIDED: usize = 1 << 16;

/// Output features of one task of a sparse row.
const TASK: usize = 64;

struct Dense<R> {
    sizes: Sizes,
    rows: Rows,
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
            rows: Self::rows(op, sizes),
            sparse: (op.sparse && !op.transpose_a && n > 0 && k > 0).then(|| SparseRows::new(m, k)),
            a: if op.transpose_a { (1, m) } else { (k, 1) },
            b: if op.transpose_b { (1, k) } else { (n, 1) },
            element: std::marker::PhantomData,
        }
    }

    fn rows(op: MatMul, Sizes { m, n, k }: Sizes) -> Rows {
        if op.transpose_a {
            Rows::Library
        } else if n.saturating_mul(k) <= rows::SMALL_WEIGHTS {
            Rows::OneByOne
        } else if m < rows::MIN_LIBRARY_ROWS {
            Rows::Padded
        } else {
            Rows::Library
        }
    }

    fn scratch_elements(op: MatMul, sizes: Sizes) -> usize {
        let Sizes { n, k, .. } = sizes;
        match Self::rows(op, sizes) {
            Rows::Library => 0,
            Rows::Padded => rows::MIN_LIBRARY_ROWS.saturating_mul(k.saturating_add(n)),
            Rows::OneByOne => rows::packed_elements(n, k),
        }
    }
}

impl<R: Float> Kernel for Dense<R> {
    fn run(
        &mut self,
        reads: &[View<'_>],
        writes: &mut [ViewMut<'_>],
        workspace: &mut [u64],
    ) -> Result<(), String> {
        let scratch = R::from_words(workspace);
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
            b: (b, self.b),
            accumulate: false,
        };
        let done = match self.rows {
            Rows::OneByOne => {
                rows::multiply((n, k), a, b, self.b, c, scratch);
                Ok(())
            }
            Rows::Library => product.run(c, n),
            Rows::Padded => {
                let (padded, result) = scratch.split_at_mut(rows::MIN_LIBRARY_ROWS * k);
                let result = &mut result[..rows::MIN_LIBRARY_ROWS * n];
                padded[..m * k].copy_from_slice(a);
                padded[m * k..].fill(R::ZERO);
                let padded = Gemm {
                    m: rows::MIN_LIBRARY_ROWS,
                    a: (padded, self.a),
                    ..product
                };
                let done = padded.run(result, n);
                c.copy_from_slice(&result[..m * n]);
                done
            }
        };
        if let Some(rows) = sparse {
            rows.multiply(a, (b, self.b), (n, k), c, DenseRow::Skip);
        }
        done.map_err(|e| e.to_string())
    }
}

/// How a product continues at a row that is not mostly zeros.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DenseRow {
    Stop,
    Skip,
}

/// Products of rows that are mostly zeros, some rows after the other.
struct SparseRows {
    nonzero: Fired,
    /// Rows of one list.
    rows: usize,
}

impl SparseRows {
    fn new(m: usize, k: usize) -> Self {
        let rows = listed_rows(m, k);
        Self {
            nonzero: Fired::new(rows, k),
            rows,
        }
    }

    /// Overwrites the sparse rows of `c`, and returns whether all are. The sums are in ascending order of the nonzero
    /// elements. The bits of a row do not depend on other rows.
    fn multiply<R: Float>(
        &mut self,
        a: &[R],
        b: (&[R], (usize, usize)),
        (n, k): (usize, usize),
        c: &mut [R],
        at_dense: DenseRow,
    ) -> bool {
        let mut all = true;
        for (a, c) in a.chunks(self.rows * k).zip(c.chunks_mut(self.rows * n)) {
            self.nonzero.set(a, k);
            let rows = a.chunks_exact(k).zip(self.nonzero.rows(a.len() / k));
            for (c, (a, nonzero)) in c.chunks_exact_mut(n).zip(rows) {
                if nonzero.len() <= k / SPARSE {
                    multiply_sparse((a, nonzero), b, c);
                    continue;
                }
                all = false;
                if at_dense == DenseRow::Stop {
                    return all;
                }
            }
        }
        all
    }
}

/// One row: `b` with the strides of its rows and columns.
fn multiply_sparse<R: Float>(
    (a, nonzero): (&[R], &[u32]),
    (b, strides): (&[R], (usize, usize)),
    c: &mut [R],
) {
    let work = nonzero.len() * c.len();
    let columns = |first: usize, c: &mut [R]| {
        for (j, c) in (first..).zip(c) {
            let at = |l: usize| b[l * strides.0 + j * strides.1];
            let products = nonzero.iter().map(|l| a[*l as usize] * at(*l as usize));
            *c = products.fold(R::ZERO, |sum, product| sum + product);
        }
    };
    match work < DIVIDED {
        true => columns(0, c),
        false => parallel::for_each_chunk(c, TASK, |task, c| columns(task * TASK, c)),
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
    ) -> Result<(), String> {
        let Sizes { m, n, k } = self.0;
        let shape = LinearShape {
            rows: m,
            in_features: k,
            out_features: n,
        };
        let stride = spikes::row_stride(n);
        let weights = &mut f32::from_words(workspace)[..k * stride];
        let out = f32::of_mut(&mut writes[0]);
        spikes::transpose_strided(f32::of(&reads[1]), n, k, weights, stride)
            .and_then(|()| spikes::forward(shape, u64::of(&reads[0]), weights, None, out))
            .map_err(|e| e.to_string())
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
    ) -> Result<(), String> {
        let Sizes { m, n, .. } = self.0;
        let shape = self.0.weight_grad_shape();
        let (transposed, scratch) = workspace.split_at_mut(line_words(n * m));
        let transposed = &mut f32::from_words(transposed)[..n * m];
        let (grad, bits) = (f32::of(&reads[0]), u64::of(&reads[1]));
        let out = f32::of_mut(&mut writes[0]);
        spikes::weight_grad(shape, bits, grad, transposed, scratch)
            .and_then(|()| spikes::transpose(transposed, n, m, out))
            .map_err(|e| e.to_string())
    }
}
