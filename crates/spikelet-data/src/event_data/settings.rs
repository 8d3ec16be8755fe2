//! How the recordings of a data set become sequences.

use spikelet_events::frames::FrameRule;
use spikelet_events::transforms::EventTransform;
use spikelet_schema::document::Node;
use spikelet_schema::{Member, Schema};

/// How the recordings of a data set become sequences of frames.
///
/// ```
/// use spikelet_data::FrameSettings;
///
/// let settings = FrameSettings { rule: Some("time=8".parse()?), size: Some([48, 48]), ..FrameSettings::default() };
/// let json = serde_json::to_value(&settings).unwrap_or_default();
/// assert_eq!(json["frames"], serde_json::json!({"time": 8}));
/// # Ok::<(), spikelet_schema::document::DocumentError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = with_short_keys)]
pub struct FrameSettings {
    /// Frames of a recording of events, such as "number=16"; `auto` are those of the data set.
    #[schema(key = "frames", none = "auto")]
    pub rule: Option<Member<dyn FrameRule>>,
    /// Height and width to which frames are resized by the nearest pixel; `auto` are those of the sensor.
    #[schema(key = "frame_size", none = "auto", from = 1, to = MAX_SIDE)]
    pub size: Option<[usize; 2]>,
    /// Changes of the events of all samples, before the frames.
    pub events: Vec<Member<dyn EventTransform>>,
    /// Width and height of the sensor; `auto` are those of the data set, or in the files.
    #[schema(none = "auto", from = 1, to = MAX_SIDE)]
    pub sensor: Option<[u32; 2]>,
    /// Where the frames are made. A device makes those by `number`, `time` and `duration`: the same as on the host.
    pub frames_on: FramesOn,
    /// Whether recordings that are not packed yet are read from their files, and no pack is written. It is not a part of
    /// the text.
    #[schema(skip)]
    pub unpacked: bool,
}

/// Where the frames of recordings are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Schema)]
#[schema(name = "place of frames")]
pub enum FramesOn {
    /// By the threads of the loader.
    #[default]
    Host,
    /// By the device of a training run, to which the events are copied.
    Device,
}

/// The keys of before.
fn with_short_keys(table: &Node) -> Option<Node> {
    let mut table = table.clone();
    for (earlier, key) in [("rule", "frames"), ("size", "frame_size")] {
        if let Some(value) = table.get(earlier).cloned() {
            table = table.without(earlier).with(key, value);
        }
    }
    if let Some(on_device) = table.get("on_device").cloned() {
        let place = match on_device.flag("on_device") {
            Ok(true) => "device",
            _ => "host",
        };
        table = table
            .without("on_device")
            .with("frames_on", Node::text_of(place));
    }
    Some(table)
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
