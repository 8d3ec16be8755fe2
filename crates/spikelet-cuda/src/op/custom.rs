//! Custom operations: their kernels, validated before they run.

use super::{CudaKernel, Lowered, LoweredOp, LoweringContext};
use crate::kernel_source::{MAX_BLOCKS, MAX_THREADS};
use spikelet_graph::op::{Custom, DeviceArgument, DeviceCall, DeviceCode, DeviceKernel};
use spikelet_graph::{Result, TensorType};

impl CudaKernel for Custom {
    /// An error of its code is that of the lowering.
    fn lower<'a>(&'a self, cx: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        let call = DeviceCall {
            inputs: &cx.inputs,
            outputs: &cx.outputs,
            wanted: &cx.wanted,
        };
        let code = self.0.device_code(&call);
        let code = code.map_err(|refusal| cx.refuse(&refusal.to_string()))?;
        let code = code.ok_or_else(|| {
            cx.refuse(&format!(
                "the custom operation `{}` has code for the CPU only; run this network with \
                 --device cpu, or implement `device_code`",
                self.0.name()
            ))
        })?;
        Ok(Lowered::new(code.scratch_bytes(), move || {
            let bytes = |types: &[TensorType]| types.iter().map(TensorType::bytes).collect();
            let tensors = Tensors {
                inputs: bytes(&cx.inputs),
                outputs: bytes(&cx.outputs),
                wanted: cx.wanted.clone(),
            };
            check(&code, &tensors).map_err(|problem| cx.refuse(&problem))?;
            let runs = |kernel: &&DeviceKernel| !kernel.grid.contains(&0);
            let kernels = code.kernels().iter().filter(runs);
            Ok(kernels.cloned().map(LoweredOp::CustomKernel).collect())
        }))
    }
}

type Checked = std::result::Result<(), String>;

/// The tensors that kernels can take.
struct Tensors {
    /// Bytes of each operand.
    inputs: Vec<usize>,
    /// Bytes of each result.
    outputs: Vec<usize>,
    /// Whether each result has memory.
    wanted: Vec<bool>,
}

impl Tensors {
    /// Whether an operand or a result has no elements.
    fn is_empty(&self) -> bool {
        self.inputs.contains(&0) || self.outputs.contains(&0)
    }
}

/// Rejects kernels that cannot be launched. A grid without blocks is valid if an operand or result is
/// empty.
fn check(code: &DeviceCode, tensors: &Tensors) -> Checked {
    if code.kernels().is_empty() {
        return Err("its code has no kernel; add at least one".to_string());
    }
    code.kernels().iter().try_for_each(|kernel| {
        check_name(&kernel.name)?;
        check_launch(kernel, tensors.is_empty())
            .and_then(|()| check_arguments(kernel, tensors, code.scratch_bytes()))
            .map_err(|problem| format!("kernel `{}` {problem}", kernel.name))
    })
}

fn check_name(name: &str) -> Checked {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Ok(());
    }
    Err(format!(
        "`{}` is not a valid kernel name; use the name of its `extern \"C\" __global__` function",
        name.escape_default()
    ))
}

fn check_launch(kernel: &DeviceKernel, empty: bool) -> Checked {
    if kernel.block == 0 || kernel.block > MAX_THREADS {
        return Err(format!(
            "has blocks of {} threads; they can have 1 to {MAX_THREADS}",
            kernel.block
        ));
    }
    if kernel.grid.iter().zip(MAX_BLOCKS).any(|(n, max)| *n > max) {
        return Err(format!(
            "has a grid of {:?} blocks, at most {MAX_BLOCKS:?} are possible; process several items in a thread",
            kernel.grid
        ));
    }
    if kernel.grid.contains(&0) && !empty {
        return Err(format!(
            "has an empty grid of {:?} blocks, but there are elements; round the number of blocks up",
            kernel.grid
        ));
    }
    Ok(())
}

fn check_arguments(kernel: &DeviceKernel, tensors: &Tensors, scratch: usize) -> Checked {
    let known = |what: &str, all: &[usize], k: usize| match all.get(k) {
        Some(bytes) => Ok(*bytes),
        None => Err(format!(
            "takes {what} {k} (counted from 0), but the operation has {}",
            all.len()
        )),
    };
    let inside = |what: &str, all: &[usize], k: usize, offset: usize| {
        let bytes = known(what, all, k)?;
        // An empty sequence has no step that the kernel could access.
        if offset < bytes || tensors.is_empty() {
            return Ok(());
        }
        Err(format!(
            "takes byte {offset} of {what} {k}, which has {bytes}"
        ))
    };
    for (at, argument) in kernel.arguments.iter().enumerate() {
        match argument {
            DeviceArgument::Input(k) => _ = known("input", &tensors.inputs, *k)?,
            DeviceArgument::Output(k) => _ = known("output", &tensors.outputs, *k)?,
            DeviceArgument::InputAt(k, offset) => inside("input", &tensors.inputs, *k, *offset)?,
            DeviceArgument::OutputAt(k, offset) => {
                inside("output", &tensors.outputs, *k, *offset)?;
                if !tensors.wanted[*k] {
                    return Err(format!(
                        "takes byte {offset} of output {k}, which is unused here and has no memory; check \
                         `DeviceCall::wanted`"
                    ));
                }
            }
            DeviceArgument::Scratch(offset) if *offset >= scratch => {
                return Err(format!(
                    "takes byte {offset} of {scratch} bytes of scratch memory; request more with \
                     `DeviceCode::scratch`"
                ));
            }
            DeviceArgument::Constant(bytes) | DeviceArgument::Value(bytes) if bytes.is_empty() => {
                return Err(format!(
                    "has an empty argument {at}, counted from 0; pass a value of at least one byte"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;

    fn code<const N: usize>(kernels: [DeviceKernel; N]) -> DeviceCode {
        // SAFETY: nothing is compiled or run here.
        unsafe { DeviceCode::new(kernels) }
    }

    fn tensors() -> Tensors {
        Tensors {
            inputs: vec![64, 64],
            outputs: vec![16],
            wanted: vec![true],
        }
    }

    fn problem(kernel: DeviceKernel) -> String {
        let code = code([kernel]).scratch(64);
        check(&code, &tensors()).unwrap_err()
    }

    fn kernel() -> DeviceKernel {
        DeviceKernel::new("f", "")
    }

    #[test]
    fn a_launch_within_all_limits_is_accepted() {
        let max = kernel()
            .grid(MAX_BLOCKS)
            .block(MAX_THREADS)
            .input(1)
            .output(0)
            .scratch(63)
            .constant(1_i32)
            .value([1.0_f32; 4]);
        let max = max.input_at(0, 63).output_at(0, 12);
        let code = code([max]).scratch(64);
        assert_eq!(check(&code, &tensors()), Ok(()));
    }

    #[test]
    fn kernels_that_cannot_be_launched_are_rejected() {
        let no_kernel = check(&DeviceCode::default(), &tensors()).unwrap_err();
        assert_snapshot!(no_kernel, @"its code has no kernel; add at least one");
        assert_snapshot!(problem(kernel().block(0)), @"kernel `f` has blocks of 0 threads; they can have 1 to 1024");
        assert_snapshot!(problem(kernel().block(1025)), @"kernel `f` has blocks of 1025 threads; they can have 1 to 1024");
        assert_snapshot!(problem(kernel().grid([1, 65536, 1])), @"kernel `f` has a grid of [1, 65536, 1] blocks, at most [2147483647, 65535, 65535] are possible; process several items in a thread");
        assert_snapshot!(problem(kernel().threads(usize::MAX)), @"kernel `f` has a grid of [4294967295, 1, 1] blocks, at most [2147483647, 65535, 65535] are possible; process several items in a thread");
        assert_snapshot!(problem(kernel().threads(0)), @"kernel `f` has an empty grid of [0, 1, 1] blocks, but there are elements; round the number of blocks up");
        assert_snapshot!(problem(kernel().input(2)), @"kernel `f` takes input 2 (counted from 0), but the operation has 2");
        assert_snapshot!(problem(kernel().output(1)), @"kernel `f` takes output 1 (counted from 0), but the operation has 1");
        assert_snapshot!(problem(kernel().input_at(2, 0)), @"kernel `f` takes input 2 (counted from 0), but the operation has 2");
        assert_snapshot!(problem(kernel().input_at(1, 64)), @"kernel `f` takes byte 64 of input 1, which has 64");
        assert_snapshot!(problem(kernel().output_at(0, 16)), @"kernel `f` takes byte 16 of output 0, which has 16");
        assert_snapshot!(problem(kernel().scratch(64)), @"kernel `f` takes byte 64 of 64 bytes of scratch memory; request more with `DeviceCode::scratch`");
        assert_snapshot!(problem(kernel().input(0).value([0_u8; 0])), @"kernel `f` has an empty argument 1, counted from 0; pass a value of at least one byte");
    }

    #[test]
    fn a_name_is_an_identifier() {
        for name in ["f", "_f2", "IFNodeFPTTKernel_float_hard_reset"] {
            assert_eq!(check_name(name), Ok(()));
        }
        for name in ["", "2f", "a b", "a\0b", "größe", "f<float>"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn an_empty_grid_is_valid_for_an_empty_tensor() {
        let code = code([kernel().threads(0).input_at(1, 64)]);
        let mut empty = tensors();
        empty.inputs[0] = 0;
        assert_eq!(check(&code, &empty), Ok(()));
    }

    #[test]
    fn an_offset_into_an_unused_result_is_rejected() {
        let mut unused = tensors();
        unused.wanted[0] = false;
        let check = |kernel: DeviceKernel| check(&code([kernel]), &unused);
        assert_eq!(check(kernel().output(0)), Ok(()));
        assert_snapshot!(check(kernel().output_at(0, 8)).unwrap_err(), @"kernel `f` takes byte 8 of output 0, which is unused here and has no memory; check `DeviceCall::wanted`");
    }
}
