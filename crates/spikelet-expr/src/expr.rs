//! The expression tree and its operators.

use crate::unary::Unary;
use crate::walk::children_first;
use std::collections::HashMap;
use std::ops::{Add, Div, Mul, Neg, Sub};
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
    /// `then` where `condition` is not zero, else `otherwise`. A NaN in the branch that is not taken
    /// does not reach the result.
    Select {
        /// True if not zero; comparisons give 1 or 0.
        condition: Expr,
        /// The value if the condition is true.
        then: Expr,
        /// The value if the condition is false.
        otherwise: Expr,
    },
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

macro_rules! binary_methods {
    ($($(#[$doc:meta])* $method:ident => $op:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method(&self, other: impl Into<Expr>) -> Expr {
            Expr::binary(Binary::$op, self, &other.into())
        }
    )*};
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

    /// `then` where `condition` is not zero, else `otherwise`.
    ///
    /// ```
    /// use spikelet_expr::Expr;
    /// let x = Expr::symbol("x");
    /// let relu = Expr::select(x.gt(0.0), &x, 0.0);
    /// assert_eq!(relu.to_string(), "x > 0 ? x : 0");
    /// ```
    pub fn select(
        condition: impl Into<Expr>,
        then: impl Into<Expr>,
        otherwise: impl Into<Expr>,
    ) -> Expr {
        crate::simplify::select(condition.into(), then.into(), otherwise.into())
    }

    /// The value of `value` with the derivative of `tangent`.
    ///
    /// A spike gets its surrogate gradient in this way: the value is a step function, the tangent a
    /// smooth function. Higher derivatives are those of the tangent.
    pub fn custom_gradient(value: impl Into<Expr>, tangent: impl Into<Expr>) -> Expr {
        Expr(Arc::new(Node::CustomGradient {
            value: value.into(),
            tangent: tangent.into(),
        }))
    }

    /// The same value, with no derivative.
    pub fn detach(&self) -> Expr {
        match self.node() {
            Node::Const(_) => self.clone(),
            _ => Expr::custom_gradient(self, 0.0),
        }
    }

    /// `value`, whose derivative with respect to `argument` is `slope`.
    ///
    /// ```
    /// use spikelet_expr::Expr;
    /// let x = Expr::symbol("x");
    /// let spike = Expr::with_gradient_of(x.ge(0.0), &x, (-(&x * &x)).exp());
    /// assert_eq!(spike.to_string(), "x ≥ 0");
    /// assert_eq!(spike.derivative("x").to_string(), "exp(-(x · x))");
    /// ```
    pub fn with_gradient_of(
        value: impl Into<Expr>,
        argument: impl Into<Expr>,
        slope: impl Into<Expr>,
    ) -> Expr {
        Expr::custom_gradient(value, slope.into().detach() * argument.into())
    }

    /// Square root.
    pub fn sqrt(&self) -> Expr {
        Expr::unary(Unary::Sqrt, self)
    }

    /// |x|
    pub fn abs(&self) -> Expr {
        Expr::unary(Unary::Abs, self)
    }

    /// Nearest integer, ties to even; its derivative is 0.
    pub fn round(&self) -> Expr {
        Expr::unary(Unary::Round, self)
    }

    /// Largest integer not above x; its derivative is 0.
    pub fn floor(&self) -> Expr {
        Expr::unary(Unary::Floor, self)
    }

    binary_methods! {
        /// `self` to the power `other`.
        pow => Pow;
        /// The smaller of two; NaN if either is NaN. Ties pass the derivative to `self`.
        min => Min;
        /// The larger of two; NaN if either is NaN. Ties pass the derivative to `self`.
        max => Max;
        /// 1 if `self` < `other`, else 0.
        lt => Lt;
        /// 1 if `self` ≤ `other`, else 0.
        le => Le;
        /// 1 if `self` > `other`, else 0.
        gt => Gt;
        /// 1 if `self` ≥ `other`, else 0.
        ge => Ge;
        /// 1 if `self` = `other`, else 0.
        equals => Eq;
        /// 1 if `self` ≠ `other`, else 0.
        differs => Ne;
    }

    /// `self` limited to `low` … `high`; the derivative is 1 inside and at both ends.
    pub fn clamp(&self, low: impl Into<Expr>, high: impl Into<Expr>) -> Expr {
        self.max(low).min(high)
    }

    /// A function of one argument, simplified where that does not change its value.
    pub fn unary(op: Unary, a: &Expr) -> Expr {
        crate::simplify::unary(op, a)
    }

    /// A function of two arguments, simplified where that does not change its value.
    pub fn binary(op: Binary, a: &Expr, b: &Expr) -> Expr {
        crate::simplify::binary(op, a, b)
    }

    /// The nodes directly below, in order of evaluation.
    pub fn children(&self) -> Vec<Expr> {
        match self.node() {
            Node::Const(_) | Node::Symbol(_) => vec![],
            Node::Unary(_, a) => vec![a.clone()],
            Node::Binary(_, a, b) => vec![a.clone(), b.clone()],
            Node::Select {
                condition,
                then,
                otherwise,
            } => vec![condition.clone(), then.clone(), otherwise.clone()],
            Node::CustomGradient { value, tangent } => vec![value.clone(), tangent.clone()],
        }
    }

    /// Whether the value depends on an elementary function (`exp`, `sigmoid`, `sin`, …) of an operand
    /// with a symbol for which `varies` holds.
    ///
    /// ```
    /// use spikelet_expr::Expr;
    /// let h = Expr::symbol("v") * Expr::symbol("w").sigmoid();
    /// assert!(h.needs_function_of(&|name| name == "w"));
    /// assert!(!h.needs_function_of(&|name| name == "v"));
    /// ```
    pub fn needs_function_of(&self, varies: &dyn Fn(&str) -> bool) -> bool {
        let is_function = |e: &Expr| match e.node() {
            Node::Unary(op, _) => op.is_elementary(),
            Node::Binary(op, ..) => *op == Binary::Pow,
            _ => false,
        };
        // Whether each node depends on a symbol that varies, and whether a function was found.
        let mut state = (HashMap::new(), false);
        children_first(
            &mut state,
            self,
            |(depends, _), e| depends.contains_key(&e.pointer()),
            Expr::value_children,
            |(depends, found), e| {
                let own = matches!(e.node(), Node::Symbol(name) if varies(name));
                let below = e.value_children();
                let depends_here = own || below.iter().any(|child| depends[&child.pointer()]);
                *found |= depends_here && is_function(e);
                depends.insert(e.pointer(), depends_here);
            },
        );
        state.1
    }

    /// The name, if the value is that of a symbol.
    pub fn as_symbol(&self) -> Option<&str> {
        match self.valued().node() {
            Node::Symbol(name) => Some(name),
            _ => None,
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

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        operators!(@one $trait $method $op; Expr, Expr);
        operators!(@one $trait $method $op; Expr, &Expr);
        operators!(@one $trait $method $op; &Expr, Expr);
        operators!(@one $trait $method $op; &Expr, &Expr);
        operators!(@one $trait $method $op; Expr, f64);
        operators!(@one $trait $method $op; &Expr, f64);
        operators!(@one $trait $method $op; f64, Expr);
        operators!(@one $trait $method $op; f64, &Expr);
    )*};
    (@one $trait:ident $method:ident $op:ident; $left:ty, $right:ty) => {
        impl $trait<$right> for $left {
            type Output = Expr;
            fn $method(self, other: $right) -> Expr {
                Expr::binary(Binary::$op, &Expr::from(self), &Expr::from(other))
            }
        }
    };
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::unary(Unary::Neg, &self)
    }
}

impl Neg for &Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::unary(Unary::Neg, self)
    }
}
