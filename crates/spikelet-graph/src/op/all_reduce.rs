//! Sums over all ranks of a group.

use super::*;

/// Starts to sum tensors over all ranks: one result for each operand, of its shape, in f32.
///
/// All ranks run the same program, and therefore start the same sums in the same order. A result is
/// read only by its [`AllReduceDone`]: the sum overlaps with the operations between the two. A
/// result is stored in the memory of its operand, if no other operation reads the operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AllReduceStart {
    /// The number of ranks.
    pub ranks: usize,
}

/// Waits for the sums of one [`AllReduceStart`]: its operands are all results of that, and its results
/// are views of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AllReduceDone;

fn expect_f32(inputs: &[TensorType]) -> std::result::Result<(), InvalidOp> {
    if inputs.is_empty() {
        return invalid!("no operands"; "pass at least one tensor");
    }
    match inputs.iter().find(|t| t.dtype != DType::F32) {
        None => Ok(()),
        Some(other) => invalid!("sums f32 tensors; an operand is {}", other.dtype;
            "cast it to f32 first; f64 is for references, which run as one rank"),
    }
}

/// Sums over all ranks and waits.
fn sum(b: &mut Backward<'_>, op: AllReduceStart, values: &[ValueId]) -> Result<Vec<ValueId>> {
    let started = b.push(op, values)?;
    b.push(AllReduceDone, &started)
}

impl Operation for AllReduceStart {
    fn kind(&self) -> Kind {
        Kind::new("all_reduce_start", Class::Collective)
    }

    fn text(&mut self, t: &mut Text<'_>) {
        t.word("all_reduce_start[")
            .value(&mut self.ranks)
            .word(" ranks]");
    }

    fn outputs(&self, operands: usize) -> usize {
        operands
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        if self.ranks == 0 {
            return invalid!("the group has 0 ranks"; "pass the number of ranks, this one included");
        }
        expect_f32(inputs)?;
        Ok(inputs.to_vec())
    }

    /// The loss of every rank depends on this rank's operand: its gradient is the sum of the ranks' gradients.
    fn differentiate(&self, b: &mut Backward<'_>, node: &Node) -> Result<Vec<Option<ValueId>>> {
        let grads: Vec<ValueId> = b.grads.iter().flatten().copied().collect();
        let mut sums = sum(b, *self, &grads)?.into_iter();
        let known = b.grads.iter().take(node.inputs.len());
        Ok(known.map(|g| g.and_then(|_| sums.next())).collect())
    }

    fn in_place(&self, result: usize) -> InPlace {
        InPlace::Operand(result)
    }

    fn flops(&self, inputs: &[TensorType], _: &[TensorType]) -> u64 {
        elements(inputs)
    }

    fn writes_unread(&self, _: usize) -> bool {
        true
    }
}

impl Operation for AllReduceDone {
    fn kind(&self) -> Kind {
        Kind::new("all_reduce_done", Class::Collective)
    }

    fn outputs(&self, operands: usize) -> usize {
        operands
    }

    fn infer(&self, inputs: &[TensorType]) -> std::result::Result<Vec<TensorType>, InvalidOp> {
        expect_f32(inputs)?;
        Ok(inputs.to_vec())
    }

    fn differentiate(&self, b: &mut Backward<'_>, _: &Node) -> Result<Vec<Option<ValueId>>> {
        Ok(b.grads.clone())
    }

    fn in_place(&self, result: usize) -> InPlace {
        InPlace::Operand(result)
    }

    fn view(&self) -> Option<View> {
        Some(View::Operand)
    }

    fn runs(&self) -> bool {
        true
    }
}
