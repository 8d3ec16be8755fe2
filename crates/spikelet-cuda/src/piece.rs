//! Device code of one operation, and how its threads are laid out.

use spikelet_expr::cuda::{Function, library};
use spikelet_graph::{DType, TensorType};
use spikelet_random::cuda::{NORMAL, NORMAL_FUNCTIONS, PHILOX};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Storage types, packs, loads and stores.
pub(crate) const PACK: &str = include_str!("text/pack.cuh");

/// What an argument leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
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
    pub(crate) leads: Leads,
}

impl Argument {
    /// Its type in C++.
    pub(crate) fn ctype(&self) -> String {
        let is_const = match self.leads {
            Leads::Read(_) => "const ",
            Leads::Write(_) | Leads::Workspace(_) => "",
        };
        format!("{is_const}{}*", self.element)
    }
}

/// Blocks, threads of a block, bytes of dynamic shared memory.
pub(crate) type Launched = ([u32; 3], u32, u32);

/// How threads share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Geometry {
    /// `for (Index i = first; i < items; i += stride)` over this many independent items.
    Items(usize),
    /// `for (Index row = warp; row < rows; row += warps)`, `lane` 0 to 31.
    Warps(usize),
    /// The code knows its blocks itself.
    Blocks {
        /// Blocks in x, y.
        grid: [usize; 2],
        /// Threads of a block.
        block: u32,
        /// Bytes of dynamic shared memory.
        shared: u32,
    },
}

/// The device code of one kernel.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// For error messages and profiles; an identifier.
    pub(crate) name: String,
    /// What stands before the kernel: device functions of its own.
    pub(crate) before: String,
    /// The body.
    pub(crate) body: String,
    /// Elementary functions that the text calls.
    pub(crate) functions: BTreeSet<Function>,
    /// Whether it draws random numbers.
    pub(crate) draws: bool,
    /// Dependent memory accesses of an item, roughly.
    pub(crate) depth: usize,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) geometry: Geometry,
}

/// Threads of a block that runs a loop over items.
const BLOCK: usize = 256;

/// Threads of the one block that runs several small pieces in turn.
pub(crate) const SMALL_BLOCK: usize = 1024;

/// A run of small pieces costs less in one block than the launches that it saves.
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

impl Piece {
    /// A piece without arguments yet.
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

    pub(crate) fn argument(&mut self, name: impl Into<String>, ty: &TensorType, leads: Leads) {
        self.arguments.push(Argument {
            name: name.into(),
            element: element(ty.dtype),
            leads,
        });
    }

    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.body.push_str(text.as_ref());
        self.body.push('\n');
    }

    /// Whether it can share one block with its neighbours.
    pub(crate) fn is_small(&self) -> bool {
        match self.geometry {
            Geometry::Items(items) => items * self.depth <= SMALL_ITEMS && self.before.is_empty(),
            Geometry::Warps(rows) => 32 * rows * self.depth <= SMALL_ITEMS,
            Geometry::Blocks { .. } => false,
        }
    }

    /// The launch of a kernel of its own.
    pub(crate) fn launch(&self) -> Launched {
        let blocks = |items: usize| [items.div_ceil(BLOCK).clamp(1, 1 << 30) as u32, 1, 1];
        match self.geometry {
            Geometry::Items(items) => (blocks(items), BLOCK as u32, 0),
            Geometry::Warps(rows) => (blocks(rows * 32), BLOCK as u32, 0),
            Geometry::Blocks {
                grid,
                block,
                shared,
            } => ([grid[0] as u32, grid[1] as u32, 1], block, shared),
        }
    }
}

/// The whole source of a kernel that runs one piece.
pub(crate) fn source(piece: &Piece) -> String {
    sections(piece).map(|(_, text)| text).concat()
}

/// The source in sections, with what to call them: what all kernels share, device functions of its
/// own, the kernel.
pub(crate) fn sections(piece: &Piece) -> [(&'static str, String); 3] {
    // Elementwise pieces may read and write the same memory.
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
    let (_, block, _) = piece.launch();
    let kernel = kernel(
        &piece.name,
        block as usize,
        &arguments,
        &format!("{thread}{}", body(piece)),
    );
    [
        ("library", library_of(std::slice::from_ref(piece))),
        ("functions", piece.before.clone()),
        ("kernel", kernel),
    ]
}

/// The source of a kernel whose one block runs small pieces in turn.
pub(crate) fn small_source(pieces: &[Piece], name: &str) -> String {
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
    prelude(pieces) + &kernel(name, SMALL_BLOCK, &arguments, &inside)
}

/// The source and the launch of a kernel that runs pieces side by side, each in blocks of its own.
pub(crate) fn wide_source(pieces: &[Piece], name: &str) -> (String, Launched) {
    let mut inside = String::new();
    let mut arguments = vec![];
    let mut first = 0;
    for piece in pieces {
        let blocks = piece.launch().0[0];
        let end = first + blocks;
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
    let source = prelude(pieces) + &kernel(name, BLOCK, &arguments, &inside);
    (source, ([first, 1, 1], BLOCK as u32, 0))
}

/// A piece's names for its arguments, which join those of the kernel.
fn aliases(piece: &Piece, arguments: &mut Vec<String>) -> String {
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
fn prelude(pieces: &[Piece]) -> String {
    let own = pieces.iter().map(|piece| piece.before.as_str());
    own.fold(library_of(pieces), |text, before| text + before)
}

/// What pieces call that is not their own.
fn library_of(pieces: &[Piece]) -> String {
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
fn body(piece: &Piece) -> String {
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
