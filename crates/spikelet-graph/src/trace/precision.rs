//! The precision of a trace.

use super::{State, Tracer, Var};
use crate::error::Result;
use crate::graph::ValueId;
use crate::op::{Map, Op};
use crate::pass;
use crate::precision::Precision;
use crate::time_invariance::RepeatedValues;
use crate::types::DType;
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
        let known: Vec<DType> = inputs.iter().map(|v| v.ty.dtype).collect();
        let stored = |(id, dtype): (&ValueId, &DType)| self.graph.ty(*id).dtype != *dtype;
        if !ids.iter().zip(&known).any(stored) {
            return Ok((op, ids));
        }
        Ok(match op {
            Op::Map(mut map) => {
                if map.dtypes.is_empty() {
                    map.dtypes = vec![Map::common(known); map.expressions.len()];
                }
                (map.into(), ids)
            }
            Op::Reduce(mut reduce) => {
                reduce.out = reduce.out.or(known.first().copied());
                (reduce.into(), ids)
            }
            Op::LogSoftmax(_) | Op::ArgMax(_) => (op, ids),
            op => {
                for (id, dtype) in ids.iter_mut().zip(known) {
                    *id = self.graph.cast(*id, dtype, layer)?;
                }
                (op, ids)
            }
        })
    }
}
