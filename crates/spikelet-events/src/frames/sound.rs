//! Frames of spiking audio.

use super::rule::element_count;
use super::sound_rule::SoundRule;
use crate::settings::check;
use crate::{ErrorKind, Frames, Result};

/// Frames `[T, channels / group]` of the spikes of a cochlea, as recordings of SHD and SSC.
///
/// | field | default | |
/// |---|---|---|
/// | `rule` | 100 steps of 10 ms | the frame of each spike |
/// | `channels` | 700 | units of the cochlea |
/// | `group` | 1 | neighboring channels that are counted as one; divides `channels` |
/// | `binary` | false | whether a count is at most 1 |
/// | `reversed` | false | whether unit u is channel `channels` − u and unit 0 is left out, as in Yin's code |
///
/// ```
/// use spikelet_events::frames::{SoundFrames, SoundRule};
///
/// let rule = SoundRule::Steps { step: 0.01, steps: 2 };
/// let frames = SoundFrames { rule, channels: 4, group: 2, ..SoundFrames::default() };
/// let x = frames.tensor(&[0.001, 0.012, 0.013], &[0, 2, 3])?;
/// assert_eq!((x.shape, x.values), (vec![2, 2], vec![1.0, 0.0, 0.0, 2.0]));
/// # Ok::<(), spikelet_events::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoundFrames {
    /// The frame of each spike.
    pub rule: SoundRule,
    /// The number of units of the cochlea.
    pub channels: usize,
    /// The neighboring channels that are counted as one.
    pub group: usize,
    /// Whether a count is at most 1.
    pub binary: bool,
    /// Whether unit u is channel `channels` − u and unit 0 is left out.
    pub reversed: bool,
}

impl Default for SoundFrames {
    fn default() -> Self {
        Self {
            rule: SoundRule::Steps {
                step: 0.01,
                steps: 100,
            },
            channels: 700,
            group: 1,
            binary: false,
            reversed: false,
        }
    }
}

const NAME: &str = "sound frames";

impl SoundFrames {
    /// The frames of a recording: times in seconds, and the unit of each spike.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for settings out of range, other numbers of times than of units, times that are not finite,
    /// and units at or above `channels`; [`ErrorKind::Unsorted`] for rules that start at the first spike; [`ErrorKind::TooLarge`] above 2²⁸ elements.
    pub fn tensor(&self, times: &[f32], units: &[u16]) -> Result<Frames> {
        let (channels, group) = (self.channels, self.group);
        check(
            (1..=1 << 16).contains(&channels),
            NAME,
            "channels",
            channels,
            "1 to 65536",
        )?;
        let divides = group > 0 && channels.is_multiple_of(group);
        check(divides, NAME, "group", group, "a divisor of channels")?;
        check(
            times.len() == units.len(),
            NAME,
            "units",
            units.len(),
            "as many as times",
        )?;
        let largest = units.iter().copied().max().unwrap_or(0);
        check(
            usize::from(largest) < channels,
            NAME,
            "units",
            largest,
            "units below channels",
        )?;
        if let Some(time) = times.iter().find(|time| !time.is_finite()) {
            check(false, NAME, "times", time, "finite seconds")?;
        }
        let mut pairs = times.windows(2).take_while(|_| self.rule.needs_order());
        if let Some(at) = pairs.position(|pair| pair[0] > pair[1]) {
            let micros = |k: usize| (f64::from(times[k]) * 1e6) as i64;
            return Err(ErrorKind::Unsorted {
                of: NAME,
                event: at + 1,
                time: micros(at + 1),
                before: micros(at),
            }
            .into());
        }
        let (frames, assigned) = self.rule.assign(NAME, times)?;
        let columns = channels / group;
        let len = element_count(NAME, [frames, columns, 1, 1], "use longer frames")?;
        let mut values = vec![0.0_f32; len];
        for (frame, &unit) in assigned.into_iter().zip(units) {
            let channel = if self.reversed {
                channels - usize::from(unit)
            } else {
                unit.into()
            };
            let Some(frame) = frame.filter(|_| channel < channels) else {
                continue;
            };
            let count = &mut values[frame * columns + channel / group];
            *count = if self.binary { 1.0 } else { *count + 1.0 };
        }
        let shape = vec![frames, columns];
        Ok(Frames { shape, values })
    }
}
