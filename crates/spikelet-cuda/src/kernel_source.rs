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
pub(crate) type Launched = ([u32; 3], u32, u32);

/// The most blocks along x, y and z.
pub(crate) const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// The most threads of a block.
pub(crate) const MOST_THREADS: u32 = 1024;

/// The most items that a loop can count in 32 bits, with the overshoot at its end.
const MOST_ITEMS: usize = i32::MAX as usize;

/// A size beyond the limits of a launch or of 32-bit indices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "kernel `{kernel}` needs {given} {what}, at most {most} are possible; use a smaller batch, fewer \
     channels or fewer time steps"
)]
pub(crate) struct TooLarge {
    kernel: String,
    what: &'static str,
    given: usize,
    most: usize,
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

    /// Whether it can run in one block with its neighbors.
    pub(crate) fn is_small(&self) -> bool {
        match self.geometry {
            Geometry::Items(items) => items * self.depth <= SMALL_ITEMS && self.before.is_empty(),
            Geometry::Warps(rows) => 32 * rows * self.depth <= SMALL_ITEMS,
            Geometry::Blocks { .. } => false,
        }
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
    pub(crate) fn launch(&self) -> Result<Launched, TooLarge> {
        for argument in &self.arguments {
            self.at_most("elements in a tensor", argument.elements, MOST_ITEMS)?;
        }
        let over = |items: usize| -> Result<Launched, TooLarge> {
            self.at_most("items", items, MOST_ITEMS)?;
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
                self.at_most("threads in a block", block, MOST_THREADS as usize)?,
                self.at_most("bytes of shared memory", shared, MOST_ITEMS)?,
            )),
        }
    }

    fn blocks(&self, count: usize, axis: usize) -> Result<u32, TooLarge> {
        let what = ["blocks along x", "blocks along y"][axis];
        self.at_most(what, count, MOST_BLOCKS[axis] as usize)
    }

    fn at_most(&self, what: &'static str, given: usize, most: usize) -> Result<u32, TooLarge> {
        let fits = u32::try_from(given).ok().filter(|_| given <= most);
        fits.ok_or_else(|| TooLarge {
            kernel: self.name.clone(),
            what,
            given,
            most,
        })
    }
}

/// The complete source of a kernel.
pub(crate) fn source(piece: &KernelSource) -> String {
    sections(piece).map(|(_, text)| text).concat()
}

/// The source in named sections: the common definitions, the kernel's device functions, the kernel.
pub(crate) fn sections(piece: &KernelSource) -> [(&'static str, String); 3] {
    // Elementwise kernels may read and write the same memory.
    let (restrict, thread) = match piece.geometry {
        Geometry::Blocks { .. } => (" __restrict__", ""),
        _ => (
            "",
            "  const Index thread = blockIdx.x * blockDim.x + threadIdx.x;
  const Index threads = gridDim.x * blockDim.x;
",
        ),
    };
    let arguments: Vec<String> = piece
        .arguments
        .iter()
        .map(|a| format!("{}{restrict} {}", a.ctype(), a.name))
        .collect();
    let kernel = kernel(
        &piece.name,
        piece.block(),
        &arguments,
        &format!("{thread}{}", body(piece)),
    );
    [
        ("library", library_of(std::slice::from_ref(piece))),
        ("functions", piece.before.clone()),
        ("kernel", kernel),
    ]
}

/// The source of a kernel whose single block runs small kernels in sequence.
pub(crate) fn small_source(pieces: &[KernelSource], name: &str) -> String {
    let mut inside =
        String::from("  const Index thread = threadIdx.x;\n  const Index threads = blockDim.x;\n");
    let mut arguments = vec![];
    for (k, piece) in pieces.iter().enumerate() {
        if k > 0 {
            inside.push_str("  __syncthreads();\n");
        }
        let _ = writeln!(
            inside,
            "  {{\n{}{}  }}",
            aliases(piece, &mut arguments),
            body(piece)
        );
    }
    prelude(pieces) + &kernel(name, SMALL_BLOCK as usize, &arguments, &inside)
}

/// The source and the launch of a kernel that runs kernels horizontally, each in separate blocks.
///
/// # Errors
/// As [`KernelSource::launch`], for one of the kernels or for all together.
pub(crate) fn wide_source(
    pieces: &[KernelSource],
    name: &str,
) -> Result<(String, Launched), TooLarge> {
    let mut inside = String::new();
    let mut arguments = vec![];
    let mut first = 0;
    for piece in pieces {
        let blocks = piece.launch()?.0[0];
        let end = piece.blocks(first as usize + blocks as usize, 0)?;
        let _ = writeln!(
            inside,
            "  if (blockIdx.x >= {first}u && blockIdx.x < {end}u) {{
  const Index thread = (blockIdx.x - {first}u) * blockDim.x + threadIdx.x;
  const Index threads = {blocks}u * blockDim.x;
{}{}  }}",
            aliases(piece, &mut arguments),
            body(piece)
        );
        first = end;
    }
    let source = prelude(pieces) + &kernel(name, BLOCK as usize, &arguments, &inside);
    Ok((source, ([first, 1, 1], BLOCK, 0)))
}

/// A piece's names for its arguments, which join those of the kernel.
fn aliases(piece: &KernelSource, arguments: &mut Vec<String>) -> String {
    let mut text = String::new();
    for a in &piece.arguments {
        let at = arguments.len();
        let ty = a.ctype();
        let _ = writeln!(text, "  {ty} const {} = a{at};", a.name);
        arguments.push(format!("{ty} a{at}"));
    }
    text
}

/// A kernel around what is `inside`.
fn kernel(name: &str, block: usize, arguments: &[String], inside: &str) -> String {
    format!(
        "extern \"C\" __global__ void __launch_bounds__({block}) {name}({}) {{\n{inside}}}\n",
        arguments.join(", ")
    )
}

/// What all pieces need before the kernel.
fn prelude(pieces: &[KernelSource]) -> String {
    let own = pieces.iter().map(|piece| piece.before.as_str());
    own.fold(library_of(pieces), |text, before| text + before)
}

/// What pieces call that is not their own.
fn library_of(pieces: &[KernelSource]) -> String {
    let mut functions = BTreeSet::new();
    let mut text = String::from("typedef unsigned Index;\n");
    text.push_str(PACK);
    for piece in pieces {
        functions.extend(piece.functions.iter().copied());
    }
    text.push_str(&library(&functions));
    if pieces.iter().any(|p| p.draws) {
        text.push_str(PHILOX);
        if NORMAL_FUNCTIONS.iter().all(|f| functions.contains(f)) {
            text.push_str(NORMAL);
        }
    }
    text
}

/// The body with its loop.
fn body(piece: &KernelSource) -> String {
    let head = match piece.geometry {
        Geometry::Items(items) => {
            format!("  for (Index i = thread; i < {items}u; i += threads) {{\n")
        }
        Geometry::Warps(rows) => format!(
            "  const Index lane = thread % 32;\n  for (Index row = thread / 32; row < {rows}u; row += threads / 32) {{\n"
        ),
        Geometry::Blocks { .. } => return piece.body.clone(),
    };
    format!("{head}{}  }}\n", piece.body)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(geometry: Geometry) -> Result<Launched, &'static str> {
        KernelSource::new("k", geometry)
            .launch()
            .map_err(|e| e.what)
    }

    #[test]
    fn a_launch_is_refused_where_a_grid_or_an_index_ends() {
        let blocks = |x: usize, y: usize| Geometry::Blocks {
            grid: [x, y],
            block: 128,
            shared: 0,
        };
        let most = i32::MAX as usize;
        assert_eq!(launch(Geometry::Items(most)), Ok(([1 << 23, 1, 1], 256, 0)));
        assert_eq!(launch(Geometry::Items(most + 1)), Err("items"));
        assert_eq!(launch(Geometry::Items(1 << 33)), Err("items"));
        assert_eq!(launch(Geometry::Warps(1 << 26)), Err("items"));
        assert_eq!(launch(Geometry::Warps(usize::MAX)), Err("items"));
        assert_eq!(
            launch(blocks(most, 65535)),
            Ok(([i32::MAX as u32, 65535, 1], 128, 0))
        );
        assert_eq!(launch(blocks(most + 1, 1)), Err("blocks along x"));
        assert_eq!(launch(blocks((1 << 32) + 1, 1)), Err("blocks along x"));
        assert_eq!(launch(blocks(1, 65536)), Err("blocks along y"));
    }

    #[test]
    fn a_tensor_of_scratch_memory_that_no_index_reaches_is_refused() {
        let mut piece = KernelSource::new("k", Geometry::Items(8));
        let partial = TensorType::new(DType::F32, [3, 1 << 30]);
        piece.argument("partial", &partial, Binding::Workspace(0));
        let refused = piece.launch().unwrap_err();
        assert_eq!(
            (refused.what, refused.given),
            ("elements in a tensor", 3 << 30)
        );
    }

    #[test]
    fn pieces_side_by_side_have_one_grid_together() {
        let large = KernelSource::new("k", Geometry::Items(i32::MAX as usize));
        let together = |count: usize| wide_source(&vec![large.clone(); count], "wide");
        assert_eq!(together(2).unwrap().1.0, [1 << 24, 1, 1]);
        assert_eq!(together(256).unwrap_err().what, "blocks along x");
    }
}
