//! Ranks as threads, with a CPU each.

use crate::thread_ranks::ThreadProcessGroup;
use spikelet::graph::{Backend, ProcessGroup};
use spikelet_cpu::Cpu;
use std::sync::Arc;

/// The result of a closure on each rank, from its rank and its device.
pub fn ranks<T: Send>(size: usize, run: impl Fn(usize, Arc<dyn Backend>) -> T + Sync) -> Vec<T> {
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = ThreadProcessGroup::group(size)
            .into_iter()
            .map(|exchange| {
                scope.spawn(move || {
                    let rank = exchange.rank();
                    let cpu = Cpu::new(1).unwrap().in_group(Arc::new(exchange));
                    run(rank, Arc::new(cpu))
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}
