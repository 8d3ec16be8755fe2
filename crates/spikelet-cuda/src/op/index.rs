//! Offsets of elements of broadcast or permuted operands.

/// The strides of an operand along the axes of the shape to which it is broadcast.
pub(crate) fn strides(operand: &[usize], target: &[usize]) -> Vec<usize> {
    spikelet_graph::broadcast_strides(operand, target)
        .expect("the graph checked that it broadcasts")
}

/// The C++ expression of an operand's offset for element `index` of `shape`, given the operand's
/// stride along each axis (0 where it is repeated).
pub(crate) fn offset(shape: &[usize], strides: &[usize], index: &str) -> String {
    // Axes that are contiguous in the operand are merged.
    let mut axes: Vec<(usize, usize)> = vec![];
    for (&n, &stride) in shape.iter().zip(strides) {
        if n == 1 {
            continue;
        }
        match axes.last_mut() {
            Some((before, last)) if *last == stride * n => {
                *before *= n;
                *last = stride;
            }
            _ => axes.push((n, stride)),
        }
    }
    let mut terms = vec![];
    let mut inner = 1;
    for (k, &(n, stride)) in axes.iter().enumerate().rev() {
        if stride != 0 {
            let mut term = if inner == 1 {
                index.to_string()
            } else {
                format!("{index} / {inner}u")
            };
            if k > 0 {
                term = format!("({term}) % {n}u");
            }
            if stride != 1 {
                term = format!("({term}) * {stride}u");
            }
            terms.push(term);
        }
        inner *= n;
    }
    if terms.is_empty() {
        "0u".to_string()
    } else {
        terms.join(" + ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_axes_are_merged() {
        assert_eq!(offset(&[4, 5, 6], &[30, 6, 1], "i"), "i");
        assert_eq!(offset(&[4, 5, 6], &[0, 6, 1], "i"), "(i) % 30u");
        assert_eq!(offset(&[4, 5, 6], &[0, 1, 0], "i"), "(i / 6u) % 5u");
        assert_eq!(offset(&[4, 5, 6], &[0, 0, 0], "i"), "0u");
        assert_eq!(offset(&[2, 3], &[1, 2], "i"), "((i) % 3u) * 2u + i / 3u");
    }
}
