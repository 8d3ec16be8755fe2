//! The expression graph.

use crate::unary::Unary;
use std::sync::Arc;

/// A scalar expression: a cheap handle to an immutable directed acyclic graph.
///
/// Operators are overloaded for `Expr`, `&Expr` and `f64`, so that an equation reads as in its
/// paper. An expression is evaluated in the order in which it is written, on every device: the order
/// decides the last bits, and hence the spikes.
///
/// ```
/// use spikelet_expr::Expr;
/// let (v, x) = (Expr::symbol("v"), Expr::symbol("x"));
/// let h = &v + (x - &v) / 3.0;
/// assert_eq!(h.to_string(), "v + (x - v) / 3");
/// assert_eq!(h.derivative("v").to_string(), "0.6666666666666667");
/// ```
#[derive(Clone)]
pub struct Expr(pub(crate) Arc<Node>);

/// One node of an expression.
#[derive(Clone, Debug)]
pub enum Node {
    /// A number; rounded to the evaluator's type.
    Const(f64),
    /// A named input, state or parameter.
    Symbol(Arc<str>),
    /// A function of one argument.
    Unary(Unary, Expr),
    /// A function of two arguments.
    Binary(Binary, Expr, Expr),
    /// `Select(condition, then, otherwise)`: `then` where the condition is not zero, else `otherwise`. A NaN in the branch
    /// that is not taken does not reach the result.
    Select(Expr, Expr, Expr),
    /// The value of one expression with the derivative of another.
    CustomGradient {
        /// The expression that is evaluated.
        value: Expr,
        /// The expression that is differentiated.
        tangent: Expr,
    },
}

/// Functions of two arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// a + b
    Add,
    /// a − b
    Sub,
    /// a · b
    Mul,
    /// a / b
    Div,
    /// aᵇ
    Pow,
    /// The smaller; NaN if either is NaN.
    Min,
    /// The larger; NaN if either is NaN.
    Max,
    /// 1 if a < b, else 0.
    Lt,
    /// 1 if a ≤ b, else 0.
    Le,
    /// 1 if a > b, else 0.
    Gt,
    /// 1 if a ≥ b, else 0.
    Ge,
    /// 1 if a = b, else 0.
    Eq,
    /// 1 if a ≠ b, else 0.
    Ne,
}

impl Binary {
    /// All functions, comparisons last.
    pub const ALL: [Self; 13] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Div,
        Self::Pow,
        Self::Min,
        Self::Max,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
        Self::Eq,
        Self::Ne,
    ];

    /// Whether this is one of the comparisons, whose results are 1 and 0.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Lt | Self::Le | Self::Gt | Self::Ge | Self::Eq | Self::Ne
        )
    }
}

impl Expr {
    /// A named leaf: an input, a state or a parameter.
    pub fn symbol(name: impl AsRef<str>) -> Expr {
        Expr(Arc::new(Node::Symbol(Arc::from(name.as_ref()))))
    }

    /// A number.
    pub fn constant(value: f64) -> Expr {
        Expr(Arc::new(Node::Const(value)))
    }

    /// The node behind the handle.
    pub fn node(&self) -> &Node {
        &self.0
    }

    /// The value, if the expression is a number.
    pub fn as_constant(&self) -> Option<f64> {
        match self.node() {
            Node::Const(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether every value is 0 or 1, as those of comparisons, spikes and masks.
    pub fn is_binary(&self) -> bool {
        match self.node() {
            Node::Const(value) => [0.0, 1.0].contains(value),
            Node::Binary(op, ..) => op.is_comparison(),
            Node::Select(_, then, otherwise) => then.is_binary() && otherwise.is_binary(),
            Node::CustomGradient { value, .. } => value.is_binary(),
            Node::Symbol(_) | Node::Unary(..) => false,
        }
    }

    /// The value of `value` with the derivative of `tangent`.
    ///
    /// A spike gets its surrogate gradient in this way: the value is a step function, the tangent a
    /// smooth function. Higher derivatives are those of the tangent.
    pub fn custom_gradient(value: impl Into<Expr>, tangent: impl Into<Expr>) -> Expr {
        let (value, tangent) = (value.into(), tangent.into());
        match (value.node(), tangent.node()) {
            // A constant has no derivative anyway.
            (Node::Const(_), Node::Const(_)) => value,
            _ => Expr(Arc::new(Node::CustomGradient { value, tangent })),
        }
    }

    /// The same value, with no derivative.
    pub fn detach(&self) -> Expr {
        match self.node() {
            Node::Const(_) => self.clone(),
            _ => Expr::custom_gradient(self, 0.0),
        }
    }

    /// The nodes directly below, in order of evaluation.
    pub fn children(&self) -> Vec<Expr> {
        match self.node() {
            Node::Const(_) | Node::Symbol(_) => vec![],
            Node::Unary(_, a) => vec![a.clone()],
            Node::Binary(_, a, b) => vec![a.clone(), b.clone()],
            Node::Select(condition, then, otherwise) => {
                vec![condition.clone(), then.clone(), otherwise.clone()]
            }
            Node::CustomGradient { value, tangent } => vec![value.clone(), tangent.clone()],
        }
    }
}

impl From<f64> for Expr {
    fn from(value: f64) -> Expr {
        Expr::constant(value)
    }
}

impl From<f32> for Expr {
    fn from(value: f32) -> Expr {
        Expr::constant(f64::from(value))
    }
}

impl From<&Expr> for Expr {
    fn from(value: &Expr) -> Expr {
        value.clone()
    }
}
