//! The inner loops.

use super::{Arith, Code, Instruction, Reg, Workspace};
use crate::block::Block;
use crate::expr::Binary;
use crate::math::Real;
use crate::simd::vectorized;
use crate::unary::{Unary, dispatch_unary};

/// The element types that programs support. The loops are compiled once, in this crate.
pub trait Evaluate: Real {
    #[doc(hidden)]
    #[allow(private_interfaces, reason = "an implementation detail of `Program`")]
    fn run(
        work: &mut Workspace<Self>,
        code: &[Instruction],
        inputs: &[&[Self]],
        outputs: &mut [&mut [Self]],
        n: usize,
    );
}

macro_rules! evaluate {
    ($($type:ty),*) => {$(
        impl Evaluate for $type {
            #[inline(never)]
            #[allow(private_interfaces, reason = "as in the trait")]
            fn run(
                work: &mut Workspace<Self>,
                code: &[Instruction],
                inputs: &[&[Self]],
                outputs: &mut [&mut [Self]],
                n: usize,
            ) {
                vectorized(
                    (work, code, inputs, outputs, n),
                    #[inline(always)]
                    |(work, code, inputs, outputs, n)| run(work, code, inputs, outputs, n),
                );
            }
        }
    )*};
}

evaluate!(f32, f64);

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

/// `also = a op b` and `to = a op b ? c : d`.
#[inline(always)]
fn map_cmp_select2<R: Real>(
    to: &mut [R],
    also: &mut [R],
    [a, b, c, d]: [&[R]; 4],
    compare: impl Fn(R, R) -> bool,
) {
    let n = to.len();
    let (also, a, b, c, d) = (&mut also[..n], &a[..n], &b[..n], &c[..n], &d[..n]);
    for i in 0..n {
        // Both values are loaded first: a selection between addresses would compile to a gather.
        let (yes, then, otherwise) = (compare(a[i], b[i]), c[i], d[i]);
        also[i] = truth(yes);
        to[i] = if yes { then } else { otherwise };
    }
}

/// The target of an instruction, moved out of its place: no instruction reads its target.
enum Target<'a, R> {
    Out(&'a mut [R]),
    Block(Block<R>),
}

impl<'a, R: Real> Target<'a, R> {
    #[inline(always)]
    fn take(reg: Reg, work: &mut Workspace<R>, outputs: &mut [&'a mut [R]]) -> Self {
        match reg {
            Reg::Out(j) => Self::Out(std::mem::take(&mut outputs[usize::from(j)])),
            Reg::Temp(k) => Self::Block(std::mem::take(&mut work.temps[usize::from(k)])),
            Reg::Fixed(k) => Self::Block(std::mem::take(&mut work.fixed[usize::from(k)])),
            Reg::In(_) => unreachable!("inputs are never written"),
        }
    }

    #[inline(always)]
    fn elements(&mut self, n: usize) -> &mut [R] {
        match self {
            Self::Out(to) => to,
            Self::Block(block) => &mut block[..n],
        }
    }

    #[inline(always)]
    fn put_back(self, reg: Reg, work: &mut Workspace<R>, outputs: &mut [&'a mut [R]]) {
        match (self, reg) {
            (Self::Out(to), Reg::Out(j)) => outputs[usize::from(j)] = to,
            (Self::Block(to), Reg::Temp(k)) => work.temps[usize::from(k)] = to,
            (Self::Block(to), Reg::Fixed(k)) => work.fixed[usize::from(k)] = to,
            _ => unreachable!("a target is put back where it was taken from"),
        }
    }
}

/// Runs `code` over the first `n` elements of every register.
///
/// [`one`] is inlined once: it contains a loop for each operation.
#[inline(always)]
fn run<R: Real>(
    work: &mut Workspace<R>,
    code: &[Instruction],
    inputs: &[&[R]],
    outputs: &mut [&mut [R]],
    n: usize,
) {
    for instruction in code {
        let mut target = Target::take(instruction.to, work, outputs);
        if let Code::CmpSelect2(op, regs, also) = instruction.code {
            let mut second = Target::take(also, work, outputs);
            let read = Registers {
                work,
                inputs,
                outputs,
            };
            let regs = regs.map(|r| read.get(r));
            cmp_select2(op, target.elements(n), second.elements(n), regs);
            second.put_back(also, work, outputs);
        } else {
            let read = Registers {
                work,
                inputs,
                outputs,
            };
            one(&read, instruction.code, target.elements(n));
        }
        target.put_back(instruction.to, work, outputs);
    }
}

/// The operands that an instruction can read.
struct Registers<'a, R> {
    work: &'a Workspace<R>,
    inputs: &'a [&'a [R]],
    outputs: &'a [&'a mut [R]],
}

impl<R> Registers<'_, R> {
    #[inline(always)]
    fn get(&self, reg: Reg) -> &[R] {
        match reg {
            Reg::Fixed(k) => &self.work.fixed[usize::from(k)],
            Reg::Temp(k) => &self.work.temps[usize::from(k)],
            Reg::In(k) => self.inputs[usize::from(k)],
            Reg::Out(k) => &*self.outputs[usize::from(k)],
        }
    }
}

#[inline(always)]
fn one<R: Real>(read: &Registers<'_, R>, code: Code, to: &mut [R]) {
    match code {
        Code::Copy(a) => {
            let n = to.len();
            to.copy_from_slice(&read.get(a)[..n]);
        }
        Code::Unary(op, a) => unary(op, to, read.get(a)),
        Code::Binary(op, a, b) => binary(op, to, [read.get(a), read.get(b)]),
        Code::Fused2(ops, regs) => fused2(ops, to, regs.map(|r| read.get(r))),
        Code::Fused3(ops, regs) => fused3(ops, to, regs.map(|r| read.get(r))),
        Code::Select(regs) => {
            let regs = regs.map(|r| read.get(r));
            map3(to, regs, |c, a, b| if c != R::ZERO { a } else { b });
        }
        Code::CmpSelect(op, regs) => cmp_select(op, to, regs.map(|r| read.get(r))),
        Code::CmpSelect2(..) => unreachable!("it has two targets"),
    }
}

#[inline(always)]
fn unary<R: Real>(op: Unary, to: &mut [R], a: &[R]) {
    dispatch_unary!(R, op, f => map1(to, a, f));
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
fn cmp_select<R: Real>(op: Binary, to: &mut [R], abcd: [&[R]; 4]) {
    match op {
        Binary::Lt => map4(to, abcd, |a, b, c, d| if a < b { c } else { d }),
        Binary::Le => map4(to, abcd, |a, b, c, d| if a <= b { c } else { d }),
        Binary::Gt => map4(to, abcd, |a, b, c, d| if a > b { c } else { d }),
        Binary::Ge => map4(to, abcd, |a, b, c, d| if a >= b { c } else { d }),
        Binary::Eq => map4(to, abcd, |a, b, c, d| if a == b { c } else { d }),
        Binary::Ne => map4(to, abcd, |a, b, c, d| if a != b { c } else { d }),
        _ => unreachable!("only comparisons are fused with a selection"),
    }
}

#[inline(always)]
fn cmp_select2<R: Real>(op: Binary, to: &mut [R], also: &mut [R], abcd: [&[R]; 4]) {
    match op {
        Binary::Lt => map_cmp_select2(to, also, abcd, |a, b| a < b),
        Binary::Le => map_cmp_select2(to, also, abcd, |a, b| a <= b),
        Binary::Gt => map_cmp_select2(to, also, abcd, |a, b| a > b),
        Binary::Ge => map_cmp_select2(to, also, abcd, |a, b| a >= b),
        Binary::Eq => map_cmp_select2(to, also, abcd, |a, b| a == b),
        Binary::Ne => map_cmp_select2(to, also, abcd, |a, b| a != b),
        _ => unreachable!("only comparisons are fused with a selection"),
    }
}

/// `x op y`, including the swapped forms.
macro_rules! apply {
    (Add, $x:expr, $y:expr) => {
        $x + $y
    };
    (Sub, $x:expr, $y:expr) => {
        $x - $y
    };
    (Mul, $x:expr, $y:expr) => {
        $x * $y
    };
    (Div, $x:expr, $y:expr) => {
        $x / $y
    };
    (SubFrom, $x:expr, $y:expr) => {
        $y - $x
    };
    (DivInto, $x:expr, $y:expr) => {
        $y / $x
    };
}

macro_rules! fused2_loops {
    ($key:expr, $to:ident, $abc:ident; $($first:ident: $($second:ident)*;)*) => {
        match $key {
            $($([Arith::$first, Arith::$second] => {
                map3($to, $abc, |a, b, c| apply!($second, apply!($first, a, b), c));
            })*)*
            [Arith::SubFrom | Arith::DivInto, _] => unreachable!("the first operation is never swapped"),
        }
    };
}

#[inline(always)]
fn fused2<R: Real>(ops: [Arith; 2], to: &mut [R], abc: [&[R]; 3]) {
    fused2_loops! { ops, to, abc;
        Add: Add Sub Mul Div SubFrom DivInto;
        Sub: Add Sub Mul Div SubFrom DivInto;
        Mul: Add Sub Mul Div SubFrom DivInto;
        Div: Add Sub Mul Div SubFrom DivInto;
    }
}

macro_rules! fused3_loops {
    ($key:expr, $to:ident, $abcd:ident; $($first:ident $second:ident: $($third:ident)*;)*) => {
        match $key {
            $($([Arith::$first, Arith::$second, Arith::$third] => {
                map4($to, $abcd, |a, b, c, d| {
                    apply!($third, apply!($second, apply!($first, a, b), c), d)
                });
            })*)*
            _ => unreachable!("without divisions, and the first operation is never swapped"),
        }
    };
}

#[inline(always)]
fn fused3<R: Real>(ops: [Arith; 3], to: &mut [R], abcd: [&[R]; 4]) {
    fused3_loops! { ops, to, abcd;
        Add Add: Add Sub Mul SubFrom;
        Add Sub: Add Sub Mul SubFrom;
        Add Mul: Add Sub Mul SubFrom;
        Add SubFrom: Add Sub Mul SubFrom;
        Sub Add: Add Sub Mul SubFrom;
        Sub Sub: Add Sub Mul SubFrom;
        Sub Mul: Add Sub Mul SubFrom;
        Sub SubFrom: Add Sub Mul SubFrom;
        Mul Add: Add Sub Mul SubFrom;
        Mul Sub: Add Sub Mul SubFrom;
        Mul Mul: Add Sub Mul SubFrom;
        Mul SubFrom: Add Sub Mul SubFrom;
    }
}
