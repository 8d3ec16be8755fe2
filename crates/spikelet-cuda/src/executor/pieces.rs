//! The memory of a plan by name.
//!
//! A plan is lowered with names: a piece of memory and an offset. A run replaces them by addresses, those of the buffers of
//! an executor or those that the caller of a callable plan gives.

use spikelet_graph::Location;

/// The bits of a name that are the offset in a piece of memory; those above are the number of the piece, from 1.
const OFFSET_BITS: u32 = 44;

/// The names of the memory of a plan: the arena, then the inputs, then the outputs, then the constants of kernels.
#[derive(Clone, Copy)]
pub(super) struct Names {
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

impl Names {
    /// The name of a value; 0 for one without memory.
    pub(super) fn of(self, place: Location) -> u64 {
        let (piece, offset) = match place {
            Location::Arena(offset) => (0, offset),
            Location::Input(k) => (1 + k, 0),
            Location::Output(k) => (1 + self.inputs + k, 0),
            Location::InputAt(k, offset) => (1 + k, offset),
            Location::OutputAt(k, offset) => (1 + self.inputs + k, offset),
            Location::Unused => return 0,
        };
        Self::name(piece, offset)
    }

    /// The name of the start of the constants.
    pub(super) fn constants(self) -> u64 {
        Self::name(1 + self.inputs + self.outputs, 0)
    }

    fn name(piece: usize, offset: usize) -> u64 {
        (piece as u64 + 1) << OFFSET_BITS | offset as u64
    }
}

/// The addresses of the pieces of memory in a run.
#[derive(Clone, Copy)]
pub(super) struct Pieces<'a> {
    pub(super) arena: usize,
    pub(super) inputs: &'a [usize],
    pub(super) outputs: &'a [usize],
    pub(super) constants: u64,
}

impl Pieces<'_> {
    /// The address of a name; 0 for a value without memory.
    pub(super) fn address(&self, name: u64) -> u64 {
        let Some(piece) = (name >> OFFSET_BITS).checked_sub(1) else {
            return name;
        };
        let piece = piece as usize;
        let base = match piece.checked_sub(1) {
            None => self.arena as u64,
            Some(k) => match self.inputs.iter().chain(self.outputs).nth(k) {
                Some(address) => *address as u64,
                None => self.constants,
            },
        };
        base + (name & ((1 << OFFSET_BITS) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_addresses_of_their_piece_and_offset() {
        let names = Names {
            inputs: 2,
            outputs: 1,
        };
        let pieces = Pieces {
            arena: 0x7f00_0000_0000,
            inputs: &[0x1000, 0x2000],
            outputs: &[0x3000],
            constants: 0x4000,
        };
        let address = |place| pieces.address(names.of(place));
        assert_eq!(address(Location::Unused), 0);
        assert_eq!(address(Location::Arena(256)), 0x7f00_0000_0100);
        assert_eq!(address(Location::Input(0)), 0x1000);
        assert_eq!(address(Location::InputAt(1, 16)), 0x2010);
        assert_eq!(address(Location::OutputAt(0, 4)), 0x3004);
        assert_eq!(pieces.address(names.constants() + 8), 0x4008);
    }
}
