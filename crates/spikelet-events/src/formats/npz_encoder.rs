//! SpikingJelly's npz files are written: a zip file of the arrays t (i64), x, y (u16) and p (u8).
//!
//! A zip file has one array after the other, so the columns are held until the end.

use spikelet_weights::arrays::{archive::Archive, npy};

use super::{Encoder, Events, Unwritable};
use crate::WriteOptions;
use crate::error::Result;

/// The name and the number type of NumPy of each array.
const ARRAYS: [(&str, &str); 4] = [
    ("t.npy", "<i8"),
    ("x.npy", "<u2"),
    ("y.npy", "<u2"),
    ("p.npy", "|u1"),
];

pub(super) fn new_encoder(options: &WriteOptions, _: &mut Vec<u8>) -> Result<Box<dyn Encoder>> {
    Ok(Box::new(NpzEncoder {
        arrays: Default::default(),
        len: 0,
        compress: options.compress,
    }))
}

struct NpzEncoder {
    arrays: [Vec<u8>; 4],
    /// The number of events.
    len: usize,
    compress: bool,
}

impl Encoder for NpzEncoder {
    fn encode(&mut self, events: Events<'_>, _: &mut Vec<u8>) -> Result<(), Unwritable> {
        self.len += events.t.len();
        let [t, x, y, p] = &mut self.arrays;
        t.extend(events.t.iter().flat_map(|value| value.to_le_bytes()));
        x.extend(events.x.iter().flat_map(|value| value.to_le_bytes()));
        y.extend(events.y.iter().flat_map(|value| value.to_le_bytes()));
        p.extend(events.p);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        let mut archive = Archive::new(out);
        for (array, (name, number)) in self.arrays.iter_mut().zip(ARRAYS) {
            // Its memory is not needed any more.
            let array = std::mem::take(array);
            let header = npy::new_header(number, &[self.len]);
            let written = archive.add(name, &[&header, &array], self.compress);
            written.expect("memory is written");
        }
        archive.finish().expect("memory is written");
    }
}
