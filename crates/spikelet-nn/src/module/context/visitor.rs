//! The neurons of a network, by path.

use super::Context;
use std::any::Any;
use std::rc::Rc;

/// A function of a path, a neuron and the shape of its input.
pub(super) type Visitor = Rc<dyn Fn(&str, &dyn Any, &[usize])>;

impl Context {
    /// Calls a function with each neuron while a network is traced: with its path, the neuron, and the shape of its input
    /// `[T, N, …]`. Neurons without [`Record::as_type`](spikelet_schema::Record::as_type) are left out. A neuron in a loop over time may be visited more than once. Must be set before anything is traced.
    ///
    /// ```
    /// use spikelet_nn::prelude::*;
    /// use std::cell::RefCell;
    /// use std::rc::Rc;
    ///
    /// let taus = Rc::new(RefCell::new(vec![]));
    /// let found = taus.clone();
    /// let cx = Context::new(Mode::EVAL, DType::F32).visiting(move |path, neuron, _| {
    ///     if let Some(lif) = neuron.downcast_ref::<Lif>() {
    ///         found.borrow_mut().push((path.to_string(), lif.tau));
    ///     }
    /// });
    /// let net = Sequential::new().add(Linear::new(4, 3)).add(Lif::new(2.5));
    /// let x = cx.tracer().input("x_seq", DType::F32, [8, 2, 4]);
    /// cx.trace(&net, x)?;
    /// assert_eq!(*taus.borrow(), [("1".to_string(), 2.5)]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    #[must_use]
    pub fn visiting(mut self, visitor: impl Fn(&str, &dyn Any, &[usize]) + 'static) -> Self {
        self.visitor = Some(Rc::new(visitor));
        self
    }

    /// Calls the visitor, if there is one, with a neuron of the current module.
    pub(crate) fn visit(&self, neuron: &dyn Any, shape: &[usize]) {
        if let Some(visitor) = &self.visitor {
            visitor(&self.tracer.path(), neuron, shape);
        }
    }
}
