//! Building expressions: methods and operators, each simplified where that does not change the value.

use crate::expr::{Binary, Expr, Node};
use crate::math::elementary_functions;
use crate::simplify;
use crate::unary::Unary;
use crate::walk::children_first;
use std::collections::HashMap;
use std::ops::{Add, Div, Mul, Neg, Sub};

macro_rules! binary_methods {
    ($($(#[$doc:meta])* $method:ident => $op:ident;)*) => {$(
        $(#[$doc])*
        pub fn $method(&self, other: impl Into<Expr>) -> Expr {
            Expr::binary(Binary::$op, self, &other.into())
        }
    )*};
}

macro_rules! unary_methods {
    ([] $($(#[$doc:meta])* $op:ident: $method:ident { $($_:tt)* })*) => {
        impl Expr {
            $($(#[$doc])* pub fn $method(&self) -> Expr { Expr::unary(Unary::$op, self) })*
        }
    };
}

elementary_functions!(unary_methods);

impl Expr {
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
        simplify::select(condition.into(), then.into(), otherwise.into())
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
        simplify::unary(op, a)
    }

    /// A function of two arguments, simplified where that does not change its value.
    pub fn binary(op: Binary, a: &Expr, b: &Expr) -> Expr {
        simplify::binary(op, a, b)
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
