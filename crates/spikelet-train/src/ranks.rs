//! The communication of the ranks of a run between steps. Without ranks the functions are local.

use super::checkpoint::Progress;
use sha2::{Digest, Sha256};
use spikelet_core::{Error, Result};
use spikelet_data::Shard;
use spikelet_distributed::{RankGroup, all_gather, all_reduce_f64};
use spikelet_graph::{Backend, Data, DeviceKind, Tensor};
use spikelet_nn::runtime::VarStore;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The approximate time between two synchronizations of stopping and saving.
const TALK: Duration = Duration::from_millis(250);

/// The largest number of steps between two synchronizations.
const MOST_STEPS: f32 = 256.0;

/// The number of values per update of the digest.
const DIGESTED: usize = 4096;

/// The ranks of a run, seen from one of them.
#[derive(Clone)]
pub(super) struct Ranks(Option<Arc<RankGroup>>);

impl Ranks {
    pub(super) fn new(group: Option<Arc<RankGroup>>) -> Self {
        Self(group)
    }

    pub(super) fn rank(&self) -> usize {
        self.0.as_ref().map_or(0, |group| group.world().rank)
    }

    pub(super) fn ranks(&self) -> usize {
        self.0.as_ref().map_or(1, |group| group.world().size)
    }

    /// The number of ranks on this host, including this one.
    pub(super) fn ranks_on_host(&self) -> usize {
        let Some(group) = &self.0 else {
            return 1;
        };
        let own = &group.world().host;
        let here = group.hosts().iter().filter(|host| *host == own).count();
        group.world().local_size.unwrap_or(here).max(1)
    }

    /// The number of ranks that use the memory of this rank's device, including this one: the ranks on this
    /// host for a CPU, those on the same GPU of this host for a GPU. All ranks must call it together.
    ///
    /// # Errors
    /// When a rank is lost.
    pub(super) fn ranks_on_device(&self, device: &dyn Backend) -> Result<usize> {
        let sharing = self.ranks_sharing(&device.memory_name())?;
        Ok(match device.kind() {
            DeviceKind::Cpu => self.ranks_on_host(),
            _ => sharing,
        })
    }

    /// The number of ranks on this host whose memory has this name.
    fn ranks_sharing(&self, memory: &str) -> Result<usize> {
        let Some(group) = &self.0 else {
            return Ok(1);
        };
        let host = &group.world().host;
        let digest: [u8; 32] = Sha256::digest(format!("{host}\n{memory}")).into();
        let all = all_gather(&*group.process_group(), &digest)?;
        Ok(all.iter().filter(|other| other[..] == digest).count())
    }

    /// A barrier of all ranks.
    pub(super) fn wait_for_all(&self) -> Result<()> {
        self.sum(&mut [0.0])
    }

    /// Whether this rank writes files and prints.
    pub(super) fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// The shard of this rank in an epoch with this number of completed images.
    pub(super) fn share(&self, first_sample: usize) -> Shard {
        Shard {
            rank: self.rank(),
            ranks: self.ranks(),
            first_sample,
        }
    }

    /// The sums of values over all ranks, with the same bits on all.
    pub(super) fn sum(&self, numbers: &mut [f64]) -> Result<()> {
        match &self.0 {
            Some(group) => Ok(all_reduce_f64(&*group.process_group(), numbers)?),
            None => Ok(()),
        }
    }

    /// Sums the results of all ranks; each rank has zeros at the positions of the others.
    pub(super) fn join(&self, found: &mut [f32]) -> Result<()> {
        match &self.0 {
            Some(group) => Ok(group.process_group().all_reduce(found)?),
            None => Ok(()),
        }
    }

    /// Broadcasts the bytes of rank 0.
    pub(super) fn broadcast_from_rank0(&self, mut own: Vec<u8>) -> Result<Vec<u8>> {
        if let Some(group) = &self.0 {
            group.process_group().broadcast(&mut own, 0)?;
        }
        Ok(own)
    }

    /// Broadcasts the value of rank 0.
    pub(super) fn agree(&self, own: usize) -> Result<usize> {
        let heard = self.broadcast_from_rank0((own as u64).to_le_bytes().to_vec())?;
        let bytes = <[u8; 8]>::try_from(&heard[..]).unwrap_or_default();
        Ok((u64::from_le_bytes(bytes) as usize).max(1))
    }

    /// Broadcasts tensors that differ between ranks (running statistics) from rank 0.
    pub(super) fn follow_the_first(&self, store: &mut VarStore, names: &[String]) -> Result<()> {
        let Some(group) = &self.0 else {
            return Ok(());
        };
        for name in names {
            let mut tensor = store.get(name)?;
            if let Data::F32(values) = &mut tensor.data {
                let own = values.iter().flat_map(|value| value.to_le_bytes());
                let mut bytes: Vec<u8> = own.collect();
                group.process_group().broadcast(&mut bytes, 0)?;
                let each = bytes.chunks_exact(4);
                *values = each
                    .map(|b| f32::from_le_bytes(b.try_into().expect("chunks have four bytes")))
                    .collect();
                store.set(name, &tensor)?;
            }
        }
        Ok(())
    }

    /// Checks that all ranks have the same bits of parameters.
    pub(super) fn check_same_weights(&self, store: &VarStore, names: &[String]) -> Result<()> {
        let Some(group) = &self.0 else {
            return Ok(());
        };
        let process_group = group.process_group();
        let digests = names.iter().map(|name| Ok(digest(&store.get(name)?)));
        let digests = digests.collect::<Result<Vec<[u8; 32]>>>()?;
        let of_all: [u8; 32] = Sha256::digest(digests.as_flattened()).into();
        let whole = all_gather(&*process_group, &of_all)?;
        if whole.iter().all(|other| *other == whole[0]) {
            return Ok(());
        }
        for (name, digest) in names.iter().zip(digests) {
            group.check_same(
                &format!("parameter `{name}`"),
                &digest,
                "ranks must compute alike: use the same program, libraries and kind of device on all hosts",
            )?;
        }
        Ok(())
    }

    /// Ends the run on all ranks with the error of this rank.
    pub(super) fn report(&self, error: &Error) {
        if let Some(group) = &self.0 {
            group.abort(error);
        }
    }

    /// Sends the path of a checkpoint for resuming to all ranks.
    pub(super) fn tell_checkpoint(&self, path: &Path, progress: &Progress) {
        if let Some(group) = &self.0 {
            group.set_checkpoint(format!("{} (step {})", path.display(), progress.step));
        }
    }

    /// Checks that the batch, or those of an update, are not larger than the data.
    pub(super) fn check_batch(&self, batch_size: usize, images: usize) -> Result<()> {
        let ranks = self.ranks();
        if images >= batch_size * ranks {
            return Ok(());
        }
        let given = match ranks {
            1 => format!("{batch_size} was given"),
            _ => format!("{batch_size} on each of {ranks} ranks were given"),
        };
        Err(Error::invalid(
            "batch size",
            format!("{given}, the training set has {images} samples"),
            "use a smaller batch",
        ))
    }
}

/// A digest of the bits of a tensor, independent of the byte order of the host.
fn digest(tensor: &Tensor) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut bytes = vec![];
    match &tensor.data {
        Data::F32(values) => {
            for values in values.chunks(DIGESTED) {
                bytes.clear();
                bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                digest.update(&bytes);
            }
        }
        _ => {
            for values in tensor.to_f64().chunks(DIGESTED) {
                bytes.clear();
                bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                digest.update(&bytes);
            }
        }
    }
    digest.finalize().into()
}

/// The requests of a run before its next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    pub(super) stop: bool,
    pub(super) save: bool,
}

/// The steps at which ranks synchronize stopping and saving, the same on all ranks: every few steps, since a
/// synchronization waits for all hosts. Rank 0 chooses the interval from its speed.
pub(super) struct SyncSchedule {
    /// The number of steps until the next synchronization.
    left: usize,
    steps: usize,
    since: Instant,
}

impl SyncSchedule {
    pub(super) fn new() -> Self {
        Self {
            left: 1,
            steps: 1,
            since: Instant::now(),
        }
    }

    /// The common request after another step, given the request of this rank: any rank can stop the
    /// run, rank 0 can request a checkpoint.
    pub(super) fn step(&mut self, together: &Ranks, own: Signal) -> Result<Signal> {
        let Some(group) = &together.0 else {
            return Ok(own);
        };
        self.left -= 1;
        if self.left > 0 {
            return Ok(Signal {
                stop: false,
                save: false,
            });
        }
        let speed = self.steps as f32 / self.since.elapsed().as_secs_f32().max(1e-6);
        // The first steps are started without waiting for the device: their measured time is too short.
        let most = MOST_STEPS.min(2.0 * self.steps as f32);
        let next = (speed * TALK.as_secs_f32()).clamp(1.0, most).floor();
        let first = |value: f32| if together.leads() { value } else { 0.0 };
        let mut said = [
            f32::from(u8::from(own.stop)),
            first(f32::from(u8::from(own.save))),
            first(next),
        ];
        group.process_group().all_reduce(&mut said)?;
        let [stop, save, next] = said;
        self.steps = (next as usize).max(1);
        self.left = self.steps;
        self.since = Instant::now();
        Ok(Signal {
            stop: stop > 0.0,
            save: save > 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_distributed::Timeouts;

    /// The results of two ranks whose weights differ in one element.
    fn compared(second: f32) -> Vec<Result<()>> {
        let compare = |group: &Arc<RankGroup>| {
            let mut store = VarStore::new(spikelet_nn::device::cpu()?);
            let last = if group.world().rank == 0 { 1.0 } else { second };
            store.insert("a.weight", &Tensor::f32([2], [0.5, 0.25]))?;
            store.insert("b.weight", &Tensor::f32([3], [0.0, 2.0, last]))?;
            let names = ["a.weight", "b.weight"].map(String::from);
            Ranks::new(Some(group.clone())).check_same_weights(&store, &names)
        };
        RankGroup::run_threads(2, Timeouts::default(), compare).expect("a port")
    }

    #[test]
    fn a_digest_is_the_sha_256_of_the_values_in_little_endian() {
        // printf '\0\0\200?\0\0\0@' | sha256sum
        let expected = "b9c80b5adeca450753a16950c3cc655d271f7bef7a485bc83f112b72fef21d37";
        let digest = digest(&Tensor::f32([2], [1.0, 2.0]));
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected);
    }

    #[test]
    fn ranks_with_the_same_memory_are_counted() {
        let count = |group: &Arc<RankGroup>| {
            let name = ["GPU-a", "GPU-a", "GPU-b"][group.world().rank];
            Ranks::new(Some(group.clone())).ranks_sharing(name)
        };
        let counts = RankGroup::run_threads(3, Timeouts::default(), count).expect("a port");
        let counts: Vec<usize> = counts.into_iter().map(|c| c.expect("counted")).collect();
        assert_eq!(counts, [2, 2, 1]);
        assert_eq!(Ranks::new(None).ranks_sharing("GPU-a").expect("alone"), 1);
    }

    #[test]
    fn weights_that_differ_between_ranks_are_named() {
        for end in compared(1.0) {
            end.expect("the same");
        }
        for end in compared(1.0 + f32::EPSILON) {
            let message = end.expect_err("different").to_string();
            assert!(
                message.contains("parameter `b.weight`: rank 1 on "),
                "{message}"
            );
        }
    }
}
