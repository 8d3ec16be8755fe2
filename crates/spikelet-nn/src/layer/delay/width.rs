//! The width of the kernels of learned delays, which shrinks over training.

use crate::module::{Context, Init};
use crate::runtime::VarStore;
use spikelet_core::Result;
use spikelet_graph::{Tensor, Var};
use spikelet_schema::Schema;

/// The name of the tensor with the width of a layer.
const NAME: &str = "delay_width";

/// The width σ of the current module: a scalar that is stored with the model and is not trained.
pub(super) fn buffer(cx: &Context, start: f64) -> Var {
    cx.buffer(NAME, [], Init::Constant(start))
}

/// A schedule of the width σ of learned delays: geometric from `start` at epoch 0 to `end` at epoch `epochs`, linear
/// if one of them is 0, and constant from there.
///
/// The width is a tensor `delay_width` of each layer. It is set before an epoch; checkpoints have it.
///
/// ```
/// use spikelet_nn::layer::{Dcls1d, DelayWidth};
/// use spikelet_nn::prelude::*;
/// let net = Sequential::new().add(Dcls1d::new(20, 10, 25)).add(Lif::new(2.0));
/// let cx = Context::new(Mode::TRAIN, DType::F32);
/// let x = cx.tracer().input("x_seq", DType::F32, [50, 2, 20]);
/// cx.trace(&net, x)?;
/// let mut store = VarStore::new(spikelet_nn::device::cpu()?);
/// cx.compile(&mut store, 0)?;
/// let width = DelayWidth::snn_delays(25, 150);
/// width.set(&mut store, 0)?; // before the first epoch
/// assert_eq!(store.get("0.delay_width")?.to_f64(), [12.0]);
/// # Ok::<(), spikelet_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Schema)]
pub struct DelayWidth {
    /// The width at epoch 0.
    #[schema(required, at_least = 0, unit = "steps")]
    pub start: f64,
    /// The width at epoch `epochs` and after it.
    #[schema(required, at_least = 0, unit = "steps")]
    pub end: f64,
    /// The number of epochs over which the width changes.
    #[schema(required, at_least = 1)]
    pub epochs: usize,
}

impl DelayWidth {
    /// A width that changes from `start` to `end` over `epochs` epochs.
    pub fn new(start: f64, end: f64, epochs: usize) -> Self {
        Self { start, end, epochs }
    }

    /// The schedule of SNN-delays for [`Dcls1d`](super::Dcls1d): from ⌊K/2⌋ to 0.23 over the first quarter of the epochs.
    ///
    /// Source: Hammouamri et al., ICLR 2024, and its code.
    pub fn snn_delays(kernel_size: usize, epochs: usize) -> Self {
        Self::new((kernel_size / 2) as f64, 0.23, epochs / 4)
    }

    /// The schedule of DelRec for [`DelayedFeedback`](super::DelayedFeedback): 10 · 0.95^(100 · epoch / epochs).
    ///
    /// Source: DelRec's code.
    pub fn delrec(epochs: usize) -> Self {
        Self::new(10.0, 10.0 * 0.95_f64.powi(100), epochs)
    }

    /// The width during the epoch, counted from 0.
    ///
    /// ```
    /// use spikelet_nn::layer::DelayWidth;
    /// let width = DelayWidth::new(8.0, 2.0, 10);
    /// assert_eq!([0, 5, 10, 20].map(|epoch| width.at(epoch)), [8.0, 4.0, 2.0, 2.0]);
    /// assert_eq!(DelayWidth::new(0.0, 1.0, 4).at(1), 0.25);
    /// ```
    pub fn at(&self, epoch: usize) -> f64 {
        if epoch >= self.epochs {
            return self.end;
        }
        let done = epoch as f64 / self.epochs as f64;
        if self.start <= 0.0 || self.end <= 0.0 {
            return self.start + (self.end - self.start) * done;
        }
        self.start * (self.end / self.start).powf(done)
    }

    /// Sets the widths of all layers of a model for an epoch, and returns the number of layers.
    ///
    /// # Errors
    /// When the device fails.
    pub fn set(&self, store: &mut VarStore, epoch: usize) -> Result<usize> {
        let is_width = |name: &&str| name.rsplit('.').next() == Some(NAME);
        let names: Vec<String> = store.names().filter(is_width).map(str::to_string).collect();
        for name in &names {
            let Some(ty) = store.ty(name) else { continue };
            let value = Tensor::f64(ty.shape.clone(), [self.at(epoch)]).cast(ty.dtype);
            store.set(name, &value)?;
        }
        Ok(names.len())
    }
}
