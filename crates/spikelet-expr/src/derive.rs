//! Symbolic derivatives in reverse mode: one sweep computes those with respect to every symbol.

use crate::expr::{Binary, Expr, Node};
use crate::math::elementary_functions;
use crate::unary::Unary;
use crate::walk::children_first;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The vector-Jacobian product (pullback): computes dL/d(symbol) for each name in `wrt` from
/// dL/d(output) for each output.
///
/// The derivative with respect to a name that no output depends on is the constant 0. A custom
/// gradient is differentiated by its tangent.
///
/// ```
/// use spikelet_expr::{Expr, vjp};
/// let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
/// let grads = vjp(&[(&x * &y, Expr::symbol("g"))], &["x", "y"]);
/// assert_eq!(grads[0].to_string(), "g · y");
/// assert_eq!(grads[1].to_string(), "g · x");
/// ```
pub fn vjp(outputs: &[(Expr, Expr)], wrt: &[&str]) -> Vec<Expr> {
    let mut order = Order {
        wrt,
        seen: HashMap::new(),
        sorted: vec![],
    };
    for (output, _) in outputs {
        order.visit(output);
    }
    let mut adjoints: HashMap<*const Node, Expr> = HashMap::new();
    for (output, adjoint) in outputs {
        accumulate(&mut adjoints, &order, output, adjoint.clone());
    }
    let mut by_symbol: HashMap<Arc<str>, Expr> = HashMap::new();
    for expr in order.sorted.iter().rev() {
        let Some(adjoint) = adjoints.remove(&expr.pointer()) else {
            continue;
        };
        if let Node::Symbol(name) = expr.node() {
            let total = match by_symbol.remove(name) {
                Some(sum) => sum + adjoint,
                None => adjoint,
            };
            by_symbol.insert(name.clone(), total);
        } else {
            for (child, part) in local(expr, &adjoint, &order) {
                accumulate(&mut adjoints, &order, &child, part);
            }
        }
    }
    wrt.iter()
        .map(|&name| by_symbol.get(name).cloned().unwrap_or(Expr::constant(0.0)))
        .collect()
}

impl Expr {
    /// The derivative with respect to one symbol.
    pub fn derivative(&self, symbol: &str) -> Expr {
        vjp(&[(self.clone(), Expr::constant(1.0))], &[symbol]).remove(0)
    }

    /// The names of all symbols that the value depends on, sorted.
    pub fn symbols(&self) -> Vec<String> {
        named(self, false)
    }

    /// The names of all symbols that the value or its derivative depends on, sorted.
    ///
    /// ```
    /// use spikelet_expr::Expr;
    /// let (x, slope) = (Expr::symbol("x"), Expr::symbol("slope"));
    /// let spike = Expr::with_gradient_of(x.ge(0.0), &x, slope);
    /// assert_eq!(spike.symbols(), ["x"]);
    /// assert_eq!(spike.symbols_of_all(), ["slope", "x"]);
    /// ```
    pub fn symbols_of_all(&self) -> Vec<String> {
        named(self, true)
    }
}

/// The symbols of an expression, with or without those of the tangents of custom gradients.
fn named(expr: &Expr, tangents: bool) -> Vec<String> {
    let mut seen: HashSet<*const Node> = HashSet::new();
    let (mut left, mut names) = (vec![expr.clone()], vec![]);
    while let Some(expr) = left.pop() {
        if !seen.insert(expr.pointer()) {
            continue;
        }
        match expr.node() {
            Node::Symbol(name) => names.push(name.to_string()),
            Node::CustomGradient { value, .. } if !tangents => left.push(value.clone()),
            _ => left.extend(expr.children()),
        }
    }
    names.sort();
    names.dedup();
    names
}

/// The operands that a derivative passes through.
fn tangent_children(expr: &Expr) -> Vec<Expr> {
    match expr.node() {
        Node::CustomGradient { tangent, .. } => vec![tangent.clone()],
        _ => expr.children(),
    }
}

/// Topological order along tangents, and the nodes that depend on a symbol in `wrt`.
struct Order<'a> {
    wrt: &'a [&'a str],
    seen: HashMap<*const Node, bool>,
    sorted: Vec<Expr>,
}

impl Order<'_> {
    fn visit(&mut self, expr: &Expr) {
        children_first(
            self,
            expr,
            |order, expr| order.seen.contains_key(&expr.pointer()),
            tangent_children,
            |order, expr| {
                let needed = match expr.node() {
                    Node::Symbol(name) => order.wrt.contains(&&**name),
                    _ => tangent_children(expr).iter().any(|c| order.needs(c)),
                };
                order.seen.insert(expr.pointer(), needed);
                order.sorted.push(expr.clone());
            },
        );
    }

    fn needs(&self, expr: &Expr) -> bool {
        self.seen.get(&expr.pointer()).copied().unwrap_or(false)
    }
}

fn accumulate(adjoints: &mut HashMap<*const Node, Expr>, order: &Order, to: &Expr, part: Expr) {
    if !order.needs(to) || part.as_constant() == Some(0.0) {
        return;
    }
    let total = match adjoints.remove(&to.pointer()) {
        Some(sum) => sum + part,
        None => part,
    };
    adjoints.insert(to.pointer(), total);
}

/// The maximal number of nested conditions around an adjoint; more are merged into one.
const MAX_GUARDS: usize = 16;

/// The adjoints of a node's operands: (operand, adjoint · ∂node/∂operand).
///
/// An adjoint that is zero where a branch is not taken stays a selection: zero times a slope that is
/// infinite or NaN there would be NaN. Each node rebuilds these selections, so they must not grow
/// with the depth of nested selections.
fn local(expr: &Expr, g: &Expr, order: &Order) -> Vec<(Expr, Expr)> {
    let (mut guards, mut g) = (vec![], g.clone());
    while let Some((condition, holds, inner)) = guarded(&g) {
        guards.push((condition, holds));
        g = inner;
    }
    if guards.len() > MAX_GUARDS {
        guards = vec![(within(&guards, &Expr::constant(1.0)), true)];
    }
    let mut parts = slopes(expr, &g, order);
    for (_, part) in &mut parts {
        *part = within(&guards, part);
    }
    parts
}

/// `value` where all conditions have the required truth, outermost first; else zero.
fn within(guards: &[(Expr, bool)], value: &Expr) -> Expr {
    let one = |inner: Expr, (condition, holds): &(Expr, bool)| match holds {
        true => Expr::select(condition, inner, 0.0),
        false => Expr::select(condition, 0.0, inner),
    };
    guards.iter().rev().fold(value.clone(), one)
}

/// If the adjoint is zero on one side of a condition: the condition, whether it has to hold, and the
/// adjoint on the other side.
fn guarded(g: &Expr) -> Option<(Expr, bool, Expr)> {
    match g.node() {
        Node::Select(condition, then, otherwise) => {
            if otherwise.as_constant() == Some(0.0) {
                Some((condition.clone(), true, then.clone()))
            } else if then.as_constant() == Some(0.0) {
                Some((condition.clone(), false, otherwise.clone()))
            } else {
                None
            }
        }
        Node::Binary(op, ..) if op.is_comparison() => Some((g.clone(), true, Expr::constant(1.0))),
        _ => None,
    }
}

fn slopes(expr: &Expr, g: &Expr, order: &Order) -> Vec<(Expr, Expr)> {
    match expr.node() {
        Node::Const(_) | Node::Symbol(_) => vec![],
        Node::CustomGradient { tangent, .. } => vec![(tangent.clone(), g.clone())],
        Node::Unary(op, a) => vec![(a.clone(), unary(*op, a, expr, g))],
        Node::Binary(op, a, b) => {
            let mut parts = vec![];
            if order.needs(a) {
                parts.push((a.clone(), left(*op, a, b, g)));
            }
            if order.needs(b) {
                parts.push((b.clone(), right(*op, a, b, expr, g)));
            }
            parts
        }
        Node::Select(condition, then, otherwise) => vec![
            (then.clone(), Expr::select(condition, g, 0.0)),
            (otherwise.clone(), Expr::select(condition, 0.0, g)),
        ],
    }
}

macro_rules! unary_gradient {
    ([$value:ident, $x:ident, $y:ident, $g:ident] $(
        $(#[$doc:meta])* $op:ident: $method:ident {
            name: $name:literal, f64: $double:expr, gradient: $gradient:expr, $($_:tt)*
        }
    )*) => {
        match $value {
            Unary::Neg => -$g,
            $(Unary::$op => {
                let gradient: fn(&Expr, &Expr, &Expr) -> Expr = $gradient;
                gradient($g, $x, $y)
            })*
            Unary::Sqrt => $g / (2.0 * $y),
            Unary::Abs => Expr::select($x.gt(0.0), $g, Expr::select($x.lt(0.0), -$g, 0.0)),
            Unary::Round | Unary::Floor => Expr::constant(0.0),
        }
    };
}

/// g · ∂y/∂x for y = op(x).
fn unary(op: Unary, x: &Expr, y: &Expr, g: &Expr) -> Expr {
    elementary_functions!(unary_gradient op, x, y, g)
}

fn left(op: Binary, a: &Expr, b: &Expr, g: &Expr) -> Expr {
    match op {
        Binary::Add | Binary::Sub => g.clone(),
        Binary::Mul => g * b,
        Binary::Div => g / b,
        Binary::Pow => g * (b * a.pow(b - 1.0)),
        Binary::Min => Expr::select(a.le(b), g, 0.0),
        Binary::Max => Expr::select(a.ge(b), g, 0.0),
        _ => Expr::constant(0.0),
    }
}

fn right(op: Binary, a: &Expr, b: &Expr, y: &Expr, g: &Expr) -> Expr {
    match op {
        Binary::Add => g.clone(),
        Binary::Sub => -g,
        Binary::Mul => g * a,
        Binary::Div => -(g * y / b),
        Binary::Pow => g * (y * a.ln()),
        Binary::Min => Expr::select(a.le(b), 0.0, g),
        Binary::Max => Expr::select(a.ge(b), 0.0, g),
        _ => Expr::constant(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_gradient_is_differentiated_by_its_tangent_and_evaluated_by_its_value() {
        let x = Expr::symbol("x");
        let spike = Expr::custom_gradient(x.ge(0.0), x.sigmoid());
        let y = &spike * 3.0 + &spike * &x;
        let d = y.derivative("x").to_string();
        assert!(d.contains("σ(x)"), "{d}");
        assert!(y.to_string().contains("x ≥ 0") && !y.to_string().contains('σ'));
    }

    #[test]
    fn a_shared_node_accumulates_all_its_adjoints_before_it_propagates_them() {
        let x = Expr::symbol("x");
        let square = &x * &x;
        assert_eq!(
            (&square + &square).derivative("x").to_string(),
            "2 · x + 2 · x"
        );
    }

    #[test]
    fn a_detached_expression_has_no_derivative() {
        let x = Expr::symbol("x");
        assert_eq!((x.detach() * &x).derivative("x").to_string(), "x");
    }
}
