//! Convolutions of images with few channels, such as the first layer's.
//!
//! A window of at most [`MAX_TAPS`] elements produces a row of output channels: few products per
//! element written. A thread keeps the weights of some neighboring output channels in registers and
//! iterates over the positions; for the gradient of the weight it keeps their sums.

use crate::kernel_source::{Binding, KernelSource, element};
use crate::op::channels::ChannelReduceTiling;
use crate::op::{Lowered, LoweringContext};
use spikelet_graph::op::{Conv, ConvPart, ConvSizes};

/// The most elements of a window: more would not stay in registers.
const MAX_TAPS: usize = 9;

pub(super) struct SmallChannelConv {
    sizes: ConvSizes,
    tiling: ChannelReduceTiling,
}

impl SmallChannelConv {
    /// The convolution, if it qualifies: one group, a small window, an even number of output channels.
    pub(super) fn of(op: &Conv, cx: &LoweringContext<'_>) -> Option<Self> {
        let sizes = op.sizes(&cx.inputs);
        let taps = sizes.kernel.iter().product::<usize>() * sizes.inputs;
        let fits = op.groups == 1
            && op.part != ConvPart::Input
            && taps <= MAX_TAPS
            && sizes.outputs.is_multiple_of(2);
        let positions = sizes.batch * sizes.y.iter().product::<usize>();
        fits.then(|| {
            let pack = if sizes.outputs.is_multiple_of(4) {
                4
            } else {
                2
            };
            Self {
                tiling: ChannelReduceTiling::new(cx.gpu, positions, sizes.outputs, pack),
                sizes,
            }
        })
    }

    fn taps(&self) -> usize {
        self.sizes.kernel.iter().product::<usize>() * self.sizes.inputs
    }

    /// Code that loads the window of position `r` into `window`, with zeros outside the image.
    fn window(&self, op: &Conv) -> String {
        let s = &self.sizes;
        let mut text = String::from("    Index rest = r;\n");
        for (k, n) in s.y.iter().enumerate().rev() {
            text.push_str(&format!(
                "    const int o{k} = (int)(rest % {n}u) * {} - {}; rest /= {n}u;\n",
                op.stride[k], op.padding[k]
            ));
        }
        let axes = s.y.len();
        let (mut loops, mut inside, mut at, mut tap) =
            (String::new(), vec![], "rest".to_string(), "0".to_string());
        for k in 0..axes {
            let kernel = s.kernel[k];
            loops.push_str(&format!(
                "    #pragma unroll\n    for (int k{k} = 0; k{k} < {kernel}; ++k{k})\n"
            ));
            let place = format!("(o{k} + k{k} * {})", op.dilation[k]);
            inside.push(format!("{place} >= 0 && {place} < {}", s.x[k]));
            at = format!("({at} * {}u + {place})", s.x[k]);
            tap = format!("({tap} * {kernel} + k{k})");
        }
        let channels = s.inputs;
        text.push_str(&format!(
            "    float window[{}];
{loops}    {{
      const bool here = {};
      #pragma unroll
      for (int q = 0; q < {channels}; ++q)
        window[{tap} * {channels} + q] = here ? spk_get(x[{at} * {channels}u + q]) : 0.0f;
    }}\n",
            self.taps(),
            inside.join(" && ")
        ));
        text
    }

    pub(super) fn lower<'a>(self, op: &'a Conv, cx: &'a LoweringContext<'_>) -> Lowered<'a> {
        if op.part != ConvPart::Weight {
            return Lowered::kernels(0, move || Ok(vec![self.forward(op, cx)]));
        }
        let workspace = self.tiling.partial(self.taps()).bytes();
        Lowered::kernels(workspace, move || Ok(self.weight(op, cx)))
    }

    fn rows(&self) -> usize {
        self.sizes.batch * self.sizes.y.iter().product::<usize>()
    }

    fn forward(&self, op: &Conv, cx: &LoweringContext<'_>) -> KernelSource {
        let (pack, taps, outputs) = (self.tiling.pack, self.taps(), self.sizes.outputs);
        let mut kernel = self.tiling.kernel("small_channel_conv");
        kernel.argument("x", &cx.inputs[0], Binding::Read(0));
        kernel.argument("w", &cx.inputs[1], Binding::Read(1));
        kernel.argument("y", &cx.outputs[0], Binding::Write(0));
        kernel.line(format!(
            "  float weight[{pack}][{taps}];
  #pragma unroll
  for (int j = 0; j < {pack}; ++j)
    for (int k = 0; k < {taps}; ++k) weight[j][k] = spk_get(w[(c + j) * {taps}u + k]);
  #pragma unroll 2
  for (Index r = row0; r < {}u; r += step) {{
{}    spk_vec<{}, {pack}> out;
    #pragma unroll
    for (int j = 0; j < {pack}; ++j) {{
      float sum = 0.0f;
      #pragma unroll
      for (int k = 0; k < {taps}; ++k) sum = __fmaf_rn(window[k], weight[j][k], sum);
      out.set(j, sum);
    }}
    spk_store(y + r * {outputs}u + c, out);
  }}",
            self.rows(),
            self.window(op),
            element(cx.outputs[0].dtype)
        ));
        kernel
    }

    fn weight(&self, op: &Conv, cx: &LoweringContext<'_>) -> Vec<KernelSource> {
        let (pack, taps, outputs) = (self.tiling.pack, self.taps(), self.sizes.outputs);
        let mut first = self.tiling.kernel("small_channel_conv_weight");
        first.argument("x", &cx.inputs[0], Binding::Read(0));
        first.argument("g", &cx.inputs[1], Binding::Read(1));
        first.line(format!(
            "  float sum[{pack}][{taps}] = {{}};
  #pragma unroll 2
  for (Index r = row0; r < {}u; r += step) {{
    const auto q = spk_load<{pack}>(g + r * {outputs}u + c);
{}    #pragma unroll
    for (int j = 0; j < {pack}; ++j)
      #pragma unroll
      for (int k = 0; k < {taps}; ++k) sum[j][k] = __fmaf_rn(window[k], q[j], sum[j][k]);
  }}",
            self.rows(),
            self.window(op)
        ));
        let combine = format!("for (int s = 0; s < {taps}; ++s) a[s] += b[s];");
        self.tiling.combine_rows(&mut first, "sum", taps, &combine);
        let store = format!("spk_set(dw[channel * {taps}u + which], total);");
        let mut second = (self.tiling).sums("small_channel_conv_weight_join", taps, &store);
        second.argument("dw", &cx.outputs[0], Binding::Write(0));
        vec![first, second]
    }
}
