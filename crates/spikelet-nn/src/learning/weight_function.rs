//! The dependence of a change on the weight.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use spikelet_expr::Expr;
use spikelet_schema::document::{Located, Node};
use spikelet_schema::{Field, FieldValue, Kind, read_by_serde};

/// A function of the weight that multiplies its change.
///
/// | function | value |
/// |---|---|
/// | `Identity` | w |
/// | `Constant { c }` | c |
/// | `Clamp { lo, hi }` | w, limited to lo … hi |
/// | `Lower { a, w_min, mu }` | a · max(w − w_min, 0)^mu: 0 at the lower bound |
/// | `Upper { a, w_max, mu }` | a · max(w_max − w, 0)^mu: 0 at the upper bound |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum WeightFunction {
    /// w. The change of a weight of 0 is 0, and that of a negative weight has the opposite sign.
    Identity,
    /// A number.
    Constant {
        /// The value.
        c: f64,
    },
    /// w between two limits.
    Clamp {
        /// The lower limit.
        lo: f64,
        /// The upper limit.
        hi: f64,
    },
    /// A soft lower bound.
    Lower {
        /// The factor.
        a: f64,
        /// The bound.
        w_min: f64,
        /// The exponent.
        mu: f64,
    },
    /// A soft upper bound.
    Upper {
        /// The factor.
        a: f64,
        /// The bound.
        w_max: f64,
        /// The exponent.
        mu: f64,
    },
}

impl FieldValue for WeightFunction {
    fn kind() -> Kind {
        Kind::Other(
            "a table with `name`, a function of the weight, and its constants",
            || json!({"type": "object", "required": ["name"]}),
        )
    }

    fn read(&mut self, field: &Field, node: &Node) -> Result<(), Located> {
        *self = read_by_serde(field, node)?;
        Ok(())
    }

    fn write(&self) -> Value {
        json!(self)
    }
}

impl WeightFunction {
    /// The function of an expression.
    pub fn of(&self, w: &Expr) -> Expr {
        let power = |a: f64, distance: Expr, mu: f64| {
            let distance = distance.max(0.0);
            match mu {
                1.0 => a * distance,
                _ => a * distance.pow(mu),
            }
        };
        match *self {
            Self::Identity => w.clone(),
            Self::Constant { c } => Expr::constant(c),
            Self::Clamp { lo, hi } => w.clamp(lo, hi),
            Self::Lower { a, w_min, mu } => power(a, w - w_min, mu),
            Self::Upper { a, w_max, mu } => power(a, w_max - w, mu),
        }
    }
}
