//! The samples of files as a data set.

use super::{FileReader, Input};
use crate::command::trained::{Tested, Trained};
use crate::failure::Failure;
use spikelet::data::{DType, Field, InMemory};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The labels of files.
#[derive(Clone, Copy, Debug)]
pub enum Labels<'a> {
    /// Each needs one: this class, or that whose name the file's folder has.
    Needed(Option<&'a str>),
    /// Those of the folders, if all files have one.
    Optional,
}

/// The class whose name the folder of a file has.
pub fn label_of(path: &Path, classes: &[String]) -> Option<usize> {
    let path = std::path::absolute(path).ok()?;
    let folder = path.parent()?.file_name()?.to_str()?;
    classes.iter().position(|class| class == folder)
}

/// The samples of all files, which are kept in memory.
///
/// # Errors
/// When a file cannot be read, does not fit the network, or has no label and needs one.
pub fn read(
    reader: &FileReader,
    given: &[PathBuf],
    trained: &Trained,
    labels: Labels<'_>,
) -> Result<Tested, Failure> {
    let files = reader.find(given)?;
    let labels = Rule::new(labels, trained)?;
    let (mut inputs, mut known) = (vec![], vec![]);
    for path in &files {
        let label = labels.of(path)?;
        for input in reader.open(path)? {
            inputs.push(input?);
            known.push(label.map(|label| label as i64));
        }
    }
    let name = match given {
        [one] => one.display().to_string(),
        several => format!("{} files", several.len()),
    };
    let (count, classes) = (inputs.len(), labels.classes);
    let mut samples = samples_of(InMemory::new(name.clone()), inputs, reader)?;
    // Without a label for each sample there are predictions alone.
    let known: Option<Vec<i64>> = known.into_iter().collect();
    if let FileReader::Sequences(reader) = reader
        && let Some(unlabeled) = reader.step_labels
    {
        let none = vec![unlabeled.label; count * reader.steps];
        let field = Field::step_labels(reader.steps, unlabeled);
        samples = samples.with(field, none).map_err(spikelet::Error::from)?;
    } else if let Some(known) = known {
        let field = Field::new("labels", DType::I64, []);
        samples = samples.with(field, known).map_err(spikelet::Error::from)?;
    }
    Ok(Tested {
        name,
        samples: Arc::new(samples.classes("labels", classes)),
    })
}

/// The images or sequences.
fn samples_of(
    data: InMemory,
    inputs: Vec<Input>,
    reader: &FileReader,
) -> spikelet::Result<InMemory> {
    let data = match reader {
        FileReader::Images(converter) => {
            let pixels = inputs.into_iter().flat_map(|input| input.pixels);
            let field = Field::image("images", converter.shape);
            data.with(field, pixels.collect::<Vec<u8>>())
        }
        FileReader::Sequences(reader) => {
            let shape = [&[reader.steps], reader.shape.sizes()].concat();
            let field = Field::new("x", DType::F32, shape).sequence();
            let lengths = inputs.iter().map(|input| input.steps);
            let lengths: Vec<usize> = lengths.map(|n| n.unwrap_or(reader.steps)).collect();
            let values = inputs.into_iter().flat_map(|input| input.sequence);
            let values: Vec<f32> = values.collect();
            match reader.varies {
                true => data.with_lengths(field.pad(0.0), values, &lengths),
                false => data.with(field, values),
            }
        }
    };
    Ok(data?)
}

/// How the label of a file is found.
struct Rule {
    classes: Vec<String>,
    /// That of all files.
    given: Option<usize>,
    needed: bool,
}

impl Rule {
    fn new(labels: Labels<'_>, trained: &Trained) -> Result<Self, Failure> {
        let mut classes = trained.classes();
        if classes.is_empty() {
            classes = (0..trained.network.classes())
                .map(|k| k.to_string())
                .collect();
        }
        let given = match labels {
            Labels::Needed(Some(name)) => Some(class(name, &classes)?),
            _ => None,
        };
        let needed = matches!(labels, Labels::Needed(_));
        if needed && trained.classifies_steps() {
            return Err(Failure::other(
                format!(
                    "{}: it classifies each time step of a sequence, and files have no labels of time steps",
                    trained.path.display()
                ),
                "evaluate it on its data set, without files; `spikelet record` writes its outputs for files",
            ));
        }
        Ok(Self {
            classes,
            given,
            needed,
        })
    }

    fn of(&self, path: &Path) -> Result<Option<usize>, Failure> {
        let label = self.given.or_else(|| label_of(path, &self.classes));
        if label.is_none() && self.needed {
            let example = self.classes.first().map_or("CLASS", String::as_str);
            return Err(Failure::argument(
                format!(
                    "{}: its label is not known: its folder is no class",
                    path.display()
                ),
                format!(
                    "put it into a folder with the name of its class, such as {example}/FILE, or name the class of all \
                     files with --label {example}; the classes are {}; `spikelet predict` needs no labels",
                    some(&self.classes)
                ),
            ));
        }
        Ok(label)
    }
}

/// A class by its name.
fn class(name: &str, classes: &[String]) -> Result<usize, Failure> {
    classes
        .iter()
        .position(|class| class == name)
        .ok_or_else(|| {
            Failure::argument(
                format!("--label {name}: the network has no such class"),
                format!("its classes are {}", some(classes)),
            )
        })
}

/// The first names in words.
fn some(classes: &[String]) -> String {
    const MOST: usize = 20;
    let first = classes[..classes.len().min(MOST)].join(", ");
    match classes.len() {
        ..=MOST => first,
        all => format!("{first} and {} more", all - MOST),
    }
}
