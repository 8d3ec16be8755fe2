//! How the recordings of a data set become sequences.

use spikelet_events::frames::FrameRule;
use spikelet_events::transforms::EventTransform;
use spikelet_schema::{Member, Schema};

/// How the recordings of a data set become sequences of frames.
///
/// ```
/// use spikelet_data::FrameSettings;
///
/// let settings = FrameSettings { rule: Some("time=16".parse()?), size: Some([48, 48]), ..FrameSettings::default() };
/// let json = serde_json::to_value(&settings).unwrap_or_default();
/// assert_eq!(json["rule"], serde_json::json!({"name": "time", "frames": 16}));
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub struct FrameSettings {
    /// The frames of a recording; by default those of the data set.
    pub rule: Option<Member<dyn FrameRule>>,
    /// Height and width, to which frames are resized by the nearest pixel; by default those of the sensor.
    #[schema(at_least = 1, at_most = MAX_SIDE)]
    pub size: Option<[usize; 2]>,
    /// Changes of the events of all samples, before the frames.
    pub events: Vec<Member<dyn EventTransform>>,
    /// Width and height of the sensor of one's own recordings, whose files may not say it.
    #[schema(at_least = 1, at_most = MAX_SIDE)]
    pub sensor: Option<[u32; 2]>,
    /// Whether events are copied to the device of a training run, which makes the frames by `number`, `time` or `duration`: the
    /// same as on the host.
    pub on_device: bool,
    /// Whether recordings that are not packed yet are read from their files, and no pack is written. It is not a part of
    /// the text.
    #[schema(skip)]
    pub unpacked: bool,
}

/// The largest side of a sensor or of a frame.
const MAX_SIDE: usize = 1 << 16;

impl FrameSettings {
    /// Whether all settings are those of the data set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
