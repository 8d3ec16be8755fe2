//! Where an element of a broadcast or permuted operand lies.

/// The strides of an operand along the axes of the shape that it is broadcast to.
pub(crate) fn strides(operand: &[usize], target: &[usize]) -> Vec<usize> {
    spikelet_graph::broadcast_strides(operand, target)
        .expect("the graph checked that it broadcasts")
}

/// The C++ expression of an operand's offset for element `index` of `shape`, given the operand's
/// stride along each axis (0 where it is repeated).
pub(crate) fn offset(shape: &[usize], strides: &[usize], index: &str) -> String {
    // Axes that lie behind each other in the operand too are one axis.
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

/// Row-major strides of a dense shape.
pub(crate) fn dense(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for k in (1..shape.len()).rev() {
        strides[k - 1] = strides[k] * shape[k];
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_lie_behind_each_other_become_one() {
        assert_eq!(offset(&[4, 5, 6], &dense(&[4, 5, 6]), "i"), "i");
        assert_eq!(offset(&[4, 5, 6], &[0, 6, 1], "i"), "(i) % 30u");
        assert_eq!(offset(&[4, 5, 6], &[0, 1, 0], "i"), "(i / 6u) % 5u");
        assert_eq!(offset(&[4, 5, 6], &[0, 0, 0], "i"), "0u");
        assert_eq!(offset(&[2, 3], &[1, 2], "i"), "((i) % 3u) * 2u + i / 3u");
    }
}
