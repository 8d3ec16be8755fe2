//! The samples of files as a data set.

use super::{FileReader, Input};
use crate::command::trained::{Tested, Trained};
use crate::failure::Failure;
use spikelet::data::{self, DType, Dataset, Field, Sample, SampleTensor};
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
    let (mut samples, mut known) = (vec![], vec![]);
    for path in &files {
        let label = labels.of(path)?;
        for input in reader.open(path)? {
            samples.push(sample(input?, reader));
            known.push(label);
        }
    }
    let mut fields = vec![field(reader)];
    // Without a label for each sample there are predictions alone.
    let known: Option<Vec<usize>> = known.into_iter().collect();
    if let FileReader::Sequences(reader) = reader
        && let Some(unlabeled) = reader.step_labels
    {
        fields.push(Field::step_labels(reader.steps, unlabeled));
        let none = vec![unlabeled.label; reader.steps];
        for sample in &mut samples {
            sample.insert("labels", SampleTensor::i64(&[reader.steps], none.clone()));
        }
    } else if let Some(known) = known {
        fields.push(Field::new("labels", DType::I64, []));
        for (sample, label) in samples.iter_mut().zip(known) {
            sample.insert("labels", SampleTensor::i64(&[], vec![label as i64]));
        }
    }
    let name = match given {
        [one] => one.display().to_string(),
        several => format!("{} files", several.len()),
    };
    Ok(Tested {
        name: name.clone(),
        samples: Arc::new(FileSamples {
            name,
            fields,
            samples,
            classes: labels.classes,
        }),
    })
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

/// The field of the samples.
fn field(reader: &FileReader) -> Field {
    match reader {
        FileReader::Images(converter) => Field::image("images", converter.shape),
        FileReader::Sequences(reader) => {
            let x = Field::new(
                "x",
                DType::F32,
                [&[reader.steps], reader.shape.sizes()].concat(),
            )
            .sequence();
            if reader.varies { x.pad(0.0) } else { x }
        }
    }
}

fn sample(input: Input, reader: &FileReader) -> Sample<'static> {
    match reader {
        FileReader::Images(converter) => {
            Sample::new().with("images", SampleTensor::u8(&converter.shape, input.pixels))
        }
        FileReader::Sequences(reader) => {
            let steps = input.steps.unwrap_or(reader.steps);
            let shape = [&[steps], reader.shape.sizes()].concat();
            Sample::new().with("x", SampleTensor::f32(&shape, input.sequence))
        }
    }
}

/// A data set of the samples of files.
#[derive(Debug)]
struct FileSamples {
    name: String,
    fields: Vec<Field>,
    samples: Vec<Sample<'static>>,
    classes: Vec<String>,
}

impl Dataset for FileSamples {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.samples.len()
    }

    fn fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    fn sample(&self, index: usize) -> data::Result<Sample<'_>> {
        let sample = self.samples.get(index).cloned();
        sample.ok_or_else(|| data::Error::Index {
            dataset: self.name.clone(),
            index,
            len: self.samples.len(),
        })
    }

    fn class_names(&self, field: &str) -> &[String] {
        match field {
            "labels" => &self.classes,
            _ => &[],
        }
    }

    fn in_memory(&self) -> bool {
        true
    }
}
