//! The operations of one update of a neuron, counted in its equations.

use super::{Neuron, derive};
use crate::DefinitionError;
use crate::neuron_ops::NeuronOps;
use spikelet_expr::{Binary, Expr, Node, Unary};
use std::collections::HashMap;

impl NeuronOps {
    /// The operations of a neuron. The product over the time axis of a neuron with
    /// [`Neuron::charge_seq`] is not counted: it is a synaptic operation.
    ///
    /// ```
    /// use spikelet_nn::energy::NeuronOps;
    /// use spikelet_nn::prelude::*;
    /// // H = V + (X − V)/τ, S = Θ(H − 1), V = S ? 0 : H
    /// let lif = NeuronOps::of(&Lif::new(2.0))?;
    /// assert_eq!((lif.additions, lif.multiplications, lif.comparisons), (3, 1, 1));
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the neuron's definition is wrong, as [`derive()`].
    pub fn of(neuron: &dyn Neuron) -> Result<Self, DefinitionError> {
        let step = derive(neuron)?;
        let varies = |name: &str| {
            let mut names = step.inputs.iter().chain(&step.states);
            names.any(|known| known == name)
        };
        let mut count = Count {
            ops: Self {
                states: step.states.len() as u64,
                ..Self::default()
            },
            numbers: HashMap::new(),
        };
        let outputs = step.outputs.iter().map(|output| &output.value);
        for expr in outputs.chain(&step.next) {
            count.add(expr, &varies);
        }
        Ok(count.ops)
    }

    /// All operations of one update.
    pub fn total(&self) -> u64 {
        [
            self.additions,
            self.multiplications,
            self.divisions,
            self.comparisons,
            self.functions,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}

/// A node by its operation and the numbers of its operands.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Constant(u64),
    Symbol(String),
    Unary(Unary, usize),
    Binary(Binary, usize, usize),
    Select(usize, usize, usize),
}

/// What is known of a node: its number, and whether it depends on an input or a state.
#[derive(Clone, Copy)]
struct Found {
    number: usize,
    varies: bool,
}

struct Count {
    ops: NeuronOps,
    numbers: HashMap<Key, Found>,
}

impl Count {
    /// Counts the nodes of an expression that are not yet counted. The value of a custom gradient is its first
    /// operand.
    fn add(&mut self, root: &Expr, varies: &dyn Fn(&str) -> bool) {
        let mut done: HashMap<*const Node, Found> = HashMap::new();
        let mut stack = vec![root.clone()];
        while let Some(expr) = stack.last().cloned() {
            let address = std::ptr::from_ref(expr.node());
            let operands = match expr.node() {
                Node::CustomGradient { value, .. } => vec![value.clone()],
                _ => expr.children(),
            };
            let at = |e: &Expr| done.get(&std::ptr::from_ref(e.node())).copied();
            let missing: Vec<Expr> = operands
                .iter()
                .filter(|e| at(e).is_none())
                .cloned()
                .collect();
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            let found: Vec<Found> = operands.iter().filter_map(at).collect();
            let number = self.number(&expr, &found, varies);
            done.insert(address, number);
            stack.pop();
        }
    }

    fn number(&mut self, expr: &Expr, operands: &[Found], varies: &dyn Fn(&str) -> bool) -> Found {
        let n = |k: usize| operands[k].number;
        let key = match expr.node() {
            Node::Const(value) => Key::Constant(value.to_bits()),
            Node::Symbol(name) => Key::Symbol(name.to_string()),
            Node::Unary(op, _) => Key::Unary(*op, n(0)),
            Node::Binary(op, ..) => Key::Binary(*op, n(0), n(1)),
            Node::Select(..) => Key::Select(n(0), n(1), n(2)),
            Node::CustomGradient { .. } => return operands[0],
        };
        if let Some(found) = self.numbers.get(&key) {
            return *found;
        }
        let found = Found {
            number: self.numbers.len(),
            varies: match &key {
                Key::Symbol(name) => varies(name),
                _ => operands.iter().any(|operand| operand.varies),
            },
        };
        if found.varies {
            self.count(&key, operands);
        }
        self.numbers.insert(key, found);
        found
    }

    fn count(&mut self, key: &Key, operands: &[Found]) {
        let ops = &mut self.ops;
        let counter = match key {
            Key::Constant(_) | Key::Symbol(_) | Key::Select(..) => return,
            Key::Unary(Unary::Neg | Unary::Abs, _) => return,
            Key::Unary(..) | Key::Binary(Binary::Pow, ..) => &mut ops.functions,
            Key::Binary(Binary::Add | Binary::Sub, ..) => &mut ops.additions,
            Key::Binary(Binary::Mul, ..) => &mut ops.multiplications,
            Key::Binary(Binary::Div, ..) if !operands[1].varies => &mut ops.multiplications,
            Key::Binary(Binary::Div, ..) => &mut ops.divisions,
            // Comparisons, minima and maxima.
            Key::Binary(..) => &mut ops.comparisons,
        };
        *counter += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neuron::{Alif, CubaLif, Eif, If, Lif, Neuron, NeuronExt, Plif};

    fn of(neuron: &dyn Neuron) -> [u64; 5] {
        let ops = NeuronOps::of(neuron).expect("it is sound");
        assert!(ops.states >= 1);
        [
            ops.additions,
            ops.multiplications,
            ops.divisions,
            ops.comparisons,
            ops.functions,
        ]
    }

    #[test]
    fn the_operations_are_those_of_the_equations() {
        // V + X, H − 1; Θ; the reset to 0 is a selection.
        assert_eq!(of(&If::new()), [2, 0, 0, 1, 0]);
        // X − V, ·1/τ, V + …, H − 1, Θ
        assert_eq!(of(&Lif::new(2.0)), [3, 1, 0, 1, 0]);
        // V·(1/τ), V − …, … + X, H − 1, Θ
        let lif = Lif {
            decay_input: false,
            ..Lif::new(4.0)
        };
        assert_eq!(of(&lif), [3, 1, 0, 1, 0]);
        // I·c + X, V·d + I, H − ½, Θ
        assert_eq!(of(&CubaLif::default()), [3, 2, 0, 1, 0]);
        // The exponential, and a potential that is not reset by a selection only.
        assert_eq!(of(&Eif::default())[4], 1);
    }

    #[test]
    fn a_soft_reset_subtracts_once() {
        let [hard, soft] = [Some(0.0), None].map(|v_reset| of(&If::new().v_reset(v_reset)));
        assert_eq!(soft.iter().sum::<u64>(), hard.iter().sum::<u64>() + 1);
    }

    #[test]
    fn a_trained_time_constant_is_computed_once_for_all_updates() {
        let [
            additions,
            multiplications,
            divisions,
            comparisons,
            functions,
        ] = of(&Plif::default());
        assert_eq!([divisions, functions], [0, 0]);
        assert_eq!([additions, multiplications, comparisons], [3, 1, 1]);
    }

    #[test]
    fn every_neuron_has_operations() {
        for name in crate::neuron::NEURONS.names() {
            let neuron = crate::neuron::NEURONS.named(name).expect("it is known");
            let ops = NeuronOps::of(&*neuron).expect("it is sound");
            assert!(ops.total() > 0 && ops.total() < 100, "{name}: {ops:?}");
        }
    }

    #[test]
    fn states_are_counted() {
        let ops = NeuronOps::of(&Alif::default()).expect("it is sound");
        assert_eq!(ops.states, 2);
        assert_eq!(ops.total(), of(&Alif::default()).iter().sum::<u64>());
    }
}
