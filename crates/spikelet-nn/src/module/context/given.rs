//! Values that modules get from outside: signals by name, the classes of the samples, and values in place of parameters.

use super::Context;
use spikelet_graph::Var;

/// The signal with the classes of the samples.
pub(crate) const LABEL: &str = "label";

impl Context {
    /// Gives a signal to the [learning rules](crate::learning) of the network, such as a reward: `[T]`, or `[T, N]` with a
    /// value for each sample. Must be called before the network is traced.
    ///
    /// ```
    /// use spikelet_nn::learning::{Plastic, RewardStdp};
    /// use spikelet_nn::prelude::*;
    /// let net = Plastic::new(Linear::new(20, 10).bias(false), Lif::new(2.0), RewardStdp::default());
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

    /// Calls `inside` with a signal that has the time steps of the current sequences, `[T, N]`: in a loop over time, one.
    pub(crate) fn with_signal<T>(
        &self,
        name: &str,
        value: &Var,
        inside: impl FnOnce(&Context) -> T,
    ) -> T {
        let signals = &self.step_signals;
        signals.borrow_mut().insert(name.to_string(), value.clone());
        let made = inside(self);
        signals.borrow_mut().remove(name);
        made
    }

    /// The signal of [`Context::with_signal`].
    pub(crate) fn step_signal(&self, name: &str) -> Option<Var> {
        self.step_signals.borrow().get(name).cloned()
    }

    /// Gives the class of each sample to layers that learn by it in training, such as a plastic layer with a
    /// [reward](crate::learning::ClassReward): i64 `[N]`, or f32 `[N, classes]` with a probability of each class. Must be
    /// called before the network is traced; the step of a classifier does.
    ///
    /// ```
    /// use spikelet_nn::learning::{ClassReward, Plastic, RewardStdp};
    /// use spikelet_nn::prelude::*;
    /// let reward = ClassReward { classes: 10, right: 1.0, wrong: -1.0 };
    /// let net = Plastic::new(Linear::new(784, 200).bias(false), Lif::new(2.0), RewardStdp::default()).reward(reward);
    /// let cx = Context::new(Mode::TRAIN, DType::F32);
    /// let x = cx.tracer().input("x_seq", DType::F32, [50, 8, 784]);
    /// cx.give_label(&cx.tracer().input("label", DType::I64, [8]));
    /// assert_eq!(cx.trace(&net, x)?.shape(), [50, 8, 200]);
    /// # Ok::<(), spikelet_nn::Error>(())
    /// ```
    pub fn give_label(&self, label: &Var) {
        self.signals
            .borrow_mut()
            .insert(LABEL.to_string(), label.clone());
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
