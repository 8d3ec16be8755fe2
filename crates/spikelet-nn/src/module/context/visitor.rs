//! The neurons of a network, by path.

use super::Context;
use crate::neuron::Neuron;
use std::rc::Rc;

/// A function of a path, a neuron and the shape of its input.
pub(super) type Visitor = Rc<dyn Fn(&str, &dyn Neuron, &[usize])>;

impl Context {
    /// Calls a function with each neuron while a network is traced: with its path, the neuron, and the shape of its input
    /// `[T, N, …]`. A neuron in a loop over time may be visited more than once. Must be set before anything is traced.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// use std::cell::RefCell;
    /// use std::rc::Rc;
    ///
    /// let thresholds = Rc::new(RefCell::new(vec![]));
    /// let found = thresholds.clone();
    /// let cx = Context::new(Mode::EVAL, DType::F32).visiting(move |path, neuron, _| {
    ///     found.borrow_mut().push((path.to_string(), neuron.common().v_threshold));
    /// });
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.0).v_threshold(0.5));
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&net, x)?;
    /// assert_eq!(*thresholds.borrow(), [("1".to_string(), 0.5)]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn visiting(mut self, visitor: impl Fn(&str, &dyn Neuron, &[usize]) + 'static) -> Self {
        self.visitor = Some(Rc::new(visitor));
        self
    }

    /// Calls the visitor, if there is one, with a neuron of the current module.
    pub(crate) fn visit(&self, neuron: &dyn Neuron, shape: &[usize]) {
        if let Some(visitor) = &self.visitor {
            visitor(&self.tracer.path(), neuron, shape);
        }
    }
}
