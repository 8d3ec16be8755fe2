//! Plans within a memory limit.

use crate::targets::Plain;
use spikelet_graph::{DType, Graph, Plan, Tracer};

const F: DType = DType::F32;

/// Spikes that are read twice, each time behind a tensor that is larger than they are: the second time a larger one.
fn read_twice() -> Graph {
    let t = Tracer::new(F);
    let x = t.input("x", F, [64, 4096]);
    let product = |name: &str, size: usize| x.linear(&t.parameter(name, [size, 4096]));
    let spikes = product("spikes", 64).map1(|x| x.ge(0.0));
    for (name, size) in [("first", 256), ("second", 272)] {
        t.output(name, &product(&format!("{name}.large"), size).sum_all());
        let read = spikes.linear(&t.parameter(&format!("{name}.read"), [64, 64]));
        t.output(&format!("{name}.read"), &read.sum_all());
    }
    t.finish().unwrap()
}

#[test]
fn spikes_are_unpacked_only_behind_the_operation_that_packs_them() {
    let natural = Plan::new(read_twice(), &Plain).arena_bytes;
    let limit = natural / 8 * 7;
    let fixed = Plan::new(read_twice(), &Plain).buffer_bytes();
    let plan = Plan::within(read_twice(), &Plain, fixed + limit).unwrap();
    plan.check().unwrap();
}
