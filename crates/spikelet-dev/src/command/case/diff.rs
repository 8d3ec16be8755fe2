//! `spikelet-dev case diff`

use serde_json::json;
use spikelet::graph::{Data, ShapeText, Tensor};
use spikelet::log::Console;
use spikelet::neuron::{Difference, differences};
use spikelet::tensors::TensorFile;
use spikelet_cli::command::examples;
use spikelet_cli::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code if the files differ.
const DIFFERS: u8 = 3;

/// Compare two tensor files element by element
///
/// Compares the tensors that both files have. For each tensor that differs: the first time step
/// and neuron (both counted from 0) that differ, both values there, the largest difference and the
/// number of elements that differ. NaN equals NaN. Exit code 0 if all tensors are equal, 3 if one
/// differs.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet-dev case diff ours.safetensors theirs.safetensors" => "equal to the bit",
    "spikelet-dev case diff ours.safetensors theirs.safetensors --tolerance 1e-6" => "equal within a tolerance",
])]
pub struct Diff {
    /// One file
    #[arg(value_name = "A")]
    a: PathBuf,

    /// The other file
    #[arg(value_name = "B")]
    b: PathBuf,

    /// Largest absolute difference of two values that count as equal
    #[arg(long, value_name = "X", default_value_t = 0.0, value_parser = tolerance, allow_negative_numbers = true)]
    tolerance: f64,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value >= 0.0 && value.is_finite() => Ok(value),
        _ => Err("give a number that is not negative, such as 1e-6".to_string()),
    }
}

impl Diff {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let a = TensorFile::read(&self.a)?;
        let mut b = TensorFile::read(&self.b)?;
        let common: Vec<&String> = a
            .tensors
            .keys()
            .filter(|name| b.tensors.contains_key(*name))
            .collect();
        if common.is_empty() {
            return Err(nothing_in_common((&self.a, &a), (&self.b, &b)));
        }
        let compared = common.len();
        let mut apart: Vec<Parting> = vec![];
        for (name, x) in &a.tensors {
            let Some(y) = b.tensors.get_mut(name) else {
                continue;
            };
            if x.shape == y.shape {
                forgive(x, y, self.tolerance);
            } else {
                apart.push(Parting::Shapes(
                    name.clone(),
                    x.shape.clone(),
                    y.shape.clone(),
                ));
            }
        }
        b.tensors
            .retain(|name, y| a.tensors.get(name).is_some_and(|x| x.shape == y.shape));
        apart.extend(differences(&a, &b).into_iter().map(Parting::Values));

        for parting in &apart {
            console.say_json(&parting.json());
            console.say(parting.text(console));
        }
        console.say_json(
            &json!({"compared": compared, "differ": apart.len(), "tolerance": self.tolerance}),
        );
        if apart.is_empty() {
            let exactly = if self.tolerance == 0.0 {
                "equal".to_string()
            } else {
                format!("within {}", self.tolerance)
            };
            console.say(format!("{compared} tensors {}", console.green(exactly)));
            return Ok(ExitCode::SUCCESS);
        }
        console.say(console.red(format!("{} of {compared} tensors differ", apart.len())));
        Ok(ExitCode::from(DIFFERS))
    }
}

fn nothing_in_common(
    (a_path, a): (&Path, &TensorFile),
    (b_path, b): (&Path, &TensorFile),
) -> Failure {
    let names = |file: &TensorFile| {
        let names: Vec<&str> = file.tensors.keys().map(String::as_str).collect();
        if names.is_empty() {
            "none".to_string()
        } else {
            names.join(", ")
        }
    };
    Failure::other(
        format!(
            "{} and {} have no tensor of the same name",
            a_path.display(),
            b_path.display()
        ),
        format!("the first has: {}; the second has: {}", names(a), names(b)),
    )
}

/// Gives `y` the value of `x` wherever they differ by no more than the tolerance.
fn forgive(x: &Tensor, y: &mut Tensor, tolerance: f64) {
    if tolerance == 0.0 {
        return;
    }
    let mut values = y.to_f64();
    for (y, x) in values.iter_mut().zip(x.to_f64()) {
        if (x - *y).abs() <= tolerance {
            *y = x;
        }
    }
    y.data = Data::F64(values);
}

enum Parting {
    Shapes(String, Vec<usize>, Vec<usize>),
    Values(Difference),
}

impl Parting {
    fn text(&self, console: &Console) -> String {
        match self {
            Self::Shapes(name, a, b) => {
                format!(
                    "{}: shapes {} and {}",
                    console.bold(name),
                    ShapeText(a),
                    ShapeText(b)
                )
            }
            Self::Values(d) => format!(
                "{}: first at {}: {} and {}; {} {}, by at most {:e}",
                console.bold(&d.tensor),
                place(d),
                d.values.0,
                d.values.1,
                d.count,
                if d.count == 1 {
                    "element differs"
                } else {
                    "elements differ"
                },
                d.largest,
            ),
        }
    }

    fn json(&self) -> serde_json::Value {
        match self {
            Self::Shapes(name, a, b) => json!({"tensor": name, "shapes": [a, b]}),
            Self::Values(d) => {
                let (step, neuron) = step_and_neuron(d);
                json!({
                    "tensor": d.tensor, "time_step": step, "neuron": neuron, "values": [d.values.0, d.values.1],
                    "largest": d.largest, "count": d.count,
                })
            }
        }
    }
}

/// The time step, if the tensor is a sequence, and the index within the step.
fn step_and_neuron(d: &Difference) -> (Option<usize>, &[usize]) {
    match d.first.split_first() {
        Some((step, neuron)) if d.tensor.ends_with("_seq") => (Some(*step), neuron),
        _ => (None, &d.first),
    }
}

fn place(d: &Difference) -> String {
    let (step, neuron) = step_and_neuron(d);
    let neuron = match neuron {
        [] => None,
        [one] => Some(format!("neuron {one}")),
        several => Some(format!("neuron {}", ShapeText(several))),
    };
    let parts: Vec<String> = step
        .map(|t| format!("time step {t}"))
        .into_iter()
        .chain(neuron)
        .collect();
    if parts.is_empty() {
        "its only element".to_string()
    } else {
        parts.join(", ")
    }
}
