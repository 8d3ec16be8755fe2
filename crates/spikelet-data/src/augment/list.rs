//! The augmentation as a list of changes, in files and on the command line.

use serde_json::{Value, json};
use spikelet_events::transforms::EVENT_TRANSFORMS;
use spikelet_schema::document::{Content, DocumentError, Located, Node};
use spikelet_schema::markdown::values;
use spikelet_schema::{
    Declaration, Family, Field, FieldValue, KeyValue, Kind as FieldKind, Member, Registry, Schema,
    UnknownName, read_into, suggest, to_json, to_keys, words,
};

use super::Augment;
use super::sequence::SEQUENCE_TRANSFORMS;
use super::transform::IMAGE_TRANSFORMS;

/// The keys that are lists of transforms, whose elements are elements of the list of all changes.
const LISTS: [&str; 3] = ["transforms", "sequences", "events"];

/// The kind of a change, by its name.
enum Kind {
    Field(&'static str),
    Image,
    Sequence,
    Event,
}

/// A list; a table of the fields is read too.
impl FieldValue for Augment {
    fn kind() -> spikelet_schema::Kind {
        spikelet_schema::Kind::Other(
            "a list of changes, by name or as tables",
            || json!({"type": "array", "items": {"type": ["string", "object"]}}),
        )
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = match node.entries() {
            Some(_) => spikelet_schema::read(node)?,
            None => Self::read_list(field.key, node)?,
        };
        Ok(())
    }

    fn write(&self) -> Value {
        self.to_list().into()
    }
}

impl Augment {
    /// The augmentation of a list, which is the value of `key`: fields of [`Augment`], such as `{ crop = 4 }` and `"flip"`, and
    /// members of [`IMAGE_TRANSFORMS`], [`SEQUENCE_TRANSFORMS`] and [`EVENT_TRANSFORMS`] in their order.
    ///
    /// # Errors
    /// For the first unknown name, repeated field or wrong value.
    pub fn read_list(key: &str, node: &Node) -> Result<Self, Located> {
        let (mut augment, mut given) = (Self::default(), vec![]);
        for item in node.list(key)? {
            augment
                .add(key, item, &mut given)
                .map_err(|error| error.or_at(item.span.clone()))?;
        }
        let checked = augment.check();
        checked.map_err(|error| node.refused(&error, "correct the value"))?;
        Ok(augment)
    }

    /// The augmentation of a list on the command line.
    ///
    /// ```
    /// use spikelet_data::Augment;
    /// let augment = Augment::of_words("crop=4,flip,rand-augment=2/9")?;
    /// assert_eq!((augment.crop_padding, augment.flip, augment.transforms.len()), (4, true, 1));
    /// assert!(Augment::of_words("flp").is_err_and(|error| error.to_string().contains("did you mean `flip`?")));
    /// # Ok::<(), spikelet_schema::document::DocumentError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::read_list`].
    pub fn of_words(text: &str) -> Result<Self, DocumentError> {
        let items = words::items(text).into_iter().map(Node::text_of);
        let list = Content::List(items.collect()).into();
        Self::read_list("augment", &list).map_err(|error| error.without_text(&format!("`{text}`")))
    }

    /// The list, for a file.
    #[must_use]
    pub fn to_list(&self) -> Vec<Value> {
        let defaults = to_json(&Self::default());
        let fields = to_keys(self).into_iter();
        let fields = fields.filter(|KeyValue { key, value, .. }| {
            !LISTS.contains(&key.as_str()) && defaults[key] != *value
        });
        let fields = fields.map(|KeyValue { key, value, .. }| match value {
            Value::Bool(_) => Value::from(key),
            value => json!({ key: value }),
        });
        fields
            .chain(self.transforms.iter().map(Member::to_file))
            .chain(self.sequences.iter().map(Member::to_file))
            .chain(self.events.iter().map(Member::to_file))
            .collect()
    }

    /// Adds one change.
    fn add(
        &mut self,
        key: &str,
        item: &Node,
        given: &mut Vec<&'static str>,
    ) -> Result<(), Located> {
        let item = match item.as_text() {
            Some(text) => &words::item(text)?,
            None => item,
        };
        let name = item.get("name").and_then(Node::as_text);
        let mut names: Vec<&str> = name.into_iter().collect();
        let keys = item.entries().unwrap_or_default().iter();
        let keys: Vec<&str> = keys.map(|entry| entry.key.as_str()).collect();
        if name.is_none() {
            names.extend(&keys);
        }
        // The keys of `{ name = { … } }` are those of the inner table.
        let inner = names.iter().filter_map(|name| item.get(name)?.entries());
        let inner = inner.flatten().map(|entry| entry.key.as_str());
        let all: Vec<&str> = keys.iter().copied().chain(inner).collect();
        let Some(kind) = names.iter().find_map(|name| kind_of(name, &all)) else {
            return Err(match names.first() {
                Some(name) => unknown(name).located(),
                None => item.wrong(key, "a name, or a table such as { crop = 4 }"),
            });
        };
        match kind {
            Kind::Field(field) if given.contains(&field) => {
                let problem = format!("`{field}` is given twice");
                Err(Located::other(problem, "remove one"))
            }
            Kind::Field(field) => {
                given.push(field);
                match (item.get("name"), keys.len()) {
                    (Some(_), 1) => self.set_flag(field),
                    _ => read_into(self, item),
                }
            }
            Kind::Image => push(&mut self.transforms, &IMAGE_TRANSFORMS, item),
            Kind::Sequence => push(&mut self.sequences, &SEQUENCE_TRANSFORMS, item),
            Kind::Event => push(&mut self.events, &EVENT_TRANSFORMS, item),
        }
    }

    /// Sets a field that is given by its name alone.
    fn set_flag(&mut self, key: &str) -> Result<(), Located> {
        let field = Self::DECLARATION
            .fields
            .iter()
            .find(|field| field.key == key);
        match field.map(|field| ((field.kind)(), values(field))) {
            Some((FieldKind::Flag, _)) | None => {
                let yes = Content::Bool(true).into();
                read_into(self, &Node::from(Content::Table(vec![])).with(key, yes))
            }
            Some((_, values)) => Err(Located::other(
                format!("`{key}` needs a value, {values}"),
                format!("write {key}=…"),
            )),
        }
    }
}

/// Adds a member of a family.
fn push<T: Family + ?Sized>(
    members: &mut Vec<Member<T>>,
    family: &Registry<T>,
    item: &Node,
) -> Result<(), Located> {
    members.push(family.read_item(family.family, item)?.into());
    Ok(())
}

/// The keys of [`Augment`] that are changes.
fn fields() -> impl Iterator<Item = &'static str> {
    let all = Augment::DECLARATION.fields.iter();
    all.map(|field| field.key)
        .filter(|key| !LISTS.contains(key))
}

/// The kind of the change of a name. A name of images and of events is that of images if an event transform does not have all
/// keys of the item.
fn kind_of(name: &str, keys: &[&str]) -> Option<Kind> {
    if let Some(field) = suggest::find(name, fields()) {
        return Some(Kind::Field(field));
    }
    let has_all = |declaration: &Declaration| {
        let mut others = keys.iter().filter(|key| **key != "name" && **key != name);
        others.all(|key| declaration.fields.iter().any(|field| field.key == *key))
    };
    match (IMAGE_TRANSFORMS.find(name), EVENT_TRANSFORMS.find(name)) {
        (Ok(_), Ok(of_events)) if has_all(of_events.declaration) => Some(Kind::Event),
        (Ok(_), _) => Some(Kind::Image),
        (_, Ok(_)) => Some(Kind::Event),
        _ => SEQUENCE_TRANSFORMS.find(name).ok().map(|_| Kind::Sequence),
    }
}

/// The error of a name that is no change.
fn unknown(name: &str) -> UnknownName {
    UnknownName {
        family: "augmentation",
        given: name.to_string(),
        known: fields()
            .chain(IMAGE_TRANSFORMS.all_names())
            .chain(SEQUENCE_TRANSFORMS.all_names())
            .chain(EVENT_TRANSFORMS.all_names())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AutoAugment, ColorJitter, RandAugment};

    fn read(text: &str) -> Result<Augment, String> {
        Augment::of_words(text).map_err(|error| error.to_string())
    }

    /// Reads the list of a file back.
    fn again(augment: &Augment) -> Augment {
        let list = Node::from_json(&augment.to_list().into()).expect("JSON");
        Augment::read_list("augment", &list).unwrap_or_else(|error| panic!("{}", error.problem))
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
            ..Augment::default()
        };
        let text = "crop=4,flip, shift=0.1,rotate=10,scale=0.1,shear=5,noise=0.05,cutout=8";
        assert_eq!(again(&expected), expected);
        assert_eq!(read(text), Ok(expected));
        assert_eq!(Augment::default().to_list(), [] as [Value; 0]);
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
    fn changes_of_sequences_and_events_are_written_and_read() {
        for text in [
            "drop-bins=0.1,time-shift=8,channel-shift=6",
            "flip-x=0.3,drop-by-time,time-skew coefficient=0.9 coefficient_max=1.1,nda",
            "random-crop width=24 height=20,drop-pixels=[[0,0]]",
        ] {
            let found = read(text).expect(text);
            assert_eq!(again(&found), found, "{text}");
            assert!(!found.changes_images(), "{text}");
            let json = serde_json::to_value(&found).expect("JSON");
            assert_eq!(
                serde_json::from_value::<Augment>(json).expect("its JSON"),
                found
            );
        }
    }

    #[test]
    fn every_transform_is_written_and_read() {
        for declaration in IMAGE_TRANSFORMS.declarations() {
            if declaration.fields.iter().any(|field| field.required) {
                continue;
            }
            let json = json!([{ declaration.name: to_json(&*(declaration.default)()) }]);
            let list = Node::from_json(&json).expect("JSON");
            let read =
                Augment::read_list("augment", &list).unwrap_or_else(|e| panic!("{}", e.problem));
            assert_eq!(read.transforms.len(), 1, "{}", declaration.name);
            if declaration.name != "random-crop" {
                // Its name alone is a transform of events.
                assert_eq!(read.to_list(), [json!(declaration.name)]);
            }
        }
    }

    #[test]
    fn lists_of_before_are_read() {
        let before = json!({
            "crop_padding": 4, "flip": true,
            "transforms": [{"auto-augment": {"fill": 7}}, {"random-erasing": {"fill": {"value": 3}}}],
            "sequences": [{"time-shift": {"steps": 8}}],
            "events": ["drop-by-time ratio=0.2", "flip-x p=0.5"],
        });
        let read: Augment = serde_json::from_value(before).expect("it was written before");
        assert_eq!((read.crop_padding, read.flip), (4, true));
        let written = [
            json!({"crop": 4}),
            json!("flip"),
            json!({"name": "auto-augment", "fill": 7}),
        ];
        assert_eq!(read.to_list()[..3], written);
        assert_eq!(read.to_list()[3]["value"], 3);
        assert_eq!(
            read.to_list()[4..6],
            [
                json!({"time-shift": 8}),
                json!({"name": "drop-events", "p": 0.2, "of": "time"}),
            ]
        );
    }

    #[test]
    fn an_invalid_list_is_answered_with_the_valid_names() {
        for (text, expected) in [
            ("crop=4,flp", "did you mean `flip`?"),
            ("warp=3", "no augmentation is called `warp`"),
            (
                "crop",
                "`crop` needs a value, a whole number from 0 to 65536",
            ),
            ("crop=half", "`crop` is \"half\""),
            ("flip=1", "it must be true or false"),
            ("flip,flip", "twice"),
            ("auto-augmnt", "did you mean `auto-augment`?"),
            ("auto-augment=2", "its name alone"),
            ("rand-augment=2/31", "from 0 to 30"),
            ("random-erasing=1.5", "from 0 to 1"),
            ("scale=1.5", "scale"),
            ("rotate=-3", "rotate"),
            ("time-shift", "`time-shift` needs `steps`"),
            ("channel-shift=0", "from 1 to 1048576"),
            ("drop-bins=1", "above 0 and below 1"),
            ("center-crop size=[8,8]", "changes the size of images"),
        ] {
            let refused = read(text).expect_err(text);
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
