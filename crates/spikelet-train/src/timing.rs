//! Measures times on a device.
//!
//! Devices are asynchronous: a call returns before its kernels have run. The clock is read after waiting for the
//! device, and short runs are timed in groups.

use spikelet_graph::Backend;
use std::time::{Duration, Instant};

/// The number of runs of a measurement.
///
/// ```
/// use spikelet_train::prelude::*;
/// use spikelet_train::timing::Timing;
///
/// let backend = spikelet_nn::device::cpu()?;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [8, 64]);
/// let spikes = cx.trace(&Lif::new(2.0), x)?;
/// cx.tracer().output("spike_seq", &spikes);
/// let mut store = VarStore::new(backend.clone());
/// let mut program = cx.compile(&mut store, 0)?;
/// program.set("x_seq", &[0.5; 8 * 64])?;
///
/// let timing = Timing { repeats: 5, ..Timing::default() };
/// let found = timing.measure(|| Ok::<_, Error>(backend.synchronize()?), || program.run())?;
/// println!("{:?}", found.median);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The number of timed groups of runs, of which the median is used. Fewer, at least 3, if they take long.
    pub repeats: u32,
    /// The number of runs before the measurement; fewer if they take long.
    pub warm_up: u32,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            repeats: 20,
            warm_up: 3,
        }
    }
}

/// The measured times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Median time of one run.
    pub median: Duration,
    /// The number of timed groups.
    pub repeats: u32,
    /// The number of runs per group.
    pub runs: u32,
}

/// The minimal duration of a group, so that the time of reading the clock and waiting for the device is
/// negligible.
const GROUP: Duration = Duration::from_millis(1);

/// The maximal duration of the warm-up and of the measurement.
const ENOUGH: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(10)];

/// The maximal number of runs per group.
const MOST: u32 = 1 << 20;

/// The minimal number of timed groups.
const LEAST: u32 = 3;

impl Timing {
    /// Measures the median of the times of groups of runs. `wait` returns when the device has finished all work, such
    /// as [`Backend::synchronize`].
    ///
    /// # Errors
    /// The errors of `run` and `wait`.
    pub fn measure<E>(
        &self,
        wait: impl Fn() -> Result<(), E>,
        run: impl FnMut() -> Result<(), E>,
    ) -> Result<Timed, E> {
        let start = Instant::now();
        self.measure_by(|| start.elapsed(), wait, run)
    }

    /// The same by a clock.
    fn measure_by<E>(
        &self,
        now: impl Fn() -> Duration,
        wait: impl Fn() -> Result<(), E>,
        mut run: impl FnMut() -> Result<(), E>,
    ) -> Result<Timed, E> {
        let mut group = |runs: u32| -> Result<Duration, E> {
            let start = now();
            for _ in 0..runs {
                run()?;
            }
            wait()?;
            Ok(now() - start)
        };
        let begun = now();
        for _ in 0..self.warm_up {
            group(1)?;
            if now() - begun > ENOUGH[0] {
                break;
            }
        }
        let mut runs = 1;
        while runs < MOST && group(runs)? < GROUP {
            runs *= 2;
        }
        let begun = now();
        let mut times = vec![];
        for k in 0..self.repeats.max(1) {
            if k >= LEAST && now() - begun > ENOUGH[1] {
                break;
            }
            times.push(group(runs)? / runs);
        }
        times.sort_unstable();
        let middle = times.len() / 2;
        let median = match times.len() % 2 {
            1 => times[middle],
            _ => (times[middle - 1] + times[middle]) / 2,
        };
        Ok(Timed {
            median,
            repeats: times.len() as u32,
            runs,
        })
    }
}

/// The mean time of a call of `f` in seconds, each time with all its work on the device: SpikingJelly's `cal_fun_t`.
///
/// `f` is called `2 * repeat_times + 1` times, and the last `repeat_times` calls are timed; of one or two calls only one is
/// made. [`Timing::measure`] is for shorter functions: it waits for the device less often.
///
/// ```
/// use spikelet_train::timing::cal_fun_t;
///
/// let device = spikelet_nn::device::cpu()?;
/// let used_t = cal_fun_t(8, &*device, || Ok((0..1000).sum::<u64>()))?;
/// println!("{} ms", used_t * 1000.0);
/// # Ok::<(), spikelet_core::Error>(())
/// ```
///
/// # Errors
/// The errors of `f`, and of the device.
pub fn cal_fun_t<T>(
    repeat_times: u32,
    device: &dyn Backend,
    mut f: impl FnMut() -> spikelet_core::Result<T>,
) -> spikelet_core::Result<f64> {
    let mut once = || -> spikelet_core::Result<Duration> {
        device.synchronize()?;
        let start = Instant::now();
        f()?;
        device.synchronize()?;
        Ok(start.elapsed())
    };
    let first = once()?;
    if repeat_times <= 2 {
        return Ok(first.as_secs_f64());
    }
    for _ in 0..repeat_times {
        once()?;
    }
    let mut used = Duration::ZERO;
    for _ in 0..repeat_times {
        used += once()?;
    }
    Ok(used.as_secs_f64() / f64::from(repeat_times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    /// Measures runs on a clock that they advance.
    fn measured(timing: Timing, run: Duration, wait: Duration) -> (Timed, u32) {
        let (clock, runs) = (Cell::new(Duration::ZERO), Cell::new(0));
        let advance = |by| -> Result<(), Infallible> {
            clock.set(clock.get() + by);
            Ok(())
        };
        let found = timing.measure_by(
            || clock.get(),
            || advance(wait),
            || {
                runs.set(runs.get() + 1);
                advance(run)
            },
        );
        let Ok(found) = found;
        (found, runs.get())
    }

    #[test]
    fn short_runs_are_timed_in_groups_and_the_device_is_waited_for() {
        let timing = Timing {
            repeats: 4,
            warm_up: 1,
        };
        let micros = Duration::from_micros;
        let (found, runs) = measured(timing, micros(1), micros(200));
        // The wait is a part of each group, not of each run.
        assert_eq!((found.repeats, found.runs), (4, 1024));
        assert_eq!(found.median, micros(1024 + 200) / 1024);
        assert_eq!(runs, 1 + 2047 + 4 * 1024);
    }

    #[test]
    fn long_runs_are_measured_a_few_times() {
        let second = Duration::from_secs(1);
        let (found, runs) = measured(Timing::default(), 4 * second, second);
        assert_eq!((found.repeats, found.runs), (LEAST, 1));
        assert_eq!(found.median, 5 * second);
        assert_eq!(runs, 1 + 1 + LEAST);
    }

    #[test]
    fn a_failing_run_ends_the_measurement() {
        let found = Timing::default().measure(|| Ok(()), || Err("broken"));
        assert_eq!(found, Err("broken"));
    }
}
