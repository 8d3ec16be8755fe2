//! Augmentation and normalization of images on the command line.

use crate::failure::Failure;
use spikelet::data::{Augment, Normalize, Split};
use spikelet::document::DocumentError;
use spikelet::train::{Normalization, experiment::Experiment};

/// Augmentation and normalization.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Images")]
pub struct AugmentArgs {
    /// Augment training samples, as in crop=4,flip,rotate=15
    ///
    /// A list, separated by commas, of crop=PIXELS, flip, shift=FRACTION, rotate=DEGREES,
    /// scale=FRACTION, shear=DEGREES, noise=STD, cutout=PIXELS; or none. After crop and flip, in
    /// the given order, transforms of images with their fields, as in auto-augment,
    /// random-erasing=0.25, "rand-augment ops=2 magnitude=9"; of sequences, as in channel-shift=6;
    /// of events, as in flip-x. The page "Transforms" lists them. For imagenet the default is
    /// resized-crop,flip.
    #[arg(long, value_name = "LIST", value_parser = augment)]
    augment: Option<Augment>,

    /// Subtract the mean and divide by the standard deviation: none, auto (statistics of the
    /// training images per channel; those of ImageNet for image-folder and imagenet), or MEAN/STD with one value for all channels or one per
    /// channel, as in 0.5,0.5,0.4/0.2
    #[arg(
        hide_short_help = true,
        long,
        value_name = "VALUES",
        allow_hyphen_values = true
    )]
    normalize: Option<Normalization>,

    /// Mix pairs of training images and their labels, in shares from Beta(ALPHA, ALPHA); with --cutmix,
    /// one of both for each batch
    #[arg(hide_short_help = true, long, value_name = "ALPHA", value_parser = alpha, allow_negative_numbers = true)]
    mixup: Option<f32>,

    /// Paste a rectangle of another training image, and mix the labels by its area
    #[arg(hide_short_help = true, long, value_name = "ALPHA", value_parser = alpha, allow_negative_numbers = true)]
    cutmix: Option<f32>,

    /// Mix a batch with this probability [default: 1]
    #[arg(hide_short_help = true, long, value_name = "P", value_parser = probability, allow_negative_numbers = true)]
    mix_probability: Option<f32>,

    /// Mix batches in the first N epochs only [default: in all]
    #[arg(hide_short_help = true, long, value_name = "N")]
    mix_epochs: Option<usize>,
}

fn probability(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(p) if (0.0..=1.0).contains(&p) => Ok(p),
        _ => Err("give a number from 0 to 1".to_string()),
    }
}

/// The parameter of a Beta distribution.
fn alpha(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(alpha) if alpha > 0.0 && alpha.is_finite() => Ok(alpha),
        _ => Err("give a number above 0, such as 0.2".to_string()),
    }
}

fn augment(text: &str) -> Result<Augment, DocumentError> {
    match text {
        "none" => Ok(Augment::default()),
        list => Augment::of_words(list),
    }
}

impl AugmentArgs {
    /// Sets augmentation and normalization in an experiment.
    pub fn put(&self, experiment: &mut Experiment) {
        let settings = &mut experiment.settings;
        if let Some(augment) = &self.augment {
            settings.augment = augment.clone();
        }
        settings.mixup = self.mixup.or(settings.mixup);
        settings.cutmix = self.cutmix.or(settings.cutmix);
        settings.mix_probability = self.mix_probability.unwrap_or(settings.mix_probability);
        settings.mix_epochs = self.mix_epochs.or(settings.mix_epochs);
        if let Some(normalize) = &self.normalize {
            experiment.settings.normalize = normalize.clone();
        }
    }
}

/// The normalization of an experiment for its training images.
///
/// # Errors
/// When the values do not fit the images, or the encoder needs pixels of 0 to 1.
pub fn normalization_of(
    experiment: &Experiment,
    data: &Split,
) -> Result<Option<Normalize>, Failure> {
    let normalization = &experiment.settings.normalize;
    if *normalization != Normalization::None && !data.has_images() {
        return Err(Failure::argument(
            format!("{} has sequences, and pixels are normalized", data.name()),
            "leave --normalize out; a layer of the network can normalize its input",
        ));
    }
    let normalize = normalization.of(data).map_err(spikelet::Error::from)?;
    let Some(normalize) = normalize else {
        return Ok(None);
    };
    let encoder = experiment.settings.encoder.name();
    if encoder != "direct" {
        return Err(Failure::argument(
            format!(
                "the encoder {encoder} needs pixels from 0 to 1, which normalized pixels are not"
            ),
            "write --encoder direct, or leave --normalize out",
        ));
    }
    let checked = normalize.check(experiment.network.image()[0]);
    checked.map_err(spikelet::Error::from)?;
    Ok(Some(normalize))
}
