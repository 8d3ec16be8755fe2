//! Printing expressions as straight-line code.

use super::division::reciprocal;
use super::functions::Function;
use super::{Approximate, Builtin, Dialect, Rounding, Scalar};
use crate::expr::{Binary, Expr};
use crate::interner::{Interner, Key};
use crate::program::CompileError;
use crate::unary::Unary;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Statements that compute several expressions together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// One declaration per line, in order of evaluation; empty if nothing has to be computed.
    pub code: String,
    /// The text of each expression's value after the statements: a temporary, the name of a symbol,
    /// or a literal.
    pub results: Vec<String>,
    /// The functions that the statements call; see [`Dialect::library`].
    pub functions: BTreeSet<Function>,
}

/// Prints expressions as statements over f32; equal subexpressions are computed once.
///
/// `names` gives the text of each symbol: an identifier, or an expression without side effects that
/// binds as tightly. Temporaries are named `prefix` and a number from 0. Each line starts with
/// `indent` spaces and ends with a line break. A custom gradient has the value of its value side.
///
/// # Errors
/// [`CompileError::UnknownSymbol`] if `names` has no name for a symbol that the values depend on;
/// the error lists the symbols with names.
pub fn print(
    dialect: &dyn Dialect,
    rounding: Rounding,
    roots: &[Expr],
    names: &dyn Fn(&str) -> Option<String>,
    prefix: &str,
    indent: usize,
) -> Result<Statements, CompileError> {
    let mut interner = Interner::default();
    let roots: Vec<usize> = roots.iter().map(|root| interner.intern(root)).collect();
    let keys = interner.keys;
    let needs = needs(&keys, &roots);

    let mut printer = Printer {
        dialect,
        rounding,
        keys: &keys,
        values: vec![String::new(); keys.len()],
        truths: vec![String::new(); keys.len()],
        code: String::new(),
        functions: BTreeSet::new(),
        prefix,
        indent,
        count: 0,
    };
    for (id, need) in needs.iter().enumerate() {
        if let (Key::Symbol(symbol), true) = (&keys[id], need.value) {
            printer.values[id] = names(symbol).ok_or_else(|| unknown(symbol, &keys, names))?;
        } else {
            printer.node(id, *need);
        }
    }
    Ok(Statements {
        results: roots.iter().map(|id| printer.values[*id].clone()).collect(),
        code: printer.code,
        functions: printer.functions,
    })
}

fn unknown(symbol: &str, keys: &[Key], names: &dyn Fn(&str) -> Option<String>) -> CompileError {
    let known = keys.iter().filter_map(|key| match key {
        Key::Symbol(name) if names(name).is_some() => Some(name.to_string()),
        _ => None,
    });
    CompileError::UnknownSymbol {
        symbol: symbol.to_string(),
        inputs: known.collect(),
    }
}

/// The forms in which a value is read.
#[derive(Clone, Copy, Default)]
struct Need {
    /// As a number.
    value: bool,
    /// As the condition of a selection; comparisons only.
    truth: bool,
}

fn needs(keys: &[Key], roots: &[usize]) -> Vec<Need> {
    let mut needs = vec![Need::default(); keys.len()];
    for root in roots {
        needs[*root].value = true;
    }
    // Children have smaller numbers than their parents.
    for id in (0..keys.len()).rev() {
        if !needs[id].value && !needs[id].truth {
            continue;
        }
        match keys[id] {
            Key::Const(_) | Key::Symbol(_) => {}
            Key::Unary(_, a) => needs[a].value = true,
            Key::Binary(op, a, b) => {
                for operand in operands(keys, op, a, b) {
                    needs[operand].value = true;
                }
            }
            Key::Select(condition, a, b) => {
                if is_comparison(&keys[condition]) {
                    needs[condition].truth = true;
                } else {
                    needs[condition].value = true;
                }
                needs[a].value = true;
                needs[b].value = true;
            }
        }
    }
    needs
}

fn is_comparison(key: &Key) -> bool {
    matches!(key, Key::Binary(op, ..) if op.is_comparison())
}

fn constant(keys: &[Key], id: usize) -> Option<f64> {
    match keys[id] {
        Key::Const(bits) => Some(f64::from_bits(bits)),
        _ => None,
    }
}

/// The operands that an operation is printed with: x and c for a comparison of x − c with 0, as in
/// programs, else its own.
fn operands(keys: &[Key], op: Binary, a: usize, b: usize) -> [usize; 2] {
    if op.is_comparison()
        && constant(keys, b) == Some(0.0)
        && let Key::Binary(Binary::Sub, x, c) = keys[a]
        && constant(keys, c).is_some_and(f64::is_finite)
    {
        return [x, c];
    }
    [a, b]
}

struct Printer<'a> {
    dialect: &'a dyn Dialect,
    rounding: Rounding,
    keys: &'a [Key],
    /// The text of each node's value, as a number and as a boolean.
    values: Vec<String>,
    truths: Vec<String>,
    code: String,
    functions: BTreeSet<Function>,
    prefix: &'a str,
    indent: usize,
    count: usize,
}

impl Printer<'_> {
    /// Prints a node other than a symbol in the forms that are needed.
    fn node(&mut self, id: usize, need: Need) {
        if need.truth
            && let Key::Binary(op, a, b) = self.keys[id]
        {
            let text = self.binary(op, a, b);
            self.truths[id] = self.declare(Scalar::Bool, &text);
        }
        if !need.value {
            return;
        }
        let text = match self.keys[id] {
            Key::Symbol(_) => return,
            Key::Const(bits) => {
                self.values[id] = self.dialect.literal(f64::from_bits(bits) as f32);
                return;
            }
            // A minus sign would lose −0: see `neg.cuh`.
            Key::Unary(Unary::Neg, a) if is_comparison(&self.keys[a]) => {
                self.call(Function::Neg, &[a])
            }
            Key::Unary(op, a) => self.unary(op, a),
            Key::Binary(op, ..) if op.is_comparison() && need.truth => {
                self.truth_value(&self.truths[id])
            }
            Key::Binary(op, a, b) if op.is_comparison() => {
                let truth = self.binary(op, a, b);
                self.truth_value(&truth)
            }
            Key::Binary(op, a, b) => self.binary(op, a, b),
            Key::Select(condition, a, b) => {
                let condition = if is_comparison(&self.keys[condition]) {
                    self.truths[condition].clone()
                } else {
                    format!(
                        "{} != {}",
                        self.values[condition],
                        self.dialect.literal(0.0)
                    )
                };
                let (then, otherwise) = (&self.values[a], &self.values[b]);
                self.dialect.select(&condition, then, otherwise)
            }
        };
        self.values[id] = self.declare(Scalar::Float, &text);
    }

    /// The result of a comparison as a number.
    fn truth_value(&self, truth: &str) -> String {
        let [one, zero] = [1.0, 0.0].map(|value| self.dialect.literal(value));
        self.dialect.select(truth, &one, &zero)
    }

    fn unary(&mut self, op: Unary, a: usize) -> String {
        let value = &self.values[a];
        let approximate = match op {
            Unary::Exp => self.approximate(Approximate::Exp(value)),
            Unary::Sigmoid => self.approximate(Approximate::Sigmoid(value)),
            _ => None,
        };
        if let Some(text) = approximate {
            return text;
        }
        if let Some(function) = Function::of(op) {
            return self.call(function, &[a]);
        }
        let builtin = match op {
            Unary::Sqrt => Builtin::Sqrt,
            Unary::Abs => Builtin::Abs,
            Unary::Round => Builtin::Round,
            Unary::Floor => Builtin::Floor,
            _ => return format!("-{value}"),
        };
        format!("{}({value})", self.dialect.builtin(builtin))
    }

    fn binary(&mut self, op: Binary, a: usize, b: usize) -> String {
        let [a, b] = operands(self.keys, op, a, b);
        if let Some(text) = self.approximate_binary(op, a, b) {
            return text;
        }
        if op == Binary::Div
            && let Some(c) = constant(self.keys, b)
            && let Some(parts) = reciprocal(c as f32)
        {
            let [high, low] = parts.map(|part| self.dialect.literal(part));
            self.functions.insert(Function::DivConst);
            let (left, right) = (&self.values[a], &self.values[b]);
            return format!("spk_div_const({left}, {right}, {high}, {low})");
        }
        let sign = match op {
            Binary::Pow => return self.call(Function::Pow, &[a, b]),
            Binary::Min => return self.call(Function::Min, &[a, b]),
            Binary::Max => return self.call(Function::Max, &[a, b]),
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
            Binary::Eq => "==",
            Binary::Ne => "!=",
        };
        format!("{} {sign} {}", self.values[a], self.values[b])
    }

    /// A call of a function of the library.
    fn call(&mut self, function: Function, arguments: &[usize]) -> String {
        self.functions.insert(function);
        let name = function
            .name()
            .expect("operations are printed as functions with names");
        let arguments: Vec<&str> = arguments.iter().map(|id| &*self.values[*id]).collect();
        format!("{name}({})", arguments.join(", "))
    }

    fn approximate(&self, operation: Approximate<'_>) -> Option<String> {
        match self.rounding {
            Rounding::Exact => None,
            Rounding::Approximate => self.dialect.approximate(operation),
        }
    }

    /// An operation whose last bits may differ.
    fn approximate_binary(&self, op: Binary, a: usize, b: usize) -> Option<String> {
        if self.rounding == Rounding::Exact {
            return None;
        }
        let value = |id: usize| &*self.values[id];
        let product = |id: usize| match self.keys[id] {
            Key::Binary(Binary::Mul, x, y) => Some((x, y)),
            _ => None,
        };
        let fused = |x: &str, y: &str, c: &str| self.approximate(Approximate::MulAdd(x, y, c));
        match op {
            Binary::Add => match (product(a), product(b)) {
                (_, Some((x, y))) => fused(value(x), value(y), value(a)),
                (Some((x, y)), None) => fused(value(x), value(y), value(b)),
                (None, None) => None,
            },
            Binary::Sub => match (product(a), product(b)) {
                (_, Some((x, y))) => fused(&format!("-({})", value(x)), value(y), value(a)),
                (Some((x, y)), None) => fused(value(x), value(y), &format!("-({})", value(b))),
                (None, None) => None,
            },
            Binary::Div => match constant(self.keys, b).filter(|c| c.is_normal()) {
                Some(c) => {
                    let reciprocal = self.dialect.literal((1.0 / c) as f32);
                    Some(format!("{} * {reciprocal}", value(a)))
                }
                None => self.approximate(Approximate::Div(value(a), value(b))),
            },
            _ => None,
        }
    }

    fn declare(&mut self, scalar: Scalar, text: &str) -> String {
        let name = format!("{}{}", self.prefix, self.count);
        self.count += 1;
        let statement = self.dialect.declare(scalar, &name, text);
        let indent = self.indent;
        writeln!(self.code, "{:indent$}{statement}", "")
            .expect("writing to a string does not fail");
        name
    }
}
