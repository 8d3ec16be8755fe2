//! safetensors: the length of a JSON header, the header, the elements.
//!
//! Source: <https://github.com/huggingface/safetensors>, section "Format".

use std::io::{self, Seek, SeekFrom, Write};

use super::{ArraySpec, ArrayType, Placed, extend};

pub(super) fn begin(
    file: &mut (impl Write + Seek),
    arrays: Vec<ArraySpec>,
) -> io::Result<Vec<Placed>> {
    let mut header = serde_json::Map::new();
    let mut offsets = vec![];
    let mut end = 0_u64;
    // Larger elements first, so that all are aligned.
    let mut order: Vec<usize> = (0..arrays.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(arrays[k].element.bytes()));
    for k in order {
        let array = &arrays[k];
        let start = end;
        end += array.bytes();
        let element = match array.element {
            ArrayType::U8 => "U8",
            ArrayType::I64 => "I64",
            ArrayType::F32 => "F32",
        };
        let entry = serde_json::json!({
            "dtype": element, "shape": array.shape, "data_offsets": [start, end],
        });
        header.insert(array.name.clone(), entry);
        offsets.push((k, start));
    }
    let mut header = serde_json::Value::Object(header).to_string();
    // The elements begin at a multiple of 8.
    let padding = header.len().next_multiple_of(8) - header.len();
    header.extend(std::iter::repeat_n(' ', padding));
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    let first = 8 + header.len() as u64;
    offsets.sort_unstable();
    let placed = arrays.into_iter().zip(offsets).map(|(spec, (_, start))| {
        let data = first + start;
        let header = data;
        Placed { spec, header, data }
    });
    Ok(placed.collect())
}

pub(super) fn finish(file: &mut (impl Write + Seek), arrays: &[Placed]) -> io::Result<()> {
    let ends = arrays.iter().map(|array| array.data + array.spec.bytes());
    extend(file, ends.max().unwrap_or(0))
}
