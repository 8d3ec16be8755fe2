//! Kernels inside a plan: as plain data, for a custom operation.

use super::check;
use super::kernel::source;
use super::params::{CType, Passing};
use super::scalar_bytes::scalar_bytes;
use super::{AutoCudaError, Description, Dims, Kernel};
use spikelet_graph::InvalidOp;
use spikelet_graph::op::{DeviceArgument, DeviceKernel};

/// An argument of a kernel that is part of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannedArgument {
    /// An operand, a result, scratch memory, or bytes.
    Device(DeviceArgument),
    /// An integer, for `int` and `int &`.
    Int(i32),
    /// A number, for `float`, `half2` and references to them; a `half2` gets it twice.
    Float(f32),
}

from_values!(PlannedArgument: DeviceArgument => Device, i32 => Int, f32 => Float);

/// A kernel that cannot be planned is an invalid operation.
impl From<AutoCudaError> for InvalidOp {
    fn from(error: AutoCudaError) -> Self {
        InvalidOp::new(
            error.to_string(),
            "pass an argument of its type for each parameter of the kernel",
        )
    }
}

/// See [`Callable::device_kernel`](super::Callable::device_kernel).
pub(super) fn device_kernel<K: Kernel + ?Sized>(
    kernel: &K,
    grid: Dims,
    threads: u32,
    args: &[(&str, PlannedArgument)],
) -> Result<DeviceKernel, AutoCudaError> {
    let name = kernel.kernel_name();
    for (k, (cname, _)) in args.iter().enumerate() {
        if args[..k].iter().any(|(known, _)| known == cname) {
            return Err(AutoCudaError::RepeatedArgument {
                kernel: name.to_string(),
                cname: cname.to_string(),
            });
        }
    }
    check::names(kernel.kernel(), args.iter().map(|(cname, _)| *cname))?;
    let mut planned = DeviceKernel::new(name, source(kernel))
        .grid(grid.0)
        .block(threads);
    for (cname, ctype) in kernel.cparams() {
        let given = args.iter().find(|(key, _)| key == cname);
        let (_, given) = given.expect("there is an argument for each parameter");
        planned = planned.argument(argument(name, ctype, cname, given)?);
    }
    Ok(planned)
}

fn argument(
    kernel: &str,
    ctype: &str,
    cname: &str,
    given: &PlannedArgument,
) -> Result<DeviceArgument, AutoCudaError> {
    let CType { base, passing, .. } = CType::parse(ctype);
    let Some(base) = base else {
        return Err(AutoCudaError::ParameterType {
            kernel: kernel.to_string(),
            cname: cname.to_string(),
            ctype: ctype.to_string(),
        });
    };
    let mismatch = |given: String| {
        Err(AutoCudaError::ArgumentType {
            kernel: kernel.to_string(),
            cname: cname.to_string(),
            ctype: ctype.to_string(),
            given,
            expected: check::expected(base, passing),
        })
    };
    let number = match given {
        PlannedArgument::Device(argument) => {
            let by_value = matches!(argument, DeviceArgument::Value(_));
            return if by_value == (passing == Passing::Value) {
                Ok(argument.clone())
            } else {
                mismatch(format!("{argument:?}"))
            };
        }
        PlannedArgument::Int(value) => Description::Int(*value),
        PlannedArgument::Float(value) => Description::Float(*value),
    };
    if !check::fits(base, passing, &number) {
        return mismatch(number.to_string());
    }
    let bytes = scalar_bytes(Some(base), &number);
    Ok(match passing {
        Passing::Value => DeviceArgument::Value(bytes[..base.bytes()].to_vec()),
        _ => DeviceArgument::Constant(bytes.to_vec()),
    })
}
