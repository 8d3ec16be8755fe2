//! A few of the graphs that `tools/fuzz graphs` plans.

#[path = "../../../spikelet-fuzz/src/targets/graphs.rs"]
mod graphs;

use spikelet_cpu::Cpu;
use spikelet_graph::Plan;
use std::path::Path;

#[test]
fn passes_keep_the_results_of_random_graphs() {
    let folder = Path::new("");
    let corpus = graphs::corpus(folder);
    for bytes in &corpus {
        graphs::run_graph(bytes, folder);
    }
    // More of them, each of the halves of two others.
    for (k, first) in corpus.iter().enumerate() {
        let second = &corpus[(k * 7 + 3) % corpus.len()];
        let bytes = [&first[..first.len() / 2], &second[second.len() / 2..]].concat();
        graphs::run_graph(&bytes, folder);
    }
}

#[test]
fn what_is_computed_again_for_every_reader_is_not_computed_before() {
    let bytes = include_bytes!("recomputed_for_every_reader.bytes");
    let graph = graphs::graph_of(bytes);
    let cpu = Cpu::new(1).expect("a CPU");
    let least = graphs::least_bytes(&graph, &cpu);
    let plan = Plan::within(graph.clone(), &cpu, least).expect("a plan in the least memory");
    graphs::comparison(&cpu, &graph)("a memory limit", &plan);
}
