//! All-gather, and sums of f64 values.

use spikelet_graph::{ProcessGroup, Result};

/// The bytes of each rank, in the order of the ranks. All ranks must pass the same number of bytes.
///
/// # Errors
/// As [`ProcessGroup::all_reduce`].
pub fn all_gather(group: &dyn ProcessGroup, own: &[u8]) -> Result<Vec<Vec<u8>>> {
    let (rank, size) = (group.rank(), group.size());
    // Bytes are integers, and all but one rank add 0 at each position: the f32 sum is exact.
    let mut all = vec![0.0; size * own.len()];
    let segment = &mut all[rank * own.len()..][..own.len()];
    for (value, byte) in segment.iter_mut().zip(own) {
        *value = f32::from(*byte);
    }
    group.all_reduce(&mut all)?;
    let bytes_of = |rank: usize| {
        let segment = &all[rank * own.len()..][..own.len()];
        segment.iter().map(|&value| value as u8).collect()
    };
    Ok((0..size).map(bytes_of).collect())
}

/// As [`all_gather`], of f64 values, exactly.
///
/// # Errors
/// As [`all_gather`].
pub(super) fn all_gather_f64(group: &dyn ProcessGroup, own: &[f64]) -> Result<Vec<Vec<f64>>> {
    let bytes: Vec<u8> = own.iter().flat_map(|value| value.to_le_bytes()).collect();
    let values = |bytes: Vec<u8>| {
        let each = bytes.chunks_exact(8);
        each.map(|b| f64::from_le_bytes(b.try_into().expect("chunks have eight bytes")))
            .collect()
    };
    Ok(all_gather(group, &bytes)?.into_iter().map(values).collect())
}

/// Replaces each value by its sum over all ranks, added in the order of the ranks: all ranks get the
/// same bits.
///
/// # Errors
/// As [`all_gather`].
pub fn all_reduce_f64(group: &dyn ProcessGroup, values: &mut [f64]) -> Result<()> {
    let all = all_gather_f64(group, values)?;
    for (k, value) in values.iter_mut().enumerate() {
        *value = all.iter().map(|rank| rank[k]).sum();
    }
    Ok(())
}
