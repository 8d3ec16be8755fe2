//! MATLAB 5: the arrays `ts` (microseconds), `x`, `y` and `pol`, of ASL-DVS.
//!
//! Source: The MathWorks, *MAT-File Format*; SpikingJelly 2.0 and tonic 1.7 `ASLDVS`, which mirror the axes; here the values
//! are those of the file.

use super::columns::{Value, Whole, coordinate, polarity, time};
use super::shared_file::SharedFile;
use super::{Blocks, Container, Entry, Open};
use crate::error::Result;
use crate::{EventBuffer, Format};
use spikelet_weights::arrays::{Source as _, mat5};

const NAME: &str = Format::Mat5.name();

/// The longest file, which is read at once.
const MAX_FILE: u64 = 1 << 28;

pub(crate) const ENTRY: Entry = Entry {
    extensions: &["mat"],
    detect: |start| start.starts_with(b"MATLAB 5.0 MAT-file"),
    encoder: None,
    open: Open::Container(|file, _| open(file)),
};

fn open(file: Box<dyn Container>) -> Result<Box<dyn Blocks>> {
    let file = SharedFile::new(NAME, file)?;
    if file.len() > MAX_FILE {
        let problem = format!("the file has {} bytes; {MAX_FILE} can be read", file.len());
        return Err(file.damaged(0, problem));
    }
    let bytes = file.read(0, file.len() as usize)?;
    let arrays = mat5::read(&bytes, ["ts", "x", "y", "pol"]);
    let [ts, x, y, pol] =
        arrays.map_err(|(offset, problem)| file.damaged(offset as u64, problem))?;
    let lens = [&ts, &x, &y, &pol].map(|array| array.values.len());
    if lens.iter().any(|&len| len != lens[0]) {
        let [t, x, y, p] = lens;
        let problem = format!("the arrays have unequal lengths: ts {t}, x {x}, y {y}, pol {p}");
        return Err(file.damaged(0, problem));
    }
    let mut events = EventBuffer::default();
    for at in 0..lens[0] {
        let value = |array: &mat5::MatArray| Value::Float(array.values[at]);
        let invalid = |name: &'static str| {
            let file = &file;
            move |problem: String| file.damaged(0, format!("event {at}: {name} {problem}"))
        };
        events.push(
            time(value(&ts), 1).map_err(invalid("ts"))?,
            coordinate(value(&x)).map_err(invalid("x"))?,
            coordinate(value(&y)).map_err(invalid("y"))?,
            polarity(value(&pol)).map_err(invalid("pol"))? == 1,
        );
    }
    Ok(Box::new(Whole(events)))
}
