//! Expressions as sums of products whose factors belong to one end of a synapse each.
//!
//! (w · p + 0.5 · q) · s → w · (p) (s) + 0.5 · () (q · s) for p of the presynaptic and q, s of the postsynaptic neuron.

use spikelet_expr::{Binary, Expr, Node, Unary};

/// What a value depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The weight, a number of the step, or another value with the shape of the weight.
    Shared,
    /// The presynaptic neuron and the sample.
    Pre,
    /// The postsynaptic neuron and the sample.
    Post,
    /// A trace of the synapse, summed over the samples: nothing but its multiples can be computed.
    Summed,
}

/// The number of classes whose factors are separated.
const SEPARATED: usize = 4;

/// The most terms of a sum.
const MOST_TERMS: usize = 64;

/// A product of factors of different classes; one that is absent is 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Product {
    factors: [Option<Expr>; SEPARATED],
}

impl Product {
    fn of(class: Class, factor: Expr) -> Self {
        let mut product = Self::default();
        product.factors[class as usize] = Some(factor);
        product
    }

    /// The factor of a class.
    pub(super) fn factor(&self, class: Class) -> Option<&Expr> {
        self.factors[class as usize].as_ref()
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = self.clone();
        for (to, from) in product.factors.iter_mut().zip(&other.factors) {
            *to = match (to.take(), from) {
                (Some(a), Some(b)) => Some(a * b),
                (a, b) => a.or_else(|| b.clone()),
            };
        }
        product
    }

    fn negated(&self) -> Self {
        self.times(&Self::of(Class::Shared, Expr::constant(-1.0)))
    }
}

/// The class of all symbols of an expression, if they have one; `Shared` for a constant.
fn class_of(expr: &Expr, class: &dyn Fn(&str) -> Class) -> Option<Class> {
    let mut symbols = expr.symbols().into_iter().map(|name| class(&name));
    let first = symbols.next().unwrap_or(Class::Shared);
    symbols.all(|other| other == first).then_some(first)
}

/// The expression as a sum of products; `None` if it has no such form, or too many terms.
pub(super) fn separate(expr: &Expr, class: &dyn Fn(&str) -> Class) -> Option<Vec<Product>> {
    match class_of(expr, class) {
        // Only a multiple of it is known: sums and products are taken apart below.
        Some(Class::Summed) if expr.as_symbol().is_none() => {}
        Some(one) => return Some(vec![Product::of(one, expr.clone())]),
        None => {}
    }
    let terms = match expr.node() {
        Node::CustomGradient { value, .. } => separate(value, class)?,
        Node::Unary(Unary::Neg, a) => negated(separate(a, class)?),
        Node::Binary(Binary::Add, a, b) => [separate(a, class)?, separate(b, class)?].concat(),
        Node::Binary(Binary::Sub, a, b) => {
            [separate(a, class)?, negated(separate(b, class)?)].concat()
        }
        Node::Binary(Binary::Mul, a, b) => {
            let (left, right) = (separate(a, class)?, separate(b, class)?);
            let pairs = left.iter().flat_map(|l| right.iter().map(|r| l.times(r)));
            pairs.collect()
        }
        Node::Binary(Binary::Div, a, b) => {
            let divisor = class_of(b, class).filter(|c| *c != Class::Summed)?;
            let reciprocal = Product::of(divisor, 1.0 / b);
            let left = separate(a, class)?;
            left.iter().map(|term| term.times(&reciprocal)).collect()
        }
        _ => return None,
    };
    (terms.len() <= MOST_TERMS).then_some(terms)
}

fn negated(terms: Vec<Product>) -> Vec<Product> {
    terms.iter().map(Product::negated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(name: &str) -> Class {
        match name {
            "x" | "p" => Class::Pre,
            "s" | "q" => Class::Post,
            "e" => Class::Summed,
            _ => Class::Shared,
        }
    }

    fn text(expr: &Expr) -> Option<Vec<String>> {
        let parts = [Class::Shared, Class::Pre, Class::Post, Class::Summed];
        let print = |product: &Product| {
            let factors = parts.map(|c| product.factor(c).map_or("1".into(), Expr::to_string));
            factors.join(" | ")
        };
        Some(separate(expr, &class)?.iter().map(print).collect())
    }

    #[test]
    fn a_change_is_a_sum_of_products() {
        let [w, x, p, s, q, e] = ["w", "x", "p", "s", "q", "e"].map(Expr::symbol);
        let change = (1.0 - &w) * &s * &p - 0.5 * &w * &x * (&q * 2.0);
        assert_eq!(
            text(&change).unwrap(),
            ["1 - w | p | s | 1", "-(0.5 · w) | x | q · 2 | 1"]
        );
        assert_eq!(
            text(&((&e * 0.9 + &s * &p) * &w / 2.0)).unwrap(),
            ["0.9 · w · 0.5 | 1 | 1 | e", "w · 0.5 | p | s | 1"]
        );
    }

    #[test]
    fn what_is_no_sum_of_products_is_not_separated() {
        let [x, s, e] = ["x", "s", "e"].map(Expr::symbol);
        for expr in [(&x * &s).exp(), x.max(&s), e.exp(), &x / (&x + &s)] {
            assert!(separate(&expr, &class).is_none(), "{expr}");
        }
    }
}
