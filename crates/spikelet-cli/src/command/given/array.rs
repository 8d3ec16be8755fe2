//! Images in a NumPy array.

use crate::failure::Failure;
use spikelet::data::{ArrayFiles, Dataset, Image, Sample};
use std::path::Path;

/// The axes of an image, in the order of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// `[height, width]`
    Gray,
    /// `[channels, height, width]`
    Planes,
    /// `[height, width, channels]`
    Pixels,
}

/// The images of an array file.
pub struct ArrayImages {
    data: ArrayFiles,
    layout: Layout,
    /// Whether axis 0 of the array are images.
    several: bool,
    /// Channels, height and width of an image.
    shape: [usize; 3],
}

const FIELD: &str = "image";

/// What is expected of the elements.
const RANGE: &str = "save integers from 0 to 255, or floating-point numbers from 0 to 1; they are normalized as in training";

/// Whether an array of this shape has several images, and their axes.
fn layout_of(shape: &[usize], is_channels: impl Fn(usize) -> bool) -> Option<(bool, Layout)> {
    match *shape {
        [_, _] => Some((false, Layout::Gray)),
        [first, _, _] if is_channels(first) => Some((false, Layout::Planes)),
        [_, _, last] if is_channels(last) => Some((false, Layout::Pixels)),
        [_, _, _] => Some((true, Layout::Gray)),
        [_, channels, _, _] if is_channels(channels) => Some((true, Layout::Planes)),
        [_, _, _, last] if is_channels(last) => Some((true, Layout::Pixels)),
        _ => None,
    }
}

impl ArrayImages {
    /// Reads the header of a file. `channels` are those of the network.
    ///
    /// # Errors
    /// When it is no array of a known type, or has other axes.
    pub fn open(path: &Path, channels: usize) -> Result<Self, Failure> {
        let data = ArrayFiles::npy("the array", [(FIELD, path)]).map_err(spikelet::Error::from)?;
        let mut shape = vec![data.len()];
        shape.extend(data.fields()[0].shape.iter().flatten());
        let is_channels = |size: usize| size == 1 || size == 3 || size == channels;
        let Some((several, layout)) =
            layout_of(&shape, is_channels).filter(|_| !shape.contains(&0))
        else {
            return Err(Failure::other(
                format!("{}: an array of shape {shape:?}", path.display()),
                "save [H, W], [C, H, W], [H, W, C], or with a first axis of several images, at least \
                 one element each",
            ));
        };
        let own = &shape[usize::from(several)..];
        let shape = match layout {
            Layout::Gray => [1, own[0], own[1]],
            Layout::Planes => [own[0], own[1], own[2]],
            Layout::Pixels => [own[2], own[0], own[1]],
        };
        Ok(Self {
            data,
            layout,
            several,
            shape,
        })
    }

    /// The number of images.
    pub fn len(&self) -> usize {
        if self.several { self.data.len() } else { 1 }
    }

    /// Whether axis 0 of the array are images.
    pub fn several(&self) -> bool {
        self.several
    }

    /// An image, and the conversion of its elements to bytes if there is one.
    ///
    /// # Errors
    /// When the file cannot be read, or an element is out of range.
    pub fn image(&self, path: &Path, index: usize) -> Result<(Image, Option<String>), Failure> {
        let rows = if self.several {
            index..index + 1
        } else {
            0..self.data.len()
        };
        let mut bytes = vec![];
        let mut conversion = None;
        for row in rows {
            let sample = self.data.sample(row).map_err(spikelet::Error::from)?;
            conversion = append(&sample, &mut bytes).map_err(|problem| {
                Failure::other(format!("{}: {problem}", path.display()), RANGE)
            })?;
        }
        if conversion.is_none() && bytes.iter().all(|&b| b <= 1) && bytes.contains(&1) {
            bytes.iter_mut().for_each(|byte| *byte *= 255);
            conversion = Some("values 0 and 1 scaled to 0 and 255".to_string());
        }
        let [channels, height, width] = self.shape;
        let pixels = match self.layout {
            Layout::Gray | Layout::Planes => bytes,
            Layout::Pixels => (0..channels)
                .flat_map(|c| bytes.iter().skip(c).step_by(channels).copied())
                .collect(),
        };
        let image = Image::new(pixels, [channels, height, width]);
        Ok((image.map_err(spikelet::Error::from)?, conversion))
    }
}

/// Appends the elements of a sample as bytes; returns the conversion if they are not integers.
fn append(sample: &Sample<'_>, bytes: &mut Vec<u8>) -> Result<Option<String>, String> {
    let tensor = sample.require(FIELD).map_err(|error| error.to_string())?;
    if let Some(values) = tensor.as_u8() {
        bytes.extend(values);
        return Ok(None);
    }
    if let Some(values) = tensor.as_i64() {
        for &value in values {
            bytes.push(u8::try_from(value).map_err(|_| format!("the element {value}"))?);
        }
        return Ok(None);
    }
    for &value in tensor.as_f32().unwrap_or_default() {
        if !(0.0..=1.0).contains(&value) {
            return Err(format!("the element {value}"));
        }
        bytes.push((value * 255.0).round() as u8);
    }
    Ok(Some("values rounded to 256 levels".to_string()))
}

#[cfg(test)]
mod tests {
    use super::{Layout, layout_of};

    #[test]
    fn the_axes_follow_from_the_shape() {
        let known = |shape: &[usize]| layout_of(shape, |size| size == 1 || size == 3);
        for (shape, expected) in [
            (&[28, 28][..], Some((false, Layout::Gray))),
            (&[1, 28, 28], Some((false, Layout::Planes))),
            (&[3, 32, 32], Some((false, Layout::Planes))),
            (&[32, 32, 3], Some((false, Layout::Pixels))),
            (&[100, 28, 28], Some((true, Layout::Gray))),
            (&[2, 3, 32, 32], Some((true, Layout::Planes))),
            (&[2, 32, 32, 1], Some((true, Layout::Pixels))),
            (&[2, 32, 32, 4], None),
            (&[784], None),
            (&[1, 1, 1, 1, 1], None),
        ] {
            assert_eq!(known(shape), expected, "{shape:?}");
        }
    }
}
