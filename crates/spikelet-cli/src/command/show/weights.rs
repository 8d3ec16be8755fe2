//! The tensors of a file with weights.

use super::{Show, shape_text};
use crate::command::check::format_name;
use crate::command::{path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet_weights::{Dtype, Format, Tensor, Weights};

impl Show {
    pub(super) fn weights(&self, console: &Console) -> Result<(), Failure> {
        let format = Format::detect(&self.file)?;
        let weights = Weights::read(&self.file)?;
        let tensors = weights.iter().map(|(name, tensor)| {
            json!({
                "name": name, "type": tensor.dtype().name(), "shape": tensor.shape(), "smallest": least(tensor),
                "largest": largest(tensor),
            })
        });
        console.say_json(&json!({
            "file": path_text(&self.file), "format": format_name(format), "tensors": tensors.collect::<Vec<_>>(),
            "skipped": weights.skipped(),
        }));
        let head = ["tensor", "type", "shape", "elements", "smallest", "largest"];
        let mut table = Table::new(&head).right(&[3, 4, 5]);
        let mut elements = 0;
        for (name, tensor) in weights.iter() {
            elements += tensor.len();
            let value = |value: Option<f64>| value.map_or_else(String::new, |x| number(x, tensor));
            table.row([
                name.to_string(),
                tensor.dtype().name().to_string(),
                shape_text(tensor.shape()),
                thousands(tensor.len() as u64),
                value(least(tensor)),
                value(largest(tensor)),
            ]);
        }
        table.row(
            ["total", "", ""]
                .map(String::from)
                .into_iter()
                .chain([thousands(elements as u64)]),
        );
        console.say(format!("{}: {format}", self.file.display()));
        say_table(console, &table);
        for name in weights.skipped() {
            console.say(console.dim(format!("`{name}` is no tensor and is not read")));
        }
        Ok(())
    }
}

/// The least element; NaN if one is, nothing for a tensor without elements.
fn least(tensor: &Tensor) -> Option<f64> {
    fold(tensor, |a, b| if a < b || a.is_nan() { a } else { b })
}

/// The largest element; NaN if one is.
fn largest(tensor: &Tensor) -> Option<f64> {
    fold(tensor, |a, b| if a > b || a.is_nan() { a } else { b })
}

fn fold(tensor: &Tensor, choose: fn(f64, f64) -> f64) -> Option<f64> {
    tensor.to_f64().into_iter().reduce(choose)
}

fn number(value: f64, tensor: &Tensor) -> String {
    match tensor.dtype() {
        Dtype::F16 | Dtype::BF16 | Dtype::F32 | Dtype::F64 => format!("{value:.4}"),
        _ => format!("{value}"),
    }
}
