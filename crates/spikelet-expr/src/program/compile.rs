//! From expressions to instructions: common sub-expressions, hoisting, pairing, registers.

use super::{Arith, Code, CompileError, Instruction, Program, Reg};
use crate::expr::{Binary, Expr};
use crate::interner::{Interner, Key};
use std::collections::HashMap;

/// When a value is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    Held,
    Step,
}

/// What an instruction reads and does, with nodes in place of registers.
#[derive(Clone)]
enum Draft {
    Unary(crate::expr::Unary, usize),
    Binary(Binary, usize, usize),
    Pair(Arith, Arith, [usize; 3]),
    Select([usize; 3]),
    Choose(Binary, [usize; 4]),
}

impl Draft {
    fn reads(&self) -> Vec<usize> {
        match self {
            Self::Unary(_, a) => vec![*a],
            Self::Binary(_, a, b) => vec![*a, *b],
            Self::Pair(_, _, abc) | Self::Select(abc) => abc.to_vec(),
            Self::Choose(_, abcd) => abcd.to_vec(),
        }
    }

    fn code(&self, reg: &dyn Fn(usize) -> Reg) -> Code {
        match self {
            Self::Unary(op, a) => Code::Unary(*op, reg(*a)),
            Self::Binary(op, a, b) => Code::Binary(*op, reg(*a), reg(*b)),
            Self::Pair(first, second, abc) => Code::Pair(*first, *second, abc.map(reg)),
            Self::Select(abc) => Code::Select(abc.map(reg)),
            Self::Choose(op, abcd) => Code::Choose(*op, abcd.map(reg)),
        }
    }
}

pub(super) fn compile(
    outputs: &[Expr],
    held: &[&str],
    step: &[&str],
) -> Result<Program, CompileError> {
    let mut interner = Interner::default();
    let roots: Vec<usize> = outputs.iter().map(|e| interner.intern(e)).collect();
    let keys = interner.keys;

    let mut place: HashMap<usize, Reg> = HashMap::new();
    let mut constants = vec![];
    for (id, key) in keys.iter().enumerate() {
        if let Key::Const(bits) = key {
            place.insert(id, Reg::Fixed(number(constants.len())?));
            constants.push(f64::from_bits(*bits));
        }
    }
    for (id, key) in keys.iter().enumerate() {
        if let Key::Symbol(name) = key {
            let reg = if let Some(k) = held.iter().position(|s| *s == &**name) {
                Reg::Fixed(number(constants.len() + k)?)
            } else if let Some(k) = step.iter().position(|s| *s == &**name) {
                Reg::In(number(k)?)
            } else {
                return Err(CompileError::UnknownSymbol {
                    symbol: name.to_string(),
                    inputs: held.iter().chain(step).map(|s| s.to_string()).collect(),
                });
            };
            place.insert(id, reg);
        }
    }

    let when = times(&keys, &place);
    let mut drafts = drafts(&keys);
    drop_unread(&mut drafts, &roots);
    let operations = drafts
        .keys()
        .filter(|&&id| when[id] == When::Step)
        .count();
    pair_up(&mut drafts, &roots, &when);

    let mut order: Vec<usize> = drafts.keys().copied().collect();
    order.sort_unstable();

    let mut fixed = constants.len() + held.len();
    let mut prelude = vec![];
    for &id in order.iter().filter(|&&id| when[id] == When::Held) {
        let code = drafts[&id].code(&|operand| place[&operand]);
        let to = Reg::Fixed(number(fixed)?);
        fixed += 1;
        place.insert(id, to);
        prelude.push(Instruction { code, to });
    }

    let steps: Vec<usize> = order
        .into_iter()
        .filter(|&id| when[id] == When::Step)
        .collect();
    let (mut code, temps) = allocate(&steps, &drafts, &roots, &mut place)?;
    for (j, root) in roots.iter().enumerate() {
        let to = Reg::Out(number(j)?);
        if place[root] != to {
            code.push(Instruction {
                code: Code::Copy(place[root]),
                to,
            });
        }
    }
    Ok(Program {
        constants,
        held: held.len(),
        fixed,
        temps,
        inputs: step.len(),
        outputs: outputs.len(),
        prelude,
        code,
        operations,
    })
}

fn number(k: usize) -> Result<u16, CompileError> {
    u16::try_from(k).map_err(|_| CompileError::TooLarge { needed: k })
}

fn times(keys: &[Key], place: &HashMap<usize, Reg>) -> Vec<When> {
    let mut when: Vec<When> = Vec::with_capacity(keys.len());
    for (id, key) in keys.iter().enumerate() {
        let time = match key {
            Key::Const(_) => When::Held,
            Key::Symbol(_) if matches!(place[&id], Reg::In(_)) => When::Step,
            Key::Symbol(_) => When::Held,
            Key::Unary(_, a) => when[*a],
            Key::Binary(_, a, b) => when[*a].max(when[*b]),
            Key::Select(c, a, b) => when[*c].max(when[*a]).max(when[*b]),
        };
        when.push(time);
    }
    when
}

fn drafts(keys: &[Key]) -> HashMap<usize, Draft> {
    let mut drafts = HashMap::new();
    for (id, key) in keys.iter().enumerate() {
        let draft = match key {
            Key::Const(_) | Key::Symbol(_) => continue,
            Key::Unary(op, a) => Draft::Unary(*op, *a),
            Key::Binary(op, a, b) => Draft::Binary(*op, *a, *b),
            Key::Select(condition, a, b) => match keys[*condition] {
                Key::Binary(op, l, r) if op.is_comparison() => Draft::Choose(op, [l, r, *a, *b]),
                _ => Draft::Select([*condition, *a, *b]),
            },
        };
        drafts.insert(id, draft);
    }
    drafts
}

/// A comparison that only selections used is part of them now.
fn drop_unread(drafts: &mut HashMap<usize, Draft>, roots: &[usize]) {
    loop {
        let uses = uses(drafts, roots);
        let before = drafts.len();
        drafts.retain(|id, _| uses.contains_key(id));
        if drafts.len() == before {
            return;
        }
    }
}

fn uses(drafts: &HashMap<usize, Draft>, roots: &[usize]) -> HashMap<usize, usize> {
    let mut uses = HashMap::new();
    let reads = drafts.values().flat_map(Draft::reads);
    for id in reads.chain(roots.iter().copied()) {
        *uses.entry(id).or_insert(0) += 1;
    }
    uses
}

fn arith(op: Binary) -> Option<Arith> {
    match op {
        Binary::Add => Some(Arith::Add),
        Binary::Sub => Some(Arith::Sub),
        Binary::Mul => Some(Arith::Mul),
        _ => None,
    }
}

/// Joins an operation with the one that feeds it, where nobody else reads the result between.
fn pair_up(drafts: &mut HashMap<usize, Draft>, roots: &[usize], when: &[When]) {
    let uses = uses(drafts, roots);
    let mut order: Vec<usize> = drafts.keys().copied().collect();
    order.sort_unstable();
    for id in order {
        let Some(Draft::Binary(op, a, b)) = drafts.get(&id) else {
            continue;
        };
        let (a, b) = (*a, *b);
        let Some(second) = arith(*op) else { continue };
        let inner = |x: usize| -> Option<(Arith, usize, usize)> {
            if uses[&x] != 1 || when[x] != when[id] {
                return None;
            }
            match drafts.get(&x) {
                Some(Draft::Binary(op, p, q)) => arith(*op).map(|first| (first, *p, *q)),
                _ => None,
            }
        };
        let (fused, gone) = if let Some((first, p, q)) = inner(a) {
            (Draft::Pair(first, second, [p, q, b]), a)
        } else if let Some((first, p, q)) = inner(b) {
            let second = match second {
                Arith::Sub => Arith::SubFrom,
                same => same,
            };
            (Draft::Pair(first, second, [p, q, a]), b)
        } else {
            continue;
        };
        drafts.remove(&gone);
        drafts.insert(id, fused);
    }
}

/// Gives each value of a step a register: an output where it is one, else a temporary that is
/// free again after the last use.
fn allocate(
    steps: &[usize],
    drafts: &HashMap<usize, Draft>,
    roots: &[usize],
    place: &mut HashMap<usize, Reg>,
) -> Result<(Vec<Instruction>, usize), CompileError> {
    let mut last_use: HashMap<usize, usize> = HashMap::new();
    for (at, id) in steps.iter().enumerate() {
        for operand in drafts[id].reads() {
            last_use.insert(operand, at);
        }
    }
    let mut free: Vec<u16> = vec![];
    let mut temps = 0;
    let mut code = vec![];
    for (at, id) in steps.iter().enumerate() {
        let draft = &drafts[id];
        let instruction = draft.code(&|operand| place[&operand]);
        let to = match roots.iter().position(|root| root == id) {
            Some(j) => Reg::Out(number(j)?),
            None => match free.pop() {
                Some(k) => Reg::Temp(k),
                None => {
                    temps += 1;
                    Reg::Temp(number(temps - 1)?)
                }
            },
        };
        place.insert(*id, to);
        code.push(Instruction {
            code: instruction,
            to,
        });
        let mut reads = draft.reads();
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
