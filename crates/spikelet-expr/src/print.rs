//! Printed equations: infix, with as few parentheses as the order of evaluation allows.
//!
//! `{}` is for people: custom gradients print as their value, numbers with the digits of f32 if they are f32
//! numbers. `{:#}` can be read back, see `parse.rs`.

use crate::expr::{Binary, Expr, Node};
use crate::unary::Unary;
use crate::walk::children_first;
use std::collections::HashMap;
use std::fmt;

/// Expressions whose tree has more nodes are printed with names for shared subexpressions: the tree
/// of 60 doublings has 2^60 nodes.
const MAX_TREE_NODES: u64 = 10_000;

/// The precedence of an operator; larger binds tighter.
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
        _ => 9,
    }
}

fn number(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    // A number converted from f32 prints with the digits of f32.
    let short = value as f32;
    if f64::from(short) == value && !f.alternate() {
        write!(f, "{short}")
    } else {
        write!(f, "{value}")
    }
}

/// Whether a symbol can be read without quotes.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_');
    first
        && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '.')
        && name.parse::<f64>().is_err()
}

/// Subexpressions with a name, children before parents.
#[derive(Default)]
struct Named {
    parts: Vec<Expr>,
    numbers: HashMap<*const Node, usize>,
}

impl Named {
    /// The shared subexpressions, if the tree is too long to print.
    fn of(root: &Expr, printed: fn(&Expr) -> &Expr) -> Self {
        // The tree size of each node, and the number of its parents.
        let mut known: HashMap<*const Node, (u64, usize)> = HashMap::new();
        let mut parts = vec![];
        let operands = |expr: &Expr| -> Vec<Expr> {
            let children = expr.children();
            children
                .iter()
                .map(|child| printed(child).clone())
                .collect()
        };
        let root = printed(root);
        children_first(
            &mut known,
            root,
            |known, expr| known.contains_key(&expr.pointer()),
            operands,
            |known, expr| {
                let mut length = 1_u64;
                for child in operands(expr) {
                    if let Some((own, places)) = known.get_mut(&child.pointer()) {
                        length = length.saturating_add(*own);
                        *places += 1;
                    }
                }
                known.insert(expr.pointer(), (length, 0));
                parts.push(expr.clone());
            },
        );
        if known[&root.pointer()].0 <= MAX_TREE_NODES {
            return Self::default();
        }
        let shared = |expr: &Expr| known[&expr.pointer()].1 > 1 && !expr.children().is_empty();
        parts.retain(shared);
        let numbers = parts.iter().enumerate().map(|(k, e)| (e.pointer(), k));
        Self {
            numbers: numbers.collect(),
            parts,
        }
    }
}

/// The rest of the text.
enum Item<'a> {
    Text(&'static str),
    /// In parentheses, unless its precedence is at least this.
    Operand(&'a Expr, u8),
}

fn print(
    f: &mut fmt::Formatter<'_>,
    root: &Expr,
    named: &Named,
    printed: fn(&Expr) -> &Expr,
) -> fmt::Result {
    use Item::{Operand, Text};
    let mut open = vec![Operand(root, 0)];
    let mut at_root = true;
    while let Some(item) = open.pop() {
        let (expr, at_least) = match item {
            Text(text) => {
                f.write_str(text)?;
                continue;
            }
            Operand(expr, at_least) => (printed(expr), at_least),
        };
        let inside = !std::mem::take(&mut at_root);
        if let Some(k) = named.numbers.get(&expr.pointer()).filter(|_| inside) {
            write!(f, "#{k}")?;
            continue;
        }
        let own = binding(expr);
        if own < at_least {
            f.write_str("(")?;
            open.push(Text(")"));
        }
        match expr.node() {
            Node::Const(value) => number(f, *value)?,
            Node::Symbol(name) if f.alternate() && !is_plain(name) => write!(f, "`{name}`")?,
            Node::Symbol(name) => f.write_str(name)?,
            Node::CustomGradient { value, tangent } => {
                f.write_str("{")?;
                open.extend([
                    Text("}"),
                    Operand(tangent, 0),
                    Text(" ∂ "),
                    Operand(value, 0),
                ]);
            }
            Node::Unary(Unary::Neg, a) => {
                f.write_str("-")?;
                open.push(Operand(a, 4));
            }
            Node::Unary(Unary::Abs, a) => {
                f.write_str("|")?;
                open.extend([Text("|"), Operand(a, 0)]);
            }
            Node::Unary(op, a) => {
                write!(f, "{}(", op.name())?;
                open.extend([Text(")"), Operand(a, 0)]);
            }
            Node::Binary(op @ (Binary::Pow | Binary::Min | Binary::Max), a, b) => {
                write!(f, "{}(", op.sign())?;
                open.extend([Text(")"), Operand(b, 0), Text(", "), Operand(a, 0)]);
            }
            // a + (b + c) and (a + b) + c differ in the last bits: keep the parentheses.
            Node::Binary(op, a, b) => open.extend([
                Operand(b, own + 1),
                Text(" "),
                Text(op.sign()),
                Text(" "),
                Operand(a, own + u8::from(op.is_comparison())),
            ]),
            Node::Select {
                condition,
                then,
                otherwise,
            } => open.extend([
                Operand(otherwise, 1),
                Text(" : "),
                Operand(then, 1),
                Text(" ? "),
                Operand(condition, 1),
            ]),
        }
    }
    Ok(())
}

impl fmt::Display for Expr {
    /// Prints the equation. Shared subexpressions of a very long one are printed once, in front:
    /// `#0 = x · x + 1; #0 · #0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let printed: fn(&Expr) -> &Expr = if f.alternate() {
            |expr| expr
        } else {
            Expr::valued
        };
        let named = Named::of(self, printed);
        for (k, part) in named.parts.iter().enumerate() {
            write!(f, "#{k} = ")?;
            print(f, part, &named, printed)?;
            f.write_str("; ")?;
        }
        print(f, self, &named, printed)
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Binary {
    /// The sign or name in printed equations.
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
