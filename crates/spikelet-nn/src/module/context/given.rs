//! Values that modules get from outside: signals by name, and values in place of parameters.

use super::Context;
use spikelet_graph::Var;

impl Context {
    /// Gives a signal to the [learning rules](crate::learning) of the network, such as a reward: `[T]`, or `[T, N]` with a
    /// value for each sample. Must be called before the network is traced.
    ///
    /// ```
    /// use spikelet_nn::learning::{Plastic, RewardStdp};
    /// use spikelet_nn::prelude::*;
    /// let net = Plastic::new(Linear::new(20, 10), Lif::new(2.0), RewardStdp::default());
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [50, 8, 20]);
    /// let reward = cx.tracer().input("reward", DType::F32, [50, 8]);
    /// cx.give_signal("reward", &reward);
    /// assert_eq!(cx.trace(&net, x)?.shape(), [50, 8, 10]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    pub fn give_signal(&self, name: &str, value: &Var) {
        let value = value.cast(self.tracer.float());
        self.signals.borrow_mut().insert(name.to_string(), value);
    }

    /// The signal of this name, if it was given.
    pub fn signal(&self, name: &str) -> Option<Var> {
        self.signals.borrow().get(name).cloned()
    }

    /// Calls `inside` with a value in place of the parameter `name` of the current module. Returns also whether the
    /// parameter was read.
    pub(crate) fn with_parameter<T>(
        &self,
        name: &str,
        value: &Var,
        inside: impl FnOnce(&Context) -> T,
    ) -> (T, bool) {
        let path = self.tracer.path_of(name);
        let given = &self.given_parameters;
        given
            .borrow_mut()
            .insert(path.clone(), (value.clone(), false));
        let made = inside(self);
        let removed = given.borrow_mut().remove(&path);
        (made, removed.is_some_and(|(_, read)| read))
    }

    /// Subtracts a change from the gradient of a parameter in a training step, by a term of the loss whose value is 0.
    pub(crate) fn change_by_gradient(&self, parameter: &Var, change: &Var) {
        let term = change.detach() * (parameter.detach() - parameter);
        self.traced.borrow_mut().losses.push(term.sum_all());
    }
}
