//! A data set whose samples are changed by a function.

use std::fmt;
use std::sync::Arc;

use crate::dataset::Dataset;
use crate::digest::Parts;
use crate::error::Result;
use crate::field::Field;
use crate::sample::Sample;

type Function = dyn Fn(&mut Sample<'_>) -> Result<()> + Send + Sync;

/// A data set whose samples are changed by a function, the same in every epoch. A random change is a
/// [`Transform`](crate::Transform) of the loader.
///
/// ```
/// use std::sync::Arc;
/// use spikelet_data::{DType, Dataset, Field, InMemory, Map, SampleTensor};
///
/// let data = InMemory::new("values").with(Field::new("x", DType::F32, []), vec![1.0, 2.0])?;
/// let squares = Map::new(Arc::new(data), "with squares", |sample| {
///     let x = sample.require("x")?.as_f32().unwrap_or_default().to_vec();
///     sample.insert("square", SampleTensor::f32(&[], vec![x[0] * x[0]]));
///     Ok(())
/// })
/// .add_field(Field::new("square", DType::F32, []));
/// assert_eq!(squares.sample(1)?.require("square")?.as_f32(), Some(&[4.0][..]));
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone)]
pub struct Map {
    dataset: Arc<dyn Dataset>,
    name: String,
    fields: Vec<Field>,
    function: Arc<Function>,
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Map")
            .field("dataset", &self.dataset)
            .field("name", &self.name)
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}

impl Map {
    /// Changes the samples of `dataset` with `function`. Its name is a part of the digest: give it another name when it
    /// does something else.
    pub fn new(
        dataset: Arc<dyn Dataset>,
        name: impl Into<String>,
        function: impl Fn(&mut Sample<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: format!("{}, {}", dataset.name(), name.into()),
            fields: dataset.fields(),
            dataset,
            function: Arc::new(function),
        }
    }

    /// Adds a field that the function adds, or replaces the description of one that it changes.
    #[must_use]
    pub fn add_field(mut self, field: Field) -> Self {
        match self.fields.iter_mut().find(|own| own.name == field.name) {
            Some(own) => *own = field,
            None => self.fields.push(field),
        }
        self
    }

    /// Removes a field: it is not in batches.
    #[must_use]
    pub fn remove_field(mut self, name: &str) -> Self {
        self.fields.retain(|field| field.name != name);
        self
    }
}

impl Dataset for Map {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.dataset.len()
    }

    fn fields(&self) -> Vec<Field> {
        self.fields.clone()
    }

    fn sample(&self, index: usize) -> Result<Sample<'_>> {
        let mut sample = self.dataset.sample(index)?;
        (self.function)(&mut sample)?;
        Ok(sample)
    }

    fn digest(&self) -> Result<[u8; 32]> {
        let digest = Parts::of("map").part(&self.dataset.digest()?);
        Ok(digest.part(self.name.as_bytes()).finish())
    }

    fn class_names(&self, field: &str) -> &[String] {
        self.dataset.class_names(field)
    }

    fn check(&self) -> Result<()> {
        self.dataset.check()
    }
}
