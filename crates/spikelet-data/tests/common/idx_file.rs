//! Generates IDX files.

/// An IDX file of bytes with these dimensions.
pub fn idx_file(dims: &[u32], data: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, dims.len() as u8];
    for dim in dims {
        file.extend(dim.to_be_bytes());
    }
    file.extend(data);
    file
}
