//! Tables of comma-separated values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use csv::{Position, ReaderBuilder, StringRecord};
use spikelet_expr::DType;

use super::{Column, InMemory};
use crate::error::{Error, Result};
use crate::field::Field;

/// How the columns of a field become its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F32,
    I64,
    Label,
    Classes,
}

/// A field and its columns.
#[derive(Clone, Debug)]
struct Selection {
    field: String,
    columns: Vec<String>,
    kind: Kind,
}

/// The values of a field.
enum Parsed {
    F32(Vec<f32>),
    I64(Vec<i64>),
    Classes(Vec<String>),
}

/// Reads a table of comma-separated values with a line of names into memory, as numbers: fields of one or several
/// columns, selected by name.
///
/// ```
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("iris.csv");
/// # std::fs::write(&path, "sepal,petal,species\n5.1,1.4,setosa\n7.0,4.7,versicolor\n").expect("a file");
/// use spikelet_data::{CsvTable, Dataset};
///
/// // sepal,petal,species
/// // 5.1,1.4,setosa
/// // 7.0,4.7,versicolor
/// let iris = CsvTable::new(&path).f32("x", ["sepal", "petal"]).classes("labels", "species").read()?;
/// let sample = iris.sample(1)?;
/// assert_eq!(sample.require("x")?.as_f32(), Some(&[7.0, 4.7][..]));
/// assert_eq!(sample.require("labels")?.as_i64(), Some(&[1][..]));
/// assert_eq!(iris.class_names("labels"), ["setosa", "versicolor"]);
/// # Ok::<(), spikelet_data::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CsvTable {
    path: PathBuf,
    delimiter: u8,
    fields: Vec<Selection>,
}

impl CsvTable {
    /// The table at `path`, of which no column is selected yet.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            delimiter: b',',
            fields: Vec::new(),
        }
    }

    /// The byte between two columns, `,` by default.
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> Self {
        self.delimiter = delimiter;
        self
    }

    /// A field of 32-bit floating point numbers `[columns]`. Empty cells are errors; `NaN` is a number.
    #[must_use]
    pub fn f32<C: Into<String>>(
        self,
        field: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        self.select(field.into(), columns, Kind::F32)
    }

    /// A field of 64-bit integers `[columns]`.
    #[must_use]
    pub fn i64<C: Into<String>>(
        self,
        field: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
    ) -> Self {
        self.select(field.into(), columns, Kind::I64)
    }

    /// A field of labels, one 64-bit integer for each sample: shape `[]`.
    #[must_use]
    pub fn label(self, field: impl Into<String>, column: impl Into<String>) -> Self {
        self.select(field.into(), [column], Kind::Label)
    }

    /// A field of labels from a column of text: the index of the text among all different ones, sorted.
    #[must_use]
    pub fn classes(self, field: impl Into<String>, column: impl Into<String>) -> Self {
        self.select(field.into(), [column], Kind::Classes)
    }

    fn select<C: Into<String>>(
        mut self,
        field: String,
        columns: impl IntoIterator<Item = C>,
        kind: Kind,
    ) -> Self {
        self.fields.push(Selection {
            field,
            columns: columns.into_iter().map(Into::into).collect(),
            kind,
        });
        self
    }

    /// Reads the table.
    ///
    /// # Errors
    /// [`Error::Open`]; [`Error::Format`] with the byte of the line if a column is missing, a line has another number of
    /// columns, or a cell is not a number; [`Error::Field`] if two fields have one name.
    pub fn read(&self) -> Result<InMemory> {
        let file = File::open(&self.path).map_err(|source| Error::Open {
            path: self.path.clone(),
            source,
        })?;
        let mut reader = ReaderBuilder::new()
            .delimiter(self.delimiter)
            .from_reader(file);
        let names = reader
            .headers()
            .map_err(|error| self.csv_error(&error))?
            .clone();
        let columns = self.columns(&names)?;
        let mut values: Vec<Parsed> = self
            .fields
            .iter()
            .map(|selection| match selection.kind {
                Kind::F32 => Parsed::F32(Vec::new()),
                Kind::I64 | Kind::Label => Parsed::I64(Vec::new()),
                Kind::Classes => Parsed::Classes(Vec::new()),
            })
            .collect();
        let mut record = StringRecord::new();
        while reader
            .read_record(&mut record)
            .map_err(|error| self.csv_error(&error))?
        {
            for (values, columns) in values.iter_mut().zip(&columns) {
                for &(column, ref name) in columns {
                    let cell = record.get(column).unwrap_or_default().trim();
                    match values {
                        Parsed::F32(values) => values.push(self.number(cell, name, &record)?),
                        Parsed::I64(values) => values.push(self.number(cell, name, &record)?),
                        Parsed::Classes(values) => values.push(cell.to_owned()),
                    }
                }
            }
        }
        let name = self.path.file_stem().unwrap_or_default();
        let mut data = InMemory::new(name.to_string_lossy());
        for (selection, values) in self.fields.iter().zip(values) {
            data = add(data, selection, values)?;
        }
        Ok(data)
    }

    /// The position and the name of each column of each field.
    fn columns(&self, names: &StringRecord) -> Result<Vec<Vec<(usize, String)>>> {
        let find = |column: &String| {
            let at = names.iter().position(|name| name.trim() == column);
            let at = at.ok_or_else(|| {
                let known: Vec<&str> = names.iter().collect();
                self.format_error(
                    None,
                    format!("no column `{column}`; there are: {}", known.join(", ")),
                    "use one of these names; another separator is set with `delimiter`",
                )
            })?;
            Ok((at, column.clone()))
        };
        let columns = self
            .fields
            .iter()
            .map(|selection| selection.columns.iter().map(find).collect());
        columns.collect()
    }

    fn number<T: FromStr<Err: Display>>(
        &self,
        cell: &str,
        column: &str,
        record: &StringRecord,
    ) -> Result<T> {
        cell.parse().map_err(|problem| {
            let position = record.position();
            let line = position.map_or(0, Position::line);
            // A cell may be a whole damaged file.
            let cell: String = cell.chars().take(40).collect();
            self.format_error(
                position,
                format!("line {line}, column `{column}`: `{cell}`: {problem}"),
                "correct the cell, or leave the column out; text is read with `classes`",
            )
        })
    }

    fn csv_error(&self, error: &csv::Error) -> Error {
        self.format_error(
            error.position(),
            error.to_string(),
            "save the table with the same number of columns in every line, in UTF-8",
        )
    }

    fn format_error(&self, at: Option<&Position>, problem: String, help: &'static str) -> Error {
        Error::Format {
            path: self.path.clone(),
            offset: at.map_or(0, Position::byte),
            problem,
            help,
        }
    }
}

/// Adds a field to a data set.
fn add(data: InMemory, selection: &Selection, values: Parsed) -> Result<InMemory> {
    let name = &selection.field;
    let shape = match selection.kind {
        Kind::F32 | Kind::I64 => vec![selection.columns.len()],
        Kind::Label | Kind::Classes => Vec::new(),
    };
    let (element, column, classes): (_, Column, _) = match values {
        Parsed::F32(values) => (DType::F32, values.into(), None),
        Parsed::I64(values) => (DType::I64, values.into(), None),
        Parsed::Classes(values) => {
            let classes: BTreeSet<&String> = values.iter().collect();
            let index: BTreeMap<&String, i64> = classes.iter().copied().zip(0..).collect();
            let labels: Vec<i64> = values.iter().map(|value| index[value]).collect();
            let classes = classes.into_iter().cloned().collect();
            (DType::I64, labels.into(), Some(classes))
        }
    };
    let data = data.with(Field::new(name, element, shape), column)?;
    Ok(match classes {
        Some(classes) => data.classes(name, classes),
        None => data,
    })
}
