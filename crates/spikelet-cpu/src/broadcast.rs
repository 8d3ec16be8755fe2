//! Block-wise access to a broadcast operand.

use spikelet_graph::broadcast_strides;

/// The mapping from the elements of a broadcast operand to those in memory.
#[derive(Clone, Debug)]
pub(crate) enum Broadcast {
    /// The same shape: elements are read in place.
    Same,
    /// One element.
    Scalar,
    /// Anything else: outer axes, each with its length and stride, then runs of elements that
    /// are contiguous (`step` 1) or all the same (`step` 0).
    Runs {
        outer: Vec<(usize, usize)>,
        run: usize,
        step: usize,
    },
}

impl Broadcast {
    pub(crate) fn new(operand: &[usize], target: &[usize]) -> Self {
        let elements: usize = operand.iter().product();
        let all: usize = target.iter().product();
        if elements == all {
            return Self::Same;
        }
        if elements == 1 {
            return Self::Scalar;
        }
        let strides = broadcast_strides(operand, target);
        Self::strided(
            target,
            &strides.expect("the graph checked that it broadcasts"),
        )
    }

    /// Elements at given strides, one for each axis of `target`.
    pub(crate) fn strided(target: &[usize], strides: &[usize]) -> Self {
        let mut axes: Vec<(usize, usize)> = target
            .iter()
            .zip(strides)
            .filter(|(n, _)| **n != 1)
            .map(|(n, s)| (*n, *s))
            .collect();
        let (mut run, mut step) = (1, 0);
        if let Some(&(n, s)) = axes.last()
            && s <= 1
        {
            (run, step) = (n, s);
            axes.pop();
            while let Some(&(n, s)) = axes.last()
                && s == run * step
            {
                run *= n;
                axes.pop();
            }
        }
        Self::Runs {
            outer: axes,
            run,
            step,
        }
    }

    /// The period of the broadcast operand, if its memory is repeated as a unit.
    pub(crate) fn period(&self) -> Option<usize> {
        match self {
            Self::Same => None,
            Self::Scalar => Some(1),
            Self::Runs { outer, run, step } => {
                let repeats = *step == 1 && outer.iter().all(|(_, stride)| *stride == 0);
                repeats.then_some(*run)
            }
        }
    }

    /// Copies the elements `start..start + to.len()` of the broadcast operand.
    pub(crate) fn gather<R: Copy>(&self, operand: &[R], start: usize, to: &mut [R]) {
        match self {
            Self::Same => to.copy_from_slice(&operand[start..start + to.len()]),
            Self::Scalar => to.fill(operand[0]),
            Self::Runs { outer, run, step } => {
                let mut done = 0;
                while done < to.len() {
                    let at = start + done;
                    let (row, inside) = (at / run, at % run);
                    let length = (run - inside).min(to.len() - done);
                    let mut rest = row;
                    let mut offset = 0;
                    for (n, stride) in outer.iter().rev() {
                        offset += rest % n * stride;
                        rest /= n;
                    }
                    let to = &mut to[done..done + length];
                    if *step == 1 {
                        to.copy_from_slice(&operand[offset + inside..offset + inside + length]);
                    } else {
                        to.fill(operand[offset]);
                    }
                    done += length;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gathered_block_has_the_elements_that_broadcasting_names() {
        let target = [3, 4, 5];
        for operand in [
            vec![3, 4, 5],
            vec![5],
            vec![4, 1],
            vec![3, 1, 1],
            vec![1, 4, 5],
            vec![3, 1, 5],
            vec![1],
        ] {
            let values: Vec<f32> = (0..operand.iter().product::<usize>())
                .map(|k| k as f32)
                .collect();
            let strides = broadcast_strides(&operand, &target).unwrap();
            let expected: Vec<f32> = (0..60)
                .map(|i| {
                    let index = [i / 20, i / 5 % 4, i % 5];
                    values[index
                        .iter()
                        .zip(&strides)
                        .map(|(i, s)| i * s)
                        .sum::<usize>()]
                })
                .collect();
            let broadcast = Broadcast::new(&operand, &target);
            if let Some(period) = broadcast.period() {
                let repeated = (0..60).all(|i| expected[i] == expected[i % period]);
                assert!(repeated, "{operand:?} after {period}");
            }
            for start in [0, 1, 7, 33] {
                let mut block = vec![-1.0; 27];
                broadcast.gather(&values, start, &mut block);
                assert_eq!(
                    block,
                    expected[start..start + 27],
                    "{operand:?} from {start}"
                );
            }
        }
    }
}
