//! Frames of events.

use super::{CudaKernel, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::Result;
use spikelet_graph::op::{EventFrames, EventSlicing};

/// Zeros, then one thread for each place of an event. Counts are integers below 2²⁴, whose sums in f32 are exact in any
/// order.
impl CudaKernel for EventFrames {
    fn kernels(&self, cx: &LoweringContext<'_>) -> Result<Vec<KernelSource>> {
        let (events, lengths, y) = (&cx.inputs[0], &cx.inputs[1], &cx.outputs[0]);
        let mut zeros = KernelSource::new("event_frames_zero", Geometry::Items(y.len()));
        zeros.argument("y", y, Binding::Write(0));
        zeros.line("    y[i] = 0.0f;");
        let mut kernel = KernelSource::new("event_frames", Geometry::Items(events.len()));
        kernel.argument("events", events, Binding::Read(0));
        kernel.argument("lengths", lengths, Binding::Read(1));
        kernel.argument("y", y, Binding::Write(0));
        let (samples, most) = (events.shape[0], events.shape[1]);
        let (frames, end) = (self.frames, self.frames - 1);
        kernel.line(format!(
            "    const Index n = i / {most}u, k = i % {most}u;
    const long long given = lengths[n];
    const Index count = given < 0ll ? 0u : given > {most}ll ? {most}u : (Index)given;
    if (k >= count) continue;
    const unsigned long long event = (unsigned long long)events[i];
    const unsigned int t = (unsigned int)(event >> 32);
    const Index x = (Index)(event & 0x7fffull), row = (Index)(event >> 15 & 0x7fffull);
    const Index on = (Index)(event >> 30 & 1ull);"
        ));
        let last = "(unsigned int)((unsigned long long)events[i - k + count - 1u] >> 32)";
        kernel.line(match self.slicing {
            EventSlicing::Number => format!(
                "    const Index each = count / {frames}u;
    const Index frame = each == 0u || k / each > {end}u ? {end}u : k / each;"
            ),
            EventSlicing::Time => format!(
                "    const unsigned int each = {last} / {frames}u;
    const Index frame = each == 0u || t / each > {end}u ? {end}u : t / each;"
            ),
            EventSlicing::Duration(duration) => format!(
            "    const unsigned long long all = ({last} + {duration}ull - 1ull) / {duration}ull;
    const unsigned long long own = t / {duration}ull, most = all == 0ull ? 0ull : all - 1ull;
    const unsigned long long frame = own < most ? own : most;
    if (frame > {end}ull) continue;"
        ),
        });
        for (axis, (name, at)) in [("r", "row"), ("c", "x")].into_iter().enumerate() {
            let (size, sensor) = (self.size[axis], self.sensor[axis]);
            kernel.line(format!(
                "    const Index {name} = ({at} * {size}u + {sensor}u - 1u) / {sensor}u;
    if ({at} >= {sensor}u || {name} >= {size}u || {name} * {sensor}u / {size}u != {at}) continue;"
            ));
        }
        let [height, width] = self.size;
        kernel.line(format!(
            "    const Index channel = ((Index)frame * {samples}u + n) * 2u + on;
    atomicAdd(&y[(channel * {height}u + r) * {width}u + c], 1.0f);"
        ));
        Ok(vec![zeros, kernel])
    }
}
