//! Calling kernels on a GPU.

use super::argument::describe;
use super::kernel::source;
use super::params::{CType, Passing};
use super::scalar_bytes::scalar_bytes;
use super::{Argument, AutoCudaError, Described, Kernel, PlannedArgument};
use super::{check, pad, planned, simple};
use spikelet_cuda::kernel::{self, LaunchArg, LoadedKernel, StreamLock};
use spikelet_graph::Backend;
use spikelet_graph::op::DeviceKernel;

/// Blocks of a grid, or threads of a block, in x, y and z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims(pub [u32; 3]);

impl From<u32> for Dims {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<[u32; 2]> for Dims {
    fn from([x, y]: [u32; 2]) -> Self {
        Self([x, y, 1])
    }
}

impl From<[u32; 3]> for Dims {
    fn from(dims: [u32; 3]) -> Self {
        Self(dims)
    }
}

/// Kernels as they are called; every [`Kernel`] is one.
///
/// The checks can be made without a GPU; a call makes all of them. Which memory a kernel reads and
/// writes is up to its text: that it stays within its tensors is the caller's promise, so calls are
/// `unsafe`. They start on the one stream of the tensors' [`Cuda`](spikelet_cuda::Cuda), in order with all
/// else that it runs; there is no way to another stream.
///
/// ```no_run
/// use spikelet_cuda::Cuda;
/// use spikelet_auto_cuda::{CKernel1D, Callable, CudaTensor, Element, Kernel};
/// let mut heaviside = CKernel1D::new("heaviside");
/// heaviside.add_param("const float *", "x")?;
/// heaviside.add_param("float *", "y")?;
/// heaviside.set_core("y[index] = x[index] >= 0.0f ? 1.0f: 0.0f;");
///
/// let gpu = Cuda::new(0)?;
/// let x = CudaTensor::new(&gpu, [4], &[-0.5_f32, 0.0, 0.5, 1.0])?;
/// let y = CudaTensor::zeros(&gpu, Element::F32, [4])?;
/// // SAFETY: `index` is below `numel`, the number of elements of both.
/// unsafe { heaviside.simple_call(&[("x", (&x).into()), ("y", (&y).into())]) }?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 1.0, 1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Callable: Kernel {
    /// Compiles the kernel for a compute capability, such as `(9, 0)`; no GPU is needed. The
    /// result is machine code, or PTX for a GPU that is newer than the compiler.
    ///
    /// # Errors
    /// If there is no NVRTC, or if it refuses the text.
    fn compile(&self, capability: (i32, i32)) -> Result<Vec<u8>, AutoCudaError> {
        let code = kernel::compile(&source(self), self.kernel_name(), capability)?;
        Ok(code.to_vec())
    }

    /// Runs the kernel. Arguments can come in any order; tensors for parameters that are pointers
    /// to what is not `const` take results.
    ///
    /// Numbers for references are put into device memory. Tensors for `half2` whose sizes are odd
    /// are padded: in a kernel over sequences by a column that repeats the last one, else by the
    /// last element; results are put back without it.
    ///
    /// # Safety
    /// With this grid and block, the kernel's text has to stay within its tensors and numbers: a
    /// wrong index writes over other memory of the program.
    ///
    /// # Errors
    /// If an argument is not what its parameter needs, if the text does not compile, or if the
    /// device fails.
    unsafe fn call(
        &self,
        grid: impl Into<Dims>,
        block: impl Into<Dims>,
        args: &[(&str, Argument<'_>)],
    ) -> Result<(), AutoCudaError> {
        // SAFETY: the caller's promise.
        unsafe { self.call_with_shared_memory(grid, block, 0, args) }
    }

    /// As [`call`](Callable::call), with bytes of dynamic shared memory for each block, which a
    /// text declares as `extern __shared__`.
    ///
    /// # Safety
    /// As [`call`](Callable::call); the text has to stay within its shared memory, too.
    ///
    /// # Errors
    /// As [`call`](Callable::call); if a block of the GPU cannot have so much.
    unsafe fn call_with_shared_memory(
        &self,
        grid: impl Into<Dims>,
        block: impl Into<Dims>,
        shared_bytes: u32,
        args: &[(&str, Argument<'_>)],
    ) -> Result<(), AutoCudaError> {
        let (grid, block) = (grid.into(), block.into());
        // SAFETY: the caller's promise.
        unsafe { call(self, grid, block, shared_bytes, args) }
    }

    /// As [`call`](Callable::call), with `numel`, for sequences `N`, and the number of blocks of
    /// [`threads`](Kernel::threads) found from the tensors.
    ///
    /// In an elementwise kernel all tensors have the same number of elements. In a kernel over
    /// sequences all tensors of two dimensions are \[T, N\], but for those that have
    /// [more steps](Kernel::extra_steps). Nothing is done for tensors without elements.
    ///
    /// # Safety
    /// As [`call`](Callable::call).
    ///
    /// # Errors
    /// As [`call`](Callable::call); if the tensors do not agree; if the kernel has no loop of its
    /// own.
    unsafe fn simple_call(&self, args: &[(&str, Argument<'_>)]) -> Result<(), AutoCudaError> {
        let with = |numel: i32, n: Option<i32>| {
            let mut all = args.to_vec();
            all.push(("numel", numel.into()));
            all.extend(n.map(|n| ("N", n.into())));
            all
        };
        let described = |args: &[_]| describe(self.kernel_name(), args);
        let n = simple::names_n(self)?.then_some(0);
        let unknown = described(&with(0, n))?;
        self.check_keys(&unknown)?;
        self.check_ctypes(&unknown)?;
        let counts = simple::counts(self, &unknown)?;
        let all = with(counts.numel, counts.n);
        let threads = self.threads();
        let blocks = simple::blocks_of(self, counts.threads, threads)?;
        if blocks == 0 || counts.numel == 0 {
            return self.check(Dims::from(0), &described(&all)?);
        }
        // SAFETY: the caller's promise.
        unsafe { call(self, blocks.into(), threads.into(), 0, &all) }
    }

    /// The kernel and its arguments as plain data: what a [`CustomOp`] gives as its
    /// [`device_code`], so that the kernel is part of a network and of its recorded CUDA graph.
    ///
    /// Arguments can come in any order. Numbers are put into device memory when the plan is
    /// loaded. Tensors of halves have to have even sizes: nothing is padded.
    ///
    /// [`CustomOp`]: spikelet_graph::op::CustomOp
    /// [`device_code`]: spikelet_graph::op::CustomOp::device_code
    ///
    /// # Errors
    /// If there is not one argument for each parameter, or one is not what its parameter needs.
    ///
    /// ```
    /// use spikelet_auto_cuda::{CKernel1D, Callable, Kernel, cal_blocks};
    /// use spikelet_graph::op::{DeviceArgument, DeviceKernel};
    /// let mut scale = CKernel1D::new("scale");
    /// scale.add_param("const float *", "x")?;
    /// scale.add_param("float *", "y")?;
    /// scale.add_param("const float &", "factor")?;
    /// scale.set_core("y[index] = x[index] * factor;");
    /// let (x, y) = (DeviceArgument::Input(0), DeviceArgument::Output(0));
    /// let args = [("x", x.into()), ("y", y.into()), ("factor", 2.0_f32.into()), ("numel", 999_i32.into())];
    /// let kernel: DeviceKernel = scale.device_kernel(cal_blocks(999, 128) as u32, 128, &args)?;
    /// assert_eq!(kernel.arguments[2], DeviceArgument::Input(0)); // factor, numel, x, y
    /// # Ok::<(), spikelet_auto_cuda::AutoCudaError>(())
    /// ```
    fn device_kernel(
        &self,
        grid: impl Into<Dims>,
        threads: u32,
        args: &[(&str, PlannedArgument)],
    ) -> Result<DeviceKernel, AutoCudaError> {
        planned::device_kernel(self, grid.into(), threads, args)
    }

    /// Checks that all tensors are contiguous.
    ///
    /// # Errors
    /// [`AutoCudaError::NotContiguous`]
    fn set_contiguous(&self, args: &Described<'_>) -> Result<(), AutoCudaError> {
        check::contiguous(self.kernel(), args)
    }

    /// The number of the GPU that the first tensor is on.
    ///
    /// # Errors
    /// [`AutoCudaError::NoTensor`]
    fn get_device(&self, args: &Described<'_>) -> Result<usize, AutoCudaError> {
        check::device(self.kernel(), args)
    }

    /// Checks that all tensors are on this GPU.
    ///
    /// # Errors
    /// [`AutoCudaError::OtherDevice`]
    fn check_device(&self, device: usize, args: &Described<'_>) -> Result<(), AutoCudaError> {
        check::same_device(self.kernel(), device, args)
    }

    /// Checks that there is an argument for each parameter and no other.
    ///
    /// # Errors
    /// [`AutoCudaError::Keys`]
    fn check_keys(&self, args: &Described<'_>) -> Result<(), AutoCudaError> {
        check::keys(self.kernel(), args)
    }

    /// Checks that every argument is of its parameter's type: tensors of f32 for `float`, of f16
    /// for `half2`, of i32 for `int`.
    ///
    /// # Errors
    /// [`AutoCudaError::ArgumentType`], [`AutoCudaError::ParameterType`]
    fn check_ctypes(&self, args: &Described<'_>) -> Result<(), AutoCudaError> {
        check::ctypes(self.kernel(), args)
    }

    /// Checks that tensors for `half2` have even sizes: the second dimension of two in a kernel
    /// over sequences, else the number of elements. A call pads them before.
    ///
    /// # Errors
    /// [`AutoCudaError::OddHalf2`]
    fn check_half2(&self, args: &Described<'_>) -> Result<(), AutoCudaError> {
        check::half2(self.kernel(), args)
    }

    /// The addresses of the tensors in device memory, in the order of the call; none for a number.
    ///
    /// # Errors
    /// If there is not one argument for each parameter.
    fn get_ptrs(&self, args: &[(&str, Argument<'_>)]) -> Result<Vec<Option<u64>>, AutoCudaError> {
        self.check_keys(&describe(self.kernel_name(), args)?)?;
        let address = |name: &String| {
            args.iter().find_map(|(key, argument)| match argument {
                Argument::Tensor(tensor) if key == name => Some(tensor.memory.address()),
                _ => None,
            })
        };
        Ok(self.cparams().keys().map(address).collect())
    }

    /// All checks that a call makes, for a grid of this size.
    ///
    /// # Errors
    /// The first one that fails.
    fn check(&self, grid: Dims, args: &Described<'_>) -> Result<(), AutoCudaError> {
        self.check_keys(args)?;
        self.check_ctypes(args)?;
        self.set_contiguous(args)?;
        let device = self.get_device(args)?;
        self.check_device(device, args)?;
        check::dimensions(self.kernel(), args)?;
        let padded = pad::described(self.kernel(), args);
        self.check_half2(&padded)?;
        self.check_arguments(grid, &padded)
    }
}

impl<K: Kernel + ?Sized> Callable for K {}

/// # Safety
/// As [`Callable::call_with_shared_memory`].
unsafe fn call<K: Kernel + ?Sized>(
    kernel: &K,
    grid: Dims,
    block: Dims,
    shared_bytes: u32,
    args: &[(&str, Argument<'_>)],
) -> Result<(), AutoCudaError> {
    let name = kernel.kernel_name();
    let described = describe(name, args)?;
    kernel.check(grid, &described)?;
    let threads: u64 = block.0.iter().map(|n| u64::from(*n)).product();
    if grid.0.contains(&0) || !(1..=1024).contains(&threads) {
        return Err(AutoCudaError::Launch {
            kernel: name.to_string(),
            grid: grid.0,
            block: block.0,
        });
    }
    let tensors = || {
        args.iter().filter_map(|(name, argument)| match argument {
            Argument::Tensor(tensor) => Some((*name, *tensor)),
            Argument::Int(_) | Argument::Float(_) => None,
        })
    };
    let (_, first) = tensors().next().expect("the device was found by a tensor");
    let cuda = first.memory.cuda();
    if let Some((cname, _)) = tensors().find(|(_, tensor)| !tensor.memory.is_on(cuda)) {
        return Err(AutoCudaError::OtherHandle {
            kernel: name.to_string(),
            cname: cname.to_string(),
            device: cuda.name(),
        });
    }

    let loaded = LoadedKernel::new(cuda, &source(kernel), name)?;
    let padded = pad::tensors(kernel, &described, tensors())?;
    let addresses: Vec<Option<u64>> = kernel
        .get_ptrs(args)?
        .into_iter()
        .zip(kernel.cparams().keys())
        .map(|(address, name)| padded.address(name).or(address))
        .collect();
    let (words, scalars) = words(kernel, &described, &addresses);

    let mut stream = StreamLock::new(cuda)?;
    let base = match scalars.is_empty() {
        true => 0,
        false => stream.upload_scalars(&scalars)?,
    };
    let arguments: Vec<LaunchArg> = words
        .into_iter()
        .map(|word| match word {
            Word::Is(argument) => argument,
            Word::Scalar(offset) => LaunchArg::Address(base + offset),
        })
        .collect();
    padded.fill(&stream)?;
    // SAFETY: there is one argument for each parameter, of its type: checked above. Tensors and
    // numbers are alive until the kernel has run, for freeing waits for it; that it stays inside
    // them is the caller's promise.
    unsafe { stream.launch(&loaded, grid.0, block.0, shared_bytes, &arguments) }?;
    padded.put_back(&stream)
}

/// An argument of a launch.
enum Word {
    Is(LaunchArg),
    /// The address of a number, from the first of them.
    Scalar(u64),
}

/// The arguments of a launch, and the numbers that go to device memory.
fn words<K: Kernel + ?Sized>(
    kernel: &K,
    args: &Described<'_>,
    addresses: &[Option<u64>],
) -> (Vec<Word>, Vec<u8>) {
    let mut scalars = vec![];
    let mut word = |(name, ctype): (&String, &String), address: Option<u64>| {
        if let Some(address) = address {
            return Word::Is(LaunchArg::Address(address));
        }
        let ctype = CType::parse(ctype);
        let bytes = scalar_bytes(ctype.base, &args[name.as_str()]);
        if ctype.passing == Passing::Value {
            return Word::Is(LaunchArg::Word(bytes));
        }
        let offset = scalars.len() as u64;
        scalars.extend(bytes);
        Word::Scalar(offset)
    };
    let params = kernel.cparams().iter();
    let words = params
        .zip(addresses)
        .map(|(param, address)| word(param, *address))
        .collect();
    (words, scalars)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CKernel;
    use crate::Description;
    use crate::params::Base;
    use proptest::prelude::*;
    use spikelet_graph::f16;

    proptest! {
        #[test]
        fn words_stand_in_the_order_of_the_text(
            names in prop::collection::btree_set("[A-Za-z_][A-Za-z0-9_]{0,6}", 1..12),
            turn in any::<prop::sample::Index>(),
        ) {
            let mut names: Vec<String> = names.into_iter().collect();
            let middle = turn.index(names.len());
            names.rotate_left(middle);
            let mut kernel = CKernel::new("k");
            let mut args = Described::new();
            for (value, name) in (0..).zip(&names) {
                // By value and by reference in turn.
                let ctype = if value % 2 == 0 { "int" } else { "const int &" };
                kernel.add_param(ctype, name).unwrap();
                args.insert(name, Description::Int(value));
            }
            let (words, scalars) = words(&kernel, &args, &vec![None; names.len()]);
            let values = words.iter().map(|word| match word {
                Word::Is(LaunchArg::Word(bytes)) => usize::from(bytes[0]),
                Word::Is(other) => panic!("{other:?} for a number"),
                Word::Scalar(offset) => usize::from(scalars[*offset as usize]),
            });
            let given: Vec<&str> = values.map(|value| names[value].as_str()).collect();
            let text = kernel.declaration();
            let printed: Vec<&str> = text
                .lines()
                .filter_map(|line| line.trim().rsplit_once("int "))
                .map(|(_, name)| name.trim_start_matches("& ").trim_end_matches(','))
                .collect();
            prop_assert_eq!(given, printed);
        }
    }

    #[test]
    fn a_half_goes_to_both_places_of_a_pair() {
        let one = f16::ONE.to_le_bytes();
        let pair = scalar_bytes(Some(Base::Half2), &Description::Float(1.0));
        assert_eq!(pair, [one[0], one[1], one[0], one[1]]);
        let float = scalar_bytes(Some(Base::Float), &Description::Float(1.5));
        assert_eq!(float, 1.5_f32.to_le_bytes());
        assert_eq!(
            scalar_bytes(Some(Base::Int), &Description::Int(-2)),
            [254, 255, 255, 255]
        );
    }
}
