//! From expressions to straight-line code.

use super::division::reciprocal;
use super::functions::{self, Function, Spelling};
use super::literal::literal;
use crate::expr::{Binary, Expr, Unary};
use crate::interner::{Interner, Key};
use crate::program::CompileError;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Statements that compute several expressions together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statements {
    /// One declaration a line, each value once, before it is used; empty where no value has to
    /// be computed.
    pub code: String,
    /// For each expression, in order, what has its value after the statements: a temporary, the
    /// name of a symbol, or a number.
    pub results: Vec<String>,
    /// The parts of the library that the statements call; see [`library`](super::library).
    pub functions: BTreeSet<Function>,
}

/// Prints expressions as C++ statements over `float`, common values computed once.
///
/// `names` gives the C++ expression of each symbol: an identifier, or what binds as tightly and
/// has no effects. Temporaries are called `prefix` and a number counted from 0. Each line starts
/// with `indent` spaces and ends with a line break.
///
/// The values are those of a [`Program`](crate::Program) in f32 to the bit, which [`cuda`](super)
/// says more of. A graft has the value of its value side.
///
/// # Errors
/// [`CompileError::UnknownSymbol`] when `names` has no name for a symbol that the values depend
/// on; the inputs that it lists are the symbols that do have names.
///
/// ```
/// use spikelet_expr::{Expr, cuda};
/// let (h, v_th) = (Expr::symbol("h"), Expr::symbol("v_th"));
/// let spike = h.ge(&v_th);
/// let reset = Expr::select(&spike, 0.0, &h);
/// let names = |name: &str| Some(name.replace("v_th", "threshold[0]"));
/// let printed = cuda::statements(&[spike, reset], &names, "t", 0)?;
/// assert_eq!(
///     printed.code,
///     "const bool t0 = h >= threshold[0];\n\
///      const float t1 = t0 ? 1.0f : 0.0f;\n\
///      const float t2 = t0 ? 0.0f : h;\n"
/// );
/// assert_eq!(printed.results, ["t1", "t2"]);
/// # Ok::<(), spikelet_expr::CompileError>(())
/// ```
pub fn statements(
    roots: &[Expr],
    names: &dyn Fn(&str) -> Option<String>,
    prefix: &str,
    indent: usize,
) -> Result<Statements, CompileError> {
    print(roots, names, prefix, indent, false)
}

/// As [`statements`], for values of which the last bits do not matter, such as gradients: products
/// and sums are joined to fused multiply-adds, quotients, exponentials and logistic
/// functions are made of the hardware's approximations (quotients within 2 ulp, 0 for divisors
/// above 2¹²⁶; exponentials within 2 + 1.2·|x| ulp).
///
/// # Errors
/// As [`statements`].
///
/// ```
/// use spikelet_expr::{Expr, cuda};
/// let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
/// let names = |name: &str| Some(name.to_string());
/// let printed = cuda::statements_approx(&[1.0 / (1.0 + &x * &y)], &names, "t", 0)?;
/// assert!(printed.code.contains("__fmaf_rn(x, y, 1.0f)"));
/// assert!(printed.code.contains("__fdividef(1.0f, "));
/// # Ok::<(), spikelet_expr::CompileError>(())
/// ```
pub fn statements_approx(
    roots: &[Expr],
    names: &dyn Fn(&str) -> Option<String>,
    prefix: &str,
    indent: usize,
) -> Result<Statements, CompileError> {
    print(roots, names, prefix, indent, true)
}

fn print(
    roots: &[Expr],
    names: &dyn Fn(&str) -> Option<String>,
    prefix: &str,
    indent: usize,
    quick: bool,
) -> Result<Statements, CompileError> {
    let mut interner = Interner::default();
    let roots: Vec<usize> = roots.iter().map(|root| interner.intern(root)).collect();
    let keys = interner.keys;
    let needs = needs(&keys, &roots);

    let mut printer = Printer {
        keys: &keys,
        values: vec![String::new(); keys.len()],
        truths: vec![String::new(); keys.len()],
        code: String::new(),
        functions: BTreeSet::new(),
        prefix,
        indent,
        quick,
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

/// In which forms a value is read.
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

/// What an operation is printed with: x and c for a comparison of x − c with 0, like programs do,
/// else its own operands.
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
    keys: &'a [Key],
    /// What has the value of each node, as a number and as a truth.
    values: Vec<String>,
    truths: Vec<String>,
    code: String,
    functions: BTreeSet<Function>,
    prefix: &'a str,
    indent: usize,
    /// Whether last bits do not matter.
    quick: bool,
    count: usize,
}

impl Printer<'_> {
    /// Prints a node that is no symbol in the forms that are needed.
    fn node(&mut self, id: usize, need: Need) {
        if need.truth
            && let Key::Binary(op, a, b) = self.keys[id]
        {
            let text = self.binary(op, a, b);
            self.truths[id] = self.declare("bool", &text);
        }
        if !need.value {
            return;
        }
        let text = match self.keys[id] {
            Key::Symbol(_) => return,
            Key::Const(bits) => {
                self.values[id] = literal(f64::from_bits(bits) as f32);
                return;
            }
            // A minus sign loses −0 there: see the function.
            Key::Unary(Unary::Neg, a) if is_comparison(&self.keys[a]) => {
                let name = self.own(Function::Neg);
                format!("{name}({})", self.values[a])
            }
            Key::Unary(Unary::Exp, a) if self.quick => format!("__expf({})", self.values[a]),
            Key::Unary(Unary::Sigmoid, a) if self.quick => {
                format!("__fdividef(1.0f, 1.0f + __expf(-({})))", self.values[a])
            }
            Key::Unary(op, a) => match functions::unary(op) {
                Spelling::Sign(sign) => format!("{sign}{}", self.values[a]),
                Spelling::BuiltIn(name) => format!("{name}({})", self.values[a]),
                Spelling::Own(function) => {
                    let name = self.own(function);
                    format!("{name}({})", self.values[a])
                }
            },
            Key::Binary(op, ..) if op.is_comparison() && need.truth => {
                format!("{} ? 1.0f : 0.0f", self.truths[id])
            }
            Key::Binary(op, a, b) if op.is_comparison() => {
                format!("{} ? 1.0f : 0.0f", self.binary(op, a, b))
            }
            Key::Binary(op, a, b) => self.binary(op, a, b),
            Key::Select(condition, a, b) => {
                let condition = if is_comparison(&self.keys[condition]) {
                    self.truths[condition].clone()
                } else {
                    format!("{} != 0.0f", self.values[condition])
                };
                format!("{condition} ? {} : {}", self.values[a], self.values[b])
            }
        };
        self.values[id] = self.declare("float", &text);
    }

    fn binary(&mut self, op: Binary, a: usize, b: usize) -> String {
        let [a, b] = operands(self.keys, op, a, b);
        if self.quick
            && let Some(text) = self.quick_binary(op, a, b)
        {
            return text;
        }
        let (left, right) = (self.values[a].clone(), self.values[b].clone());
        if op == Binary::Div
            && let Some(c) = constant(self.keys, b)
            && let Some([high, low]) = reciprocal(c as f32)
        {
            let name = self.own(Function::DivConst);
            let [high, low] = [high, low].map(literal);
            return format!("{name}({left}, {right}, {high}, {low})");
        }
        match functions::binary(op) {
            Spelling::Sign(sign) => format!("{left} {sign} {right}"),
            Spelling::BuiltIn(name) => format!("{name}({left}, {right})"),
            Spelling::Own(function) => {
                let name = self.own(function);
                format!("{name}({left}, {right})")
            }
        }
    }

    /// The name of a function of the library, which is needed from now on.
    fn own(&mut self, function: Function) -> &'static str {
        self.functions.insert(function);
        function
            .name()
            .expect("operations are printed as functions with names")
    }

    /// An operation that may differ in its last bits.
    fn quick_binary(&self, op: Binary, a: usize, b: usize) -> Option<String> {
        let value = |id: usize| &self.values[id];
        let product = |id: usize| match self.keys[id] {
            Key::Binary(Binary::Mul, x, y) => Some((x, y)),
            _ => None,
        };
        let fused = |sign: &str, (x, y): (usize, usize), c: String| {
            let x = match sign {
                "" => value(x).clone(),
                _ => format!("{sign}({})", value(x)),
            };
            format!("__fmaf_rn({x}, {}, {c})", value(y))
        };
        match op {
            Binary::Add => match (product(a), product(b)) {
                (_, Some(xy)) => Some(fused("", xy, value(a).clone())),
                (Some(xy), None) => Some(fused("", xy, value(b).clone())),
                (None, None) => None,
            },
            Binary::Sub => match (product(a), product(b)) {
                (_, Some(xy)) => Some(fused("-", xy, value(a).clone())),
                (Some(xy), None) => Some(fused("", xy, format!("-({})", value(b)))),
                (None, None) => None,
            },
            Binary::Div => match constant(self.keys, b).filter(|c| c.is_normal()) {
                Some(c) => Some(format!("{} * {}", value(a), literal((1.0 / c) as f32))),
                None => Some(format!("__fdividef({}, {})", value(a), value(b))),
            },
            _ => None,
        }
    }

    fn declare(&mut self, of: &str, text: &str) -> String {
        let name = format!("{}{}", self.prefix, self.count);
        self.count += 1;
        let indent = self.indent;
        writeln!(self.code, "{:indent$}const {of} {name} = {text};", "")
            .expect("writing to a string does not fail");
        name
    }
}
