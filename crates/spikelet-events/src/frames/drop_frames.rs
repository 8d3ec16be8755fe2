//! Frames dropped at random.

use crate::EventRandom;
use crate::settings::check;
use crate::{Frames, Result};
use spikelet_schema::Schema;

/// Keeps `remain` frames of a recording `[T, …]`, in their order; every choice is equally likely.
///
/// ```
/// use spikelet_events::Frames;
/// use spikelet_events::frames::DropFrames;
/// use spikelet_events::EventRandom;
///
/// let mut frames = Frames { shape: vec![3, 1], values: vec![0.0, 1.0, 2.0] };
/// DropFrames { remain: 2 }.apply(&mut frames, &mut EventRandom::new(0, 0, 17))?;
/// assert_eq!(frames.shape, [2, 1]);
/// assert!(frames.values[0] < frames.values[1]);
/// # Ok::<(), spikelet_events::Error>(())
/// ```
///
/// Source: W. Fang et al., Deep residual learning in spiking neural networks, 2021 (16 to 12 frames); SpikingJelly 2.0.0,
/// `random_temporal_delete`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
pub struct DropFrames {
    /// The number of frames that remain, at least 1.
    #[schema(main, default = 12, at_least = 1)]
    pub remain: usize,
}

impl DropFrames {
    /// Changes the frames in place.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`](crate::ErrorKind::Setting) if there are fewer frames than `remain`, `remain` is 0, or the
    /// values are no whole frames. The frames are then unchanged.
    pub fn apply(&self, frames: &mut Frames, random: &mut EventRandom) -> Result<()> {
        let count = frames.shape.first().copied().unwrap_or(0);
        let (of, expected) = (Self::DECLARATION.name, "1 to the number of frames");
        let fits = (1..=count).contains(&self.remain);
        check(fits, of, "remain", self.remain, expected)?;
        let is_whole = frames.values.len().is_multiple_of(count);
        check(
            is_whole,
            Self::DECLARATION.name,
            "values",
            frames.values.len(),
            "a multiple of the number of frames",
        )?;
        let size = frames.values.len() / count;
        let mut kept = 0;
        // Selection sampling: each frame is kept with the part of those to keep in those that remain.
        for frame in 0..count {
            if random.below((count - frame) as u64) < (self.remain - kept) as u64 {
                frames
                    .values
                    .copy_within(frame * size..(frame + 1) * size, kept * size);
                kept += 1;
            }
        }
        frames.values.truncate(kept * size);
        frames.shape[0] = kept;
        Ok(())
    }
}
