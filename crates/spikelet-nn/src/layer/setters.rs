//! Setters that several layers have, of fields of the same names.

/// Defines setters in the `impl` of a layer: `setters!(bias, weight_init)`.
macro_rules! setters {
    ($($field:ident),*) => {
        $(setters!(@ $field);)*
    };
    (@ bias) => {
        /// Sets whether a bias is added.
        #[must_use]
        pub fn bias(mut self, yes: bool) -> Self {
            self.bias = yes;
            self
        }
    };
    (@ weight_init) => {
        /// Sets the initialization of the weight.
        #[must_use]
        pub fn weight_init(mut self, init: Init) -> Self {
            self.weight_init = init.into();
            self
        }
    };
    (@ bias_init) => {
        /// Sets the initialization of the bias.
        #[must_use]
        pub fn bias_init(mut self, init: Init) -> Self {
            self.bias_init = init.into();
            self
        }
    };
}

pub(crate) use setters;
