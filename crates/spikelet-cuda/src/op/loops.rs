//! Loops: the kernels of the body run once for each step, in the same memory at every step.
//!
//! A number in device memory counts the steps. Before the first step, pieces of the sequences are copied to
//! buffers; after each step one kernel stores the pieces of the results and loads those of the next step. The
//! kernels of the body therefore do not depend on the step, and pieces are aligned whatever their size. They are
//! launched once for each step, or recorded once for a loop in a CUDA graph ([`crate::while_nodes`]).

use super::{CudaKernel, Lowered, LoweredOp, LoweringContext};
use crate::kernel_source::{Binding, Geometry, KernelSource};
use spikelet_graph::op::Loop;
use spikelet_graph::{DType, Result, TensorType};

/// The most operations of a loop that is written out: each is planned and launched by itself.
const UNROLLED_OPERATIONS: usize = 4096;

/// The bytes of what a step of such a loop would copy, at least: of smaller ones many kernels share a launch, whose
/// source text would be long.
const UNROLLED_BYTES: usize = 256 << 10;

/// Whether a loop is written out, so that its pieces are not copied.
pub(crate) fn unrolls(steps: usize, operations: usize, bytes: usize) -> bool {
    bytes >= UNROLLED_BYTES && steps.saturating_mul(operations) <= UNROLLED_OPERATIONS
}

/// Alignment of the pieces.
pub(crate) const ALIGNMENT: usize = 256;

/// The most tensors that one kernel copies: its arguments occupy at most 4 KiB.
const MAX_COPIES: usize = 128;

/// The memory of a loop in its workspace, behind the arena of the body. Offsets are from the start of the
/// workspace.
pub(crate) struct LoopMemory {
    /// The step, i64.
    pub(crate) counter: usize,
    /// The pieces of the sequences.
    pub(crate) sequences: Vec<usize>,
    /// The pieces of the stacked results.
    pub(crate) stacked: Vec<usize>,
    /// The end of the last piece.
    pub(crate) end: usize,
}

impl LoopMemory {
    /// The memory of a loop whose body has an arena of this many bytes.
    pub(crate) fn new(op: &Loop, arena_bytes: usize) -> Self {
        let graph = op.body.graph();
        let start = arena_bytes.checked_next_multiple_of(ALIGNMENT);
        let counter = start.unwrap_or(usize::MAX);
        let mut end = counter.saturating_add(ALIGNMENT);
        let mut place = |v| {
            let offset = end;
            let bytes = graph.ty(v).bytes().checked_next_multiple_of(ALIGNMENT);
            end = end.saturating_add(bytes.unwrap_or(usize::MAX));
            offset
        };
        let sequences = op.body.sequence_inputs().map(&mut place).collect();
        let stacked = op.body.stacked_outputs().map(&mut place).collect();
        Self {
            counter,
            sequences,
            stacked,
            end,
        }
    }
}

impl CudaKernel for Loop {
    /// The workspace is that behind the arena of the body.
    fn lower<'a>(&'a self, _: &'a LoweringContext<'_>) -> Result<Lowered<'a>> {
        let memory = LoopMemory::new(self, 0);
        Ok(Lowered::new(memory.end, || Ok(vec![LoweredOp::Repeat])))
    }
}

/// The step whose pieces a copy reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Neither operand is a sequence.
    Whole,
    /// Reads the piece of the current step.
    Load,
    /// Reads the piece of the next step, if there is one.
    LoadNext,
    /// Writes the piece of the current step.
    Store,
}

/// The copy of one piece.
#[derive(Clone, Debug)]
pub(crate) struct PieceCopy {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The type of the piece.
    pub(crate) ty: TensorType,
    pub(crate) piece: Piece,
}

/// Kernels that copy pieces, with the addresses of their arguments and the bytes behind them; `counter` is the
/// address of the step.
pub(crate) fn copy_kernels(
    op: &Loop,
    counter: u64,
    copies: &[PieceCopy],
) -> Vec<(KernelSource, Vec<(u64, usize)>)> {
    let copies: Vec<&PieceCopy> = copies.iter().filter(|c| c.ty.bytes() > 0).collect();
    let chunks = copies.chunks(MAX_COPIES);
    chunks
        .map(|copies| copy_kernel(op, counter, copies))
        .collect()
}

fn copy_kernel(
    op: &Loop,
    counter: u64,
    copies: &[&PieceCopy],
) -> (KernelSource, Vec<(u64, usize)>) {
    let words = |copy: &PieceCopy| -> (&str, usize) {
        let bytes = copy.ty.bytes();
        let widths = [
            ("uint4", 16),
            ("uint2", 8),
            ("unsigned", 4),
            ("unsigned short", 2),
        ];
        let width = widths
            .into_iter()
            .find(|(_, width)| bytes.is_multiple_of(*width));
        let (name, width) = width.unwrap_or(("unsigned char", 1));
        (name, bytes / width)
    };
    let items = copies.iter().map(|copy| words(copy).1);
    let items = items.fold(0, usize::saturating_add);
    let mut kernel = KernelSource::new("loop_pieces", Geometry::Items(items));
    let number = TensorType::new(DType::I64, [1]);
    kernel.argument("counter", &number, Binding::Read(0));
    let mut addresses = vec![(counter, 8)];
    let length = op.length;
    let at = |n: &str| match op.reverse {
        true => format!("({length}ull - 1ull - ({n}))"),
        false => format!("({n})"),
    };
    kernel.line("    const unsigned long long n = (unsigned long long)counter[0];");
    let mut first = 0;
    for (k, copy) in copies.iter().enumerate() {
        let (word, count) = words(copy);
        let (from, to) = (format!("from{k}"), format!("to{k}"));
        let whole = copy.ty.bytes().saturating_mul(length);
        let bytes = |sequence: bool| if sequence { whole } else { copy.ty.bytes() };
        let store = copy.piece == Piece::Store;
        kernel.argument(&from, &copy.ty, Binding::Read(1 + k));
        addresses.push((
            copy.from,
            bytes(matches!(copy.piece, Piece::Load | Piece::LoadNext)),
        ));
        kernel.argument(&to, &copy.ty, Binding::Write(k));
        addresses.push((copy.to, bytes(store)));
        let (read, write, guard) = match copy.piece {
            Piece::Whole => (String::new(), String::new(), ""),
            Piece::Load => (format!("{} * {count}ull + ", at("n")), String::new(), ""),
            Piece::LoadNext => (
                format!("{} * {count}ull + ", at("n + 1ull")),
                String::new(),
                " && n + 1ull < LENGTH",
            ),
            Piece::Store => (String::new(), format!("{} * {count}ull + ", at("n")), ""),
        };
        let guard = guard.replace("LENGTH", &format!("{length}ull"));
        let last = first + count;
        kernel.line(format!(
            "    if (i >= {first}u && i < {last}u{guard})
      (({word}*){to})[{write}(i - {first}u)] = ((const {word}*){from})[{read}(i - {first}u)];"
        ));
        first = last;
    }
    (kernel, addresses)
}

/// The kernel that counts a step, with the address of its argument.
pub(crate) fn advance(counter: u64) -> (KernelSource, Vec<(u64, usize)>) {
    let mut kernel = KernelSource::new("loop_step", Geometry::Items(1));
    let number = TensorType::new(DType::I64, [1]);
    kernel.argument("counter", &number, Binding::Write(0));
    kernel.line("    counter[i] += 1;");
    (kernel, vec![(counter, 8)])
}
