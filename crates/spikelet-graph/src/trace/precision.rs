//! The precision of a trace.

use super::{State, Tracer, Var};
use crate::error::Result;
use crate::graph::ValueId;
use crate::op::{Op, Operation};
use crate::pass;
use crate::precision::Precision;
use crate::semantics::Storage;
use crate::time_invariance::RepeatedValues;
use crate::types::TensorType;
use std::sync::Arc;

impl Tracer {
    /// Sets the precision of the network; the default is f32. It is applied when the first gradients are
    /// computed, or else at the end; inputs and outputs of the program keep their types.
    ///
    /// ```
    /// use spikelet_graph::{DType, Precision, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// tracer.set_precision(Precision::Bf16);
    /// let x = tracer.input("x", DType::F32, [8, 3]);
    /// tracer.output("y", &x.linear(&tracer.parameter("w", [2, 3])));
    /// assert!(tracer.finish()?.to_string().contains("bf16[8, 2]"));
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    pub fn set_precision(&self, precision: Precision) {
        self.state.borrow_mut().precision = precision;
    }

    /// The precision of the network.
    pub fn precision(&self) -> Precision {
        self.state.borrow().precision
    }
}

impl Tracer {
    /// The value in the type that the tracing code expects, which the precision pass may have changed.
    pub(super) fn as_traced(&self, value: &Var) -> Var {
        let Some(id) = value.id else {
            return value.clone();
        };
        let cast = {
            let mut state = self.state.borrow_mut();
            let layer: Arc<str> = Arc::from(state.path.join("."));
            state.graph.cast(id, value.ty.dtype, &layer)
        };
        match cast {
            Ok(id) => self.var(id),
            Err(error) => self.poison(error, value.ty.clone()),
        }
    }
}

impl State {
    /// Runs the passes before differentiation, once.
    pub(super) fn prepare(&mut self) {
        if !self.prepared {
            pass::prepare(&mut self.graph, self.precision);
            self.repeated = RepeatedValues::default();
        }
        self.prepared = true;
    }

    /// Adapts an operation and its operands so that the result has the type that the tracing code expects:
    /// the precision pass may have stored some operands in 16 bits.
    pub(super) fn as_known(
        &mut self,
        op: Op,
        mut ids: Vec<ValueId>,
        inputs: &[&Var],
        layer: &Arc<str>,
    ) -> Result<(Op, Vec<ValueId>)> {
        let known: Vec<TensorType> = inputs.iter().map(|v| v.ty.clone()).collect();
        let stored: Vec<TensorType> = ids.iter().map(|id| self.graph.ty(*id).clone()).collect();
        let same = |(a, b): (&TensorType, &TensorType)| a.dtype == b.dtype;
        if known.iter().zip(&stored).all(same) {
            return Ok((op, ids));
        }
        if matches!(op.storage(), Storage::Elementwise | Storage::Accumulated) {
            let result = |inputs| op.infer(inputs).ok()?.first().map(|ty| ty.dtype);
            let expected = result(&known).filter(|dtype| result(&stored) != Some(*dtype));
            let rounded = expected.and_then(|dtype| op.stored_as(dtype));
            return Ok((rounded.unwrap_or(op), ids));
        }
        for (id, ty) in ids.iter_mut().zip(known) {
            *id = self.graph.cast(*id, ty.dtype, layer)?;
        }
        Ok((op, ids))
    }
}
