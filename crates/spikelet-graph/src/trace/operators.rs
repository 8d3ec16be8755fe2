//! `+`, `−`, `×`, `÷` and negation on traced values.

use super::Var;
use std::ops::{Add, Div, Mul, Neg, Sub};

macro_rules! operators {
    ($($trait:ident $method:ident $sign:tt;)*) => {$(
        operators!(@pair $trait $method $sign; Var, Var);
        operators!(@pair $trait $method $sign; Var, &Var);
        operators!(@pair $trait $method $sign; &Var, Var);
        operators!(@pair $trait $method $sign; &Var, &Var);
        operators!(@number $trait $method $sign; Var);
        operators!(@number $trait $method $sign; &Var);
    )*};
    (@pair $trait:ident $method:ident $sign:tt; $left:ty, $right:ty) => {
        impl $trait<$right> for $left {
            type Output = Var;
            fn $method(self, other: $right) -> Var {
                Var::map(&[&self, &other], |x| &x[0] $sign &x[1])
            }
        }
    };
    (@number $trait:ident $method:ident $sign:tt; $operand:ty) => {
        impl $trait<f64> for $operand {
            type Output = Var;
            fn $method(self, other: f64) -> Var {
                self.map1(|x| x $sign other)
            }
        }
        impl $trait<$operand> for f64 {
            type Output = Var;
            fn $method(self, other: $operand) -> Var {
                other.map1(|x| self $sign x)
            }
        }
    };
}

operators! {
    Add add +;
    Sub sub -;
    Mul mul *;
    Div div /;
}

impl Neg for Var {
    type Output = Var;
    fn neg(self) -> Var {
        self.map1(|x| -x)
    }
}

impl Neg for &Var {
    type Output = Var;
    fn neg(self) -> Var {
        self.map1(|x| -x)
    }
}
