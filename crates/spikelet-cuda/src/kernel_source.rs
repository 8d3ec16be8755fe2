//! Device code of one kernel, and its launch geometry.

use spikelet_expr::cuda::{Function, library};
use spikelet_graph::{DType, TensorType};
use spikelet_random::cuda::{NORMAL, NORMAL_FUNCTIONS, PHILOX};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Storage types, packs, loads and stores.
pub(crate) const PACK: &str = include_str!("text/pack.cuh");

/// The memory of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    /// Operand k.
    Read(usize),
    /// Result k.
    Write(usize),
    /// This byte of the kernel's workspace.
    Workspace(usize),
}

/// A pointer that the code uses under `name`.
#[derive(Clone, Debug)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) element: &'static str,
    pub(crate) binding: Binding,
    /// Elements of the tensor.
    elements: usize,
    /// Bytes of the tensor.
    pub(crate) bytes: usize,
}

impl Argument {
    /// Its type in C++.
    pub(crate) fn ctype(&self) -> String {
        let is_const = match self.binding {
            Binding::Read(_) => "const ",
            Binding::Write(_) | Binding::Workspace(_) => "",
        };
        format!("{is_const}{}*", self.element)
    }
}

/// Blocks, threads of a block, bytes of dynamic shared memory.
pub(crate) type LaunchSize = ([u32; 3], u32, u32);

/// The most blocks along x, y and z.
pub(crate) const MAX_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// The most threads of a block.
pub(crate) const MAX_THREADS: u32 = 1024;

/// The most items that a loop can count in 32 bits, with the overshoot at its end.
const MAX_ITEMS: usize = i32::MAX as usize;

/// A size beyond the limits of a launch or of 32-bit indices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "kernel `{kernel}` needs {given} {what}, at most {max} are possible; use a smaller batch, fewer \
     channels or fewer time steps"
)]
pub(crate) struct TooLarge {
    kernel: String,
    what: &'static str,
    given: usize,
    max: usize,
}

/// The distribution of the work over threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Geometry {
    /// `for (Index i = first; i < items; i += stride)` over this many independent items.
    Items(usize),
    /// `for (Index row = warp; row < rows; row += warps)`, `lane` 0 to 31.
    Warps(usize),
    /// A grid of blocks; the code uses `blockIdx` itself.
    Blocks {
        /// Blocks in x, y.
        grid: [usize; 2],
        /// Threads of a block.
        block: usize,
        /// Bytes of dynamic shared memory.
        shared: usize,
    },
}

/// The device code of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct KernelSource {
    /// For error messages and profiles; an identifier.
    pub(crate) name: String,
    /// Device functions before the kernel.
    pub(crate) before: String,
    /// The body.
    pub(crate) body: String,
    /// Elementary functions that the text calls.
    pub(crate) functions: BTreeSet<Function>,
    /// Whether it draws random numbers.
    pub(crate) draws: bool,
    /// Approximate number of dependent memory accesses of an item.
    pub(crate) depth: usize,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) geometry: Geometry,
    /// Blocks of a thread-block cluster; 1 where blocks are independent.
    pub(crate) cluster: usize,
}

/// Threads of a block that runs a loop over items.
const BLOCK: u32 = 256;

/// Threads of the block that runs several small kernels in sequence.
pub(crate) const SMALL_BLOCK: u32 = 1024;

/// The most items of a kernel for which one block costs less than a separate launch.
const SMALL_ITEMS: usize = 16384;

/// The C++ name of an element type.
pub(crate) fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "float",
        DType::F16 => "spk_f16",
        DType::BF16 => "spk_bf16",
        DType::F64 => "double",
        DType::I64 => "long long",
        DType::Bits => "unsigned long long",
        DType::U8 => "unsigned char",
    }
}

impl KernelSource {
    /// A kernel without arguments.
    pub(crate) fn new(name: impl Into<String>, geometry: Geometry) -> Self {
        let name: String = name.into();
        let clean = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        Self {
            name: format!("spk_{}", name.chars().map(clean).collect::<String>()),
            before: String::new(),
            body: String::new(),
            functions: BTreeSet::new(),
            draws: false,
            depth: 1,
            arguments: vec![],
            geometry,
            cluster: 1,
        }
    }

    pub(crate) fn argument(&mut self, name: impl Into<String>, ty: &TensorType, binding: Binding) {
        self.arguments.push(Argument {
            name: name.into(),
            element: element(ty.dtype),
            binding,
            elements: ty.len(),
            bytes: ty.bytes(),
        });
    }

    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.body.push_str(text.as_ref());
        self.body.push('\n');
    }

    /// Bytes of the workspace, from its start, that it accesses.
    pub(crate) fn workspace(&self) -> usize {
        let ends = self
            .arguments
            .iter()
            .map(|argument| match argument.binding {
                Binding::Workspace(at) => at.saturating_add(argument.bytes),
                Binding::Read(_) | Binding::Write(_) => 0,
            });
        ends.max().unwrap_or(0)
    }

    /// Whether it can run in one block with its neighbors.
    pub(crate) fn is_small(&self) -> bool {
        let items = match self.geometry {
            Geometry::Items(items) => items,
            Geometry::Warps(rows) => rows.saturating_mul(32),
            Geometry::Blocks { .. } => return false,
        };
        // Device functions of two kernels may have one name.
        items.saturating_mul(self.depth) <= SMALL_ITEMS && self.before.is_empty()
    }

    /// Threads of a block in a separate launch.
    fn block(&self) -> usize {
        match self.geometry {
            Geometry::Items(_) | Geometry::Warps(_) => BLOCK as usize,
            Geometry::Blocks { block, .. } => block,
        }
    }

    /// The launch of the kernel alone.
    ///
    /// # Errors
    /// If it needs more blocks than a grid can have, or more elements than an index can count.
    pub(crate) fn launch(&self) -> Result<LaunchSize, TooLarge> {
        for argument in &self.arguments {
            self.at_most("elements in a tensor", argument.elements, MAX_ITEMS)?;
        }
        let over = |items: usize| -> Result<LaunchSize, TooLarge> {
            self.at_most("items", items, MAX_ITEMS)?;
            let blocks = items.div_ceil(BLOCK as usize).max(1);
            Ok(([self.blocks(blocks, 0)?, 1, 1], BLOCK, 0))
        };
        match self.geometry {
            Geometry::Items(items) => over(items),
            Geometry::Warps(rows) => over(rows.saturating_mul(32)),
            Geometry::Blocks {
                grid: [x, y],
                block,
                shared,
            } => Ok((
                [self.blocks(x, 0)?, self.blocks(y, 1)?, 1],
                self.at_most("threads in a block", block, MAX_THREADS as usize)?,
                self.at_most("bytes of shared memory", shared, MAX_ITEMS)?,
            )),
        }
    }

    fn blocks(&self, count: usize, axis: usize) -> Result<u32, TooLarge> {
        let what = ["blocks along x", "blocks along y"][axis];
        self.at_most(what, count, MAX_BLOCKS[axis] as usize)
    }

    fn at_most(&self, what: &'static str, given: usize, max: usize) -> Result<u32, TooLarge> {
        let fits = u32::try_from(given).ok().filter(|_| given <= max);
        fits.ok_or_else(|| TooLarge {
            kernel: self.name.clone(),
            what,
            given,
            max,
        })
    }
}

/// The complete source of a kernel.
pub(crate) fn source(kernel: &KernelSource) -> String {
    sections(kernel).map(|(_, text)| text).concat()
}

/// The source in named sections: the common definitions, the kernel's device functions, the kernel.
pub(crate) fn sections(kernel: &KernelSource) -> [(&'static str, String); 3] {
    // Elementwise kernels may read and write the same memory.
    let (restrict, thread) = match kernel.geometry {
        Geometry::Blocks { .. } => (" __restrict__", ""),
        _ => (
            "",
            "  const Index thread = blockIdx.x * blockDim.x + threadIdx.x;
  const Index threads = gridDim.x * blockDim.x;
",
        ),
    };
    let arguments: Vec<String> = kernel
        .arguments
        .iter()
        .map(|a| format!("{}{restrict} {}", a.ctype(), a.name))
        .collect();
    let cluster = match kernel.cluster {
        1 => String::new(),
        blocks => format!("__cluster_dims__({blocks}, 1, 1) "),
    };
    let function_text = function_text(
        &format!("{cluster}{}", kernel.name),
        kernel.block(),
        &arguments,
        &format!("{thread}{}", body(kernel)),
    );
    [
        ("library", library_of(std::slice::from_ref(kernel))),
        ("functions", kernel.before.clone()),
        ("kernel", function_text),
    ]
}

/// The source of a kernel whose single block runs small kernels in sequence.
pub(crate) fn small_source(kernels: &[KernelSource], name: &str) -> String {
    let mut inside =
        String::from("  const Index thread = threadIdx.x;\n  const Index threads = blockDim.x;\n");
    let mut arguments = vec![];
    for (k, kernel) in kernels.iter().enumerate() {
        if k > 0 {
            inside.push_str("  __syncthreads();\n");
        }
        let _ = writeln!(
            inside,
            "  {{\n{}{}  }}",
            aliases(kernel, &mut arguments),
            body(kernel)
        );
    }
    prelude(kernels) + &function_text(name, SMALL_BLOCK as usize, &arguments, &inside)
}

/// The source and the launch of a kernel that runs kernels horizontally, each in separate blocks.
///
/// # Errors
/// As [`KernelSource::launch`], for one of the kernels or for all together.
pub(crate) fn wide_source(
    kernels: &[KernelSource],
    name: &str,
) -> Result<(String, LaunchSize), TooLarge> {
    let mut inside = String::new();
    let mut arguments = vec![];
    let mut first = 0;
    for kernel in kernels {
        let blocks = kernel.launch()?.0[0];
        let end = kernel.blocks(first as usize + blocks as usize, 0)?;
        let _ = writeln!(
            inside,
            "  if (blockIdx.x >= {first}u && blockIdx.x < {end}u) {{
  const Index thread = (blockIdx.x - {first}u) * blockDim.x + threadIdx.x;
  const Index threads = {blocks}u * blockDim.x;
{}{}  }}",
            aliases(kernel, &mut arguments),
            body(kernel)
        );
        first = end;
    }
    let source = prelude(kernels) + &function_text(name, BLOCK as usize, &arguments, &inside);
    Ok((source, ([first, 1, 1], BLOCK, 0)))
}

/// Declares a kernel's names for its arguments, and appends them to those of the fused kernel.
fn aliases(kernel: &KernelSource, arguments: &mut Vec<String>) -> String {
    let mut text = String::new();
    for a in &kernel.arguments {
        let at = arguments.len();
        let ty = a.ctype();
        let _ = writeln!(text, "  {ty} const {} = a{at};", a.name);
        arguments.push(format!("{ty} a{at}"));
    }
    text
}

/// The definition of a kernel with the body `inside`.
fn function_text(name: &str, block: usize, arguments: &[String], inside: &str) -> String {
    format!(
        "extern \"C\" __global__ void __launch_bounds__({block}) {name}({}) {{\n{inside}}}\n",
        arguments.join(", ")
    )
}

/// The definitions that precede the fused kernel.
fn prelude(kernels: &[KernelSource]) -> String {
    let texts = kernels.iter().map(|kernel| kernel.before.as_str());
    texts.fold(library_of(kernels), |text, before| text + before)
}

/// The common definitions that the kernels need: element types, elementary functions, random numbers.
fn library_of(kernels: &[KernelSource]) -> String {
    let mut functions = BTreeSet::new();
    let mut text = String::from("typedef unsigned Index;\n");
    text.push_str(PACK);
    for kernel in kernels {
        functions.extend(kernel.functions.iter().copied());
    }
    text.push_str(&library(&functions));
    if kernels.iter().any(|p| p.draws) {
        text.push_str(PHILOX);
        if NORMAL_FUNCTIONS.iter().all(|f| functions.contains(f)) {
            text.push_str(NORMAL);
        }
    }
    text
}

/// The body with its loop.
fn body(kernel: &KernelSource) -> String {
    let head = match kernel.geometry {
        Geometry::Items(items) => {
            format!("  for (Index i = thread; i < {items}u; i += threads) {{\n")
        }
        Geometry::Warps(rows) => format!(
            "  const Index lane = thread % 32;\n  for (Index row = thread / 32; row < {rows}u; row += threads / 32) {{\n"
        ),
        Geometry::Blocks { .. } => return kernel.body.clone(),
    };
    format!("{head}{}  }}\n", kernel.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(geometry: Geometry) -> Result<LaunchSize, &'static str> {
        KernelSource::new("k", geometry)
            .launch()
            .map_err(|e| e.what)
    }

    #[test]
    fn a_launch_beyond_the_limits_of_a_grid_or_an_index_is_rejected() {
        let blocks = |x: usize, y: usize| Geometry::Blocks {
            grid: [x, y],
            block: 128,
            shared: 0,
        };
        let max = i32::MAX as usize;
        assert_eq!(launch(Geometry::Items(max)), Ok(([1 << 23, 1, 1], 256, 0)));
        assert_eq!(launch(Geometry::Items(max + 1)), Err("items"));
        assert_eq!(launch(Geometry::Items(1 << 33)), Err("items"));
        assert_eq!(launch(Geometry::Warps(1 << 26)), Err("items"));
        assert_eq!(launch(Geometry::Warps(usize::MAX)), Err("items"));
        assert_eq!(
            launch(blocks(max, 65535)),
            Ok(([i32::MAX as u32, 65535, 1], 128, 0))
        );
        assert_eq!(launch(blocks(max + 1, 1)), Err("blocks along x"));
        assert_eq!(launch(blocks((1 << 32) + 1, 1)), Err("blocks along x"));
        assert_eq!(launch(blocks(1, 65536)), Err("blocks along y"));
    }

    #[test]
    fn a_workspace_tensor_beyond_32_bit_indices_is_rejected() {
        let mut kernel = KernelSource::new("k", Geometry::Items(8));
        let partial = TensorType::new(DType::F32, [3, 1 << 30]);
        kernel.argument("partial", &partial, Binding::Workspace(0));
        let error = kernel.launch().unwrap_err();
        assert_eq!((error.what, error.given), ("elements in a tensor", 3 << 30));
    }

    #[test]
    fn kernels_with_device_functions_share_no_launch() {
        for geometry in [Geometry::Items(8), Geometry::Warps(8)] {
            let mut kernel = KernelSource::new("k", geometry);
            assert!(kernel.is_small());
            kernel.before = "__device__ void f() {}".to_string();
            assert!(!kernel.is_small());
        }
    }

    #[test]
    fn horizontally_fused_kernels_share_one_grid() {
        let large = KernelSource::new("k", Geometry::Items(i32::MAX as usize));
        let together = |count: usize| wide_source(&vec![large.clone(); count], "wide");
        assert_eq!(together(2).unwrap().1.0, [1 << 24, 1, 1]);
        assert_eq!(together(256).unwrap_err().what, "blocks along x");
    }
}
