//! The keys of initial values, which several layers have.

use crate::module::Init;
use crate::network::values::WeightInit;
use spikelet_schema::Schema;

/// The initial values of weights and biases.
#[derive(Debug, Schema)]
pub(crate) struct InitKeys {
    /// Initial weights: `fan-in` (the default), `kaiming-normal`, or a table with `normal = 0.02` or `uniform = [0.0, 0.3]`.
    init: Option<WeightInit>,
    /// The initial value of biases; by default that of the weights' distribution.
    bias_init: Option<f64>,
}

impl InitKeys {
    /// The initializations of weights and biases that are not PyTorch's default. `fan_out` is the number of outputs times the
    /// size of the window.
    pub(crate) fn of(&self, fan_out: usize) -> [Option<Init>; 2] {
        let weight = self.init.and_then(|init| init.of(fan_out));
        [weight, self.bias_init.map(Init::Constant)]
    }
}
