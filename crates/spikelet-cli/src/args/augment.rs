//! Augmentation and normalization of images on the command line.

use crate::failure::Failure;
use spikelet::data::{Augment, ImageDataset, ImageTransform, Normalize};
use spikelet::suggest::closest;
use spikelet::train::Settings;

/// Augmentation and normalization.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Images")]
pub struct AugmentArgs {
    /// Augment training images, as in crop=4,flip,rotate=15
    ///
    /// A list, separated by commas, of crop=PIXELS, flip, shift=FRACTION, rotate=DEGREES,
    /// scale=FRACTION, shear=DEGREES, noise=STD, cutout=PIXELS; or none. After crop and flip, in
    /// the given order: auto-augment, rand-augment=OPS/MAGNITUDE, trivial-augment,
    /// color-jitter=BRIGHTNESS/CONTRAST/SATURATION/HUE, random-erasing=PROBABILITY (all also
    /// without values), alternating-flip.
    #[arg(long, value_name = "LIST", value_parser = augment)]
    augment: Option<Augment>,

    /// Subtract the mean and divide by the standard deviation: none, auto (statistics of the
    /// training images per channel), or MEAN/STD with one value for all channels or one per
    /// channel, as in 0.5,0.5,0.4/0.2
    #[arg(hide_short_help = true, long, value_name = "VALUES", value_parser = normalization, allow_hyphen_values = true)]
    normalize: Option<Normalization>,

    /// Mix pairs of training images and their labels, in shares from Beta(ALPHA, ALPHA); with --cutmix,
    /// one of both for each batch
    #[arg(hide_short_help = true, long, value_name = "ALPHA", value_parser = alpha, allow_negative_numbers = true)]
    mixup: Option<f32>,

    /// Paste a rectangle of another training image, and mix the labels by its area
    #[arg(hide_short_help = true, long, value_name = "ALPHA", value_parser = alpha, allow_negative_numbers = true)]
    cutmix: Option<f32>,
}

/// The parameter of a Beta distribution.
fn alpha(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(alpha) if alpha > 0.0 && alpha.is_finite() => Ok(alpha),
        _ => Err("give a number above 0, such as 0.2".to_string()),
    }
}

/// The normalization of pixels.
#[derive(Clone, Debug, PartialEq)]
enum Normalization {
    None,
    Auto,
    Given(Normalize),
}

const NAMES: [&str; 8] = [
    "crop", "flip", "shift", "rotate", "scale", "shear", "noise", "cutout",
];

fn augment(text: &str) -> Result<Augment, String> {
    let mut augment = Augment::default();
    if text == "none" {
        return Ok(augment);
    }
    let mut seen = vec![];
    for part in text.split(',').map(str::trim) {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (part, None),
        };
        if seen.contains(&name) {
            return Err(format!("`{name}` is given twice"));
        }
        seen.push(name);
        match name {
            "crop" => augment.crop_padding = number(name, "pixels", value)?,
            "flip" if value.is_none() => augment.flip = true,
            "flip" => return Err("`flip` has no value; write just flip".to_string()),
            "shift" => augment.shift = number(name, "a fraction", value)?,
            "rotate" => augment.rotate = number(name, "degrees", value)?,
            "scale" => augment.scale = number(name, "a fraction", value)?,
            "shear" => augment.shear = number(name, "degrees", value)?,
            "noise" => augment.noise = number(name, "a standard deviation", value)?,
            "cutout" => augment.cutout = number(name, "pixels", value)?,
            _ if ImageTransform::NAMES.contains(&name) => {
                let transform = ImageTransform::parse(name, value);
                augment
                    .transforms
                    .push(transform.map_err(|e| e.to_string())?);
            }
            _ => return Err(unknown(name)),
        }
    }
    augment.check().map_err(|problem| problem.to_string())?;
    Ok(augment)
}

fn unknown(name: &str) -> String {
    let names = || NAMES.iter().chain(ImageTransform::NAMES).copied();
    let known = names().collect::<Vec<_>>().join(", ");
    match closest(name, names()) {
        Some(meant) => format!("`{name}` is not known, did you mean `{meant}`? There are: {known}"),
        None => format!("`{name}` is not known; there are: {known}"),
    }
}

fn number<T: std::str::FromStr>(name: &str, unit: &str, value: Option<&str>) -> Result<T, String> {
    value.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let given = value.map_or(String::new(), |text| format!(", not `{text}`"));
        let kind = if unit == "pixels" {
            "an integer"
        } else {
            "a number"
        };
        format!("`{name}` needs {kind}, {unit}: {name}=…{given}")
    })
}

fn normalization(text: &str) -> Result<Normalization, String> {
    match text {
        "none" => return Ok(Normalization::None),
        "auto" => return Ok(Normalization::Auto),
        _ => {}
    }
    let wrong = || "write none, auto, or MEAN/STD such as 0.13/0.31".to_string();
    let (mean, std) = text.split_once('/').ok_or_else(wrong)?;
    let values = |text: &str| -> Result<Vec<f32>, String> {
        let each = text.split(',').map(|value| value.trim().parse());
        each.collect::<Result<_, _>>().map_err(|_| wrong())
    };
    let normalize = Normalize {
        mean: values(mean)?,
        std: values(std)?,
    };
    Ok(Normalization::Given(normalize))
}

impl AugmentArgs {
    /// Sets augmentation and normalization in settings whose encoder is set.
    ///
    /// # Errors
    /// When the values do not fit the images, or the encoder needs pixels of 0 to 1.
    pub fn put(&self, settings: &mut Settings, train: &ImageDataset) -> Result<(), Failure> {
        if let Some(augment) = &self.augment {
            settings.augment = augment.clone();
        }
        settings.mixup = self.mixup.or(settings.mixup);
        settings.cutmix = self.cutmix.or(settings.cutmix);
        match &self.normalize {
            Some(Normalization::None) => settings.normalize = None,
            Some(Normalization::Auto) => settings.normalize = Some(of_images(train)),
            Some(Normalization::Given(given)) => settings.normalize = Some(given.clone()),
            None => {}
        }
        let Some(normalize) = &settings.normalize else {
            return Ok(());
        };
        if settings.encoder != "direct" {
            return Err(Failure::argument(
                format!(
                    "the encoder {} needs pixels from 0 to 1, which normalized pixels are not",
                    settings.encoder
                ),
                "write --encoder direct, or leave --normalize out",
            ));
        }
        let checked = normalize.check(train.shape[0]);
        checked.map_err(|problem| spikelet::Error::from(problem).into())
    }
}

/// Mean and standard deviation of each channel, where white is 1. The sums are exact: they are integers.
fn of_images(dataset: &ImageDataset) -> Normalize {
    let [channels, height, width] = dataset.shape;
    let mut sums = vec![[0_u64; 2]; channels];
    let planes = dataset.images.chunks_exact((height * width).max(1));
    for (k, plane) in planes.enumerate() {
        let sum = &mut sums[k % channels];
        sum[0] += plane.iter().map(|&x| u64::from(x)).sum::<u64>();
        sum[1] += plane.iter().map(|&x| u64::from(x).pow(2)).sum::<u64>();
    }
    let count = (dataset.len() * height * width).max(1) as u64;
    let white = 255.0 * count as f64;
    // n·Σx² − (Σx)² is n²·255² times the variance.
    let spread = |[sum, squares]: [u64; 2]| {
        let squares = u128::from(count) * u128::from(squares);
        squares.saturating_sub(u128::from(sum).pow(2)) as f64
    };
    Normalize {
        mean: sums.iter().map(|s| (s[0] as f64 / white) as f32).collect(),
        std: sums
            .iter()
            .map(|&s| (spread(s).sqrt() / white) as f32)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use spikelet::data::{AutoAugment, ColorJitter, RandAugment};

    use super::*;

    #[test]
    fn a_list_of_changes_is_read() {
        let expected = Augment {
            crop_padding: 4,
            flip: true,
            shift: 0.1,
            rotate: 10.0,
            scale: 0.1,
            shear: 5.0,
            noise: 0.05,
            cutout: 8,
            transforms: vec![],
        };
        let text = "crop=4,flip, shift=0.1,rotate=10,scale=0.1,shear=5,noise=0.05,cutout=8";
        assert_eq!(augment(text), Ok(expected));
        assert_eq!(augment("none"), Ok(Augment::default()));
    }

    #[test]
    fn policies_keep_the_order_of_the_list() {
        let found = augment("color-jitter=0.2/0.2/0.2/0,flip,rand-augment=3/14,auto-augment");
        let jitter = ColorJitter {
            brightness: 0.2,
            contrast: 0.2,
            saturation: 0.2,
            hue: 0.0,
        };
        let rand = RandAugment {
            ops: 3,
            magnitude: 14,
            ..RandAugment::default()
        };
        let expected = Augment {
            flip: true,
            transforms: vec![jitter.into(), rand.into(), AutoAugment::default().into()],
            ..Augment::default()
        };
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn an_invalid_list_is_answered_with_the_valid_names() {
        for (text, expected) in [
            ("crop=4,flp", "did you mean `flip`? There are: crop, flip,"),
            ("blur=3", "`blur` is not known; there are: crop"),
            ("crop", "`crop` needs an integer, pixels: crop=…"),
            ("crop=half", "`half`"),
            ("flip=1", "write just flip"),
            ("flip,flip", "twice"),
            ("auto-augmnt", "did you mean `auto-augment`?"),
            ("rand-augment=2", "rand-augment=OPS/MAGNITUDE"),
            ("rand-augment=2/31", "0 to 30"),
            ("random-erasing=1.5", "0 to 1"),
            ("scale=1.5", "scale"),
            ("rotate=-3", "rotate"),
            ("", "is not known"),
        ] {
            let refused = augment(text).expect_err(text);
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }

    #[test]
    fn mean_and_deviation_are_given_or_computed() {
        let given = Normalize {
            mean: vec![0.5, 0.25, -0.5],
            std: vec![0.2],
        };
        let read = normalization("0.5,0.25,-0.5/0.2");
        assert_eq!(read, Ok(Normalization::Given(given)));
        assert_eq!(normalization("auto"), Ok(Normalization::Auto));
        for wrong in ["0.5", "a/b", "0.5/", "/"] {
            assert!(normalization(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn mean_and_deviation_of_images_are_those_of_their_pixels() {
        let classes = vec!["only".to_string()];
        // Two images of two channels with two pixels each.
        let images = vec![0, 255, 10, 10, 255, 0, 20, 20];
        let data = ImageDataset::new("two", images, vec![0, 0], [2, 1, 2], classes).expect("sound");
        let found = of_images(&data);
        assert_eq!(found.mean, [0.5, (15.0 / 255.0) as f32]);
        assert_eq!(found.std, [0.5, (5.0 / 255.0) as f32]);
    }
}
