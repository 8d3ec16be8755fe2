//! Printing for people: infix, with as few brackets as the evaluation order allows.

use crate::expr::{Binary, Expr, Node, Unary};
use std::fmt;

/// How tightly an operator binds; larger is tighter.
fn binding(expr: &Expr) -> u8 {
    match expr.node() {
        Node::Select { .. } => 0,
        Node::Binary(op, ..) => match op {
            Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge | Binary::Eq | Binary::Ne => 1,
            Binary::Add | Binary::Sub => 2,
            Binary::Mul | Binary::Div => 3,
            Binary::Pow | Binary::Min | Binary::Max => 9,
        },
        Node::Unary(Unary::Neg, _) => 4,
        Node::Const(value) if *value < 0.0 => 4,
        Node::Graft { value, .. } => binding(value),
        _ => 9,
    }
}

fn child(f: &mut fmt::Formatter<'_>, expr: &Expr, at_least: u8) -> fmt::Result {
    if binding(expr) < at_least {
        write!(f, "({expr})")
    } else {
        write!(f, "{expr}")
    }
}

fn number(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    // A number that came from f32 prints as short as it was written.
    let short = value as f32;
    if f64::from(short) == value {
        write!(f, "{short}")
    } else {
        write!(f, "{value}")
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node() {
            Node::Const(value) => number(f, *value),
            Node::Symbol(name) => f.write_str(name),
            Node::Graft { value, .. } => write!(f, "{value}"),
            Node::Unary(Unary::Neg, a) => {
                f.write_str("-")?;
                child(f, a, 4)
            }
            Node::Unary(Unary::Abs, a) => write!(f, "|{a}|"),
            Node::Unary(op, a) => write!(f, "{}({a})", op.name()),
            Node::Binary(op, a, b) => match op {
                Binary::Pow | Binary::Min | Binary::Max => write!(f, "{}({a}, {b})", op.sign()),
                _ => {
                    let own = binding(self);
                    child(f, a, own + u8::from(op.is_comparison()))?;
                    write!(f, " {} ", op.sign())?;
                    // a + (b + c) is not (a + b) + c in the last bit: keep the brackets.
                    child(f, b, own + 1)
                }
            },
            Node::Select {
                condition,
                then,
                otherwise,
            } => {
                child(f, condition, 1)?;
                f.write_str(" ? ")?;
                child(f, then, 1)?;
                f.write_str(" : ")?;
                child(f, otherwise, 1)
            }
        }
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Unary {
    /// The name in print.
    pub fn name(self) -> &'static str {
        match self {
            Self::Neg => "-",
            Self::Exp => "exp",
            Self::Ln => "ln",
            Self::Tanh => "tanh",
            Self::Sigmoid => "σ",
            Self::Atan => "atan",
            Self::Erf => "erf",
            Self::Erfc => "erfc",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Sqrt => "sqrt",
            Self::Abs => "abs",
            Self::Round => "round",
            Self::Floor => "floor",
        }
    }
}

impl Binary {
    /// The sign or name in print.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "·",
            Self::Div => "/",
            Self::Pow => "pow",
            Self::Min => "min",
            Self::Max => "max",
            Self::Lt => "<",
            Self::Le => "≤",
            Self::Gt => ">",
            Self::Ge => "≥",
            Self::Eq => "=",
            Self::Ne => "≠",
        }
    }
}
