//! The search for the best partition of a chain into stages.

use super::error::PipelineError;
use spikelet_core::Result;

/// The predicted cost of a module of a chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkCost {
    /// The run time of the forward and backward pass in seconds.
    pub(super) seconds: f64,
    /// The memory of its parameters and of the tensors saved for the backward pass, in bytes.
    pub(super) bytes: usize,
    /// The transfer time of the output and its gradient in seconds.
    pub(super) transfer_seconds: f64,
}

/// The memory that some devices share.
#[derive(Clone, Debug)]
pub(super) struct Bound {
    pub(super) devices: Vec<usize>,
    /// The free bytes.
    pub(super) bytes: usize,
}

/// The modules of a stage.
pub(super) type Links = std::ops::Range<usize>;

/// Partitions a chain into stages such that the run time of the slowest device is minimal. `devices` has the
/// devices of each stage, `bounds` the memory of all devices. A device may have several stages, and the
/// devices of one stage share its micro-batches.
pub(super) fn cut(
    links: &[LinkCost],
    devices: &[Vec<usize>],
    bounds: &[Bound],
) -> Result<Vec<Links>> {
    let stages = devices.len();
    if stages == 0 || links.len() < stages {
        let modules = links.len();
        return Err(PipelineError::TooFewModules { modules, stages }.into());
    }
    let mut best: Option<(f64, f64, Vec<usize>)> = None;
    let mut ends = vec![0; stages];
    search(links, devices, bounds, 0, 0, &mut ends, &mut best);
    let Some((_, _, ends)) = best else {
        let needed = links
            .iter()
            .fold(0_usize, |sum, l| sum.saturating_add(l.bytes));
        let available = bounds
            .iter()
            .fold(0_usize, |sum, b| sum.saturating_add(b.bytes));
        return Err(PipelineError::NoPartition { needed, available }.into());
    };
    let starts = std::iter::once(0).chain(ends.iter().copied());
    Ok(starts
        .zip(ends.iter().copied())
        .map(|(a, b)| a..b)
        .collect())
}

/// The run time and memory of each device.
fn loads(
    links: &[LinkCost],
    devices: &[Vec<usize>],
    ends: &[usize],
    count: usize,
) -> (Vec<f64>, Vec<usize>) {
    let (mut seconds, mut bytes) = (vec![0.0; count], vec![0; count]);
    let mut start = 0;
    for (k, (&end, own)) in ends.iter().zip(devices).enumerate() {
        for device in own {
            for link in &links[start..end] {
                seconds[*device] += link.seconds / own.len() as f64;
                bytes[*device] = link.bytes.saturating_add(bytes[*device]);
            }
            if k + 1 < ends.len() && end > 0 {
                seconds[*device] += links[end - 1].transfer_seconds / own.len() as f64;
            }
        }
        start = end;
    }
    (seconds, bytes)
}

/// Tries all partitions: networks have some dozens of modules, pipelines a few stages.
fn search(
    links: &[LinkCost],
    devices: &[Vec<usize>],
    bounds: &[Bound],
    stage: usize,
    start: usize,
    ends: &mut Vec<usize>,
    best: &mut Option<(f64, f64, Vec<usize>)>,
) {
    let left = devices.len() - stage;
    if left == 1 {
        ends[stage] = links.len();
        let count = bounds.iter().map(|bound| bound.devices.len()).sum();
        let (seconds, bytes) = loads(links, devices, ends, count);
        let needed = |bound: &Bound| {
            let own = bound.devices.iter().map(|device| bytes[*device]);
            own.fold(0, usize::saturating_add)
        };
        if bounds.iter().any(|bound| needed(bound) > bound.bytes) {
            return;
        }
        let slowest = seconds.iter().copied().fold(0.0, f64::max);
        let squares = seconds.iter().map(|s| s * s).sum();
        let better = best
            .as_ref()
            .is_none_or(|(m, s, _)| (slowest, squares) < (*m, *s));
        if better {
            *best = Some((slowest, squares, ends.clone()));
        }
        return;
    }
    for end in start + 1..=links.len() - (left - 1) {
        ends[stage] = end;
        search(links, devices, bounds, stage + 1, end, ends, best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(seconds: &[f64]) -> Vec<LinkCost> {
        let link = |&seconds| LinkCost {
            seconds,
            bytes: 10,
            transfer_seconds: 0.0,
        };
        seconds.iter().map(link).collect()
    }

    /// Devices with separate memories.
    fn separate(bytes: &[usize]) -> Vec<Bound> {
        let bound = |(device, &bytes)| Bound {
            devices: vec![device],
            bytes,
        };
        bytes.iter().enumerate().map(bound).collect()
    }

    fn of(devices: &[usize]) -> Vec<Vec<usize>> {
        devices.iter().map(|d| vec![*d]).collect()
    }

    #[test]
    fn devices_of_one_stage_share_its_work() -> Result<()> {
        let chain = links(&[1.0, 5.0, 1.0, 1.0, 1.0]);
        let found = cut(&chain, &[vec![0, 1, 2], vec![3]], &separate(&[100; 4]))?;
        assert_eq!(found, [0..3, 3..5]);
        Ok(())
    }

    #[test]
    fn the_busiest_device_has_the_least_to_do() -> Result<()> {
        let found = cut(
            &links(&[1.0, 5.0, 1.0, 1.0, 1.0, 3.0]),
            &of(&[0, 1, 2]),
            &separate(&[100; 3]),
        )?;
        // Of all partitions whose busiest device takes 6 s, the one with the most equal others.
        assert_eq!(found, [0..2, 2..5, 5..6]);
        Ok(())
    }

    #[test]
    fn a_repeated_device_does_the_work_of_both_stages() -> Result<()> {
        let found = cut(
            &links(&[2.0, 1.0, 1.0, 1.0, 1.0]),
            &of(&[0, 1, 0]),
            &separate(&[100; 2]),
        )?;
        assert_eq!(found, [0..1, 1..4, 4..5]);
        Ok(())
    }

    #[test]
    fn requirements_of_devices_that_share_a_memory_are_added() {
        let chain = links(&[1.0, 1.0, 1.0, 5.0]);
        let shared = |bytes| Bound {
            devices: vec![0, 1],
            bytes,
        };
        assert!(cut(&chain, &of(&[0, 1]), &[shared(40)]).is_ok());
        assert!(cut(&chain, &of(&[0, 1]), &[shared(39)]).is_err());
    }

    #[test]
    fn a_partition_that_does_not_fit_is_not_chosen() -> Result<()> {
        let chain = links(&[1.0, 1.0, 1.0, 5.0]);
        assert_eq!(
            cut(&chain, &of(&[0, 1]), &separate(&[100, 100]))?,
            [0..3, 3..4]
        );
        assert_eq!(
            cut(&chain, &of(&[0, 1]), &separate(&[20, 100]))?,
            [0..2, 2..4]
        );
        let error = cut(&chain, &of(&[0, 1]), &separate(&[10, 10])).expect_err("no memory");
        let expected = PipelineError::NoPartition {
            needed: 40,
            available: 20,
        };
        assert_eq!(error.downcast_ref(), Some(&expected), "{error}");
        let error = cut(&chain, &of(&[0; 5]), &separate(&[100])).expect_err("five stages");
        let (modules, stages) = (4, 5);
        let expected = PipelineError::TooFewModules { modules, stages };
        assert_eq!(error.downcast_ref(), Some(&expected), "{error}");
        Ok(())
    }
}
