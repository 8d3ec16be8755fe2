//! A neuron's pair of kernels with what they are given besides sequences.

use super::base::NeuronATGFBase;
use super::host::Host;
use crate::neuron_kernel::{BPTTKernel, FPTTKernel, Form};
use crate::neuron_kernel::{NeuronBackward, NeuronForward};
use crate::params::{Base, CType};
use crate::{AutoCudaError, CKernel1D, Callable, Dtype, Kernel, PlannedArgument};
use spikelet_graph::op::{BackwardOperand, DeviceArgument, DeviceKernel};
use spikelet_graph::{DType, InvalidOp, TensorType};
use std::fmt;
use std::sync::Arc;

/// Bytes of scratch memory for a number.
const PLACE: usize = 256;

pub(super) type Checked = Result<(), InvalidOp>;

/// What the forward and the backward operation share.
pub(super) struct Definition {
    pub(super) forward: Arc<dyn Kernel + Send + Sync>,
    pub(super) backward: Arc<dyn Kernel + Send + Sync>,
    forms: [Form; 2],
    /// Numbers by the names of parameters.
    pub(super) numbers: Vec<(String, f32)>,
    /// Names of the operands behind x_seq and v_init, of one number each.
    pub(super) own: Vec<String>,
    /// What the backward operation reads, by the names of its kernel's parameters.
    pub(super) saved: Vec<(String, BackwardOperand)>,
    pub(super) host: Host,
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("forward", &self.forward.kernel_name())
            .field("backward", &self.backward.kernel_name())
            .field("numbers", &self.numbers)
            .field("own", &self.own)
            .finish_non_exhaustive()
    }
}

impl Definition {
    pub(super) fn new<F, B>(
        forward: Arc<FPTTKernel<F>>,
        backward: Arc<BPTTKernel<B>>,
        numbers: Vec<(String, f32)>,
        own: Vec<String>,
    ) -> Self
    where
        F: NeuronForward + Send + Sync + 'static,
        B: NeuronBackward + Send + Sync + 'static,
    {
        let names: Vec<&str> = own.iter().map(String::as_str).collect();
        let saved = NeuronATGFBase::ctx_save(&*backward, &names);
        let kept = |name: &str| saved.iter().any(|(known, _)| known == name);
        let host = Host::new(&forward, &backward, &numbers, &own, &kept);
        Self {
            forms: [forward.form(), backward.form()],
            forward,
            backward,
            numbers,
            own,
            saved,
            host,
        }
    }

    pub(super) fn dtype(&self) -> Dtype {
        self.forms[0].dtype
    }

    /// Finds what does not fit together, for sequences that want kernels of this number type.
    pub(super) fn check(&self, dtype: Dtype) -> Checked {
        let [forward, backward] = [self.forward.kernel_name(), self.backward.kernel_name()];
        if self.forms[0] != self.forms[1] {
            return Err(InvalidOp::new(
                format!("its kernels `{forward}` and `{backward}` are no pair"),
                "write both for one number type and one kind of reset",
            ));
        }
        if self.dtype() != dtype {
            return Err(InvalidOp::new(
                format!(
                    "its kernels are written for {}, the sequence needs {dtype}",
                    self.dtype()
                ),
                format!("write them for {dtype}, or cast the sequence"),
            ));
        }
        let v_reset = self.numbers.iter().any(|(name, _)| name == "v_reset");
        match (self.forms[0].hard_reset, v_reset) {
            (true, false) => {
                return Err(InvalidOp::new(
                    format!("`{forward}` has a hard reset, but v_reset is none"),
                    "give the potential to reset to, or write the kernels for a soft reset",
                ));
            }
            (false, true) => {
                return Err(InvalidOp::new(
                    format!("`{forward}` has a soft reset, but v_reset is a number"),
                    "give none, or write the kernels for a hard reset",
                ));
            }
            _ => {}
        }
        let numbers = self.numbers.iter().map(|(name, _)| name);
        for (k, name) in numbers.clone().chain(&self.own).enumerate() {
            if numbers
                .clone()
                .chain(&self.own)
                .take(k)
                .any(|known| known == name)
            {
                return Err(InvalidOp::new(
                    format!("`{name}` is given twice"),
                    "give each parameter once",
                ));
            }
        }
        for name in numbers {
            let has = |kernel: &dyn Kernel| kernel.cparams().contains_key(name);
            if !has(&*self.forward) && !has(&*self.backward) {
                return Err(InvalidOp::new(
                    format!("neither `{forward}` nor `{backward}` has the parameter `{name}`"),
                    "leave it out, or declare it in the neuron's `params`",
                ));
            }
        }
        self.own.iter().try_for_each(|name| self.check_own(name))
    }

    /// One number that is learned: both kernels need a place for it.
    fn check_own(&self, name: &str) -> Checked {
        let ctype = |kernel: &dyn Kernel, name: &str| {
            kernel.cparams().get(name).map(|ctype| CType::parse(ctype))
        };
        let read = ctype(&*self.forward, name);
        if read.is_none_or(CType::is_output) {
            return Err(InvalidOp::new(
                format!(
                    "`{}` has no parameter `const {} * {name}` for the tensor",
                    self.forward.kernel_name(),
                    self.dtype()
                ),
                "declare it in the neuron's `params`",
            ));
        }
        let written = ctype(&*self.backward, &gradient(name));
        if written.is_none_or(|t| !t.is_output() || t.base != Some(Base::Float)) {
            return Err(InvalidOp::new(
                format!(
                    "`{}` has no parameter `float * {}`, which takes a number a block",
                    self.backward.kernel_name(),
                    gradient(name)
                ),
                format!("declare it, or give `{name}` as a number that is not learned"),
            ));
        }
        Ok(())
    }

    /// Checks the operands behind x_seq and v_init.
    pub(super) fn check_operands(&self, own: &[TensorType]) -> Checked {
        if own.len() != self.own.len() {
            return Err(InvalidOp::new(
                format!(
                    "it has {} operands of its own, not {}",
                    self.own.len(),
                    own.len()
                ),
                "apply it by `NeuronATGF::apply`",
            ));
        }
        let one = TensorType::new(DType::F32, [1]);
        for (name, ty) in self.own.iter().zip(own) {
            if *ty != one {
                return Err(InvalidOp::new(
                    format!("`{name}` is {ty}; it has to be one number, {one}"),
                    "share one number among the neurons, or write a custom operation",
                ));
            }
        }
        Ok(())
    }

    /// The numbers that are parameters of a kernel.
    pub(super) fn numbers_of(&self, kernel: &dyn Kernel) -> Vec<(&str, PlannedArgument)> {
        let numbers = self.numbers.iter();
        numbers
            .filter(|(name, _)| kernel.cparams().contains_key(name))
            .map(|(name, value)| (name.as_str(), (*value).into()))
            .collect()
    }

    /// Bytes of scratch memory for [`own_in_pairs`](Self::own_in_pairs).
    pub(super) fn bytes_of_pairs(&self) -> usize {
        PLACE * self.own.len()
    }

    /// For `half2`, kernels that put the numbers which are operands twice into scratch memory,
    /// where the arguments then lead.
    pub(super) fn own_in_pairs(
        &self,
        args: &mut [(&str, PlannedArgument)],
    ) -> Result<Vec<DeviceKernel>, AutoCudaError> {
        if self.dtype() == Dtype::Float {
            return Ok(vec![]);
        }
        let own = args
            .iter_mut()
            .filter(|(name, _)| self.own.iter().any(|own| own == name));
        own.enumerate()
            .map(|(k, (_, argument))| {
                let place = DeviceArgument::Scratch(PLACE * k);
                let number = std::mem::replace(argument, place.clone().into());
                pair(number, place.into())
            })
            .collect()
    }
}

fn pair(from: PlannedArgument, to: PlannedArgument) -> Result<DeviceKernel, AutoCudaError> {
    let mut kernel = CKernel1D::new("number_as_half2");
    kernel.add_param("const float *", "number")?;
    kernel.add_param("half2 *", "pair")?;
    kernel.set_core("pair[index] = __float2half2_rn(number[index]);");
    kernel.device_kernel(
        1,
        32,
        &[("number", from), ("pair", to), ("numel", 1_i32.into())],
    )
}

/// The name of the parameter that takes a tensor's gradient.
pub(super) fn gradient(name: &str) -> String {
    format!("grad_{name}")
}
