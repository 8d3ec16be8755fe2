//! The inner loops.

use super::{Arith, Code, Instruction, Reg, Workspace};
use crate::expr::{Binary, Unary};
use crate::math::Real;

#[inline(always)]
fn map1<R: Real>(to: &mut [R], a: &[R], f: impl Fn(R) -> R) {
    let a = &a[..to.len()];
    for i in 0..to.len() {
        to[i] = f(a[i]);
    }
}

#[inline(always)]
fn map2<R: Real>(to: &mut [R], [a, b]: [&[R]; 2], f: impl Fn(R, R) -> R) {
    let n = to.len();
    let (a, b) = (&a[..n], &b[..n]);
    for i in 0..n {
        to[i] = f(a[i], b[i]);
    }
}

#[inline(always)]
fn map3<R: Real>(to: &mut [R], [a, b, c]: [&[R]; 3], f: impl Fn(R, R, R) -> R) {
    let n = to.len();
    let (a, b, c) = (&a[..n], &b[..n], &c[..n]);
    for i in 0..n {
        to[i] = f(a[i], b[i], c[i]);
    }
}

#[inline(always)]
fn map4<R: Real>(to: &mut [R], [a, b, c, d]: [&[R]; 4], f: impl Fn(R, R, R, R) -> R) {
    let n = to.len();
    let (a, b, c, d) = (&a[..n], &b[..n], &c[..n], &d[..n]);
    for i in 0..n {
        to[i] = f(a[i], b[i], c[i], d[i]);
    }
}

/// Runs `code` over the first `n` elements of every register.
#[inline(always)]
pub(super) fn run<R: Real>(
    work: &mut Workspace<R>,
    code: &[Instruction],
    inputs: &[&[R]],
    outputs: &mut [&mut [R]],
    n: usize,
) {
    for instruction in code {
        // The target is taken out while it is written: no instruction reads its own target.
        match instruction.to {
            Reg::Out(j) => {
                let to = std::mem::take(&mut outputs[usize::from(j)]);
                one(work, instruction.code, inputs, outputs, to);
                outputs[usize::from(j)] = to;
            }
            Reg::Temp(k) => {
                let mut to = std::mem::take(&mut work.temps[usize::from(k)]);
                one(work, instruction.code, inputs, outputs, &mut to[..n]);
                work.temps[usize::from(k)] = to;
            }
            Reg::Fixed(k) => {
                let mut to = std::mem::take(&mut work.fixed[usize::from(k)]);
                one(work, instruction.code, inputs, outputs, &mut to[..n]);
                work.fixed[usize::from(k)] = to;
            }
            Reg::In(_) => unreachable!("inputs are never written"),
        }
    }
}

#[inline(always)]
fn one<R: Real>(
    work: &Workspace<R>,
    code: Code,
    inputs: &[&[R]],
    outputs: &[&mut [R]],
    to: &mut [R],
) {
    let read = |reg: Reg| -> &[R] {
        match reg {
            Reg::Fixed(k) => &work.fixed[usize::from(k)],
            Reg::Temp(k) => &work.temps[usize::from(k)],
            Reg::In(k) => inputs[usize::from(k)],
            Reg::Out(k) => &*outputs[usize::from(k)],
        }
    };
    match code {
        Code::Copy(a) => {
            let n = to.len();
            to.copy_from_slice(&read(a)[..n]);
        }
        Code::Unary(op, a) => unary(op, to, read(a)),
        Code::Binary(op, a, b) => binary(op, to, [read(a), read(b)]),
        Code::Pair(first, second, regs) => pair(first, second, to, regs.map(read)),
        Code::Select(regs) => {
            map3(to, regs.map(read), |c, a, b| if c != R::ZERO { a } else { b });
        }
        Code::Choose(op, regs) => choose(op, to, regs.map(read)),
    }
}

#[inline(always)]
fn unary<R: Real>(op: Unary, to: &mut [R], a: &[R]) {
    match op {
        Unary::Neg => map1(to, a, |x| -x),
        Unary::Exp => map1(to, a, R::exp),
        Unary::Ln => map1(to, a, R::ln),
        Unary::Tanh => map1(to, a, R::tanh),
        Unary::Sigmoid => map1(to, a, R::sigmoid),
        Unary::Atan => map1(to, a, R::atan),
        Unary::Erf => map1(to, a, R::erf),
        Unary::Erfc => map1(to, a, R::erfc),
        Unary::Sin => map1(to, a, R::sin),
        Unary::Cos => map1(to, a, R::cos),
        Unary::Sqrt => map1(to, a, R::sqrt),
        Unary::Abs => map1(to, a, R::abs),
        Unary::Round => map1(to, a, R::round_half_even),
        Unary::Floor => map1(to, a, R::floor),
    }
}

#[inline(always)]
fn truth<R: Real>(yes: bool) -> R {
    if yes { R::ONE } else { R::ZERO }
}

#[inline(always)]
fn binary<R: Real>(op: Binary, to: &mut [R], ab: [&[R]; 2]) {
    match op {
        Binary::Add => map2(to, ab, |a, b| a + b),
        Binary::Sub => map2(to, ab, |a, b| a - b),
        Binary::Mul => map2(to, ab, |a, b| a * b),
        Binary::Div => map2(to, ab, |a, b| a / b),
        Binary::Pow => map2(to, ab, R::powr),
        Binary::Min => map2(to, ab, R::min_nan),
        Binary::Max => map2(to, ab, R::max_nan),
        Binary::Lt => map2(to, ab, |a, b| truth(a < b)),
        Binary::Le => map2(to, ab, |a, b| truth(a <= b)),
        Binary::Gt => map2(to, ab, |a, b| truth(a > b)),
        Binary::Ge => map2(to, ab, |a, b| truth(a >= b)),
        Binary::Eq => map2(to, ab, |a, b| truth(a == b)),
        Binary::Ne => map2(to, ab, |a, b| truth(a != b)),
    }
}

#[inline(always)]
fn choose<R: Real>(op: Binary, to: &mut [R], abcd: [&[R]; 4]) {
    match op {
        Binary::Lt => map4(to, abcd, |a, b, c, d| if a < b { c } else { d }),
        Binary::Le => map4(to, abcd, |a, b, c, d| if a <= b { c } else { d }),
        Binary::Gt => map4(to, abcd, |a, b, c, d| if a > b { c } else { d }),
        Binary::Ge => map4(to, abcd, |a, b, c, d| if a >= b { c } else { d }),
        Binary::Eq => map4(to, abcd, |a, b, c, d| if a == b { c } else { d }),
        Binary::Ne => map4(to, abcd, |a, b, c, d| if a != b { c } else { d }),
        _ => unreachable!("only comparisons are compiled to a choice"),
    }
}

macro_rules! pairs {
    ($to:ident, $abc:ident, $key:expr; $($first:ident $second:ident: |$a:ident, $b:ident, $c:ident| $value:expr;)*) => {
        match $key {
            $((Arith::$first, Arith::$second) => map3($to, $abc, |$a, $b, $c| $value),)*
            (Arith::SubFrom, _) => unreachable!("the first of a pair is never exchanged"),
        }
    };
}

#[inline(always)]
fn pair<R: Real>(first: Arith, second: Arith, to: &mut [R], abc: [&[R]; 3]) {
    pairs! { to, abc, (first, second);
        Add Add: |a, b, c| (a + b) + c;
        Add Sub: |a, b, c| (a + b) - c;
        Add Mul: |a, b, c| (a + b) * c;
        Add SubFrom: |a, b, c| c - (a + b);
        Sub Add: |a, b, c| (a - b) + c;
        Sub Sub: |a, b, c| (a - b) - c;
        Sub Mul: |a, b, c| (a - b) * c;
        Sub SubFrom: |a, b, c| c - (a - b);
        Mul Add: |a, b, c| (a * b) + c;
        Mul Sub: |a, b, c| (a * b) - c;
        Mul Mul: |a, b, c| (a * b) * c;
        Mul SubFrom: |a, b, c| c - (a * b);
    }
}
