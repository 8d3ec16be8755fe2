//! What a reader is told.

use crate::{Format, Sensor};
use spikelet_schema::Schema;

/// What a reader is told where the file does not say it; the default asks the file for everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The format; `None`: by content, then by the extension of the name.
    pub format: Option<Format>,
    /// The size of the sensor; `None`: the header's. Events outside are errors.
    pub sensor: Option<Sensor>,
    /// How addresses of AEDAT 1 and 2 become coordinates; `None`: the format's default.
    pub orientation: Option<Orientation>,
}

/// How the address of a DVS128 becomes coordinates.
///
/// ```
/// use spikelet_events::Orientation;
/// assert_eq!(Orientation::find("jaer"), Ok(Orientation::Jaer));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Schema)]
#[non_exhaustive]
pub enum Orientation {
    /// The fields of the address as they are.
    Fields,
    /// As jAER shows them: x = 127 − field, ON where the bit is 0.
    Jaer,
    /// As SpikingJelly reads CIFAR10-DVS.
    #[schema(name = "spikingjelly")]
    SpikingJelly,
}
