//! The table of a model: layers, output shapes, parameters.

use super::{Context, Mode, Module, TracedTensor, links};
use spikelet_core::Result;
use spikelet_core::human::thousands;
use spikelet_graph::DType;
use std::fmt;
use std::sync::Arc;

/// A model as a table: its layers in the order in which they run, with output shapes and parameters.
///
/// ```
/// use spikelet_nn::module::Summary;
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new()
///     .add(Flatten)
///     .add(Linear::new(784, 10))
///     .add(Lif::new(2.0));
/// let summary = Summary::new(net, &[8, 32, 1, 28, 28])?; // [T, N, C, H, W]
/// assert_eq!(summary.parameters(), 7850);
/// assert_eq!(summary.rows[1].output, [8, 32, 10]);
/// println!("{summary}");
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The shape of the input, `[T, N, …]`.
    pub input: Vec<usize>,
    /// The layers.
    pub rows: Vec<SummaryRow>,
}

/// A layer of a [`Summary`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SummaryRow {
    /// Its path.
    pub path: String,
    /// Its kind, such as `Linear`.
    pub kind: String,
    /// The shape of its output.
    pub output: Vec<usize>,
    /// Its parameters. A parameter of several layers is listed with the first of them.
    pub parameters: Vec<TracedTensor>,
}

impl SummaryRow {
    /// The number of elements of its parameters.
    pub fn count(&self) -> usize {
        let elements = |p: &TracedTensor| p.shape.iter().product::<usize>();
        self.parameters.iter().map(elements).sum()
    }
}

impl Summary {
    /// Traces a model in evaluation for a sequence of the shape `input`, `[T, N, …]`. The rows are the
    /// modules of its [`Module::chain`]; a model that is not a chain is one row.
    ///
    /// # Errors
    /// When the shape does not fit a layer.
    pub fn new(module: impl Module + 'static, input: &[usize]) -> Result<Self> {
        let module: Arc<dyn Module> = Arc::new(module);
        let cx = Context::new(Mode::EVAL, DType::F32);
        let mut x = cx.tracer().input("x_seq", DType::F32, input);
        let mut rows = vec![];
        for (path, layer) in links("", &module) {
            let before = cx.traced().parameters.len();
            x = match path.is_empty() {
                true => cx.trace(&*layer, x)?,
                false => cx.child(&path, |cx| layer.forward(cx, &x))?,
            };
            rows.push(SummaryRow {
                kind: layer.tree().kind().to_string(),
                path,
                output: x.shape().to_vec(),
                parameters: cx.traced().parameters.split_off(before),
            });
        }
        let input = input.to_vec();
        Ok(Self { input, rows })
    }

    /// The number of elements of all parameters.
    pub fn parameters(&self) -> usize {
        self.rows.iter().map(SummaryRow::count).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: usize| thousands(count as u64);
        let shape = |p: &TracedTensor| {
            let name = p.name.rsplit('.').next().unwrap_or_default();
            format!("{name} {:?}", p.shape)
        };
        let mut lines = vec![["layer", "kind", "output", "parameters", ""].map(String::from)];
        lines.push([
            "input".to_string(),
            String::new(),
            format!("{:?}", self.input),
            String::new(),
            String::new(),
        ]);
        for row in &self.rows {
            let shapes: Vec<String> = row.parameters.iter().map(shape).collect();
            lines.push([
                row.path.clone(),
                row.kind.clone(),
                format!("{:?}", row.output),
                count(row.count()),
                shapes.join(", "),
            ]);
        }
        let total = count(self.parameters());
        lines.push([
            "total".into(),
            String::new(),
            String::new(),
            total,
            String::new(),
        ]);
        let width = |k: usize| lines.iter().map(|line| line[k].chars().count()).max();
        let widths = [0, 1, 2, 3].map(|k| width(k).unwrap_or_default());
        for (k, [layer, kind, output, parameters, shapes]) in lines.iter().enumerate() {
            let line = format!(
                "{layer:0$}  {kind:1$}  {output:2$}  {parameters:>3$}  {shapes}",
                widths[0], widths[1], widths[2], widths[3]
            );
            f.write_str(line.trim_end())?;
            if k + 1 < lines.len() {
                f.write_str("\n")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{BatchNorm2d, Conv2d, Flatten, Linear};
    use crate::module::Sequential;
    use crate::neuron::If;

    #[test]
    fn a_model_prints_its_layers_shapes_and_parameters() -> Result<()> {
        let conv = Sequential::new()
            .add(Conv2d::new(1, 4, 3))
            .add(BatchNorm2d::new(4))
            .add(If::default());
        let net = Sequential::new()
            .add_named("conv", conv)
            .add(Flatten)
            .add(Linear::new(144, 10).bias(false));
        let expected = "\
layer   kind        output           parameters
input               [2, 1, 1, 8, 8]
conv.0  Conv        [2, 1, 4, 6, 6]          40  weight [4, 1, 3, 3], bias [4]
conv.1  BatchNorm   [2, 1, 4, 6, 6]           8  weight [4], bias [4]
conv.2  If          [2, 1, 4, 6, 6]           0
1       Flatten     [2, 1, 144]               0
2       Linear      [2, 1, 10]            1,440  weight [10, 144]
total                                     1,488";
        let text = Summary::new(net, &[2, 1, 1, 8, 8])?.to_string();
        let columns = |text: &str| -> Vec<Vec<String>> {
            let words = |line: &str| line.split_whitespace().map(String::from).collect();
            text.lines().map(words).collect()
        };
        assert_eq!(columns(&text), columns(expected), "{text}");
        Ok(())
    }

    #[test]
    fn a_layer_that_does_not_fit_is_an_error() {
        let net = Sequential::new().add(Linear::new(7, 3).bias(false));
        let error = Summary::new(net, &[2, 1, 8]).expect_err("another number of features");
        let error: &crate::LayerError = error.downcast_ref().expect("a layer");
        assert_eq!(error.layer, "linear `0`");
    }
}
