//! Chosen pixels and hot pixels are dropped.

use super::EventTransform;
use super::edit::{pixels, retain};
use crate::EventRandom;
use crate::{EventBuffer, Result, Sensor};
use spikelet_schema::Schema;
use spikelet_schema::document::{Content, Node};

/// Drops the events of chosen pixels, and of pixels with more than `frequency` events in a second, from the first event to the
/// last.
///
/// Source: tonic 1.7.0, `DropPixel`.
#[derive(Clone, Debug, PartialEq, Schema)]
#[schema(earlier = earlier)]
pub struct DropPixels {
    /// The chosen pixels, column and row.
    #[schema(main)]
    pub pixels: Vec<[u16; 2]>,
    /// The largest number of events of a pixel in a second.
    #[schema(at_least = 0)]
    pub frequency: Option<f64>,
}

/// The value of `drop-hot-pixels` was the frequency; pixels were text, `0:0,33:33`.
fn earlier(table: &Node) -> Option<Node> {
    let given = table.get("pixels")?;
    match &given.content {
        Content::Integer(_) | Content::Float(_) if table.get("frequency").is_some() => {
            Some(table.without("pixels").with("frequency", given.clone()))
        }
        Content::Text(text) => {
            let places = format!("[[{}]]", text.replace(',', "],[").replace(':', ","));
            let list = serde_json::from_str(&places).ok()?;
            Some(table.with("pixels", Node::from_json(&list).ok()?))
        }
        _ => None,
    }
}

impl EventTransform for DropPixels {
    fn change(
        &self,
        events: &mut EventBuffer,
        sensor: &mut Sensor,
        _: &mut EventRandom,
    ) -> Result<()> {
        if let Some(frequency) = self.frequency {
            drop_hot(frequency, events, *sensor)?;
        }
        if !self.pixels.is_empty() {
            let is_chosen = |place| self.pixels.contains(&place);
            retain(events, |event| {
                !is_chosen([event.x, event.y].map(|place| place as u16))
            });
        }
        Ok(())
    }
}

fn drop_hot(frequency: f64, events: &mut EventBuffer, sensor: Sensor) -> Result<()> {
    let (width, height) = (sensor.width as usize, sensor.height as usize);
    let mut counts = vec![0_u32; pixels(DropPixels::DECLARATION.name, width, height)?];
    for (&x, &y) in events.x.iter().zip(&events.y) {
        let count = &mut counts[usize::from(y) * width + usize::from(x)];
        *count = count.saturating_add(1);
    }
    let (first, last) = events.t.first().zip(events.t.last()).unwrap_or((&0, &0));
    let duration = (i128::from(*last) - i128::from(*first)) as f64;
    let most = frequency * duration * 1e-6;
    retain(events, |event| {
        f64::from(counts[event.y * width + event.x]) <= most
    });
    Ok(())
}
