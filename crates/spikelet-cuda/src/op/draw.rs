//! Random draws: a thread draws four neighboring elements with one call of the generator. For
//! bit-packed results eight threads form a 32-bit word.

use super::index::{self, offset};
use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::{Distribution, Draw};
use spikelet_graph::{DType, Result, TensorType};
use spikelet_random::cuda::NORMAL_FUNCTIONS;

impl CudaKernel for Draw {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let y = &cx.outputs[0];
        let (steps, step): (usize, usize) = match self.shape.split_first() {
            Some((&time, rest)) if self.over_time => (time, rest.iter().product()),
            _ => (1, self.shape.iter().product()),
        };
        let bits = y.dtype == DType::Bits;
        let (rows, row) = y.rows_and_columns();
        let items = match bits {
            true => rows * row.div_ceil(64) * 16,
            false => steps * step.div_ceil(4),
        };
        let name = match self.distribution {
            Distribution::Uniform => "uniform",
            Distribution::Normal => "normal",
            Distribution::Bernoulli => "bernoulli",
        };
        let mut kernel = KernelSource::new(name, Geometry::Items(items));
        kernel.draws = true;
        if self.distribution == Distribution::Normal {
            kernel.functions.extend(NORMAL_FUNCTIONS);
        }
        kernel.argument("generator", &cx.inputs[0], Binding::Read(0));
        if let Some(p) = cx.inputs.get(1) {
            kernel.argument("p", p, Binding::Read(1));
        }
        kernel.argument("y", y, Binding::Write(0));
        let time = if self.over_time {
            format!("(unsigned)generator[2] + {}u + t", self.first_step)
        } else {
            "0u".to_string()
        };
        let rest = format!(
            "{time}, {}u, (unsigned)generator[1], (unsigned)generator[0], (unsigned)(generator[0] >> 32)",
            self.stream
        );
        // The images before the first one, as full groups modulo 2³², or as elements.
        let shifted = !self.per_image.is_multiple_of(4);
        let groups_before = match self.per_image {
            0 => String::new(),
            _ if shifted => " + (unsigned)(before / 4u)".to_string(),
            n => format!(" + (unsigned)generator[3] * {}u", (n / 4) as u32),
        };
        if shifted {
            kernel.line(format!(
                "    const unsigned long long before = (unsigned long long)generator[3] * {}ull;",
                self.per_image
            ));
        }
        let counter = (groups_before.as_str(), rest.as_str());
        match bits {
            true => kernel.line(bit_words(self, cx, step, counter)),
            false => elements(self, cx, step, counter, &mut kernel),
        }
        Ok(vec![kernel])
    }

    fn writes_bits(&self, _: &[TensorType], _: usize) -> bool {
        Draw::writes_bits(self)
    }
}

/// Draws four elements of a row of bits. Rows start at full groups: see `writes_bits`. The threads of a word are always
/// in one warp.
fn bit_words(
    op: &Draw,
    cx: &LoweringContext<'_>,
    step: usize,
    (groups_before, rest): (&str, &str),
) -> String {
    let (_, row) = cx.outputs[0].rows_and_columns();
    let (rows_a_step, padded) = (step / row.max(1), row.div_ceil(64) * 16);
    format!(
        "    const Index r = i / {padded}u, four = i % {padded}u, t = r / {rows_a_step}u;
    const Index first = (r % {rows_a_step}u) * {row}u + four * 4u;
{}
    unsigned fired = 0;
    if (chance[0] > 0.0f || chance[1] > 0.0f || chance[2] > 0.0f || chance[3] > 0.0f) {{
      const uint4 random = spk_philox(first / 4u{groups_before}, {rest});
      fired = (spk_unit(random.x) <= chance[0]) | (spk_unit(random.y) <= chance[1]) << 1
        | (spk_unit(random.z) <= chance[2]) << 2 | (spk_unit(random.w) <= chance[3]) << 3;
    }}
    fired <<= four % 8u * 4u;
    const unsigned together = 0xffu << (threadIdx.x % 32 / 8 * 8);
    fired |= __shfl_xor_sync(together, fired, 1);
    fired |= __shfl_xor_sync(together, fired, 2);
    fired |= __shfl_xor_sync(together, fired, 4);
    if (four % 8u == 0) ((unsigned*)y)[i / 8u] = fired;",
        chances(op, cx, step, row)
    )
}

/// Draws four elements and stores them.
fn elements(
    op: &Draw,
    cx: &LoweringContext<'_>,
    step: usize,
    (groups_before, rest): (&str, &str),
    kernel: &mut KernelSource,
) {
    let groups = step.div_ceil(4);
    kernel.line(format!(
        "    const Index t = i / {groups}u, group = i % {groups}u;
    const unsigned first = group{groups_before};
    float drawn[4];
{}",
        conversion_code(
            op.distribution,
            &format!("spk_philox(first, {rest})"),
            "drawn"
        )
    ));
    if !op.per_image.is_multiple_of(4) {
        // The four elements are in two groups of the generator.
        kernel.line(format!(
            "    const unsigned skip = (unsigned)before % 4u;
    if (skip != 0u) {{
      float next[4];
{}
      float all[8];
      #pragma unroll
      for (int j = 0; j < 4; ++j) {{ all[j] = drawn[j]; all[j + 4] = next[j]; }}
      #pragma unroll
      for (int j = 0; j < 4; ++j)
        drawn[j] = skip == 1u ? all[j + 1] : skip == 2u ? all[j + 2] : all[j + 3];
    }}",
            conversion_code(
                op.distribution,
                &format!("spk_philox(first + 1u, {rest})"),
                "next"
            )
        ));
    }
    if op.distribution == Distribution::Bernoulli {
        kernel.line(format!(
            "    #pragma unroll
    for (int j = 0; j < 4; ++j) {{
      const Index element = group * 4u + j;
      drawn[j] = element < {step}u && drawn[j] <= {} ? 1.0f : 0.0f;
    }}",
            probability(op, cx, &format!("(t * {step}u + element)"))
        ));
    }
    let element = crate::kernel_source::element(cx.outputs[0].dtype);
    if step.is_multiple_of(4) {
        kernel.line(format!(
            "    spk_vec<{element}, 4> r;
    #pragma unroll
    for (int j = 0; j < 4; ++j) r.set(j, drawn[j]);
    spk_store(y + (t * {step}u + group * 4u), r);"
        ));
    } else {
        kernel.line(format!(
            "    #pragma unroll
    for (int j = 0; j < 4; ++j)
      if (group * 4u + j < {step}u) spk_set(y[t * {step}u + group * 4u + j], drawn[j]);"
        ));
    }
}

/// Code that converts the words of a group to standard normal values, or to values in (0, 1].
fn conversion_code(distribution: Distribution, words: &str, into: &str) -> String {
    let conversion = match distribution {
        Distribution::Normal => format!(
            "const float2 one = spk_normal_pair(words.x, words.y), two = spk_normal_pair(words.z, words.w);
      {into}[0] = one.x; {into}[1] = one.y; {into}[2] = two.x; {into}[3] = two.y;"
        ),
        Distribution::Uniform | Distribution::Bernoulli => ["x", "y", "z", "w"]
            .iter()
            .enumerate()
            .map(|(k, word)| format!("{into}[{k}] = spk_unit(words.{word});"))
            .collect::<Vec<_>>()
            .join(" "),
    };
    format!("    {{\n      const uint4 words = {words};\n      {conversion}\n    }}")
}

/// The offset of the probability of an element.
fn place(op: &Draw, cx: &LoweringContext<'_>, element: &str) -> String {
    let strides = index::strides(&cx.inputs[1].shape, &op.shape);
    offset(&op.shape, &strides, element)
}

/// The probability of an element.
fn probability(op: &Draw, cx: &LoweringContext<'_>, element: &str) -> String {
    format!("spk_get(p[{}])", place(op, cx, element))
}

/// Loads the probabilities of four neighbors of a row, in one access where they are contiguous.
fn chances(op: &Draw, cx: &LoweringContext<'_>, step: usize, row: usize) -> String {
    if cx.inputs[1].shape.last() == Some(&row) {
        return format!(
            "    float chance[4] = {{}};
    if (four * 4u < {row}u) {{
      const auto near = spk_load<4>(p + ({}));
      for (int j = 0; j < 4; ++j) chance[j] = near[j];
    }}",
            place(op, cx, &format!("(t * {step}u + first)"))
        );
    }
    format!(
        "    float chance[4];
    #pragma unroll
    for (unsigned j = 0; j < 4; ++j) chance[j] = four * 4u < {row}u ? {} : 0.0f;",
        probability(op, cx, &format!("(t * {step}u + first + j)"))
    )
}
