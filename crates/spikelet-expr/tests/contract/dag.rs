//! Random expressions with shared subexpressions.

use crate::naive;
use proptest::prelude::*;
use spikelet_expr::{Binary, Expr, Unary};

pub const SYMBOLS: [&str; 4] = ["x", "y", "v", "w"];

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Unary(Unary, usize),
    Binary(Binary, usize, usize),
    Select(usize, usize, usize),
}

/// Leaves, followed by one value per step, computed from earlier ones.
#[derive(Clone, Debug)]
pub struct Dag {
    pub constants: Vec<f64>,
    pub steps: Vec<Step>,
}

pub fn dags(most: usize) -> impl Strategy<Value = Dag> {
    let constant = prop_oneof![
        prop::sample::select(vec![0.0, 1.0, -1.0, 2.0, 0.5, -4.0, 3.0]),
        -3.0..3.0_f64,
    ];
    let step = (0..8_usize, 0..14_usize, any::<[prop::sample::Index; 3]>());
    let parts = (
        prop::collection::vec(constant, 2..5),
        prop::collection::vec(step, 1..most),
    );
    parts.prop_map(|(constants, raw)| {
        let leaves = SYMBOLS.len() + constants.len();
        let mut steps = vec![];
        for (k, (kind, op, picks)) in raw.into_iter().enumerate() {
            let [a, b, c] = picks.map(|i| i.index(leaves + k));
            steps.push(match kind {
                0 | 1 => Step::Unary(Unary::ALL[op], a),
                2 => Step::Select(a, b, c),
                // Arithmetic more often than the rest, because it is fused.
                3 | 4 => Step::Binary(Binary::ALL[op % 3], a, b),
                _ => Step::Binary(Binary::ALL[op % 13], a, b),
            });
        }
        Dag { constants, steps }
    })
}

impl Dag {
    /// Every value as an expression, leaves first.
    pub fn expressions(&self) -> Vec<Expr> {
        let mut all: Vec<Expr> = SYMBOLS.iter().map(Expr::symbol).collect();
        all.extend(self.constants.iter().map(|&c| Expr::constant(c)));
        for step in &self.steps {
            all.push(match *step {
                Step::Unary(op, a) => Expr::unary(op, &all[a]),
                Step::Binary(op, a, b) => Expr::binary(op, &all[a], &all[b]),
                Step::Select(c, a, b) => Expr::select(&all[c], &all[a], &all[b]),
            });
        }
        all
    }

    /// Every value as a number, without simplification.
    pub fn values(&self, symbols: [f64; 4]) -> Vec<f64> {
        let mut all: Vec<f64> = symbols.to_vec();
        all.extend(&self.constants);
        for step in &self.steps {
            all.push(match *step {
                Step::Unary(op, a) => op.apply(all[a]),
                Step::Binary(op, a, b) => naive::binary(op, all[a], all[b]),
                Step::Select(c, a, b) => {
                    if all[c] != 0.0 {
                        all[a]
                    } else {
                        all[b]
                    }
                }
            });
        }
        all
    }
}
