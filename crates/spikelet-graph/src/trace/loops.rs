//! Tracing of loops.
//!
//! A body is traced like everything else, at the end of the graph; when it is complete, its nodes move into a
//! graph of their own. What they read of the values before becomes an invariant of the loop.

mod extraction;

use super::{State, Tracer, Var};
use crate::error::{Error, InvalidOp, Result};
use crate::graph::ValueId;
use crate::types::TensorType;
use extraction::Extraction;
use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A loop whose body is being traced.
pub(super) struct OpenLoop {
    /// The number of nodes before the body.
    first: usize,
    /// The nodes that are traced outside the body, after [`OpenLoop::first`].
    outside: Vec<Range<usize>>,
}

/// A value that the body receives: its placeholder while the body is traced, and the value outside.
#[derive(Clone, Copy)]
struct Received {
    inside: ValueId,
    outside: ValueId,
}

/// A loop whose body is being traced: [`Tracer::begin_loop`].
///
/// Everything that is traced until [`LoopTrace::finish`] is the body. A loop that is dropped unfinished is
/// removed from the trace.
pub struct LoopTrace {
    tracer: Tracer,
    /// The loops whose bodies are being traced, with this one.
    depth: usize,
    length: usize,
    reverse: bool,
    received: RefCell<ReceivedValues>,
    finished: bool,
}

#[derive(Default)]
struct ReceivedValues {
    carried: Vec<Received>,
    sequences: Vec<Received>,
}

/// The results of a loop.
#[derive(Clone, Debug, Default)]
pub struct LoopResults {
    /// The carried values after the last step.
    pub carried: Vec<Var>,
    /// The stacked values.
    pub stacked: Vec<Var>,
}

impl Tracer {
    /// Traces a loop of `length` steps. The body receives the carried values and one piece of each sequence: an
    /// equal part along axis 0, `[1, N, …]` of `[length, N, …]`. It returns the next carried values, of the same
    /// types, and values that are stacked along axis 0. Other values that it uses are invariants; parameters
    /// may be declared inside.
    ///
    /// Axis 0 of the sequences is time: random numbers over time that are drawn inside are those of their step.
    ///
    /// ```
    /// use spikelet_graph::{DType, Tracer};
    /// let tracer = Tracer::new(DType::F32);
    /// let x_seq = tracer.input("x_seq", DType::F32, [50, 8, 3]);
    /// let w = tracer.parameter("w", [3, 3]);
    /// let start = tracer.fill(DType::F32, [1, 8, 3], 0.0);
    /// let made = tracer.scan_loop(50, &[&start], &[&x_seq], |h, x| {
    ///     let next = (&x[0] + &h[0].linear(&w)).tanh();
    ///     Ok((vec![next.clone()], vec![next]))
    /// })?;
    /// assert_eq!(made.carried[0].shape(), [1, 8, 3]);
    /// assert_eq!(made.stacked[0].shape(), [50, 8, 3]);
    /// assert_eq!(tracer.finish()?.nodes.len(), 2);
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`; when a sequence has no `length` equal pieces or a carried value changes its type.
    pub fn scan_loop(
        &self,
        length: usize,
        initial: &[&Var],
        sequences: &[&Var],
        body: impl FnOnce(&[Var], &[Var]) -> Result<(Vec<Var>, Vec<Var>)>,
    ) -> Result<LoopResults> {
        let open = self.begin_loop(length);
        let carried: Vec<Var> = initial.iter().map(|v| open.carried(v)).collect();
        let pieces: Vec<Var> = sequences.iter().map(|v| open.sequence(v)).collect();
        let (next, stacked) = body(&carried, &pieces)?;
        if next.len() != carried.len() {
            let error = InvalidOp::new(
                format!(
                    "the body returns {} carried values; it received {}",
                    next.len(),
                    carried.len()
                ),
                "return one next value for each carried value",
            );
            return Err(error.at(&self.path(), "loop", &[]));
        }
        let next: Vec<(&Var, &Var)> = carried.iter().zip(&next).collect();
        open.finish(&next, &stacked.iter().collect::<Vec<_>>())
    }

    /// Begins a loop of `length` steps: what is traced from now on is its body, until [`LoopTrace::finish`].
    pub fn begin_loop(&self, length: usize) -> LoopTrace {
        let mut state = self.state.borrow_mut();
        let first = state.graph.nodes.len();
        state.loops.push(OpenLoop {
            first,
            outside: vec![],
        });
        let depth = state.loops.len();
        drop(state);
        LoopTrace {
            tracer: self.clone(),
            depth,
            length,
            reverse: false,
            received: RefCell::default(),
            finished: false,
        }
    }

    /// Traces values outside the body of the innermost open loop: once, before it. In them the pieces of sequences
    /// are the first pieces, and carried values the initial values. Without an open loop, `trace` is called as
    /// it is.
    pub fn outside_loop<T>(&self, trace: impl FnOnce() -> T) -> T {
        let here = |state: &State| (state.loops.len(), state.graph.nodes.len());
        let (depth, start) = here(&self.state.borrow());
        let made = trace();
        let mut state = self.state.borrow_mut();
        let (depth_now, end) = here(&state);
        if depth == depth_now
            && let Some(open) = state.loops.last_mut()
        {
            // An inner range was marked first.
            open.outside.retain(|range| range.start < start);
            open.outside.push(start..end);
        }
        made
    }

    /// Sets whether operations may leave the bodies of loops that are traced from now on; they may by default.
    pub fn hoist_from_loops(&self, yes: bool) {
        self.state.borrow_mut().keeps_in_loops = !yes;
    }

    /// Traces `inside`, in whose loops all operations of the bodies stay: their memory does not grow with the number of
    /// steps by values of all steps.
    pub fn keep_in_loops<T>(&self, inside: impl FnOnce() -> T) -> T {
        let before = std::mem::replace(&mut self.state.borrow_mut().keeps_in_loops, true);
        let made = inside();
        self.state.borrow_mut().keeps_in_loops = before;
        made
    }

    /// Rejects a request that needs a complete graph while a body is being traced.
    pub(super) fn expect_no_open_loop(&self, what: &str) -> Result<()> {
        if self.state.borrow().loops.is_empty() {
            return Ok(());
        }
        Err(Error::Gradient {
            what: what.to_string(),
            problem: "the body of a loop is being traced; ask for it outside the loop".to_string(),
        })
    }
}

impl LoopTrace {
    /// Lets the steps run from the last piece of the sequences to the first.
    #[must_use]
    pub fn reversed(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// The number of steps.
    pub fn length(&self) -> usize {
        self.length
    }

    /// A carried value with its value before the first step, of the type that it has after every step.
    pub fn carried(&self, initial: &Var) -> Var {
        let ty = initial.ty().clone();
        self.receive(initial, ty, |values| &mut values.carried)
    }

    /// The piece of a sequence at the current step.
    pub fn sequence(&self, sequence: &Var) -> Var {
        let mut piece = sequence.ty().clone();
        let fits = piece.shape.first_mut().is_some_and(|first| {
            let whole = *first;
            *first = whole.checked_div(self.length).unwrap_or(1);
            *first * self.length == whole
        });
        if !fits {
            let error = InvalidOp::new(
                format!(
                    "a sequence of {} has no {} equal pieces along axis 0",
                    sequence.ty(),
                    self.length
                ),
                "pass sequences [T, …] with one step for each step of the loop",
            );
            return sequence.refuse("loop", error);
        }
        self.receive(sequence, piece, |values| &mut values.sequences)
    }

    fn receive(
        &self,
        value: &Var,
        ty: TensorType,
        list: impl Fn(&mut ReceivedValues) -> &mut Vec<Received>,
    ) -> Var {
        // Another precision may have been applied to what was traced before.
        let value = self.tracer.outside_loop(|| self.tracer.as_traced(value));
        let Some(outside) = value.id else {
            return self.tracer.ignored(ty);
        };
        let inside = self.tracer.state.borrow_mut().graph.add_value(ty);
        list(&mut self.received.borrow_mut()).push(Received { inside, outside });
        self.tracer.var(inside)
    }

    /// Completes the loop: `next` has carried values with their values after the step (one that is not listed does
    /// not change), `stacked` the values that are stacked along axis 0.
    ///
    /// # Errors
    /// The first error of the trace; when a carried value changes its type or is listed twice, when another value is
    /// listed, and when a loop inside this one is not finished.
    pub fn finish(mut self, next: &[(&Var, &Var)], stacked: &[&Var]) -> Result<LoopResults> {
        self.finished = true;
        let tracer = self.tracer.clone();
        let received = self.received.take();
        let mut state = tracer.state.borrow_mut();
        let Some(open) = state.close(self.depth) else {
            // The loop around it was finished or dropped before, which is the error of the trace.
            let error = state.error.clone();
            return error.map_or(Ok(LoopResults::default()), Err);
        };
        if let Some(problem) = misused(&received.carried, next) {
            let error = problem.at(&state.path.join("."), "loop", &[]);
            state.error.get_or_insert(error);
        }
        let ids = |vars: &[&Var]| -> Option<Vec<ValueId>> { vars.iter().map(|v| v.id).collect() };
        let (before, after): (Vec<&Var>, Vec<&Var>) = next.iter().copied().unzip();
        let known = (ids(&before), ids(&after), ids(stacked));
        let (Some(before), Some(after), Some(stacked), None) =
            (known.0, known.1, known.2, &state.error)
        else {
            state.graph.nodes.truncate(open.first);
            let error = state.error.clone();
            return Err(error.unwrap_or(Error::Gradient {
                what: "a loop".to_string(),
                problem: "a value of its body is invalid".to_string(),
            }));
        };
        let extraction = Extraction {
            length: self.length,
            reverse: self.reverse,
            hoist: !state.keeps_in_loops,
            layer: Arc::from(state.path.join(".")),
            received,
            next: before.iter().copied().zip(after).collect(),
            stacked,
        };
        let made = extraction.run(&mut state.graph, &open);
        state.repeated = crate::time_invariance::RepeatedValues::default();
        let made = made.inspect_err(|error| {
            state.error.get_or_insert(error.clone());
        })?;
        state.in_bodies.extend(made.inside);
        drop(state);
        let var = |value: ValueId| tracer.var(value);
        let carried = before.iter().map(|v| var(made.lasts[v]));
        Ok(LoopResults {
            carried: carried.collect(),
            stacked: made.stacked.into_iter().map(var).collect(),
        })
    }
}

/// What is wrong with the list of the next carried values.
fn misused(carried: &[Received], next: &[(&Var, &Var)]) -> Option<InvalidOp> {
    let mut seen = HashSet::new();
    for (k, (before, _)) in next.iter().enumerate() {
        let Some(id) = before.id else { continue };
        if !carried.iter().any(|value| value.inside == id) {
            return Some(InvalidOp::new(
                format!(
                    "pair {k} of the next values starts with a value that the loop does not carry"
                ),
                "start each pair with a result of `LoopTrace::carried` of this loop",
            ));
        }
        if !seen.insert(id) {
            return Some(InvalidOp::new(
                format!(
                    "pair {k} of the next values starts with a carried value that an earlier pair has"
                ),
                "give each carried value one next value",
            ));
        }
    }
    None
}

impl State {
    /// Removes the loop at this depth from those that are open, with all inside it; those are an error.
    fn close(&mut self, depth: usize) -> Option<OpenLoop> {
        if self.loops.len() > depth {
            let problem = InvalidOp::new(
                "a loop inside this one is still open",
                "finish a loop before the loop around it",
            );
            let error = problem.at(&self.path.join("."), "loop", &[]);
            self.error.get_or_insert(error);
        }
        self.loops.truncate(depth);
        match self.loops.len() == depth {
            true => self.loops.pop(),
            false => None,
        }
    }
}

impl Drop for LoopTrace {
    fn drop(&mut self) {
        if !self.finished
            && let Ok(mut state) = self.tracer.state.try_borrow_mut()
            && let Some(open) = state.close(self.depth)
        {
            state.graph.nodes.truncate(open.first);
            state.repeated = crate::time_invariance::RepeatedValues::default();
        }
    }
}

impl fmt::Debug for LoopTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopTrace")
            .field("length", &self.length)
            .field("reverse", &self.reverse)
            .finish_non_exhaustive()
    }
}
