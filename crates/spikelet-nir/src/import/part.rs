//! The computation of a node.

use spikelet_core::Result;
use spikelet_graph::op::Conv as ConvOp;
use spikelet_graph::{Tensor, Var};
use spikelet_nn::layer::{AvgPool2d, Conv, FixedDelay, Linear, Reshape};
use spikelet_nn::module::{Context, Init, Module, Tree};
use spikelet_nn::neuron::Neuron;
use std::sync::Arc;

/// The computation of a node: `[T, N, …] → [T, N, …]`.
#[derive(Debug)]
pub(super) enum Part {
    /// Input and Output.
    Identity,
    Linear(Linear),
    /// Independent products: weight `[…, out, in]`.
    Products {
        weight: Vec<usize>,
        bias: bool,
    },
    /// A factor for each neuron.
    Scale {
        shape: Vec<usize>,
    },
    Conv1d(Padded<Conv<1>, 1>),
    Conv2d(Padded<Conv<2>, 2>),
    AvgPool(Padded<AvgPool2d, 2>),
    SumPool(SumPool),
    Reshape(Reshape),
    Delay(FixedDelay),
    Neuron(Arc<dyn Neuron>),
}

/// A part, with the values of its parameters.
pub(super) struct Built {
    pub(super) part: Part,
    pub(super) tensors: Vec<(&'static str, Tensor)>,
}

impl Built {
    /// A part without parameters.
    pub(super) fn new(part: Part) -> Self {
        Self {
            part,
            tensors: vec![],
        }
    }
}

/// A layer of images with more zeros than the layer itself adds: before and behind each of D axes.
#[derive(Debug)]
pub(super) struct Padded<L, const D: usize> {
    pub(super) layer: L,
    pub(super) zeros: [[usize; 2]; D],
}

impl<L: Module, const D: usize> Padded<L, D> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        let mut x = x.clone();
        for (axis, [before, behind]) in self.zeros.into_iter().enumerate() {
            if before + behind > 0 {
                x = x.pad(3 + axis, before, behind, 0.0);
            }
        }
        self.layer.forward(cx, &x)
    }
}

/// The sums of windows of two axes.
#[derive(Debug)]
pub(super) struct SumPool {
    pub(super) kernel: [usize; 2],
    pub(super) stride: [usize; 2],
    pub(super) padding: [usize; 2],
}

impl SumPool {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        cx.expect_rank("sum pooling", x, 5)?;
        let &[time_steps, batch, channels, height, width] = x.shape() else {
            return Ok(x.clone());
        };
        // A convolution of each channel with ones: sums of spikes are exact.
        let [rows, columns] = self.kernel;
        let ones = cx
            .tracer()
            .fill(cx.tracer().float(), [1, rows, columns, 1], 1.0);
        let op = ConvOp {
            stride: self.stride.to_vec(),
            padding: self.padding.to_vec(),
            ..ConvOp::new(2)
        };
        let images = x.reshape([time_steps, batch * channels, height, width, 1]);
        let sums = images.conv(&ones, op);
        cx.tracer().check()?;
        Ok(sums.reshape([time_steps, batch, channels, sums.dim(2), sums.dim(3)]))
    }
}

impl Module for Part {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        match self {
            Self::Identity => Ok(x.clone()),
            Self::Linear(linear) => linear.forward(cx, x),
            Self::Products { weight, bias } => Ok(products(cx, x, weight, *bias)),
            Self::Scale { shape } => {
                let scale = cx.parameter("scale", shape.clone(), Init::Constant(1.0));
                Ok(x * scale)
            }
            Self::Conv1d(conv) => conv.forward(cx, x),
            Self::Conv2d(conv) => conv.forward(cx, x),
            Self::AvgPool(pool) => pool.forward(cx, x),
            Self::SumPool(pool) => pool.forward(cx, x),
            Self::Reshape(reshape) => reshape.forward(cx, x),
            Self::Delay(delay) => delay.forward(cx, x),
            Self::Neuron(neuron) => neuron.forward(cx, x),
        }
    }

    fn tree(&self) -> Tree {
        match self {
            Self::Identity => Tree::new("Identity"),
            Self::Linear(linear) => linear.tree(),
            Self::Products { weight, bias } => {
                Tree::new("Products").settings(format!("weight={weight:?}, bias={bias}"))
            }
            Self::Scale { shape } => Tree::new("Scale").settings(format!("shape={shape:?}")),
            Self::Conv1d(conv) => conv.layer.tree(),
            Self::Conv2d(conv) => conv.layer.tree(),
            Self::AvgPool(pool) => pool.layer.tree(),
            Self::SumPool(pool) => Tree::fields(pool),
            Self::Reshape(reshape) => reshape.tree(),
            Self::Delay(delay) => delay.tree(),
            Self::Neuron(neuron) => Tree::new(neuron.name()),
        }
    }
}

/// Products with matrices that are independent along the leading axes.
fn products(cx: &Context, x: &Var, shape: &[usize], bias: bool) -> Var {
    let weight = cx.parameter("weight", shape, Init::Constant(0.0));
    let y = (x.unsqueeze(x.rank() - 1) * weight).sum(&[x.rank()]);
    match bias {
        true => y + cx.parameter("bias", &shape[..shape.len() - 1], Init::Constant(0.0)),
        false => y,
    }
}
