//! The neurons of a thread: neighbors, or a pooling block of each of some neighboring channels.

use super::bits::Bits;
use super::tiling::PooledTiling;
use crate::kernel_source::{Geometry, KernelSource, element};
use crate::op::channels::ChannelReduceTiling;
use crate::op::schedule::Schedule;
use crate::op::step::array_len;
use spikelet_graph::TensorType;

/// Which neurons a thread has, where it keeps their values, and where these are in tensors.
pub(super) struct Layout {
    /// Neighboring neurons that are accessed together.
    pub(super) pack: usize,
    /// The neurons of a step.
    pub(super) neurons: usize,
    /// Threads of a block.
    pub(super) block: usize,
    pub(super) places: Places,
    /// The functions that load and store packs: cached, or streaming.
    pub(super) access: (&'static str, &'static str),
}

/// The packs of a thread.
pub(super) enum Places {
    /// One.
    Flat(Option<Bits>),
    /// One for each position of a block.
    Blocks(PooledTiling),
}

/// A pack that is computed and stored: its name, the result, and the value of neuron `j`.
pub(super) struct Stored(pub(super) String, pub(super) usize, pub(super) String);

impl Layout {
    /// Neighboring neurons, which do not cross the end of a row of bits.
    pub(super) fn flat(schedule: &Schedule, neurons: usize, bits: Option<Bits>) -> Self {
        let mut pack = schedule.pack;
        while bits.as_ref().is_some_and(|b| b.last % pack != 0) {
            pack /= 2;
        }
        Self {
            pack,
            neurons,
            block: schedule.block,
            places: Places::Flat(bits),
            access: match schedule.streaming {
                true => ("spk_load_once", "spk_store_once"),
                false => ("spk_load", "spk_store"),
            },
        }
    }

    /// Blocks of neurons.
    pub(super) fn blocks(tiling: PooledTiling) -> Self {
        Self {
            pack: tiling.pack,
            neurons: tiling.neurons,
            block: 128,
            places: Places::Blocks(tiling),
            access: ("spk_load", "spk_store"),
        }
    }

    fn tiling(&self) -> Option<&PooledTiling> {
        match &self.places {
            Places::Flat(_) => None,
            Places::Blocks(tiling) => Some(tiling),
        }
    }

    pub(super) fn bits(&self) -> Option<&Bits> {
        match &self.places {
            Places::Flat(bits) => bits.as_ref(),
            Places::Blocks(_) => None,
        }
    }

    /// The dimensions of an array with a pack for each place.
    pub(super) fn of_places(&self) -> String {
        (self.tiling()).map_or(String::new(), |tiling| format!("[{}]", tiling.positions()))
    }

    /// The dimensions of an array with a value for each neuron.
    pub(super) fn of_neurons(&self) -> String {
        format!("{}[{}]", self.of_places(), self.pack)
    }

    /// The kernel of all threads, or of those that also sum over channels.
    pub(super) fn kernel(&self, name: String, sums: Option<&ChannelReduceTiling>) -> KernelSource {
        if let Some(sums) = sums {
            return sums.kernel(&name);
        }
        let (pack, block) = (self.pack, self.block);
        let (packs, place) = match &self.places {
            Places::Flat(None) => (self.neurons / pack, format!("const Index n = i * {pack}u;")),
            Places::Flat(Some(bits)) => (bits.padded() / pack, bits.place(pack)),
            Places::Blocks(tiling) => {
                let packs = tiling.channels / pack;
                let place =
                    format!("const Index window = i / {packs}u, c = i % {packs}u * {pack}u;");
                (tiling.windows * packs, place)
            }
        };
        let grid = [packs.div_ceil(block), 1];
        let shared = 0;
        let geometry = Geometry::Blocks {
            grid,
            block,
            shared,
        };
        let mut kernel = KernelSource::new(name, geometry);
        kernel.line(format!(
            "const Index i = blockIdx.x * {block}u + threadIdx.x;\nif (i >= {packs}u) return;\n{place}"
        ));
        kernel
    }

    /// Declares the places of a block's neurons.
    pub(super) fn places(&self) -> String {
        self.tiling().map_or(String::new(), PooledTiling::places)
    }

    /// Declares the first neuron of the block.
    pub(super) fn base(&self) -> String {
        self.tiling().map_or(String::new(), PooledTiling::base)
    }

    /// The index of the place `at` in such an array.
    pub(super) fn at(&self) -> &'static str {
        self.tiling().map_or("", |_| "[at]")
    }

    /// The index of a neuron in such an array.
    pub(super) fn neuron(&self) -> &'static str {
        self.tiling().map_or("[j]", |_| "[at][j]")
    }

    /// The condition of a store.
    pub(super) fn guard(&self) -> &'static str {
        self.bits().map_or("", |_| "if (real) ")
    }

    /// The C++ expressions of an element of a step and of the length of the step, for one that may be of pooled neurons.
    pub(super) fn element(&self, pooled: bool) -> (&'static str, usize) {
        match self.tiling() {
            Some(tiling) if pooled => ("m", tiling.pooled()),
            _ => ("n", self.neurons),
        }
    }

    /// `body` for each place; `n` is its first neuron.
    pub(super) fn each_place(&self, body: &str) -> String {
        match self.tiling() {
            Some(tiling) => tiling.each_position(body),
            None => body.to_string(),
        }
    }

    /// `body` for each neuron `j` of a place.
    pub(super) fn lanes(&self, body: &str) -> String {
        let pack = self.pack;
        format!("#pragma unroll\nfor (int j = 0; j < {pack}; ++j) {{\n{body}}}\n")
    }

    /// `body` for each neuron.
    pub(super) fn each(&self, body: &str) -> String {
        self.each_place(&self.lanes(body))
    }

    /// Copies the states of a neuron.
    pub(super) fn copy_states(&self, states: usize, to: &str, from: &str) -> String {
        let (neuron, states) = (self.neuron(), array_len(states));
        format!("for (int s = 0; s < {states}; ++s) {to}{neuron}[s] = {from}{neuron}[s];\n")
    }

    /// Computes `inside` for each neuron, and stores packs by `put` at `offset` of results, whose types are `types`.
    pub(super) fn each_stored(
        &self,
        types: &[TensorType],
        (put, offset): (&str, &str),
        inside: &str,
        stored: &[Stored],
    ) -> String {
        let (pack, guard) = (self.pack, self.guard());
        let [mut declared, mut set, mut stores] = [const { String::new() }; 3];
        for Stored(name, to, value) in stored {
            let ty = element(types[*to].dtype);
            declared.push_str(&format!("spk_vec<{ty}, {pack}> {name};\n"));
            set.push_str(&format!("{name}.set(j, {value});\n"));
            stores.push_str(&format!("{guard}{put}(y{to} + {offset}, {name});\n"));
        }
        self.each_place(&format!(
            "{declared}{}{stores}",
            self.lanes(&format!("{inside}{set}"))
        ))
    }
}
