//! A kernel with its arguments, ready to be launched.

use crate::error::{Context, failure};
use crate::gpu::Gpu;
use crate::library::driver::{Function, NewDriver, Stream};
use spikelet_graph::Result;
use std::ffi::c_void;
use std::sync::Arc;

/// Whether to wait for each kernel, so that an error names the one that failed.
pub(crate) fn is_checked() -> bool {
    std::env::var_os("SPIKELET_CUDA_CHECK").is_some_and(|v| !v.is_empty() && v != "0")
}

/// One launch.
#[derive(Clone)]
pub(crate) struct Launch {
    pub(crate) name: String,
    pub(crate) function: Arc<Function>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    /// The bytes of the arguments, each in separate words.
    words: Vec<u64>,
    arguments: Vec<Argument>,
}

/// The first word of an argument, and its size in bytes.
#[derive(Clone, Copy)]
struct Argument {
    first: usize,
    bytes: usize,
    /// Whether it is the name of an address, which a run replaces.
    is_name: bool,
}

/// An upper bound on the number of a kernel's parameters, which occupy at most 32 KiB.
const MAX_PARAMETERS: usize = 1 << 15;

impl Launch {
    pub(crate) fn new(
        name: &str,
        function: Arc<Function>,
        grid: [u32; 3],
        block: [u32; 3],
    ) -> Self {
        Self {
            name: name.to_string(),
            function,
            grid,
            block,
            shared: 0,
            words: vec![],
            arguments: vec![],
        }
    }

    /// Adds an address or a size.
    pub(crate) fn word(&mut self, word: u64) {
        self.argument(&[word], 8, false);
    }

    /// Adds the name of an address, which [`Launch::run`] replaces.
    pub(crate) fn name(&mut self, name: u64) {
        self.argument(&[name], 8, true);
    }

    /// Adds an argument of any size.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let words: Vec<u64> = bytes.chunks(8).map(word_of).collect();
        self.argument(&words, bytes.len(), false);
    }

    fn argument(&mut self, words: &[u64], bytes: usize, is_name: bool) {
        let first = self.words.len();
        self.words.extend(words);
        self.arguments.push(Argument {
            first,
            bytes,
            is_name,
        });
    }

    /// Checks that the kernel has parameters of the arguments' sizes: the driver reads the size of the
    /// parameter from each argument.
    pub(crate) fn check_arguments(&self, gpu: &Gpu) -> Result<()> {
        let parameters = parameters(gpu, &self.function)?;
        let arguments: Vec<usize> = self.arguments.iter().map(|a| a.bytes).collect();
        match mismatch(&arguments, &parameters) {
            Some(problem) => Err(failure(
                &gpu.name,
                format!("kernel `{}` {problem}", self.name),
            )),
            None => Ok(()),
        }
    }

    /// Starts the kernel on a stream of the GPU's context, which is current, with the `address` of each name.
    ///
    /// # Safety
    /// The arguments must match the kernel's parameters, and point to memory that is large enough and
    /// alive until the kernel has finished.
    pub(crate) unsafe fn run(
        &self,
        gpu: &Gpu,
        stream: &Stream,
        address: impl Fn(u64) -> u64,
    ) -> Result<()> {
        /// Words of the arguments of most kernels, so that nothing is allocated.
        const FEW: usize = 48;
        let (mut few, mut many) = ([0_u64; FEW], vec![]);
        let words = match self.words.len() {
            count @ 0..=FEW => &mut few[..count],
            count => {
                many.resize(count, 0);
                &mut many[..]
            }
        };
        words.copy_from_slice(&self.words);
        for argument in self.arguments.iter().filter(|argument| argument.is_name) {
            words[argument.first] = address(words[argument.first]);
        }
        let (mut few, mut many) = ([std::ptr::null_mut::<c_void>(); FEW], vec![]);
        let arguments = match self.arguments.len() {
            count @ 0..=FEW => &mut few[..count],
            count => {
                many.resize(count, std::ptr::null_mut());
                &mut many[..]
            }
        };
        let start = words.as_mut_ptr();
        for (to, argument) in arguments.iter_mut().zip(&self.arguments) {
            *to = start.wrapping_add(argument.first).cast();
        }
        // SAFETY: the caller's promise.
        unsafe { (self.function).start(self.grid, self.block, self.shared, stream, arguments) }
            .with_context(&gpu.name, || format!("starting kernel `{}`", self.name))
    }
}

/// Up to eight bytes in memory order, padded with zeros.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}

/// The bytes of each of a kernel's parameters.
fn parameters(gpu: &Gpu, function: &Function) -> Result<Vec<usize>> {
    let driver = NewDriver::get().map_err(|_| {
        failure(
            &gpu.name,
            "the driver cannot list the parameters of a kernel, which are checked before a kernel of a \
             custom operation runs; install a driver for CUDA 12.4 or later from nvidia.com/drivers",
        )
    })?;
    let mut sizes = vec![];
    for k in 0..MAX_PARAMETERS {
        let bytes = function.parameter(driver, k);
        match bytes.context(&gpu.name, "querying a kernel's parameters")? {
            Some(bytes) => sizes.push(bytes),
            None => break,
        }
    }
    Ok(sizes)
}

/// The difference between arguments and parameters, if any.
fn mismatch(arguments: &[usize], parameters: &[usize]) -> Option<String> {
    if arguments.len() != parameters.len() {
        return Some(format!(
            "has {} parameters, {} arguments were given; pass one for each",
            parameters.len(),
            arguments.len()
        ));
    }
    let k = (0..arguments.len()).find(|&k| arguments[k] != parameters[k])?;
    Some(format!(
        "has a parameter {k} (counted from 0) of {} bytes, an argument of {} bytes was given; a pointer \
         or a reference has 8 bytes, a value the size of its type",
        parameters[k], arguments[k]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_of_any_size_is_stored_in_separate_words() {
        assert_eq!(
            word_of(&1.0_f32.to_ne_bytes()).to_ne_bytes()[..4],
            1.0_f32.to_ne_bytes()
        );
        assert_eq!(word_of(&[]), 0);
        let bytes: Vec<u8> = (1..=12).collect();
        let words: Vec<u64> = bytes.chunks(8).map(word_of).collect();
        let back: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        assert_eq!(back, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 0, 0]);
    }

    #[test]
    fn arguments_that_do_not_match_the_parameters_are_rejected() {
        assert_eq!(mismatch(&[8, 4], &[8, 4]), None);
        let text =
            |arguments: &[usize], parameters: &[usize]| mismatch(arguments, parameters).unwrap();
        let numbers = |text: String| -> Vec<usize> {
            let words = text.split(|c: char| !c.is_ascii_digit());
            words.filter_map(|word| word.parse().ok()).collect()
        };
        assert_eq!(numbers(text(&[8], &[8, 4])), [2, 1]);
        // Parameter 1, counted from 0, has 4 bytes; its argument has 8.
        assert!(numbers(text(&[8, 8], &[8, 4])).starts_with(&[1, 0, 4, 8]));
    }
}
