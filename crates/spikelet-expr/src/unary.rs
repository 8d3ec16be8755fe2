//! The functions of one argument: the elementary functions and five instructions.

use crate::math::{Real, elementary_functions};

/// `dispatch_unary!(R, op, f => body)`: `body`, compiled once for each function, with `f` bound to
/// the function `op` over the type `R`.
macro_rules! dispatch_unary {
    ($type:ident, $op:expr, $f:ident => $body:expr) => {
        $crate::math::elementary_functions!(
            dispatch_unary @arms $type, $op, $f, $body
        )
    };
    ([@arms $type:ident, $value:expr, $f:ident, $body:expr]
        $($(#[$doc:meta])* $op:ident: $method:ident { $($_:tt)* })*
    ) => {
        match $value {
            Unary::Neg => { let $f = |x: $type| -x; $body }
            $(Unary::$op => { let $f = <$type as Real>::$method; $body })*
            Unary::Sqrt => { let $f = <$type as Real>::sqrt; $body }
            Unary::Abs => { let $f = <$type as Real>::abs; $body }
            Unary::Round => { let $f = <$type as Real>::round_half_even; $body }
            Unary::Floor => { let $f = <$type as Real>::floor; $body }
        }
    };
}
pub(crate) use dispatch_unary;

macro_rules! define_unary {
    ([] $($(#[$doc:meta])* $op:ident: $method:ident { name: $name:literal, $($_:tt)* })*) => {
        /// Functions of one argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Unary {
            /// −x
            Neg,
            $($(#[$doc])* $op,)*
            /// Square root.
            Sqrt,
            /// |x|
            Abs,
            /// Nearest integer, ties to even.
            Round,
            /// Largest integer not above x.
            Floor,
        }

        impl Unary {
            /// All functions.
            pub const ALL: [Self; 5 + [$(stringify!($op)),*].len()] = [
                Self::Neg,
                $(Self::$op,)*
                Self::Sqrt,
                Self::Abs,
                Self::Round,
                Self::Floor,
            ];

            /// The name in printed equations.
            pub fn name(self) -> &'static str {
                match self {
                    Self::Neg => "-",
                    $(Self::$op => $name,)*
                    Self::Sqrt => "sqrt",
                    Self::Abs => "abs",
                    Self::Round => "round",
                    Self::Floor => "floor",
                }
            }
        }
    };
}

elementary_functions!(define_unary);

impl Unary {
    /// The function of `x`.
    ///
    /// ```
    /// use spikelet_expr::Unary;
    /// assert_eq!(Unary::Floor.apply(-0.5_f32), -1.0);
    /// ```
    pub fn apply<R: Real>(self, x: R) -> R {
        dispatch_unary!(R, self, f => f(x))
    }

    /// Whether it is computed by a polynomial, not by one instruction.
    pub fn is_elementary(self) -> bool {
        !matches!(
            self,
            Self::Neg | Self::Sqrt | Self::Abs | Self::Round | Self::Floor
        )
    }
}
