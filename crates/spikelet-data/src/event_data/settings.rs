//! How the recordings of a data set become sequences.

use serde::{Deserialize, Serialize};
use spikelet_events::frames::FrameRule;
use spikelet_events::transforms::EventTransform;

/// How the recordings of a data set become sequences of frames.
///
/// | field | text | default | |
/// |---|---|---|---|
/// | `rule` | `number=16` | that of the data set | the frames of a recording |
/// | `size` | `[48, 48]` | that of the sensor | height and width, to which frames are resized; nearest pixel |
/// | `events` | `["denoise=10000"]` | none | changes of the events of all samples, before the frames |
/// | `sensor` | `[34, 34]` | that in the files | width and height of the sensor of one's own recordings |
/// | `on_device` | `true` | false | whether a training run makes the frames on its device, for `number`, `time` and `duration` |
///
/// ```
/// use spikelet_data::FrameSettings;
///
/// let settings = FrameSettings { rule: Some("time=16".parse()?), size: Some([48, 48]), ..FrameSettings::default() };
/// let text = serde_json::to_string(&settings).unwrap_or_default();
/// assert_eq!(text, r#"{"rule":"time frames=16","size":[48,48]}"#);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub struct FrameSettings {
    /// The frames of a recording.
    pub rule: Option<FrameRule>,
    /// Height and width of the frames.
    pub size: Option<[usize; 2]>,
    /// Changes of the events of all samples, before the frames.
    pub events: Vec<EventTransform>,
    /// Width and height of the sensor of one's own recordings, whose files may not say it.
    pub sensor: Option<[u32; 2]>,
    /// Whether events are copied to the device of a training run, which makes the frames: the same as on the host.
    pub on_device: bool,
    /// Whether recordings that are not packed yet are read from their files, and no pack is written. It is not a part of
    /// the text.
    pub unpacked: bool,
}

/// [`FrameSettings`] in files.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<[usize; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    events: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sensor: Option<[u32; 2]>,
    #[serde(default, skip_serializing_if = "is_false")]
    on_device: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl TryFrom<Text> for FrameSettings {
    type Error = spikelet_events::Error;

    fn try_from(text: Text) -> spikelet_events::Result<Self> {
        let events = text.events.iter().map(|text| text.parse());
        Ok(Self {
            rule: text.rule.map(|text| text.parse()).transpose()?,
            size: text.size,
            events: events.collect::<spikelet_events::Result<_>>()?,
            sensor: text.sensor,
            on_device: text.on_device,
            unpacked: false,
        })
    }
}

impl From<FrameSettings> for Text {
    fn from(settings: FrameSettings) -> Self {
        Self {
            rule: settings.rule.map(|rule| rule.to_string()),
            size: settings.size,
            events: settings.events.iter().map(ToString::to_string).collect(),
            sensor: settings.sensor,
            on_device: settings.on_device,
        }
    }
}

impl FrameSettings {
    /// Whether all settings are those of the data set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
