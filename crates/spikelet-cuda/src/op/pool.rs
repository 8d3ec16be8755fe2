//! Pooling and its gradient: a thread processes neighboring channels of one position.

use super::{CudaKernel, Lowered, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource, element};
use spikelet_graph::op::{Pool, PoolGrad, Pooling, Window};
use spikelet_graph::{DType, Result, TensorType};

/// Elements of a pack: up to 16 bytes of neighboring channels.
fn pack(cx: &LoweringContext<'_>, channels: usize, items: usize) -> usize {
    let mut pack = 16 / cx.outputs[0].dtype.size_in_bytes().max(2);
    while pack > 1 && (!channels.is_multiple_of(pack) || items / pack < cx.gpu.saturating_threads())
    {
        pack /= 2;
    }
    pack
}

/// `start`, `end` (before clipping) and the stride of elements of window `o` of an axis of `n`.
fn range(window: Window, n: usize, o: &str) -> (String, String, usize) {
    match window {
        Window::Sliding {
            kernel,
            stride,
            padding,
            dilation,
            ..
        } => {
            let start = format!("(int)({o}) * {stride} - {padding}");
            (
                start.clone(),
                format!("{start} + {}", dilation * (kernel - 1) + 1),
                dilation,
            )
        }
        Window::Adaptive { outputs } => (
            format!("(int)(({o}) * {n}u / {outputs}u)"),
            format!("(int)((({o}) + 1) * {n}u + {})/{outputs}", outputs - 1),
            1,
        ),
    }
}

/// The first window that may contain element `i`, and the number of further ones.
fn windows_of(window: Window, n: usize, i: &str) -> (String, String) {
    match window {
        Window::Sliding {
            kernel,
            stride,
            padding,
            dilation,
            ..
        } => {
            let reach = dilation * (kernel - 1);
            let last = window.outputs(n) - 1;
            (
                format!(
                    "max(0, ((int)({i}) + {padding} - {reach} + {}) / {stride})",
                    stride - 1
                ),
                format!("min({last}, ((int)({i}) + {padding}) / {stride})"),
            )
        }
        Window::Adaptive { outputs } => (
            format!("(int)(({i}) * {outputs}u / {n}u)"),
            format!(
                "min({}, (int)((({i}) + 1) * {outputs}u + {}) / {n} - 1)",
                outputs - 1,
                n - 1
            ),
        ),
    }
}

/// Declares `position` (leading and spatial index of the result) and the coordinates `o0, o1, …`.
fn coordinates(sizes: &[usize], packs: usize, name: &str) -> String {
    let mut text = format!("    const Index c = i % {packs}u;\n    Index rest = i / {packs}u;\n");
    for (k, n) in sizes.iter().enumerate().rev() {
        text.push_str(&format!(
            "    const Index {name}{k} = rest % {n}u; rest /= {n}u;\n"
        ));
    }
    text
}

/// Opens loops `i0, i1, …` over the elements of the window at `o0, o1, …`, with `at` their offset.
fn window_loops(windows: &[Window], sizes: &[usize], o: &str) -> String {
    let mut text = String::new();
    for (k, (w, n)) in windows.iter().zip(sizes).enumerate() {
        let (start, end, step) = range(*w, *n, &format!("{o}{k}"));
        text.push_str(&format!(
            "    for (int i{k} = {start}, e{k} = min({n}, {end}); i{k} < e{k}; i{k} += {step}) if (i{k} >= 0) {{\n"
        ));
    }
    text
}

fn flat(count: usize, sizes: &[usize], name: &str, first: &str) -> String {
    (0..count).fold(first.to_string(), |at, k| {
        format!("({at} * {}u + {name}{k})", sizes[k])
    })
}

/// The divisor of the mean of the window at `o…`.
fn divisor(windows: &[Window], sizes: &[usize], o: &str, count_padding: bool) -> String {
    let sides = windows.iter().zip(sizes).enumerate().map(|(k, (w, n))| {
        let (start, end, _) = range(*w, *n, &format!("{o}{k}"));
        let padding = match w {
            Window::Sliding { padding, .. } => *padding,
            Window::Adaptive { .. } => 0,
        };
        if count_padding {
            format!("(min({end}, {}) - ({start}))", n + padding)
        } else {
            format!("(min({end}, {n}) - max({start}, 0))")
        }
    });
    sides.collect::<Vec<_>>().join(" * ")
}

fn close(count: usize) -> String {
    format!("    {}\n", "}".repeat(count))
}

impl CudaKernel for Pool {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (x, y) = (&cx.inputs[0], &cx.outputs[0]);
        let (_, sizes, channels) = self.split(&x.shape);
        let (_, outputs, _) = self.split(&y.shape);
        let n = pack(cx, channels, y.len());
        let packs = channels / n;
        let axes = sizes.len();
        let mut kernel = KernelSource::new("pool", Geometry::Items(y.len() / n));
        kernel.argument("x", x, Binding::Read(0));
        kernel.argument("y", y, Binding::Write(0));
        kernel.line(coordinates(outputs, packs, "o"));
        let start = match self.pooling {
            Pooling::Max => "-__int_as_float(0x7f800000)",
            Pooling::Average { .. } => "0.0f",
        };
        let combine = match self.pooling {
            Pooling::Max => "if (e[j] > a[j] || e[j] != e[j]) a[j] = e[j];",
            Pooling::Average { .. } => "a[j] += e[j];",
        };
        kernel.line(format!(
            "    float a[{n}];\n    for (int j = 0; j < {n}; ++j) a[j] = {start};"
        ));
        kernel.line(window_loops(&self.windows, sizes, "o"));
        kernel.line(format!(
        "      const auto e = spk_load<{n}>(x + ({} * {packs}u + c) * {n}u);\n      for (int j = 0; j < {n}; ++j) {combine}",
        flat(axes, sizes, "i", "rest")
    ));
        kernel.line(close(axes));
        let value = match self.pooling {
            Pooling::Max => "a[j]".to_string(),
            Pooling::Average { count_padding } => {
                let count = divisor(&self.windows, sizes, "o", count_padding);
                kernel.line(format!("    const float count = (float)({count});"));
                "a[j] / count".to_string()
            }
        };
        kernel.line(format!(
        "    spk_vec<{}, {n}> r;\n    for (int j = 0; j < {n}; ++j) r.set(j, {value});\n    spk_store(y + i * {n}u, r);",
        element(y.dtype)
    ));
        Ok(vec![kernel])
    }
}

impl CudaKernel for PoolGrad {
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        if self.by_blocks() {
            return Ok(Lowered::kernels(0, || Ok(vec![blocks_grad(self, cx)])));
        }
        if let Some(reach) = remembered(self) {
            // A byte for each window: the number of its largest element.
            let largest = TensorType::new(DType::F32, [cx.inputs[0].len().div_ceil(4)]);
            return Ok(Lowered::kernels(largest.bytes(), move || {
                Ok(overlapping_grad(self, cx, &reach, &largest))
            }));
        }
        Ok(Lowered::kernels(0, || Ok(vec![any_grad(self, cx)])))
    }
}

/// Windows of any kind: a thread looks for its elements in all windows that may have them.
fn any_grad(op: &PoolGrad, cx: &LoweringContext<'_>) -> KernelSource {
    let pool = &op.pool;
    let (g, dx) = (&cx.inputs[0], &cx.outputs[0]);
    let (_, sizes, channels) = pool.split(&dx.shape);
    let (_, outputs, _) = pool.split(&g.shape);
    let n = pack(cx, channels, dx.len());
    let packs = channels / n;
    let axes = sizes.len();
    let mut kernel = KernelSource::new("pool_grad", Geometry::Items(dx.len() / n));
    kernel.argument("g", g, Binding::Read(0));
    kernel.argument("dx", dx, Binding::Write(0));
    kernel.line(coordinates(sizes, packs, "p"));
    kernel.line(format!("    float sum[{n}] = {{}};"));
    for (k, w) in pool.windows.iter().enumerate() {
        let (first, last) = windows_of(*w, sizes[k], &format!("p{k}"));
        kernel.line(format!(
            "    for (int o{k} = {first}; o{k} <= {last}; ++o{k}) {{"
        ));
    }
    let of_grad = flat(axes, outputs, "o", "rest");
    match pool.pooling {
        Pooling::Max => {
            kernel.argument("x", &cx.inputs[1], Binding::Read(1));
            let position = flat(axes, sizes, "p", "rest");
            kernel.line(format!(
                "      float a[{n}]; Index where[{n}];\n      for (int j = 0; j < {n}; ++j) {{ a[j] = -__int_as_float(0x7f800000); where[j] = ~0u; }}"
            ));
            kernel.line(window_loops(&pool.windows, sizes, "o"));
            kernel.line(format!(
                "        const Index at = {};
        const auto e = spk_load<{n}>(x + (at * {packs}u + c) * {n}u);
        for (int j = 0; j < {n}; ++j) if (e[j] > a[j] || e[j] != e[j] || where[j] == ~0u) {{ a[j] = e[j]; where[j] = at; }}",
                flat(axes, sizes, "i", "rest")
            ));
            kernel.line(close(axes));
            kernel.line(format!(
                "      const auto q = spk_load<{n}>(g + ({of_grad} * {packs}u + c) * {n}u);
      for (int j = 0; j < {n}; ++j) if (where[j] == {position}) sum[j] += q[j];"
            ));
        }
        Pooling::Average { count_padding } => {
            let inside = pool
                .windows
                .iter()
                .zip(sizes)
                .enumerate()
                .map(|(k, (w, size))| {
                    let (start, end, _) = range(*w, *size, &format!("o{k}"));
                    format!("(int)p{k} >= {start} && (int)p{k} < {end}")
                });
            let inside: Vec<String> = inside.collect();
            let count = divisor(&pool.windows, sizes, "o", count_padding);
            kernel.line(format!(
                "      if ({}) {{
        const float count = (float)({count});
        const auto q = spk_load<{n}>(g + ({of_grad} * {packs}u + c) * {n}u);
        for (int j = 0; j < {n}; ++j) sum[j] += q[j] / count;
      }}",
                inside.join(" && ")
            ));
        }
    }
    kernel.line(close(axes));
    kernel.line(format!(
        "    spk_vec<{}, {n}> r;\n    for (int j = 0; j < {n}; ++j) r.set(j, sum[j]);\n    spk_store(dx + i * {n}u, r);",
        element(dx.dtype)
    ));
    kernel
}

/// The sizes of windows of maxima that overlap, whose elements are few enough to number them with a byte.
fn remembered(op: &PoolGrad) -> Option<Vec<usize>> {
    let kernel = |window: &Window| match *window {
        Window::Sliding { kernel, .. } => Some(kernel),
        Window::Adaptive { .. } => None,
    };
    let kernels: Option<Vec<usize>> = op.pool.windows.iter().map(kernel).collect();
    let few = |sizes: &Vec<usize>| sizes.iter().product::<usize>() <= 255;
    kernels.filter(|sizes| op.pool.pooling == Pooling::Max && few(sizes))
}

/// The type of `n` bytes that are read and written together.
fn bytes_together(n: usize) -> &'static str {
    match n {
        8 => "uint2",
        4 => "unsigned",
        2 => "unsigned short",
        _ => "unsigned char",
    }
}

/// Overlapping windows, in two rounds: the first finds the largest element of each window and keeps its number in the window,
/// the second adds for each element the gradients of the windows where it is the largest.
fn overlapping_grad(
    op: &PoolGrad,
    cx: &LoweringContext<'_>,
    kernels: &[usize],
    largest: &TensorType,
) -> Vec<KernelSource> {
    let pool = &op.pool;
    let (g, x, dx) = (&cx.inputs[0], &cx.inputs[1], &cx.outputs[0]);
    let (_, sizes, channels) = pool.split(&dx.shape);
    let (_, outputs, _) = pool.split(&g.shape);
    let (n, axes) = (pack(cx, channels, g.len()), sizes.len());
    let packs = channels / n;
    let raw = bytes_together(n);

    let mut first = KernelSource::new("pool_largest", Geometry::Items(g.len() / n));
    first.argument("x", x, Binding::Read(1));
    first.argument("largest", largest, Binding::Workspace(0));
    first.line(coordinates(outputs, packs, "o"));
    first.line(format!(
        "    float a[{n}]; unsigned char where[{n}];
    for (int j = 0; j < {n}; ++j) {{ a[j] = 0.0f; where[j] = 255; }}"
    ));
    first.line(window_loops(&pool.windows, sizes, "o"));
    let number = |first: &dyn Fn(usize) -> String| {
        (0..axes).fold("0".to_string(), |at, k| {
            format!("({at} * {} + {})", kernels[k], first(k))
        })
    };
    let step = |k: usize| match pool.windows[k] {
        Window::Sliding { dilation, .. } => dilation,
        Window::Adaptive { .. } => 1,
    };
    let start = |k: usize| range(pool.windows[k], sizes[k], &format!("o{k}")).0;
    let in_window = number(&|k| format!("(i{k} - ({})) / {}", start(k), step(k)));
    first.line(format!(
        "      const auto e = spk_load<{n}>(x + ({} * {packs}u + c) * {n}u);
      const unsigned char at = {in_window};
      for (int j = 0; j < {n}; ++j) if (where[j] == 255 || e[j] > a[j] || e[j] != e[j]) {{ a[j] = e[j]; where[j] = at; }}",
        flat(axes, sizes, "i", "rest")
    ));
    first.line(close(axes));
    first.line(format!(
        "    {raw} packed;
    for (int j = 0; j < {n}; ++j) ((unsigned char*)&packed)[j] = where[j];
    (({raw}*)largest)[i] = packed;"
    ));

    let n = pack(cx, channels, dx.len()).min(n);
    let packs = channels / n;
    let raw = bytes_together(n);
    let mut second = KernelSource::new("pool_grad", Geometry::Items(dx.len() / n));
    second.argument("g", g, Binding::Read(0));
    second.argument("largest", largest, Binding::Workspace(0));
    second.argument("dx", dx, Binding::Write(0));
    second.line(coordinates(sizes, packs, "p"));
    second.line(format!("    float sum[{n}] = {{}};"));
    let mut inside = vec![];
    for (k, w) in pool.windows.iter().enumerate() {
        let (first, last) = windows_of(*w, sizes[k], &format!("p{k}"));
        second.line(format!(
            "    for (int o{k} = {first}; o{k} <= {last}; ++o{k}) {{"
        ));
        if step(k) > 1 {
            inside.push(format!("((int)p{k} - ({})) % {} == 0", start(k), step(k)));
        }
    }
    let condition = match inside.is_empty() {
        true => String::new(),
        false => format!("if ({}) ", inside.join(" && ")),
    };
    let own = number(&|k| format!("((int)p{k} - ({})) / {}", start(k), step(k)));
    second.line(format!(
        "      {condition}{{
        const Index at = {} * {packs}u + c;
        const unsigned char own = {own};
        const {raw} packed = (({raw}*)largest)[at];
        const auto q = spk_load<{n}>(g + at * {n}u);
        for (int j = 0; j < {n}; ++j) if (((const unsigned char*)&packed)[j] == own) sum[j] += q[j];
      }}",
        flat(axes, outputs, "o", "rest")
    ));
    second.line(close(axes));
    second.line(format!(
        "    spk_vec<{}, {n}> r;
    for (int j = 0; j < {n}; ++j) r.set(j, sum[j]);
    spk_store(dx + i * {n}u, r);",
        element(dx.dtype)
    ));
    vec![first, second]
}

/// Non-overlapping blocks: a thread reads a block once and writes all of it.
fn blocks_grad(op: &PoolGrad, cx: &LoweringContext<'_>) -> KernelSource {
    let pool = &op.pool;
    let (g, x, dx): (&TensorType, &TensorType, &TensorType) =
        (&cx.inputs[0], &cx.inputs[1], &cx.outputs[0]);
    let (_, sizes, channels) = pool.split(&dx.shape);
    let (_, outputs, _) = pool.split(&g.shape);
    let n = pack(cx, channels, g.len());
    let packs = channels / n;
    let axes = sizes.len();
    let mut kernel = KernelSource::new("pool_blocks_grad", Geometry::Items(g.len() / n));
    kernel.argument("g", g, Binding::Read(0));
    kernel.argument("x", x, Binding::Read(1));
    kernel.argument("dx", dx, Binding::Write(0));
    kernel.line(coordinates(outputs, packs, "o"));
    let at = format!("({} * {packs}u + c) * {n}u", flat(axes, sizes, "i", "rest"));
    kernel.line(format!(
        "    const auto q = spk_load<{n}>(g + i * {n}u);
    float a[{n}]; Index where[{n}];
    for (int j = 0; j < {n}; ++j) {{ a[j] = 0.0f; where[j] = ~0u; }}"
    ));
    kernel.line(window_loops(&pool.windows, sizes, "o"));
    kernel.line(format!(
        "      const Index at = {at};
      const auto e = spk_load<{n}>(x + at);
      for (int j = 0; j < {n}; ++j) if (where[j] == ~0u || e[j] > a[j] || e[j] != e[j]) {{ a[j] = e[j]; where[j] = at; }}"
    ));
    kernel.line(close(axes));
    kernel.line(window_loops(&pool.windows, sizes, "o"));
    kernel.line(format!(
        "      const Index at = {at};
      spk_vec<{}, {n}> r;
      for (int j = 0; j < {n}; ++j) r.set(j, where[j] == at ? q[j] : 0.0f);
      spk_store(dx + at, r);",
        element(dx.dtype)
    ));
    kernel.line(close(axes));
    kernel
}
