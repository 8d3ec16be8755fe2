//! Updates of a matrix by sums of outer products, as those of learning rules.

use super::*;

/// A rank-k update: `y = clamp(w + Σₖ aₖᵀ·bₖ)`.
///
/// Operands: `w` `[out, in]`, then pairs of factors `aₖ` `[…, out]` and `bₖ` `[…, in]`, whose leading axes are folded into rows
/// and summed. Products are added in the order of the operands, then of the rows. A row of `w` whose factors `a` are all 0
/// is unchanged, also outside the bounds, so that spikes cost as much as the rows that they change. The result passes no
/// gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankUpdate {
    /// The interval to which a changed row is clamped.
    pub bounds: Option<[f64; 2]>,
}

impl Operation for RankUpdate {
    fn kind(&self) -> Kind {
        Kind::new("rank_update", Class::Contraction)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("rank_update")
            .optional(&mut self.bounds, "[", |t, [low, high]| {
                t.value(low).word(" to ").value(high).word("]")
            });
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        let (Some(weight), true) = (inputs.first(), inputs.len() % 2 == 1) else {
            return invalid!("takes a matrix and pairs of factors; {} operands were given",
                inputs.len();
                "pass the matrix, then two factors for each product");
        };
        let [out, columns] = weight.shape[..] else {
            return invalid!("expects a matrix, not {weight}"; "reshape the weight to [out, in]");
        };
        for pair in inputs[1..].chunks(2) {
            let fits = |k: usize, width: usize| pair[k].shape.last() == Some(&width);
            let rows = |k: usize| pair[k].rows_and_columns().0;
            if !fits(0, out) || !fits(1, columns) || rows(0) != rows(1) {
                return invalid!("the factors {} and {} do not fit {weight}", pair[0], pair[1];
                    "give factors […, out] and […, in] with the same leading axes");
            }
        }
        let arithmetic = weight.dtype.arithmetic();
        let fits = |t: &TensorType| t.dtype.is_float() && t.dtype.arithmetic() == arithmetic;
        if let Some(other) = inputs.iter().find(|t| !fits(t)) {
            return invalid!("cannot change {weight} by {other}";
                "convert all operands to one floating-point type");
        }
        if let Some([low, high]) = self
            .bounds
            .filter(|[low, high]| !(low..=high).contains(&low))
        {
            return invalid!("the bounds are {low} and {high}"; "give the lower one first");
        }
        Ok(vec![weight.clone()])
    }

    fn differentiate(&self, _: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(vec![None; node.inputs.len()])
    }

    fn in_place(&self, _: usize) -> InPlace {
        InPlace::Operand(0)
    }

    fn semantics(&self, inputs: &[TensorType], outputs: &[TensorType]) -> Semantics {
        let [rows, columns] = [outputs[0].shape[0], outputs[0].shape[1]];
        let mut s = Semantics::new(inputs, outputs);
        // Each row of the result depends on its element of the first factors, each column on that of the second ones.
        let last = |k: usize| (k, inputs[k].shape.len() - 1);
        let first = (1..inputs.len()).step_by(2).map(last);
        let second = (2..inputs.len()).step_by(2).map(last);
        s.axis(Role::Parallel, rows, first.chain([(0, 0)]), [(0, 0)]);
        s.axis(Role::Parallel, columns, second.chain([(0, 1)]), [(0, 1)]);
        s
    }

    fn flops(&self, inputs: &[TensorType], outputs: &[TensorType]) -> u64 {
        let rows = inputs.iter().skip(1).step_by(2);
        let rows: usize = rows.map(|t| t.rows_and_columns().0).sum();
        product([2, rows, outputs[0].len()])
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Tracer};

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let made = |w: &[usize], a: &[usize], b: &[usize], bounds| {
            let tracer = Tracer::new(DType::F32);
            let [w, a, b] =
                [("w", w), ("a", a), ("b", b)].map(|(name, s)| tracer.input(name, DType::F32, s));
            let y = w.rank_update(&[[&a, &b]], bounds);
            tracer.check().map(|()| y.shape().to_vec())
        };
        assert_eq!(made(&[3, 4], &[2, 5, 3], &[2, 5, 4], None).unwrap(), [3, 4]);
        assert!(made(&[3, 4], &[5, 3], &[6, 4], None).is_err());
        assert!(made(&[3, 4], &[5, 4], &[5, 3], None).is_err());
        assert!(made(&[3, 4, 1], &[5, 3], &[5, 4], None).is_err());
        assert!(made(&[3, 4], &[5, 3], &[5, 4], Some([1.0, 0.0])).is_err());
        let tracer = Tracer::new(DType::F64);
        let w = tracer.input("w", DType::F64, [3, 4]);
        let a = tracer.input("a", DType::F32, [1, 3]);
        w.rank_update(&[[&a, &w.slice(0, 0..1)]], None);
        assert!(tracer.check().is_err());
    }

    #[test]
    fn an_update_passes_no_gradient() {
        let tracer = Tracer::new(DType::F32);
        let [w, a] = ["w", "a"].map(|name| tracer.parameter(name, [3, 3]));
        let y = w.rank_update(&[[&a, &a]], None) + &a;
        let grads = tracer.gradients(&y.sum_all(), &[&w, &a]);
        tracer.output("w", &grads[0]);
        tracer.output("a", &grads[1]);
        let graph = tracer.finish().expect("a graph").to_string();
        assert!(!graph.contains("matmul"), "{graph}");
    }
}
