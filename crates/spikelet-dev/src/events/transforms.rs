//! Transforms of events, by the names that tonic gives them.

use super::{Item, Output};
use serde_json::Value;
use spikelet::schema::Member;
use spikelet_events::EventRandom;
use spikelet_events::transforms::EventTransform;

/// Applies the item's transform.
pub fn run(item: &Item) -> Result<Output, String> {
    let text = text(item)?;
    let transform: Member<dyn EventTransform> = text.parse().map_err(|e| format!("{text}: {e}"))?;
    let mut events = item.events()?;
    let mut sensor = item.sensor().ok_or("the item has no sensor")?;
    let mut random = EventRandom::new(0, 0, 0);
    let applied = transform.apply(&mut events, &mut sensor, &mut random);
    applied.map_err(|e| e.to_string())?;
    Ok(Output::events(&events))
}

/// One number for both axes, or one for each.
fn pair(value: &Value) -> (&Value, &Value) {
    match value {
        Value::Array(pair) if pair.len() == 2 => (&pair[0], &pair[1]),
        one => (one, one),
    }
}

/// The settings of the item's transform.
fn text(item: &Item) -> Result<String, String> {
    let function = item.text("function")?;
    let args = item.args();
    Ok(match function.trim_start_matches("tonic.") {
        "CenterCrop" => {
            let (width, height) = pair(&args["size"]);
            format!("center-crop width={width} height={height}")
        }
        "CropTime" => format!("crop-time min={} max={}", args["min"], args["max"]),
        "Denoise" => format!("denoise={}", args["filter_time"]),
        "Decimation" => format!("decimation={}", args["n"]),
        "RefractoryPeriod" => format!("refractory-period={}", args["delta"]),
        "Downsample" => {
            let mut text = "downsample".to_string();
            if !args["spatial_factor"].is_null() {
                let (x, y) = pair(&args["spatial_factor"]);
                text += &format!(" x_factor={x} y_factor={y}");
            }
            if !args["target_size"].is_null() {
                let (width, height) = pair(&args["target_size"]);
                text += &format!(" width={width} height={height}");
            }
            if !args["time_factor"].is_null() {
                text += &format!(" time_factor={}", args["time_factor"]);
            }
            text
        }
        "MergePolarities" => "merge-polarities".to_string(),
        "TimeAlignment" => "time-alignment".to_string(),
        "TimeSkew" => format!(
            "time-skew coefficient={} offset={}",
            args["coefficient"], args["offset"]
        ),
        "RandomFlipLR" => format!("flip-x={}", args["p"]),
        "RandomFlipUD" => format!("flip-y={}", args["p"]),
        "RandomFlipPolarity" => format!("flip-polarity={}", args["p"]),
        "RandomTimeReversal" => format!(
            "time-reversal p={} flip_polarities={}",
            args["p"], args["flip_polarities"]
        ),
        "DropPixel" => match args["coordinates"].as_array() {
            Some(pixels) => {
                let pixels: Vec<_> = pixels
                    .iter()
                    .map(|pixel| format!("{}:{}", pixel[0], pixel[1]))
                    .collect();
                format!("drop-pixels={}", pixels.join(","))
            }
            None => format!("drop-hot-pixels={}", args["hot_pixel_frequency"]),
        },
        _ => return Err(format!("no transform is {function}")),
    })
}
