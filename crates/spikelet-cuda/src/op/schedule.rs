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
    /// Neighbouring neurons of a thread.
    pub(crate) pack: usize,
    /// Steps that are loaded together; in the backward pass, steps between checkpoints.
    pub(crate) steps: usize,
    /// Threads of a block.
    pub(crate) block: usize,
    /// Whether the loads of the next steps are issued before these are computed.
    pub(crate) ahead: bool,
    /// Whether accesses bypass the cache (`ld.global.cs`): scans that move more than it holds.
    pub(crate) streaming: bool,
}

/// The memory traffic of a scan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
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

impl Load {
    fn moved(&self) -> usize {
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

    fn few(&self, gpu: &Properties) -> bool {
        self.neurons < gpu.saturating_threads()
    }
}

/// A power of two that is not above `most`.
fn power(most: usize) -> usize {
    1 << most.max(1).ilog2()
}

impl Schedule {
    pub(crate) fn forward(gpu: &Properties, load: Load) -> Self {
        let streaming = load.moved() > gpu.l2_bytes;
        if load.few(gpu) {
            return Self {
                pack: 1,
                steps: power((32 / load.read.max(1)).min(load.time)).clamp(4, 16),
                block: 32,
                ahead: load.time > 16,
                streaming,
            };
        }
        Self {
            pack: load.pack(gpu, 16 / load.bytes),
            steps: power((8 / load.read.max(1)).min(load.time)).max(1),
            block: 128,
            ahead: false,
            streaming,
        }
    }

    pub(crate) fn backward(gpu: &Properties, load: Load) -> Self {
        let streaming = load.moved() > gpu.l2_bytes;
        let held = (load.states + load.read).max(2);
        if load.few(gpu) {
            return Self {
                pack: 1,
                steps: power(32 / held).clamp(4, 8),
                block: 32,
                ahead: load.time > 16,
                streaming,
            };
        }
        // Wider packs of 16-bit elements would keep fewer steps in registers.
        let pack = load.pack(gpu, 4);
        // Measured: with fewer steps in registers more warps fit, which hide the latencies of memory
        // and of elementary functions; this outweighs the cost of more checkpoints.
        let registers = if load.functions { 64 } else { 128 };
        let step = pack * (4 * load.states + load.bytes * load.read);
        Self {
            pack,
            steps: power(4 * registers / step.max(1)).clamp(4, 32),
            block: 128,
            ahead: false,
            streaming,
        }
    }
}
