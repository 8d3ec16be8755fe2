//! `{ qcfs = 8 }`, `{ qcfs = 8, init_lambda = 4.0 }`: quantization-clip-floor-shift with 8 steps, and λ before training.

use super::keys::key;
use super::{Kind, MainValue};
use crate::layer::Qcfs;
use crate::network::Layers;

pub(super) const QCFS: Kind = Kind {
    name: "qcfs",
    types: &["Qcfs"],
    summary: "steps between 0 and a learned maximum, of networks that are to be converted to spiking ones",
    main: MainValue::Required(key!(levels: "integer", "the number of steps")),
    keys: &[key!(init_lambda: "number" = "8.0", "the maximum before training")],
    example: (&[8], "{ qcfs = 4 }"),
    build: |layer, b| {
        let levels = layer.main()?.integer("qcfs", 1..=Layers::MAX_SIZE)?;
        let mut module = Qcfs::new(levels);
        if let Some(node) = layer.fields.get("init_lambda") {
            let lambda = node.number("init_lambda")?;
            if !(lambda.is_finite() && lambda > 0.0) {
                return Err(node.wrong("init_lambda", "a number above 0"));
            }
            module = module.lambda(lambda);
        }
        b.leaf("qcfs", module, Some(1), |_| Some(0))
    },
};
