//! What each rank has to say, for all of them.

use spikelet_graph::{ProcessGroup, Result};

/// As many bytes of each rank, in the order of the ranks. All bring equally many.
///
/// # Errors
/// As [`ProcessGroup::all_reduce`].
pub fn gather(exchange: &dyn ProcessGroup, own: &[u8]) -> Result<Vec<Vec<u8>>> {
    let (rank, size) = (exchange.rank(), exchange.size());
    // A byte is a whole number, and all but one rank bring 0 for its place: the sum is exact.
    let mut all = vec![0.0; size * own.len()];
    let places = &mut all[rank * own.len()..][..own.len()];
    for (place, byte) in places.iter_mut().zip(own) {
        *place = f32::from(*byte);
    }
    exchange.all_reduce(&mut all)?;
    let of = |k: usize| &all[k * own.len()..][..own.len()];
    Ok((0..size)
        .map(|k| of(k).iter().map(|&byte| byte as u8).collect())
        .collect())
}

/// As [`gather`], of numbers, to the last bit.
///
/// # Errors
/// As [`gather`].
pub(super) fn gather_numbers(exchange: &dyn ProcessGroup, own: &[f64]) -> Result<Vec<Vec<f64>>> {
    let bytes: Vec<u8> = own.iter().flat_map(|number| number.to_le_bytes()).collect();
    let numbers = |bytes: Vec<u8>| {
        let each = bytes.chunks_exact(8);
        each.map(|b| f64::from_le_bytes(b.try_into().expect("chunks have eight bytes")))
            .collect()
    };
    Ok(gather(exchange, &bytes)?.into_iter().map(numbers).collect())
}

/// The sum of numbers over all ranks, in their order: the same bits on all.
///
/// # Errors
/// As [`gather`].
pub fn sum_numbers(exchange: &dyn ProcessGroup, own: &mut [f64]) -> Result<()> {
    let all = gather_numbers(exchange, own)?;
    for (k, number) in own.iter_mut().enumerate() {
        *number = all.iter().map(|rank| rank[k]).sum();
    }
    Ok(())
}
