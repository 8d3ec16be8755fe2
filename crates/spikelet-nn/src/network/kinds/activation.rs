//! `"relu"`, `{ leaky-relu = 0.01 }`, `"gelu"`, `"silu"`, `"sigmoid"`, `"tanh"`

use super::keys::key;
use super::{Kind, MainValue};
use crate::layer::Activation;

/// The slope below 0 unless another is given, as in PyTorch.
const SLOPE: f64 = 0.01;

/// A kind without a value.
macro_rules! plain {
    ($($name:ident = $kind:literal, $function:ident, $summary:literal;)*) => {$(
        pub(super) const $name: Kind = Kind {
            name: $kind,
            types: &[stringify!($function)],
            summary: $summary,
            main: MainValue::None,
            keys: &[],
            example: (&[8], concat!("\"", $kind, "\"")),
            build: |_, b| b.leaf($kind, Activation::$function, Some(0), |_| Some(0)),
        };
    )*};
}

plain! {
    RELU = "relu", Relu, "rectified linear unit, max(x, 0), of networks without spikes";
    GELU = "gelu", Gelu, "Gaussian error linear unit, x·Φ(x), of networks without spikes";
    SILU = "silu", Silu, "sigmoid linear unit, x·σ(x), of networks without spikes";
    SIGMOID = "sigmoid", Sigmoid, "logistic function, 1/(1 + e⁻ˣ), of networks without spikes";
    TANH = "tanh", Tanh, "hyperbolic tangent, of networks without spikes";
}

pub(super) const LEAKY_RELU: Kind = Kind {
    name: "leaky-relu",
    types: &["LeakyRelu"],
    summary: "leaky rectified linear unit: x, below 0 a slope times x, of networks without spikes",
    main: MainValue::Optional(key!(slope: "number" = "0.01", "the slope below 0")),
    keys: &[],
    example: (&[8], "{ leaky-relu = 0.1 }"),
    build: |layer, b| {
        let slope = match layer.main {
            Some(node) => node.number("leaky-relu")?,
            None => SLOPE,
        };
        b.leaf(
            "leaky-relu",
            Activation::LeakyRelu { slope },
            Some(0),
            |_| Some(0),
        )
    },
};
