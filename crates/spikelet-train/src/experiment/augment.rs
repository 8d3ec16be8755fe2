//! Lists of augmentations, as on the command line and in experiment files.

use serde_json::{Map, Value};
use spikelet_core::suggest::closest;
use spikelet_data::{Augment, EventAugmentation, ImageTransform, SequenceTransform};

/// The names of the changes that are fields of [`Augment`].
const FIELDS: [&str; 8] = [
    "crop", "flip", "shift", "rotate", "scale", "shear", "noise", "cutout",
];

/// An item of a list of augmentations that is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct AugmentListError {
    /// The number of the item, from 0.
    pub item: usize,
    /// The problem, with the known names or the expected value.
    pub problem: String,
}

/// Reads a list of augmentations: `crop=PIXELS`, `flip`, `shift=FRACTION`, `rotate=DEGREES`, `scale=FRACTION`,
/// `shear=DEGREES`, `noise=STD`, `cutout=PIXELS`, and [`ImageTransform::USAGES`], whose order is kept; of sequences,
/// [`SequenceTransform::USAGES`]; of events, those of [`EventAugmentation`], such as `flip-x=0.5` or
/// `random-crop width=32 height=32`.
///
/// ```
/// use spikelet_train::experiment::augmentations;
/// let augment = augmentations(["crop=4", "flip"])?;
/// assert_eq!((augment.crop_padding, augment.flip), (4, true));
/// assert!(augmentations(["flp"]).is_err_and(|e| e.to_string().contains("did you mean `flip`?")));
/// # Ok::<(), spikelet_train::experiment::AugmentListError>(())
/// ```
///
/// # Errors
/// For the first unknown name, repeated name or wrong value.
pub fn augmentations<'a>(
    items: impl IntoIterator<Item = &'a str>,
) -> Result<Augment, AugmentListError> {
    let mut augment = Augment::default();
    let mut names = vec![];
    for (item, text) in items.into_iter().enumerate() {
        let wrong = |problem| AugmentListError { item, problem };
        let name = add(&mut augment, text.trim()).map_err(wrong)?;
        if names.contains(&name) {
            return Err(wrong(format!("`{name}` is given twice")));
        }
        names.push(name);
    }
    Ok(augment)
}

/// Adds one item and returns its name.
fn add<'a>(augment: &mut Augment, text: &'a str) -> Result<&'a str, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (text, None),
    };
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
        _ if SequenceTransform::NAMES.contains(&name) => {
            let transform = SequenceTransform::parse(name, value);
            augment
                .sequences
                .push(transform.map_err(|e| e.to_string())?);
        }
        // A transform of events has several settings, with spaces between them.
        _ if EventAugmentation::names()
            .any(|known| Some(known) == text.split(['=', ' ']).next()) =>
        {
            let augmentation = text.parse::<EventAugmentation>();
            augment
                .events
                .push(augmentation.map_err(|e| e.to_string())?);
        }
        _ => return Err(unknown(name)),
    }
    augment.check().map_err(|problem| problem.to_string())?;
    Ok(name)
}

fn unknown(name: &str) -> String {
    let transforms = ImageTransform::NAMES.iter().chain(SequenceTransform::NAMES);
    let transforms = transforms.copied().chain(EventAugmentation::names());
    let names = || FIELDS.iter().copied().chain(transforms.clone());
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

/// The transform of a table with its name and its settings, such as `{ color-jitter = { hue = 0.2 } }`.
pub(super) fn transform(table: Value) -> Result<ImageTransform, String> {
    let made: ImageTransform = serde_json::from_value(table).map_err(|error| error.to_string())?;
    use spikelet_data::ImageAugmentation;
    made.check().map_err(|problem| problem.to_string())?;
    Ok(made)
}

/// The items of a list with this augmentation: strings, and tables for transforms with settings.
pub(super) fn items(augment: &Augment) -> Vec<Value> {
    let numbers = [
        ("shift", augment.shift),
        ("rotate", augment.rotate),
        ("scale", augment.scale),
        ("shear", augment.shear),
        ("noise", augment.noise),
        ("cutout", augment.cutout as f32),
    ];
    let crop = (augment.crop_padding > 0).then(|| format!("crop={}", augment.crop_padding));
    let flip = augment.flip.then(|| "flip".to_string());
    let others = numbers.into_iter().filter(|(_, value)| *value != 0.0);
    let others = others.map(|(name, value)| format!("{name}={value}"));
    let fields = crop.into_iter().chain(flip).chain(others).map(Value::from);
    let sequences = augment.sequences.iter();
    let sequences = sequences.map(|transform| Value::from(transform.to_string()));
    let images = fields.chain(augment.transforms.iter().map(item));
    let events = augment.events.iter();
    let events = events.map(|augmentation| Value::from(augmentation.to_string()));
    images.chain(sequences).chain(events).collect()
}

fn item(transform: &ImageTransform) -> Value {
    let table = serde_json::to_value(transform).unwrap_or_default();
    let table: Map<String, Value> = table.as_object().cloned().unwrap_or_default();
    let name = table.keys().next().cloned().unwrap_or_default();
    match ImageTransform::parse(&name, None) {
        Ok(default) if default == *transform => Value::from(name),
        _ => Value::Object(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spikelet_data::{AutoAugment, ColorJitter, RandAugment};

    fn read(text: &str) -> Result<Augment, String> {
        augmentations(text.split(',')).map_err(|error| error.problem)
    }

    /// Reads the items of a file back.
    fn again(augment: &Augment) -> Augment {
        let items = items(augment);
        let words = items.iter().filter_map(Value::as_str);
        let mut made = augmentations(words).expect("they are known");
        made.transforms = augment.transforms.clone();
        let last = items.len() - augment.transforms.len();
        for (given, item) in augment.transforms.iter().zip(&items[last..]) {
            if item.is_object() {
                assert_eq!(transform(item.clone()).as_ref(), Ok(given));
            }
        }
        made
    }

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
            sequences: vec![],
            events: vec![],
        };
        let text = "crop=4,flip, shift=0.1,rotate=10,scale=0.1,shear=5,noise=0.05,cutout=8";
        assert_eq!(again(&expected), expected);
        assert_eq!(read(text), Ok(expected));
        assert_eq!(items(&Augment::default()), [] as [Value; 0]);
    }

    #[test]
    fn policies_keep_the_order_of_the_list() {
        let found = read("color-jitter=0.2/0.2/0.2/0,flip,rand-augment=3/14,auto-augment");
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
        assert_eq!(again(&expected), expected);
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn changes_of_sequences_keep_their_order() {
        let text = "drop-bins=0.1,time-shift=8,channel-shift=6";
        let found = read(text).expect("it is a list");
        let items = items(&found);
        let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
        assert_eq!(words.join(","), text);
        assert!(!found.changes_images());
    }

    #[test]
    fn every_transform_is_written_and_read() {
        for name in ImageTransform::NAMES {
            let made = ImageTransform::parse(name, None).expect("it is known");
            assert_eq!(item(&made), Value::from(*name));
            let table = serde_json::to_value(&made).expect("it is serialized");
            assert!(!table.to_string().contains("null"), "{table}");
            assert_eq!(transform(table), Ok(made));
        }
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
            ("time-shift", "time-shift=STEPS"),
            ("channel-shift=0", "1 to 2^20"),
            ("drop-bins=1", "above 0 and below 1"),
            ("", "is not known"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
