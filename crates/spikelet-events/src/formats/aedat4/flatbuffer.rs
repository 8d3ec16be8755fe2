//! Checked reading of flatbuffers: no offset or length leaves the bytes.
//!
//! The root table is where the first u32 points to. A table begins with an i32, the distance back to its list of fields:
//! u16 size of the list, u16 size of the table, then a u16 for each field, its position in the table or 0. Vectors and
//! strings are a u32 distance forward, to a u32 count and the elements.
//!
//! Source: flatbuffers.dev, FlatBuffer Internals.

/// A table, or why there is none.
type Checked<T> = Result<T, String>;

/// A table.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The positions of the fields.
    fields: &'a [u8],
}

impl<'a> Table<'a> {
    /// The root table of a flatbuffer with this identifier.
    pub fn root(bytes: &'a [u8], identifier: &str) -> Checked<Self> {
        let found: [u8; 4] = array(bytes, 4)?;
        if found != identifier.as_bytes() {
            let found = found.escape_ascii();
            return Err(format!("its identifier is `{found}`, not `{identifier}`"));
        }
        Self::new(bytes, u32::from_le_bytes(array(bytes, 0)?) as usize)
    }

    /// The table at a position.
    fn new(bytes: &'a [u8], at: usize) -> Checked<Self> {
        let back = i64::from(i32::from_le_bytes(array(bytes, at)?));
        let list = usize::try_from(at as i64 - back);
        let list = list.map_err(|_| "the fields of a table lie before its bytes".to_string())?;
        let len = usize::from(u16::from_le_bytes(array(bytes, list)?));
        let fields = bytes.get(list + 4..list + len.max(4));
        let fields = fields.ok_or_else(|| format!("a table has {len} bytes of fields"))?;
        Ok(Self { bytes, at, fields })
    }

    /// The position of a field, if it is there.
    fn field(&self, number: usize) -> Option<usize> {
        let (positions, _) = self.fields.as_chunks();
        let position = u16::from_le_bytes(*positions.get(number)?);
        (position > 0).then_some(self.at + usize::from(position))
    }

    /// A field of 8 bits, or 0.
    pub fn u8(&self, number: usize) -> Checked<u8> {
        let [value] = self
            .field(number)
            .map_or(Ok([0]), |at| array(self.bytes, at))?;
        Ok(value)
    }

    /// A field of 32 bits, if it is there.
    pub fn i32(&self, number: usize) -> Checked<Option<i32>> {
        let field = self.field(number);
        field
            .map(|at| Ok(i32::from_le_bytes(array(self.bytes, at)?)))
            .transpose()
    }

    /// A field of 64 bits, if it is there.
    pub fn i64(&self, number: usize) -> Checked<Option<i64>> {
        let field = self.field(number);
        field
            .map(|at| Ok(i64::from_le_bytes(array(self.bytes, at)?)))
            .transpose()
    }

    /// The bytes of a vector or string of elements of `size` bytes; empty if it is not there.
    pub fn vector(&self, number: usize, size: usize) -> Checked<&'a [u8]> {
        Ok(self.elements(number, size)?.1)
    }

    /// The tables of a vector of tables.
    pub fn tables(&self, number: usize) -> Checked<impl Iterator<Item = Checked<Self>> + use<'a>> {
        let (bytes, (start, offsets)) = (self.bytes, self.elements(number, 4)?);
        let (offsets, _) = offsets.as_chunks();
        let table = move |(index, &offset): (usize, &[u8; 4])| {
            Self::new(
                bytes,
                start + 4 * index + u32::from_le_bytes(offset) as usize,
            )
        };
        Ok(offsets.iter().enumerate().map(table))
    }

    /// The position and the bytes of the elements of a vector.
    fn elements(&self, number: usize, size: usize) -> Checked<(usize, &'a [u8])> {
        let Some(field) = self.field(number) else {
            return Ok((0, &[]));
        };
        let at = field + u32::from_le_bytes(array(self.bytes, field)?) as usize;
        let count = u32::from_le_bytes(array(self.bytes, at)?) as usize;
        let rest = &self.bytes[at + 4..];
        let elements = count.checked_mul(size).and_then(|len| rest.get(..len));
        let elements = elements.ok_or_else(|| {
            let len = rest.len();
            format!("a vector of {count} elements of {size} bytes, of which {len} bytes are there")
        })?;
        Ok((at + 4, elements))
    }
}

/// `N` bytes at a position.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Checked<[u8; N]> {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk());
    found.copied().ok_or_else(|| {
        let len = bytes.len();
        format!("an offset of the flatbuffer points to byte {at} of {len}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_give_a_table_or_an_error() {
        let valid: Vec<u8> = [
            &16_u32.to_le_bytes()[..],
            b"EVTS\0\0\x06\0\x08\0\x04\0\x06\0\0\0\x04\0\0\0\x01\0\0\0",
            &[7; 16],
        ]
        .concat();
        let table = Table::root(&valid, "EVTS").unwrap();
        assert_eq!(table.vector(0, 16).unwrap(), [7; 16]);
        assert!(table.vector(1, 16).unwrap().is_empty());
        for at in 0..valid.len() {
            for byte in 0..=255 {
                let mut bytes = valid.clone();
                bytes[at] = byte;
                for len in [bytes.len(), at] {
                    if let Ok(table) = Table::root(&bytes[..len], "EVTS") {
                        let _ = (table.vector(0, 16), table.i32(0), table.i64(1));
                        let _ = table.tables(0).map(|tables| tables.flatten().count());
                    }
                }
            }
        }
    }
}
