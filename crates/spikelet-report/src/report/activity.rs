//! The activity of a network for some images, layer by layer.
//!
//! `spikelet_train::show_activity` runs the network.

use super::Example;
use spikelet_core::files;
use spikelet_core::{Error, Result};
use spikelet_graph::Tensor;
use std::path::Path;

/// The spikes of a layer for some images.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerActivity {
    /// The path of the layer, such as `conv.0`.
    pub name: String,
    /// Of one image at one time step: channels, height and width, or neurons.
    pub shape: Vec<usize>,
    /// The spikes, `[T, N, …]`; not 0 where a neuron fired.
    pub spikes: Tensor,
    /// The number of spikes per neuron and time step, over all images.
    pub rate: f64,
}

impl LayerActivity {
    /// A layer with spikes `[T, N, …]`.
    pub fn new(name: &str, spikes: Tensor) -> Self {
        Self {
            name: name.to_string(),
            shape: spikes.shape.get(2..).unwrap_or_default().to_vec(),
            rate: share(&fired(&spikes)),
            spikes,
        }
    }

    /// Whether neurons fired for the image of index `image`, `[T, …]`.
    pub fn spikes_of(&self, image: usize) -> Vec<bool> {
        let neurons = self.shape.iter().product::<usize>().max(1);
        let images = self.spikes.shape.get(1).copied().unwrap_or(0).max(1);
        let all = fired(&self.spikes);
        let steps = all.chunks(neurons).skip(image).step_by(images);
        steps.flatten().copied().collect()
    }

    /// The number of spikes per neuron and time step for the image of index `image`.
    pub fn rate_of(&self, image: usize) -> f64 {
        share(&self.spikes_of(image))
    }

    /// Channels, height and width, if the layer has them.
    pub(super) fn image(&self) -> Option<[usize; 3]> {
        <[usize; 3]>::try_from(&self.shape[..]).ok()
    }
}

fn fired(spikes: &Tensor) -> Vec<bool> {
    spikes.to_f64().iter().map(|spike| *spike != 0.0).collect()
}

fn share(spikes: &[bool]) -> f64 {
    spikes.iter().filter(|fired| **fired).count() as f64 / spikes.len().max(1) as f64
}

/// The output of a network for some images, as `spikelet_train::show_activity` returns it.
#[derive(Clone, Debug, PartialEq)]
pub struct Activity {
    /// The indices of the images in their data set.
    pub indices: Vec<usize>,
    /// The images with the output spikes.
    pub examples: Vec<Example>,
    /// The scores of each image.
    pub scores: Vec<Vec<f64>>,
    /// The layers with neurons, from the first to the last.
    pub layers: Vec<LayerActivity>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The captions of images, such as the names of their files. Without captions the figure names each image by its
    /// index and its label, if that is known.
    pub captions: Vec<String>,
}

impl Activity {
    /// The figure as an SVG document, at most 960 units wide.
    pub fn to_svg(&self, title: &str) -> String {
        self.draw(title).to_svg()
    }

    /// The figure as a PNG file, at most 960 pixels wide.
    pub fn to_png(&self, title: &str) -> Vec<u8> {
        self.draw(title).to_png()
    }

    /// Checks that the path ends in `.svg` or `.png`.
    ///
    /// # Errors
    /// When it has another extension.
    pub fn check_path(path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let end = path.extension().and_then(|end| end.to_str());
        match end {
            Some("svg" | "png") => Ok(()),
            _ => Err(Error::invalid(
                "picture",
                format!("{} is neither .svg nor .png", path.display()),
                "use one of these extensions",
            )),
        }
    }

    /// Writes the figure, as PNG or SVG by the extension of the path.
    ///
    /// # Errors
    /// When the path has another extension or cannot be written.
    pub fn save(&self, title: &str, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        Self::check_path(path)?;
        let bytes = match path.extension().is_some_and(|end| end == "png") {
            true => self.to_png(title),
            false => self.to_svg(title).into_bytes(),
        };
        Ok(files::write_atomically(path, &bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spikes_of_an_image_are_those_of_all_time_steps() {
        let spikes = [0., 1., 0., 0., 1., 1., 1., 1., 0., 0., 0., 1.];
        let layer = LayerActivity::new("fc", Tensor::f32([2, 3, 2], spikes));
        assert_eq!((layer.shape.as_slice(), layer.rate), (&[2][..], 0.5));
        assert_eq!(layer.spikes_of(0), [false, true, true, true]);
        assert_eq!(layer.rate_of(2), 0.75);
    }

    #[test]
    fn a_picture_is_saved_by_the_ending_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let shown = Activity {
            indices: vec![],
            examples: vec![],
            scores: vec![],
            layers: vec![],
            classes: vec![],
            captions: vec![],
        };
        for (name, start) in [("a.png", &b"\x89PNG"[..]), ("a.svg", b"<svg")] {
            let path = folder.path().join(name);
            shown.save("title", &path).unwrap();
            assert!(files::read(path).unwrap().starts_with(start));
        }
        let wrong = shown.save("title", Path::new("picture.jpeg")).unwrap_err();
        assert!(wrong.to_string().contains("neither .svg nor .png"));
    }
}
