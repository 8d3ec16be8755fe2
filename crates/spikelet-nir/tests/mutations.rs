//! Readers survive any bytes.

use crate::common::{self, mutation::survives};
use spikelet_nir::{Graph, Limits};

#[test]
fn mutated_graphs_are_read_or_refused() {
    let mut files = common::files("golden", &[".nir"]);
    files.extend(common::files("bad", &[".nir"]));
    // Each mutation of the bomb takes as long as the bomb.
    files.retain(|(name, _)| name != "deflate_bomb.nir");
    survives(files, |bytes| {
        let Ok(graph) = Graph::from_bytes(bytes, &Limits::default()) else {
            return 0;
        };
        let _ = graph.check();
        let parameters = graph
            .nodes
            .values()
            .flat_map(|node| node.kind.elementwise_parameters());
        parameters.map(|(_, tensor)| tensor.bytes().len()).sum()
    });
}
