//! A neuron whose equation is data: the terms of a step, as another program traced them.
//!
//! It is built by [`from_spec`](super::from_spec) from `{"name": "equation", …}`:
//!
//! | field | |
//! |---|---|
//! | `title` | the name in plans and kernels |
//! | `terms` | the terms, each of which may use those before it |
//! | `charge` | the index of H; without it, H is the input |
//! | `fire` | the index of S; without it, the neuron does not fire |
//! | `output` | the index of the output; without it, S |
//! | `next` | the index of the next value of each state; a state without one is unchanged |
//! | `states` | names with their initial values |
//! | `params` | trainable parameters: names, initial values, granularities |
//! | `constants` | names with their values |
//!
//! and threshold, reset and surrogate as all neurons have them. A term is `"input"`, `{"number": 0.5}`, `{"state": "v"}`,
//! `{"param": "w"}`, `{"constant": "tau"}`, or `{"apply": ["mul", 0, 1]}` with a function and its operands.

use super::{Common, Granularity, Neuron, OutputKind, Param, Scope, State};
use crate::DefinitionError;
use serde::Deserialize;
use serde_json::Value;
use spikelet_expr::{Binary, Expr, Unary};
use spikelet_schema::Schema;
use spikelet_schema::document::Located;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// A term of an equation.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Term {
    /// X.
    Input,
    Number(f64),
    State(String),
    Param(String),
    Constant(String),
    /// A function of earlier terms.
    Apply(Vec<Value>),
}

/// The functions of terms.
#[derive(Clone, Copy, Debug)]
enum Function {
    Unary(Unary),
    Binary(Binary),
    /// A condition and the values for true and false.
    Where,
    /// The value without a gradient.
    Detach,
    /// The spike of a distance from the threshold.
    Spike,
    /// The potential after the reset, of H and S.
    Reset,
    /// The threshold, the potential of the reset, and that which the membrane leaks to.
    Threshold,
    ResetPotential,
}

/// The names of the functions of two arguments, in the order of [`Binary::ALL`].
const BINARY: [&str; 13] = [
    "add", "sub", "mul", "div", "pow", "min", "max", "lt", "le", "gt", "ge", "eq", "ne",
];

impl Function {
    fn find(name: &str) -> Option<Self> {
        let symbol = match name {
            "neg" => "-",
            "sigmoid" => "σ",
            name => name,
        };
        let unary = |op: &&Unary| op.name() == symbol;
        if let Some(op) = Unary::ALL.iter().find(unary) {
            return Some(Self::Unary(*op));
        }
        if let Some(k) = BINARY.iter().position(|known| *known == name) {
            return Some(Self::Binary(Binary::ALL[k]));
        }
        Some(match name {
            "where" => Self::Where,
            "detach" => Self::Detach,
            "spike" => Self::Spike,
            "reset" => Self::Reset,
            "v_threshold" => Self::Threshold,
            "v_reset" => Self::ResetPotential,
            _ => return None,
        })
    }

    fn operands(self) -> usize {
        match self {
            Self::Threshold | Self::ResetPotential => 0,
            Self::Unary(_) | Self::Detach | Self::Spike => 1,
            Self::Binary(_) | Self::Reset => 2,
            Self::Where => 3,
        }
    }
}

/// A checked term.
#[derive(Clone, Debug)]
enum Step {
    Input,
    Number(f64),
    State(&'static str),
    Param(&'static str),
    Constant(&'static str, f64),
    Apply(Function, Vec<usize>),
}

/// The fields of the specification.
#[derive(Deserialize)]
struct Form {
    #[serde(rename = "name")]
    _name: String,
    title: String,
    terms: Vec<Term>,
    #[serde(default)]
    charge: Option<usize>,
    #[serde(default)]
    fire: Option<usize>,
    #[serde(default)]
    output: Option<usize>,
    #[serde(default)]
    next: BTreeMap<String, usize>,
    #[serde(default)]
    states: Vec<(String, f64)>,
    #[serde(default)]
    params: Vec<(String, f64, Granularity)>,
    #[serde(default)]
    constants: Vec<(String, f64)>,
    #[serde(flatten)]
    common: Common,
}

/// A neuron whose equation is data.
#[derive(Clone, Debug, Schema)]
pub(super) struct Equation {
    #[schema(skip)]
    name: String,
    #[schema(skip)]
    steps: Vec<Step>,
    #[schema(skip)]
    charge: Option<usize>,
    #[schema(skip)]
    fire: Option<usize>,
    #[schema(skip)]
    output: Option<usize>,
    #[schema(skip)]
    next: Vec<(&'static str, usize)>,
    #[schema(skip)]
    states: Vec<State>,
    #[schema(skip)]
    params: Vec<Param>,
    /// Threshold, reset, surrogate.
    #[schema(flatten)]
    common: Common,
}

/// The name in specifications.
pub(super) const NAME: &str = "equation";

/// A name that lives as long as the process. A program has few.
fn interned(name: &str) -> &'static str {
    static KNOWN: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(HashSet::new);
    match known.get(name) {
        Some(found) => found,
        None => {
            let name: &'static str = Box::leak(name.into());
            known.insert(name);
            name
        }
    }
}

fn wrong(problem: String) -> DefinitionError {
    let problem = Located::other(problem, "correct the equation");
    DefinitionError::of(format!("neuron `{NAME}`"), problem)
}

/// A neuron from its specification.
///
/// # Errors
/// When a term is unknown or uses a later one.
pub(super) fn build(spec: &Value) -> Result<Arc<dyn Neuron>, DefinitionError> {
    let form = Form::deserialize(spec).map_err(|error| wrong(error.to_string()))?;
    let count = form.terms.len();
    let index = |what: &str, k: usize| match k < count {
        true => Ok(k),
        false => Err(wrong(format!("`{what}` is term {k} of {count}"))),
    };
    let declared = |kind: &str, name: &str, known: bool| match known {
        true => Ok(interned(name)),
        false => Err(wrong(format!("{kind} `{name}` is not declared"))),
    };
    let mut steps = vec![];
    for (k, term) in form.terms.iter().enumerate() {
        steps.push(match term {
            Term::Input => Step::Input,
            Term::Number(value) => Step::Number(*value),
            Term::State(name) => {
                let known = form.states.iter().any(|(n, _)| n == name);
                Step::State(declared("state", name, known)?)
            }
            Term::Param(name) => {
                let known = form.params.iter().any(|(n, _, _)| n == name);
                Step::Param(declared("parameter", name, known)?)
            }
            Term::Constant(name) => {
                let found = form.constants.iter().find(|(n, _)| n == name);
                let value = found.map_or(0.0, |(_, value)| *value);
                Step::Constant(declared("constant", name, found.is_some())?, value)
            }
            Term::Apply(parts) => apply(k, parts)?,
        });
    }
    let next = form.next.iter().map(|(name, k)| {
        let known = form.states.iter().any(|(n, _)| n == name);
        let next = (declared("state", name, known)?, index(name, *k)?);
        Ok::<_, DefinitionError>(next)
    });
    Ok(Arc::new(Equation {
        next: next.collect::<Result<_, _>>()?,
        charge: form.charge.map(|k| index("charge", k)).transpose()?,
        fire: form.fire.map(|k| index("fire", k)).transpose()?,
        output: form.output.map(|k| index("output", k)).transpose()?,
        states: (form.states.iter())
            .map(|(name, reset)| State::new(interned(name), *reset))
            .collect(),
        params: (form.params.iter())
            .map(|(name, init, granularity)| Param::new(interned(name), *init, *granularity))
            .collect(),
        name: form.title,
        common: form.common,
        steps,
    }))
}

/// A function with its operands; it is term `k`.
fn apply(k: usize, parts: &[Value]) -> Result<Step, DefinitionError> {
    let Some((Value::String(name), operands)) = parts.split_first() else {
        return Err(wrong(format!("term {k} has no name of a function")));
    };
    let function = Function::find(name)
        .ok_or_else(|| wrong(format!("term {k}: `{name}` is not a function of terms")))?;
    let before = |value: &Value| {
        let operand = value.as_u64().map(|operand| operand as usize);
        operand.filter(|operand| *operand < k).ok_or_else(|| {
            wrong(format!(
                "term {k} uses {value}, which is not an earlier term"
            ))
        })
    };
    let operands = operands.iter().map(before).collect::<Result<Vec<_>, _>>()?;
    if operands.len() != function.operands() {
        return Err(wrong(format!(
            "term {k}: `{name}` has {} operands, {} were given",
            function.operands(),
            operands.len()
        )));
    }
    Ok(Step::Apply(function, operands))
}

impl Equation {
    /// The value of a term; those of `given` are known.
    fn value(&self, n: &Scope, term: usize, given: &[(Option<usize>, &Expr)]) -> Expr {
        let known = |k: usize| {
            let mut found = given.iter().filter(|(at, _)| *at == Some(k));
            found.next().map(|(_, value)| (*value).clone())
        };
        let mut needed = vec![false; term + 1];
        needed[term] = true;
        for k in (0..=term).rev() {
            if let (true, None, Step::Apply(_, operands)) = (needed[k], known(k), &self.steps[k]) {
                operands.iter().for_each(|operand| needed[*operand] = true);
            }
        }
        let mut values: Vec<Expr> = Vec::with_capacity(term + 1);
        for (k, needed) in needed.into_iter().enumerate() {
            let value = match (needed, known(k)) {
                (false, _) => Expr::constant(0.0),
                (true, Some(value)) => value,
                (true, None) => self.step(n, k, &values),
            };
            values.push(value);
        }
        values.swap_remove(term)
    }

    fn step(&self, n: &Scope, k: usize, values: &[Expr]) -> Expr {
        let (function, operands) = match &self.steps[k] {
            Step::Input => return Expr::symbol("x"),
            Step::Number(value) => return Expr::constant(*value),
            Step::State(name) => return n.state(name),
            Step::Param(name) => return n.param(name),
            Step::Constant(name, value) => return n.constant(name, *value),
            Step::Apply(function, operands) => (*function, operands),
        };
        let operand = |k: usize| &values[operands[k]];
        match function {
            Function::Unary(op) => Expr::unary(op, operand(0)),
            Function::Binary(op) => Expr::binary(op, operand(0), operand(1)),
            Function::Where => Expr::select(operand(0), operand(1), operand(2)),
            Function::Detach => operand(0).detach(),
            Function::Spike => n.spike(operand(0)),
            Function::Reset => n.reset(operand(0), operand(1)),
            Function::Threshold => n.v_threshold(),
            Function::ResetPotential => n.v_rest(),
        }
    }
}

impl Neuron for Equation {
    fn name(&self) -> &str {
        &self.name
    }

    fn states(&self) -> Vec<State> {
        self.states.clone()
    }

    fn params(&self) -> Vec<Param> {
        self.params.clone()
    }

    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        match self.charge {
            Some(term) => self.value(n, term, &[]),
            None => x,
        }
    }

    fn fire(&self, n: &Scope, h: &Expr) -> Expr {
        match self.fire {
            Some(term) => self.value(n, term, &[(self.charge, h)]),
            None => Expr::constant(0.0),
        }
    }

    fn reset(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        let given = [(self.charge, h), (self.fire, s)];
        for (name, term) in self.next.iter().filter(|(name, _)| *name != "v") {
            n.set_state(name, self.value(n, *term, &given));
        }
        match self.next.iter().find(|(name, _)| *name == "v") {
            Some((_, term)) => self.value(n, *term, &given),
            None if self.states.iter().any(|state| state.name == "v") => n.state("v"),
            None => h.clone(),
        }
    }

    fn output(&self, n: &Scope, h: &Expr, s: &Expr) -> Expr {
        match self.output {
            Some(term) => self.value(n, term, &[(self.charge, h), (self.fire, s)]),
            None => s.clone(),
        }
    }

    fn output_kind(&self) -> OutputKind {
        match self.output.is_none_or(|term| self.fire == Some(term)) && self.fire.is_some() {
            true => self.common.output_kind(),
            false => OutputKind::Real,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::neuron::{derive, from_spec};
    use serde_json::json;

    fn adaptive(terms: serde_json::Value) -> serde_json::Value {
        json!({
            "name": "equation", "title": "adaptive", "terms": terms, "charge": 4, "fire": 6,
            "next": {"v": 7}, "states": [["v", 0.0]], "constants": [["decay", 0.5]],
        })
    }

    fn terms() -> serde_json::Value {
        json!([
            {"state": "v"}, {"constant": "decay"}, {"apply": ["mul", 0, 1]}, "input", {"apply": ["add", 2, 3]},
            {"apply": ["sub", 4, 8]}, {"apply": ["spike", 5]}, {"apply": ["reset", 4, 6]},
        ])
    }

    #[test]
    fn an_equation_gives_the_step_of_a_neuron() {
        let mut terms = terms();
        terms[5] = json!({"apply": ["v_threshold"]});
        terms[6] = json!({"apply": ["sub", 4, 5]});
        terms[7] = json!({"apply": ["spike", 6]});
        terms
            .as_array_mut()
            .unwrap()
            .push(json!({"apply": ["reset", 4, 7]}));
        let mut spec = adaptive(terms);
        spec["fire"] = json!(7);
        spec["next"] = json!({"v": 8});
        let step = derive(&*from_spec(&spec).unwrap()).unwrap();
        assert_eq!(step.outputs[0].value.to_string(), "v · 0.5 + x - 1 ≥ 0");
        assert_eq!(
            step.next[0].to_string(),
            "v · 0.5 + x - 1 ≥ 0 ? 0 : v · 0.5 + x"
        );
    }

    #[test]
    fn a_term_that_uses_a_later_one_is_an_error() {
        let error = from_spec(&adaptive(terms())).unwrap_err().to_string();
        assert!(error.contains("term 5 uses 8"), "{error}");
    }

    #[test]
    fn an_unknown_function_is_an_error() {
        let mut terms = terms();
        terms[5] = json!({"apply": ["cube", 4]});
        let error = from_spec(&adaptive(terms)).unwrap_err().to_string();
        assert!(error.contains("`cube` is not a function"), "{error}");
    }
}
