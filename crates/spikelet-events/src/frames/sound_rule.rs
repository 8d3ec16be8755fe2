//! The frame of each spike of a recording of a cochlea.

use half::f16;

use crate::Result;
use crate::settings::check;

/// How the spikes of a recording are assigned to frames. Times are seconds.
///
/// [`Steps`](Self::Steps) is the rule for new networks. The others are those of published code, for the same inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SoundRule {
    /// Frame ⌊t / `step`⌋, computed in 64 bits; later spikes are left out.
    Steps {
        /// The seconds of a frame.
        step: f64,
        /// The number of frames.
        steps: usize,
    },
    /// Frames of `duration` milliseconds from the first spike, in 16-bit floats; the last frame has the rest.
    ///
    /// Source: SpikingJelly 2.0.0, `SpikingHeidelbergDigits` with `duration`; DCLS-Delays and DelRec with groups of 5 channels.
    HalfDuration {
        /// Milliseconds.
        duration: f32,
    },
    /// ⌊N / `frames`⌋ spikes in each frame, the rest in the last one.
    ///
    /// Source: SpikingJelly 2.0.0, `split_by="number"`.
    Number {
        /// The number of frames.
        frames: usize,
    },
    /// Frames of equal duration in 16-bit floats; spikes that rounding leaves between two frames are left out, and the last
    /// frame has the rest. Frames without spikes are empty, where SpikingJelly fails.
    ///
    /// Source: SpikingJelly 2.0.0, `split_by="time"`.
    HalfTime {
        /// The number of frames.
        frames: usize,
    },
    /// The number of edges at or before t, of `edges` edges from 0 to `end`: frame 0 is always empty. Spikes at `end` and
    /// later are left out.
    ///
    /// Source: F. Zenke, SpyTorch, tutorial 4; A. Bittar, sparch (100 edges, 1.4 s).
    Digitize {
        /// The number of edges, and of frames.
        edges: usize,
        /// The last edge in seconds.
        end: f64,
    },
    /// Frames of `window` whole milliseconds from the first spike; an incomplete last frame is left out.
    ///
    /// Source: M. Baronig et al., SE-adLIF, 2025 (4 ms, groups of 5 channels).
    Milliseconds {
        /// The milliseconds of a frame.
        window: u32,
    },
    /// The first frame k with t ≤ k · `step`, compared in 16-bit floats, of ⌊1 / `step`⌋ frames; later spikes are left out.
    ///
    /// Source: B. Yin et al., Efficient-spiking-networks, 2021 (4 ms, binary, channels reversed).
    HalfCeiling {
        /// The seconds of a frame.
        step: f64,
    },
}

/// The most frames.
const MAX_FRAMES: usize = 1 << 20;

impl SoundRule {
    /// Whether times must be sorted: frames start at the first spike and end at the last.
    pub(super) fn needs_order(&self) -> bool {
        matches!(
            self,
            Self::HalfDuration { .. } | Self::HalfTime { .. } | Self::Milliseconds { .. }
        )
    }

    /// The number of frames, and the frame of each spike; `None` for spikes that are left out. Times are finite.
    pub(super) fn assign(
        &self,
        of: &'static str,
        times: &[f32],
    ) -> Result<(usize, Vec<Option<usize>>)> {
        let count = |field, count: usize| {
            let is_valid = (1..=MAX_FRAMES).contains(&count);
            check(is_valid, of, field, count, "1 to 1048576").map(|()| count)
        };
        let positive = |field, value: f64| {
            let is_valid = value > 0.0 && value.is_finite();
            check(is_valid, of, field, value, "a number above 0")
        };
        let seconds = || times.iter().map(|&time| f64::from(time));
        Ok(match *self {
            Self::Steps { step, steps } => {
                positive("step", step)?;
                let frame = |time: f64| {
                    let frame = (time / step).floor();
                    (0.0..steps as f64)
                        .contains(&frame)
                        .then_some(frame as usize)
                };
                (count("steps", steps)?, seconds().map(frame).collect())
            }
            Self::HalfDuration { duration } => {
                let duration = half(duration);
                positive("duration", f64::from(duration))?;
                let milliseconds: Vec<_> = times
                    .iter()
                    .map(|&time| half(1000.0 * half(time)))
                    .collect();
                let first = milliseconds.first().copied().unwrap_or(0.0);
                let since_first = || milliseconds.iter().map(|&time| half(time - first));
                let covered =
                    half(since_first().next_back().unwrap_or(0.0) / duration).ceil() as usize;
                let frames = count("duration", covered.max(1))?;
                let frame = |time: f32| (half((time / duration).floor()) as usize).min(frames - 1);
                (
                    frames,
                    since_first().map(|time| Some(frame(time))).collect(),
                )
            }
            Self::Number { frames } => {
                let spikes = times.len() / count("frames", frames)?;
                let frame = |k: usize| {
                    k.checked_div(spikes)
                        .map_or(frames - 1, |frame| frame.min(frames - 1))
                };
                (frames, (0..times.len()).map(|k| Some(frame(k))).collect())
            }
            Self::HalfTime { frames } => {
                count("frames", frames)?;
                let times: Vec<_> = times.iter().map(|&time| half(time)).collect();
                let (first, last) = times.first().zip(times.last()).unwrap_or((&0.0, &0.0));
                let duration = half(half(last - first) / half(frames as f32));
                let mut assigned = vec![None; times.len()];
                for frame in 0..frames {
                    let start = half(half(duration * half(frame as f32)) + first);
                    let end = half(start + duration);
                    let from = times.partition_point(|&time| time < start);
                    let to = times.partition_point(|&time| time < end).max(from);
                    let to = if frame + 1 == frames { times.len() } else { to };
                    assigned[from..to].fill(Some(frame));
                }
                (frames, assigned)
            }
            Self::Digitize { edges, end } => {
                positive("end", end)?;
                let step = end / (count("edges", edges)?.max(2) - 1) as f64;
                let edge = |k: usize| if k + 1 == edges { end } else { k as f64 * step };
                let edge_times: Vec<_> = (0..edges).map(edge).collect();
                let frame = |time: f64| edge_times.partition_point(|&edge| edge <= time);
                let inside = |time: f64| Some(frame(time)).filter(|&frame| frame < edges);
                (edges, seconds().map(inside).collect())
            }
            Self::Milliseconds { window } => {
                let window = i64::from(window);
                check(window > 0, of, "window", window, "milliseconds, at least 1")?;
                let times: Vec<_> = seconds()
                    .map(|time| ((time * 1e6).trunc() * 0.001) as i64)
                    .collect();
                let (first, last) = times.first().zip(times.last()).unwrap_or((&0, &0));
                let whole = last.saturating_sub(*first) / window;
                let frames = count(
                    "window",
                    usize::try_from(whole.max(1)).unwrap_or(usize::MAX),
                )?;
                let frame = |time: &i64| ((time.saturating_sub(*first)) / window) as usize;
                let inside = |time| Some(frame(time)).filter(|&frame| frame < frames);
                (frames, times.iter().map(inside).collect())
            }
            Self::HalfCeiling { step } => {
                positive("step", step)?;
                let frames = count("step", (1.0 / step) as usize)?;
                let ends: Vec<_> = (0..frames)
                    .map(|k| f16::from_f64(k as f64 * step).to_f32())
                    .collect();
                let frame = |&time: &f32| {
                    let time = half(time);
                    Some(ends.partition_point(|&end| end < time)).filter(|&frame| frame < frames)
                };
                (frames, times.iter().map(frame).collect())
            }
        })
    }
}

/// A number, rounded to 16 bits.
fn half(value: f32) -> f32 {
    f16::from_f32(value).to_f32()
}
