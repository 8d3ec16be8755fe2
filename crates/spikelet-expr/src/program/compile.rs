//! Compilation to instructions: common subexpressions, hoisting, fusion, register allocation.

use super::{Arith, Code, CompileError, Instruction, Program, Reg};
use crate::expr::{Binary, Expr};
use crate::interner::{Interner, Key};
use std::collections::{HashMap, VecDeque};

/// How often a value is computed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rate {
    /// Once, before the program runs.
    Uniform,
    /// In every block.
    Varying,
}

/// An instruction whose operands are still nodes, not registers.
#[derive(Clone)]
enum VirtualInstr {
    Unary(crate::unary::Unary, usize),
    Binary(Binary, usize, usize),
    Fused2([Arith; 2], [usize; 3]),
    Fused3([Arith; 3], [usize; 4]),
    Select([usize; 3]),
    CmpSelect(Binary, [usize; 4]),
    /// A selection, and the node of the comparison that it also stores.
    CmpSelect2(Binary, [usize; 4], usize),
}

impl VirtualInstr {
    fn reads(&self) -> Vec<usize> {
        match self {
            Self::Unary(_, a) => vec![*a],
            Self::Binary(_, a, b) => vec![*a, *b],
            Self::Fused2(_, abc) | Self::Select(abc) => abc.to_vec(),
            Self::Fused3(_, abcd) | Self::CmpSelect(_, abcd) | Self::CmpSelect2(_, abcd, _) => {
                abcd.to_vec()
            }
        }
    }

    fn code(&self, reg: &dyn Fn(usize) -> Reg) -> Code {
        match self {
            Self::Unary(op, a) => Code::Unary(*op, reg(*a)),
            Self::Binary(op, a, b) => Code::Binary(*op, reg(*a), reg(*b)),
            Self::Fused2(ops, abc) => Code::Fused2(*ops, abc.map(reg)),
            Self::Fused3(ops, abcd) => Code::Fused3(*ops, abcd.map(reg)),
            Self::Select(abc) => Code::Select(abc.map(reg)),
            Self::CmpSelect(op, abcd) => Code::CmpSelect(*op, abcd.map(reg)),
            Self::CmpSelect2(op, abcd, also) => Code::CmpSelect2(*op, abcd.map(reg), reg(*also)),
        }
    }
}

pub(super) fn compile(
    outputs: &[Expr],
    uniform: &[&str],
    varying: &[&str],
) -> Result<Program, CompileError> {
    check_operands("uniform inputs", uniform.len())?;
    check_operands("varying inputs", varying.len())?;
    check_operands("outputs", outputs.len())?;
    let mut interner = Interner::default();
    let roots: Vec<usize> = outputs.iter().map(|e| interner.intern(e)).collect();
    let keys = interner.keys;

    let mut place: HashMap<usize, Reg> = HashMap::new();
    let mut constants = vec![];
    for (id, key) in keys.iter().enumerate() {
        if let Key::Const(bits) = key {
            place.insert(id, Reg::Fixed(register(constants.len())?));
            constants.push(f64::from_bits(*bits));
        }
    }
    for (id, key) in keys.iter().enumerate() {
        if let Key::Symbol(name) = key {
            let reg = if let Some(k) = uniform.iter().position(|s| *s == &**name) {
                Reg::Fixed(register(constants.len() + k)?)
            } else if let Some(k) = varying.iter().position(|s| *s == &**name) {
                Reg::In(register(k)?)
            } else {
                return Err(CompileError::UnknownSymbol {
                    symbol: name.to_string(),
                    inputs: uniform
                        .iter()
                        .chain(varying)
                        .map(|s| s.to_string())
                        .collect(),
                });
            };
            place.insert(id, reg);
        }
    }

    let rate = rates(&keys, &place);
    let mut instrs = instrs(&keys);
    compare_directly(&mut instrs, &keys);
    remove_unused(&mut instrs, &roots);
    let operations = instrs
        .keys()
        .filter(|&&id| rate[id] == Rate::Varying)
        .count();
    fuse_arithmetic(&mut instrs, &roots, &rate);
    fuse_comparisons(&mut instrs, &rate);

    let mut order: Vec<usize> = instrs.keys().copied().collect();
    order.sort_unstable();

    let mut fixed = constants.len() + uniform.len();
    let mut prelude = vec![];
    for &id in order.iter().filter(|&&id| rate[id] == Rate::Uniform) {
        let code = instrs[&id].code(&|operand| place[&operand]);
        let to = Reg::Fixed(register(fixed)?);
        fixed += 1;
        place.insert(id, to);
        prelude.push(Instruction { code, to });
    }

    let steps: Vec<usize> = order
        .into_iter()
        .filter(|&id| rate[id] == Rate::Varying)
        .collect();
    let (mut code, temps) = allocate(&steps, &instrs, &roots, &mut place)?;
    for (j, root) in roots.iter().enumerate() {
        let to = Reg::Out(register(j)?);
        if place[root] != to {
            code.push(Instruction {
                code: Code::Copy(place[root]),
                to,
            });
        }
    }
    Ok(Program {
        constants,
        uniform: uniform.len(),
        fixed,
        temps,
        inputs: varying.len(),
        outputs: outputs.len(),
        prelude,
        code,
        operations,
    })
}

/// The number of different indices of a register file.
const REGISTERS: usize = 1 << 16;

/// The index of the register number `k` of its kind.
fn register(k: usize) -> Result<u16, CompileError> {
    u16::try_from(k).map_err(|_| CompileError::TooManyRegisters {
        needed: k + 1,
        limit: REGISTERS,
    })
}

fn check_operands(operands: &'static str, given: usize) -> Result<(), CompileError> {
    if given > REGISTERS {
        return Err(CompileError::TooManyOperands {
            operands,
            given,
            limit: REGISTERS,
        });
    }
    Ok(())
}

fn rates(keys: &[Key], place: &HashMap<usize, Reg>) -> Vec<Rate> {
    let mut rate: Vec<Rate> = Vec::with_capacity(keys.len());
    for (id, key) in keys.iter().enumerate() {
        let rate_of = match key {
            Key::Const(_) => Rate::Uniform,
            Key::Symbol(_) if matches!(place[&id], Reg::In(_)) => Rate::Varying,
            Key::Symbol(_) => Rate::Uniform,
            Key::Unary(_, a) => rate[*a],
            Key::Binary(_, a, b) => rate[*a].max(rate[*b]),
            Key::Select(c, a, b) => rate[*c].max(rate[*a]).max(rate[*b]),
        };
        rate.push(rate_of);
    }
    rate
}

fn instrs(keys: &[Key]) -> HashMap<usize, VirtualInstr> {
    let mut instrs = HashMap::new();
    for (id, key) in keys.iter().enumerate() {
        let instr = match key {
            Key::Const(_) | Key::Symbol(_) => continue,
            Key::Unary(op, a) => VirtualInstr::Unary(*op, *a),
            Key::Binary(op, a, b) => VirtualInstr::Binary(*op, *a, *b),
            Key::Select(condition, a, b) => match keys[*condition] {
                Key::Binary(op, l, r) if op.is_comparison() => {
                    VirtualInstr::CmpSelect(op, [l, r, *a, *b])
                }
                _ => VirtualInstr::Select([*condition, *a, *b]),
            },
        };
        instrs.insert(id, instr);
    }
    instrs
}

/// Removes instructions without readers, such as comparisons that were fused into selections.
fn remove_unused(instrs: &mut HashMap<usize, VirtualInstr>, roots: &[usize]) {
    loop {
        let use_counts = use_counts(instrs, roots);
        let before = instrs.len();
        instrs.retain(|id, _| use_counts.contains_key(id));
        if instrs.len() == before {
            return;
        }
    }
}

fn use_counts(instrs: &HashMap<usize, VirtualInstr>, roots: &[usize]) -> HashMap<usize, usize> {
    let mut use_counts = HashMap::new();
    let reads = instrs.values().flat_map(VirtualInstr::reads);
    for id in reads.chain(roots.iter().copied()) {
        *use_counts.entry(id).or_insert(0) += 1;
    }
    use_counts
}

/// Replaces `x − c ≥ 0` by `x ≥ c`. Both are equal for every x and every finite constant c:
/// subtraction is exact near zero, so the sign of the difference decides the comparison.
fn compare_directly(instrs: &mut HashMap<usize, VirtualInstr>, keys: &[Key]) {
    let constant = |id: usize| match keys[id] {
        Key::Const(bits) => Some(f64::from_bits(bits)),
        _ => None,
    };
    let difference = |id: usize| match keys[id] {
        Key::Binary(Binary::Sub, x, c) if constant(c).is_some_and(f64::is_finite) => Some((x, c)),
        _ => None,
    };
    for instr in instrs.values_mut() {
        match instr {
            VirtualInstr::Binary(op, l, r) if op.is_comparison() && constant(*r) == Some(0.0) => {
                if let Some((x, c)) = difference(*l) {
                    *instr = VirtualInstr::Binary(*op, x, c);
                }
            }
            VirtualInstr::CmpSelect(op, [l, r, a, b]) if constant(*r) == Some(0.0) => {
                if let Some((x, c)) = difference(*l) {
                    *instr = VirtualInstr::CmpSelect(*op, [x, c, *a, *b]);
                }
            }
            _ => {}
        }
    }
}

/// Fuses a comparison and a selection by it into one instruction with two results, unless another
/// instruction reads the comparison before the selection.
fn fuse_comparisons(instrs: &mut HashMap<usize, VirtualInstr>, rate: &[Rate]) {
    let steps = instrs.keys().filter(|id| rate[**id] == Rate::Varying);
    let mut order: Vec<usize> = steps.copied().collect();
    order.sort_unstable();
    // The comparisons so far that are still separate instructions, by operator and operands.
    let mut comparisons: HashMap<(Binary, usize, usize), VecDeque<usize>> = HashMap::new();
    for (at, &chosen) in order.iter().enumerate() {
        let (op, [l, r, a, b]) = match instrs.get(&chosen) {
            Some(&VirtualInstr::Binary(op, l, r)) if op.is_comparison() => {
                comparisons.entry((op, l, r)).or_default().push_back(chosen);
                continue;
            }
            Some(&VirtualInstr::CmpSelect(op, operands)) => (op, operands),
            _ => continue,
        };
        let Some(same) = comparisons.get_mut(&(op, l, r)) else {
            continue;
        };
        let Some(&compared) = same.front() else {
            continue;
        };
        let first = order.partition_point(|id| *id < compared);
        let read_between = order[first..=at]
            .iter()
            .filter_map(|id| instrs.get(id))
            .any(|instr| instr.reads().contains(&compared));
        if !read_between {
            instrs.remove(&compared);
            instrs.insert(chosen, VirtualInstr::CmpSelect2(op, [l, r, a, b], compared));
            same.pop_front();
        }
    }
}

fn arith(op: Binary) -> Option<Arith> {
    match op {
        Binary::Add => Some(Arith::Add),
        Binary::Sub => Some(Arith::Sub),
        Binary::Mul => Some(Arith::Mul),
        Binary::Div => Some(Arith::Div),
        _ => None,
    }
}

fn swapped(op: Arith) -> Arith {
    match op {
        Arith::Sub => Arith::SubFrom,
        Arith::Div => Arith::DivInto,
        same => same,
    }
}

/// Fuses arithmetic operations with the producers of their operands, where an intermediate result
/// has no other reader.
fn fuse_arithmetic(instrs: &mut HashMap<usize, VirtualInstr>, roots: &[usize], rate: &[Rate]) {
    let use_counts = use_counts(instrs, roots);
    let mut order: Vec<usize> = instrs.keys().copied().collect();
    order.sort_unstable();
    let divides = |op: Arith| matches!(op, Arith::Div | Arith::DivInto);
    for id in order {
        let Some(&VirtualInstr::Binary(op, a, b)) = instrs.get(&id) else {
            continue;
        };
        let Some(last) = arith(op) else { continue };
        let fuse = |producer: usize, other: usize, last: Arith| -> Option<VirtualInstr> {
            if use_counts[&producer] != 1 || rate[producer] != rate[id] {
                return None;
            }
            match *instrs.get(&producer)? {
                VirtualInstr::Binary(op, p, q) => {
                    Some(VirtualInstr::Fused2([arith(op)?, last], [p, q, other]))
                }
                VirtualInstr::Fused2([first, second], [p, q, r])
                    if ![first, second, last].into_iter().any(divides) =>
                {
                    Some(VirtualInstr::Fused3(
                        [first, second, last],
                        [p, q, r, other],
                    ))
                }
                _ => None,
            }
        };
        let (fused, producer) = match (fuse(a, b, last), fuse(b, a, swapped(last))) {
            // Fusing the longer producer saves more passes.
            (_, Some(right @ VirtualInstr::Fused3(..))) => (right, b),
            (Some(left), _) => (left, a),
            (None, Some(right)) => (right, b),
            (None, None) => continue,
        };
        instrs.remove(&producer);
        instrs.insert(id, fused);
    }
}

/// Assigns a register to each varying value: the output if it is one, else a temporary register
/// that is reused after the last read.
fn allocate(
    steps: &[usize],
    instrs: &HashMap<usize, VirtualInstr>,
    roots: &[usize],
    place: &mut HashMap<usize, Reg>,
) -> Result<(Vec<Instruction>, usize), CompileError> {
    let mut last_use: HashMap<usize, usize> = HashMap::new();
    for (at, id) in steps.iter().enumerate() {
        for operand in instrs[id].reads() {
            last_use.insert(operand, at);
        }
    }
    let mut free: Vec<u16> = vec![];
    let mut temps = 0;
    let mut code = vec![];
    for (at, id) in steps.iter().enumerate() {
        let instr = &instrs[id];
        if let VirtualInstr::CmpSelect2(_, _, compared) = instr {
            let also = target(*compared, roots, &mut free, &mut temps)?;
            place.insert(*compared, also);
        }
        let instruction = instr.code(&|operand| place[&operand]);
        let to = target(*id, roots, &mut free, &mut temps)?;
        place.insert(*id, to);
        code.push(Instruction {
            code: instruction,
            to,
        });
        let mut reads = instr.reads();
        reads.sort_unstable();
        reads.dedup();
        for operand in reads {
            if last_use[&operand] == at
                && let Some(Reg::Temp(k)) = place.get(&operand)
            {
                free.push(*k);
            }
        }
    }
    Ok((code, temps))
}

/// The register of a new value: the output if it is one, else a free temporary register.
fn target(
    id: usize,
    roots: &[usize],
    free: &mut Vec<u16>,
    temps: &mut usize,
) -> Result<Reg, CompileError> {
    if let Some(j) = roots.iter().position(|root| *root == id) {
        return Ok(Reg::Out(register(j)?));
    }
    if let Some(k) = free.pop() {
        return Ok(Reg::Temp(k));
    }
    *temps += 1;
    Ok(Reg::Temp(register(*temps - 1)?))
}
