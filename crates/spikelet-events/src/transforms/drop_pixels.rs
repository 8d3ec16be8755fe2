//! Chosen pixels are dropped.

use super::edit::retain;
use super::transform::Apply;
use crate::EventRandom;
use crate::settings::{Field, Settings};
use crate::{EventBuffer, Result, Sensor};

/// Drops the events of chosen pixels. As text: `drop-pixels=0:0,33:33`, column and row.
///
/// Source: tonic 1.7.0, `DropPixel(coordinates)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropPixels {
    /// The pixels.
    pub pixels: Pixels,
}

impl Settings for DropPixels {
    const NAME: &'static str = "drop-pixels";

    fn fields(&mut self) -> Vec<(&'static str, &mut dyn Field)> {
        vec![("pixels", &mut self.pixels)]
    }
}

impl Apply for DropPixels {
    fn apply(&self, events: &mut EventBuffer, _: &mut Sensor, _: &mut EventRandom) -> Result<()> {
        let pixels = &self.pixels.0;
        retain(events, |event| {
            !pixels.contains(&(event.x as u16, event.y as u16))
        });
        Ok(())
    }
}

/// Pixels, column and row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pixels(pub std::collections::BTreeSet<(u16, u16)>);

impl Field for Pixels {
    fn read(&mut self, text: &str) -> bool {
        let pixel = |text: &str| {
            let (x, y) = text.split_once(':')?;
            Some((x.parse().ok()?, y.parse().ok()?))
        };
        let pixels: Option<_> = text.split(',').map(pixel).collect();
        pixels.map(|pixels| self.0 = pixels).is_some()
    }

    fn text(&self) -> Option<String> {
        let pixels: Vec<_> = self.0.iter().map(|(x, y)| format!("{x}:{y}")).collect();
        (!pixels.is_empty()).then(|| pixels.join(","))
    }

    fn expected(&self) -> &'static str {
        "columns and rows, as in 0:0,33:33"
    }
}
