//! The schedule of the threads of a scan.
//!
//! Neurons are independent, time steps are not. With many neurons the kernel is bound by memory: each
//! thread processes 16 bytes of neighboring neurons, and loads several steps before it uses the first.
//! With few neurons and many steps it is bound by the dependency chain: each thread processes one
//! neuron, and the loads of the next steps are issued ahead of the chain.

use crate::gpu::Properties;

/// The work of a thread of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// Neighboring neurons of a thread.
    pub(crate) pack: usize,
    /// Steps that are loaded together; in the backward pass, steps between checkpoints.
    pub(crate) steps: usize,
    /// Threads of a block.
    pub(crate) block: usize,
    /// Whether the loads of the next steps are issued before these are computed.
    pub(crate) prefetch: bool,
    /// Whether accesses bypass the cache (`ld.global.cs`): scans that move more than it holds.
    pub(crate) streaming: bool,
}

/// The memory traffic of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanTraffic {
    /// Neurons.
    pub(crate) neurons: usize,
    /// Time steps.
    pub(crate) time: usize,
    /// Bytes of an element of a sequence.
    pub(crate) bytes: usize,
    /// Sequences read.
    pub(crate) read: usize,
    /// Sequences written.
    pub(crate) written: usize,
    /// States.
    pub(crate) states: usize,
    /// Whether a step has elementary functions of time-varying values.
    pub(crate) functions: bool,
}

impl ScanTraffic {
    fn bytes_moved(&self) -> usize {
        self.neurons * self.time * self.bytes * (self.read + self.written)
    }

    /// The widest pack of at most `widest` neurons that still fills the GPU.
    fn pack(&self, gpu: &Properties, widest: usize) -> usize {
        let mut pack = widest;
        while pack > 1
            && (!self.neurons.is_multiple_of(pack)
                || self.neurons / pack < gpu.saturating_threads())
        {
            pack /= 2;
        }
        pack
    }

    fn is_latency_bound(&self, gpu: &Properties) -> bool {
        self.neurons < gpu.saturating_threads()
    }
}

/// A power of two that is not above `max`.
fn floor_power_of_two(max: usize) -> usize {
    1 << max.max(1).ilog2()
}

impl Schedule {
    pub(crate) fn forward(gpu: &Properties, traffic: ScanTraffic) -> Self {
        let streaming = traffic.bytes_moved() > gpu.l2_bytes;
        if traffic.is_latency_bound(gpu) {
            return Self {
                pack: 1,
                steps: floor_power_of_two((32 / traffic.read.max(1)).min(traffic.time))
                    .clamp(4, 16),
                block: 32,
                prefetch: traffic.time > 16,
                streaming,
            };
        }
        Self {
            pack: traffic.pack(gpu, 16 / traffic.bytes),
            steps: floor_power_of_two((8 / traffic.read.max(1)).min(traffic.time)).max(1),
            block: 128,
            prefetch: false,
            streaming,
        }
    }

    pub(crate) fn backward(gpu: &Properties, traffic: ScanTraffic) -> Self {
        let streaming = traffic.bytes_moved() > gpu.l2_bytes;
        let live_values = (traffic.states + traffic.read).max(2);
        if traffic.is_latency_bound(gpu) {
            return Self {
                pack: 1,
                steps: floor_power_of_two(32 / live_values).clamp(4, 8),
                block: 32,
                prefetch: traffic.time > 16,
                streaming,
            };
        }
        // Wider packs of 16-bit elements would keep fewer steps in registers.
        let pack = traffic.pack(gpu, 4);
        // Measured: with fewer steps in registers more warps fit, which hide the latencies of memory
        // and of elementary functions; this outweighs the cost of more checkpoints.
        let registers = if traffic.functions { 64 } else { 128 };
        let step = pack * (4 * traffic.states + traffic.bytes * traffic.read);
        Self {
            pack,
            steps: floor_power_of_two(4 * registers / step.max(1)).clamp(4, 32),
            block: 128,
            prefetch: false,
            streaming,
        }
    }
}
