//! Hue: the color angle, in Pillow's 8-bit HSV.

use crate::augment::image::Image;

/// Shifts the hue by `turn` turns, rounded toward zero to 1/256 of Pillow's hue.
pub(super) fn shift(image: &mut Image, turn: f32) {
    let steps = (f64::from(turn) * 255.0) as i64 as u8;
    let Some([red, green, blue]) = image.colors_mut() else {
        return;
    };
    for ((red, green), blue) in red.iter_mut().zip(green).zip(blue) {
        let [hue, saturation, value] = to_hsv([*red, *green, *blue]);
        [*red, *green, *blue] = to_rgb([hue.wrapping_add(steps), saturation, value]);
    }
}

/// Hue, saturation and value, rounded toward zero.
fn to_hsv([red, green, blue]: [u8; 3]) -> [u8; 3] {
    let value = red.max(green).max(blue);
    let least = red.min(green).min(blue);
    if value == least {
        return [0, 0, value];
    }
    let range = f32::from(value - least);
    let saturation = range / f32::from(value);
    let [r, g, b] = [red, green, blue].map(|color| f32::from(value - color) / range);
    // Single and double precision alternate as in Pillow's C code.
    let sector = if red == value {
        b - g
    } else if green == value {
        (2.0 + f64::from(r) - f64::from(b)) as f32
    } else {
        (4.0 + f64::from(g) - f64::from(r)) as f32
    };
    let hue = ((f64::from(sector) / 6.0 + 1.0) % 1.0) as f32;
    [
        (f64::from(hue) * 255.0) as u8,
        (f64::from(saturation) * 255.0) as u8,
        value,
    ]
}

fn to_rgb([hue, saturation, value]: [u8; 3]) -> [u8; 3] {
    if saturation == 0 {
        return [value; 3];
    }
    let angle = f64::from(f32::from(hue)) * 6.0 / 255.0;
    let sector = angle.floor();
    let within = f64::from((angle - sector) as f32);
    let full = f64::from(value);
    let saturation = f64::from((f64::from(saturation) / 255.0) as f32);
    let p = (full * (1.0 - saturation)).round() as u8;
    let q = (full * (1.0 - saturation * within)).round() as u8;
    let t = (full * (1.0 - saturation * (1.0 - within))).round() as u8;
    match sector as u8 % 6 {
        0 => [value, t, p],
        1 => [q, value, p],
        2 => [p, value, t],
        3 => [p, q, value],
        4 => [t, p, value],
        _ => [value, p, q],
    }
}
