//! The neurons of a thread: neighbors, a pooling block of each of some neighboring channels, or some of a cluster's tile.

use super::bits::Bits;
use super::cluster::{Part, Tiling};
use super::pooled::PooledTiling;
use super::read::Read;
use crate::kernel_source::{Geometry, KernelSource, element};
use crate::op::channels::ChannelReduceTiling;
use crate::op::schedule::Schedule;
use crate::op::step::array_len;
use spikelet_graph::{DType, TensorType};

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
    /// One of one neuron for each element of this part of a cluster's tile.
    Cluster(Tiling, Part),
}

/// The word of bits of a cluster's neuron at a step of a sequence.
pub(super) fn word(sequence: &str, step: &str) -> String {
    format!("({sequence} + own_word + {step} * (BATCH * ROW_WORDS))[word_shift]")
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

    /// Neurons of a part of a cluster's tile.
    pub(super) fn cluster(tiling: Tiling, part: Part) -> Self {
        Self {
            pack: 1,
            neurons: tiling.batch * tiling.features,
            block: tiling.threads(),
            places: Places::Cluster(tiling, part),
            access: ("spk_get", "spk_set"),
        }
    }

    fn tiling(&self) -> Option<&PooledTiling> {
        match &self.places {
            Places::Blocks(tiling) => Some(tiling),
            _ => None,
        }
    }

    pub(super) fn bits(&self) -> Option<&Bits> {
        match &self.places {
            Places::Flat(bits) => bits.as_ref(),
            _ => None,
        }
    }

    /// The dimensions of an array with a pack for each place.
    pub(super) fn of_places(&self) -> String {
        match &self.places {
            Places::Flat(_) => String::new(),
            Places::Blocks(tiling) => format!("[{}]", tiling.positions()),
            Places::Cluster(tiling, _) => format!("[{}]", tiling.elements()),
        }
    }

    /// The dimensions of an array with a value for each neuron.
    pub(super) fn of_neurons(&self) -> String {
        match &self.places {
            Places::Cluster(..) => self.of_places(),
            _ => format!("{}[{}]", self.of_places(), self.pack),
        }
    }

    /// The kernel of all threads, or of those that also sum over channels.
    pub(super) fn kernel(&self, name: String, sums: Option<&ChannelReduceTiling>) -> KernelSource {
        if let Some(sums) = sums {
            return sums.kernel(&name);
        }
        let (pack, block) = (self.pack, self.block);
        let (packs, place) = match &self.places {
            Places::Cluster(tiling, _) => return tiling.kernel(name),
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

    /// The index of the place in such an array.
    pub(super) fn at(&self) -> &'static str {
        match &self.places {
            Places::Flat(_) => "",
            Places::Blocks(_) => "[at]",
            Places::Cluster(..) => "[e]",
        }
    }

    /// The index of a neuron in such an array.
    pub(super) fn neuron(&self) -> &'static str {
        match &self.places {
            Places::Flat(_) => "[j]",
            Places::Blocks(_) => "[at][j]",
            Places::Cluster(..) => "[e]",
        }
    }

    /// The condition of a store.
    pub(super) fn guard(&self) -> &'static str {
        match &self.places {
            Places::Flat(Some(_)) | Places::Cluster(..) => "if (real) ",
            _ => "",
        }
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
        match &self.places {
            Places::Flat(_) => body.to_string(),
            Places::Blocks(tiling) => tiling.each_position(body),
            Places::Cluster(tiling, part) => tiling.each_element(part, body),
        }
    }

    /// `body` for each neuron `j` of a place.
    pub(super) fn lanes(&self, body: &str) -> String {
        let head = format!(
            "#pragma unroll\nfor (int j = 0; j < {}; ++j) {{\n",
            self.pack
        );
        match &self.places {
            Places::Cluster(..) => body.to_string(),
            _ => format!("{head}{body}}}\n"),
        }
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

    /// Stores `value` by `put` at `offset` of a result.
    pub(super) fn put(&self, to: usize, (put, offset): (&str, &str), value: &str) -> String {
        let (guard, to) = (self.guard(), format!("y{to} + {offset}"));
        match &self.places {
            Places::Cluster(..) => format!("{guard}{put}(({to})[shift], {value});\n"),
            _ => format!("{guard}{put}({to}, {value});\n"),
        }
    }

    /// Declares the registers of a sequence that is read, for so many steps.
    pub(super) fn registers(&self, read: &Read, prefix: &str, count: usize) -> String {
        let (Read { name, dtype, .. }, pack, all) = (read, self.pack, self.of_places());
        let (ty, places) = (element(*dtype), if read.pooled { "" } else { &all });
        match (&self.places, dtype) {
            (Places::Cluster(..), DType::Bits) => format!("unsigned {name}{all} = {{}};\n"),
            (Places::Cluster(..), _) => format!("{ty} {name}{all} = {{}};\n"),
            _ => format!("spk_vec<{ty}, {pack}> {prefix}{name}[{count}]{places};\n"),
        }
    }

    /// Reads a sequence into its registers: step `step`, or what is at `step` in the sequence of a cluster's thread.
    pub(super) fn load(&self, read: &Read, prefix: &str, step: &str) -> String {
        let (Read { name, from, .. }, pack, get) = (read, self.pack, self.access.0);
        if let Places::Cluster(..) = self.places {
            let (lag, guard) = match &read.first {
                Some((_, lag)) => (*lag, " && at_time > 0"),
                None => ("", ""),
            };
            let value = match read.dtype {
                DType::Bits => word(&format!("(const unsigned*){from}"), "at_time"),
                _ => format!("({from} + {step}{lag})[shift]"),
            };
            return format!("if (real{guard}) {name}[e] = {value};\n");
        }
        let (n, length) = self.element(read.pooled);
        let load = |at: &str| {
            format!("{prefix}{name}[k]{at} = {get}<{pack}>({from} + ({step}) * {length}u + {n});\n")
        };
        match read.pooled {
            true => load(""),
            false => self.each_place(&load(self.at())),
        }
    }

    /// Computes `inside` for each neuron, and stores packs by `put` at `offset` of results, whose types are `types`.
    pub(super) fn each_stored(
        &self,
        types: &[TensorType],
        (put, offset): (&str, &str),
        inside: &str,
        stored: &[Stored],
    ) -> String {
        let pack = self.pack;
        let [mut declared, mut set, mut stores] = [const { String::new() }; 3];
        for Stored(name, to, value) in stored {
            let ty = element(types[*to].dtype);
            declared.push_str(&format!("spk_vec<{ty}, {pack}> {name};\n"));
            set.push_str(&format!("{name}.set(j, {value});\n"));
            stores.push_str(&self.put(*to, (put, offset), name));
        }
        self.each_place(&format!(
            "{declared}{}{stores}",
            self.lanes(&format!("{inside}{set}"))
        ))
    }
}
