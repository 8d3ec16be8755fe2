//! Frames of events.

use super::{CpuKernel, Float, Kernel, PrepareContext, Prepared, RunResult};
use crate::memory::{Element, View, ViewMut};
use spikelet_graph::op::EventFrames;

struct EventFramesKernel {
    op: EventFrames,
    samples: usize,
}

impl CpuKernel for EventFrames {
    fn prepare<R: Float>(&self, cx: &PrepareContext<'_>) -> Prepared {
        Ok(Box::new(EventFramesKernel {
            op: *self,
            samples: cx.types.inputs[0].shape[0],
        }))
    }
}

impl Kernel for EventFramesKernel {
    fn run(&mut self, reads: &[View<'_>], writes: &mut [ViewMut<'_>], _: &mut [u64]) -> RunResult {
        let (events, lengths) = (i64::of(&reads[0]), i64::of(&reads[1]));
        let frames = f32::of_mut(&mut writes[0]);
        frames.fill(0.0);
        let most = events.len() / self.samples.max(1);
        let [height, width] = self.op.size;
        for (n, (events, &length)) in events.chunks(most.max(1)).zip(lengths).enumerate() {
            let count = usize::try_from(length).unwrap_or(0).min(most);
            let events = &events[..count.min(events.len())];
            let last = events
                .last()
                .map_or(0, |&event| EventFrames::unpack(event).0);
            for (k, &event) in events.iter().enumerate() {
                let (t, x, y, on) = EventFrames::unpack(event);
                let frame = self.op.frame(k, count, t, last);
                let row = self.op.resized(0, y.into());
                let column = self.op.resized(1, x.into());
                let (Some(frame), Some(row), Some(column)) = (frame, row, column) else {
                    continue;
                };
                let channel = (frame * self.samples + n) * 2 + usize::from(on);
                frames[(channel * height + row) * width + column] += 1.0;
            }
        }
        Ok(())
    }
}
