//! Nearest neighbor upsampling over one, two or three axes.
//!
//! y[o] = x[⌊o / factor⌋] on each axis, as PyTorch's `Upsample` with the mode `nearest`. The gradient of an element is the sum over
//! its copies.

use super::images::{Sizes, expect};
use crate::domain::{Constant, Domain};
use crate::module::{Context, Module, Tree};
use crate::network::Layers;
use crate::network::kind::{Builder, Built, LayerFields, LayerKeys, by_axes};
use crate::network::values::AxisSizes;
use spikelet_core::Result;
use spikelet_graph::Var;
use spikelet_schema::Schema;

/// Repeats each element of `[T, N, C, …]` along `D` axes: `[T, N, C, L] → [T, N, C, factor·L]`.
///
/// ```
/// use spikelet_nn::layer::Upsample2d;
/// use spikelet_nn::prelude::*;
/// let cx = Context::new(Mode::EVAL, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [4, 8, 16, 7, 7]);
/// assert_eq!(cx.trace(&Upsample2d::new(2), x.clone())?.shape(), [4, 8, 16, 14, 14]);
/// assert_eq!(cx.trace(&Upsample2d::new([1, 3]), x)?.shape(), [4, 8, 16, 7, 21]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[doc(alias = "interpolate")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upsample<const D: usize> {
    /// The number of copies of an element along each axis.
    pub factor: [usize; D],
}

/// Upsampling of `[T, N, C, L]`.
pub type Upsample1d = Upsample<1>;
/// Upsampling of `[T, N, C, H, W]`.
pub type Upsample2d = Upsample<2>;
/// Upsampling of `[T, N, C, D, H, W]`.
pub type Upsample3d = Upsample<3>;

impl<const D: usize> Upsample<D> {
    /// Upsampling by one factor for all axes, or by a factor for each axis.
    pub fn new(factor: impl Sizes<D>) -> Self {
        Self {
            factor: factor.sizes(),
        }
    }
}

impl<const D: usize> Module for Upsample<D> {
    fn forward(&self, cx: &Context, x: &Var) -> Result<Var> {
        expect(cx, "upsampling", x, D, None)?;
        let domain = Domain::at_least(1.0);
        let factors = self
            .factor
            .map(|f| Constant::new("factor", f as f64, domain));
        cx.expect_domains("upsampling", &factors)?;
        // Each axis has its copies on an axis of their own behind it: `[T, N, C, H, copies, W, copies]`.
        let [mut single, mut copied, mut shape] = [(); 3].map(|()| x.shape()[..3].to_vec());
        for (&size, copies) in x.shape()[3..].iter().zip(self.factor) {
            single.extend([size, 1]);
            copied.extend([size, copies]);
            shape.push(size.saturating_mul(copies));
        }
        Ok(x.reshape(single).expand(copied).reshape(shape))
    }

    fn tree(&self) -> Tree {
        Tree::fields(self)
    }
}

/// Nearest neighbor upsampling over one, two or three axes.
///
/// `{ upsample = 2 }`, `{ upsample = [1, 2] }`
#[derive(Debug, Schema)]
#[schema(name = "upsample")]
pub(crate) struct UpsampleKeys {
    /// The number of copies along each axis.
    #[schema(main, required, from = 1, to = Layers::MAX_SIZE)]
    factor: AxisSizes,
}

impl LayerKeys for UpsampleKeys {
    const OTHER_NAMES: &[&str] = &["upsampling", "interpolate"];
    const HAS_AXES: bool = true;
    const EXAMPLE: (&[usize], &str) = (&[4, 6, 6], "{ upsample = 2 }");

    fn build(&self, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
        by_axes!(b.spatial_axes(layer)?, build(self, layer, b))
    }
}

fn build<const D: usize>(keys: &UpsampleKeys, layer: &LayerFields<'_>, b: &mut Builder) -> Built {
    b.without_weights(layer, Upsample::<D>::new(keys.factor.axes()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Mode;
    use crate::runtime::{VarStore, host};
    use spikelet_graph::{DType, Tensor};

    /// Numbers between −1 and 1.
    fn values(count: usize, phase: f64) -> Vec<f64> {
        (0..count).map(|k| (k as f64 + phase).sin()).collect()
    }

    /// y by its definition, of `x` with the sizes `[lead, …]`.
    fn reference<const D: usize>(x: &[f64], sizes: [usize; D], factor: [usize; D]) -> Vec<f64> {
        let copies: usize = factor.iter().product();
        let source = |mut o: usize| {
            let (mut index, mut stride) = (0, 1);
            for (size, factor) in sizes.into_iter().zip(factor).rev() {
                index += o % (size * factor) / factor * stride;
                (o, stride) = (o / (size * factor), stride * size);
            }
            x[o * stride + index]
        };
        (0..x.len() * copies).map(source).collect()
    }

    fn check<const D: usize>(sizes: [usize; D], factor: [usize; D]) -> Result<()> {
        const H: f64 = 1e-3;
        let shape = [&[2, 1, 3][..], &sizes].concat();
        let cx = Context::new(Mode::TRAIN, DType::F64);
        let x = cx.tracer().input("x", DType::F64, shape.clone());
        let y = cx.trace(&Upsample::new(factor), x.clone())?;
        let g = cx.tracer().input("g", DType::F64, y.shape());
        let loss = (&y * &g).sum_all();
        let grad = cx.tracer().gradients(&loss, &[&x]).swap_remove(0);
        for (name, value) in [("y", &y), ("loss", &loss), ("grad", &grad)] {
            cx.tracer().output(name, value);
        }
        let mut program = cx.compile(&mut VarStore::new(crate::device::cpu()?), 0)?;
        let g = Tensor::f64(y.shape(), values(y.ty().len(), 0.5));
        let x = values(shape.iter().product(), 0.0);
        let mut run = |x: &[f64], name: &str| -> Result<Vec<f64>> {
            let x = Tensor::f64(shape.clone(), x);
            program.run_with([("x", host(&x)), ("g", host(&g))])?;
            Ok(program.get(name)?.to_f64())
        };
        assert_eq!(run(&x, "y")?, reference(&x, sizes, factor));
        let found = run(&x, "grad")?;
        for (k, found) in found.into_iter().enumerate() {
            let mut loss = |step: f64| {
                let mut moved = x.clone();
                moved[k] += step;
                run(&moved, "loss")
            };
            let expected = (loss(H)?[0] - loss(-H)?[0]) / (2.0 * H);
            assert!((found - expected).abs() < 1e-9, "{k}: {found}, {expected}");
        }
        Ok(())
    }

    #[test]
    fn every_element_is_repeated_and_has_the_sum_of_the_gradients_of_its_copies() -> Result<()> {
        check([5], [3])?;
        check([3, 2], [2, 3])?;
        check([2, 1, 3], [1, 3, 2])
    }

    #[test]
    fn a_file_has_one_factor_or_one_for_each_axis() -> Result<()> {
        let outputs = |input: &str, factor: &str| {
            let text = format!("[network]\ninput = {input}\nlayers = [{{ upsample = {factor} }}]");
            Layers::from_toml("net.toml", &text, &[])
        };
        assert_eq!(outputs("[2, 3, 4]", "2")?.outputs()?, 2 * 6 * 8);
        assert_eq!(outputs("[2, 3, 4]", "[1, 5]")?.outputs()?, 2 * 3 * 20);
        for (input, factor) in [("[2, 3]", "0"), ("[2, 3]", "[1, 2]"), ("[3]", "2")] {
            outputs(input, factor).expect_err("refused");
        }
        Ok(())
    }
}
