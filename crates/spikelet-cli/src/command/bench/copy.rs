//! A copy in the device's memory, the reference of other measurements.

use super::is_cpu;
use super::measure::{Measurement, Repeats};
use crate::failure::Failure;
use rayon::prelude::*;
use serde_json::json;
use spikelet::graph::{Backend, DType};
use spikelet::human::bytes;
use spikelet::log::Console;
use spikelet::module::{Context, Mode};
use spikelet::runtime::{Program, VarStore};
use std::sync::Arc;

/// The key of the measurement.
pub const COPY: &str = "copy";

/// The default number of bytes, larger than any cache.
pub const USUAL: u64 = 128 << 20;

/// An elementwise copy of f32 values.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// Bytes of the source.
    pub bytes: u64,
    /// Threads on the CPU; 0 takes all cores.
    pub threads: usize,
}

impl Copy {
    /// Measures it in this process.
    ///
    /// # Errors
    /// When memory is short or the device fails.
    pub fn measure(
        self,
        backend: &Arc<dyn Backend>,
        repeats: &Repeats,
    ) -> Result<Measurement, Failure> {
        if is_cpu(&**backend) {
            self.on_cpu(repeats)
        } else {
            self.on_device(backend, repeats)
        }
    }

    /// Prints the bandwidth of the copy and returns its bytes per second.
    pub fn say(self, found: &Measurement, console: &Console) -> f64 {
        let moved = 2 * self.bytes;
        let speed = found.speed(moved);
        let mut line = found.json();
        line["bytes"] = json!(moved);
        line["gb_per_second"] = json!(speed / 1e9);
        console.say_json(&line);
        console.say(format!(
            "copy of {}: {:.1} GB/s\n",
            bytes(self.bytes),
            speed / 1e9
        ));
        speed
    }

    /// In chunks, which threads take in turn.
    fn on_cpu(self, repeats: &Repeats) -> Result<Measurement, Failure> {
        const PIECE: usize = 1 << 17;
        let words = (self.bytes / 4) as usize;
        let (from, mut to) = (vec![1_u32; words], vec![0_u32; words]);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .build()
            .map_err(|e| {
                Failure::other(
                    format!("cannot start the threads: {e}"),
                    "use fewer --threads",
                )
            })?;
        repeats.measure(
            COPY,
            || Ok(()),
            || {
                pool.install(|| {
                    let pieces = to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE));
                    pieces.for_each(|(to, from)| to.copy_from_slice(from));
                });
                Ok(())
            },
        )
    }

    /// By an elementwise kernel without arithmetic.
    fn on_device(
        self,
        backend: &Arc<dyn Backend>,
        repeats: &Repeats,
    ) -> Result<Measurement, Failure> {
        let cx = Context::new(Mode::EVAL, DType::F32);
        let from = cx.tracer().state("from", [(self.bytes / 4) as usize]);
        cx.tracer().output("to", &from.map1(Clone::clone));
        let mut store = VarStore::new(backend.clone());
        let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
        let wait = || Ok(backend.synchronize()?);
        repeats.measure(COPY, wait, || Ok(program.run()?))
    }
}
