//! Strided tensors as contiguous bytes.

/// The elements of a strided tensor in C order.
///
/// The shape has no more elements than memory, and all of them are inside of `storage`; offset and strides count
/// elements.
pub(crate) fn gather(
    storage: &[u8],
    element: usize,
    offset: u64,
    shape: &[usize],
    strides: &[u64],
) -> Vec<u8> {
    let len: usize = shape.iter().product();
    let mut bytes = Vec::with_capacity(len * element);
    if len == 0 {
        return bytes;
    }
    // The innermost axes that lie one element after the other are copied at once.
    let (mut run, mut outer) = (1, shape.len());
    while outer > 0 && (shape[outer - 1] == 1 || strides[outer - 1] == run as u64) {
        run *= shape[outer - 1];
        outer -= 1;
    }
    let (shape, strides) = (&shape[..outer], &strides[..outer]);
    let mut index = vec![0; outer];
    let mut at = offset;
    loop {
        let start = at as usize * element;
        bytes.extend_from_slice(&storage[start..start + run * element]);
        let mut axis = outer;
        loop {
            let Some(next) = axis.checked_sub(1) else {
                return bytes;
            };
            axis = next;
            index[axis] += 1;
            at = at.wrapping_add(strides[axis]);
            if index[axis] < shape[axis] {
                break;
            }
            // An axis of one element may have any stride.
            at = at.wrapping_sub(strides[axis].wrapping_mul(shape[axis] as u64));
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::gather;

    #[test]
    fn every_layout_gives_the_elements_in_c_order() {
        let storage: Vec<u8> = (0..24).collect();
        assert_eq!(gather(&storage, 1, 2, &[2, 3], &[3, 1]), [2, 3, 4, 5, 6, 7]);
        assert_eq!(gather(&storage, 1, 0, &[2, 3], &[1, 2]), [0, 2, 4, 1, 3, 5]);
        assert_eq!(gather(&storage, 1, 5, &[2, 2], &[0, 1]), [5, 6, 5, 6]);
        assert_eq!(gather(&storage, 1, 7, &[], &[]), [7]);
        assert_eq!(gather(&storage, 1, 0, &[3, 0], &[1, 1]), [0_u8; 0]);
        assert_eq!(
            gather(&storage, 2, 1, &[2, 1, 2], &[4, 9, 2]),
            [2, 3, 6, 7, 10, 11, 14, 15]
        );
    }
}
