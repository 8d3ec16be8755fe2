//! Printed equations: infix, with as few parentheses as the order of evaluation allows.
//!
//! `{}` is for people: custom gradients print as their value, numbers with the digits of f32 if they are f32
//! numbers. `{:#}` and a [`Listing`] are read back as they were (`parse.rs`), with all that is shared: the
//! derivative of a shared part is a sum, which has other bits than the derivatives of two equal parts.

use crate::expr::{Binary, Expr, Node};
use crate::unary::Unary;
use crate::walk::children_first;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Expressions whose tree has more nodes are printed with names for shared subexpressions: the tree
/// of 60 doublings has 2^60 nodes.
const MAX_TREE_NODES: u64 = 10_000;

/// Parts of so many levels have a name where a text is read back: readers need not be recursive without end.
const LEVELS: usize = 64;

/// The precedence of an operator; larger binds tighter.
fn binding(expr: &Expr) -> u8 {
    match expr.node() {
        Node::Select(..) => 0,
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
    /// Which node of its name a symbol is, where nodes are told apart.
    nodes: HashMap<*const Node, usize>,
}

impl Named {
    /// The shared subexpressions: all of them if the text is read back, otherwise if the tree is too long.
    fn of(roots: &[Expr], full: bool) -> Self {
        // The tree size of each node, the number of its parents, the levels below it.
        let mut known: HashMap<*const Node, (u64, usize, usize)> = HashMap::new();
        let mut parts = vec![];
        let operands = |expr: &Expr| -> Vec<Expr> {
            let children = expr.children();
            children
                .iter()
                .map(|child| printed(child, full).clone())
                .collect()
        };
        let mut size = 0_u64;
        for root in roots {
            let root = printed(root, full);
            children_first(
                &mut known,
                root,
                |known, expr| known.contains_key(&expr.pointer()),
                operands,
                |known, expr| {
                    let (mut length, mut levels) = (1_u64, 0);
                    for child in operands(expr) {
                        if let Some((own, places, below)) = known.get_mut(&child.pointer()) {
                            length = length.saturating_add(*own);
                            levels = levels.max(*below + 1);
                            *places += 1;
                        }
                    }
                    known.insert(expr.pointer(), (length, 0, levels));
                    parts.push(expr.clone());
                },
            );
            if let Some((length, places, _)) = known.get_mut(&root.pointer()) {
                size = size.saturating_add(*length);
                *places += 1;
            }
        }
        if size <= MAX_TREE_NODES && !full {
            return Self::default();
        }
        parts.retain(|expr| {
            let (_, places, levels) = known[&expr.pointer()];
            places > 1 && levels > 0 || full && levels > 0 && levels % LEVELS == 0
        });
        let numbers = parts.iter().enumerate().map(|(k, e)| (e.pointer(), k));
        Self {
            numbers: numbers.collect(),
            parts,
            nodes: HashMap::new(),
        }
    }
}

/// The expression as it is printed: with its custom gradients, or without.
fn printed(expr: &Expr, full: bool) -> &Expr {
    if full { expr } else { expr.valued() }
}

/// The rest of the text.
enum Item<'a> {
    Text(&'static str),
    /// In parentheses, unless its precedence is at least this.
    Operand(&'a Expr, u8),
}

/// Prints an expression; `whole`: even if it has a name itself.
fn print(f: &mut fmt::Formatter<'_>, root: &Expr, named: &Named, whole: bool) -> fmt::Result {
    use Item::{Operand, Text};
    let mut open = vec![Operand(root, 0)];
    let mut at_root = whole;
    while let Some(item) = open.pop() {
        let (expr, at_least) = match item {
            Text(text) => {
                f.write_str(text)?;
                continue;
            }
            Operand(expr, at_least) => (printed(expr, f.alternate()), at_least),
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
            Node::Symbol(name) => {
                match f.alternate() && !is_plain(name) {
                    true => write!(f, "`{name}`")?,
                    false => f.write_str(name)?,
                }
                let node = named.nodes.get(&expr.pointer());
                f.write_str(&"'".repeat(node.copied().unwrap_or(0)))?;
            }
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
            Node::Select(condition, then, otherwise) => open.extend([
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
        let named = Named::of(std::slice::from_ref(self), f.alternate());
        for (k, part) in named.parts.iter().enumerate() {
            write!(f, "#{k} = ")?;
            print(f, part, &named, true)?;
            f.write_str("; ")?;
        }
        print(f, self, &named, true)
    }
}

/// Expressions as text that [`ExprReader`](crate::ExprReader) reads back.
///
/// ```
/// use spikelet_expr::{Expr, Listing};
/// let h = Expr::symbol("v") * 0.5 + Expr::symbol("x");
/// let listing = Listing::of(&[h.ge(1.0), h]);
/// assert_eq!(listing.shared, ["v · 0.5 + x"]);
/// assert_eq!(listing.values, ["#0 ≥ 1", "#0"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The parts that several expressions share, or one at several places: `#0`, `#1`, ….
    pub shared: Vec<String>,
    /// The expressions.
    pub values: Vec<String>,
}

impl Listing {
    /// The text of expressions, read back with one node for each symbol.
    pub fn of(exprs: &[Expr]) -> Self {
        Self::from(exprs, Named::of(exprs, true))
    }

    /// The text of expressions whose derivative has the same bits when it is read back: `v'` is another node of the
    /// symbol `v`, since the order of a sum of derivatives depends on it.
    pub fn exact(exprs: &[Expr]) -> Self {
        let mut named = Named::of(exprs, true);
        let mut names: HashMap<Arc<str>, usize> = HashMap::new();
        for expr in exprs {
            children_first(
                &mut named.nodes,
                expr,
                |nodes, expr| nodes.contains_key(&expr.pointer()),
                Expr::children,
                |nodes, expr| {
                    let mut node = 0;
                    if let Node::Symbol(name) = expr.node() {
                        let count = names.entry(name.clone()).or_default();
                        (node, *count) = (*count, *count + 1);
                    }
                    nodes.insert(expr.pointer(), node);
                },
            );
        }
        Self::from(exprs, named)
    }

    fn from(exprs: &[Expr], named: Named) -> Self {
        struct Full<'a>(&'a Expr, &'a Named, bool);
        impl fmt::Display for Full<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print(f, self.0, self.1, self.2)
            }
        }
        let texts = |exprs: &[Expr], whole| {
            let texts = exprs
                .iter()
                .map(|e| format!("{:#}", Full(e, &named, whole)));
            texts.collect()
        };
        Self {
            shared: texts(&named.parts, true),
            values: texts(exprs, false),
        }
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
