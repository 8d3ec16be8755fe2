//! Graphs of networks, printed and read back.

use crate::targets::{Checkpoints, Overlaps, Plain};
use crate::{channel_sums, checkpoint, long_program, overlapping_layers, plans, time_chunking};
use spikelet_graph::{Graph, Plan, Target};

fn read(text: &str) -> Graph {
    text.parse()
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn a_graph_that_is_read_back_has_the_same_text_and_the_same_plan() {
    let graphs = [
        plans::training_step(),
        channel_sums::trained(&[]),
        checkpoint::traced(),
        time_chunking::trained(2),
        time_chunking::recurrent(4),
        long_program::recurrent(6),
        overlapping_layers::overlapping_step([8, 4, 8], 2),
    ];
    let targets: [&dyn Target; 3] = [&Plain, &Checkpoints(2), &Overlaps(2)];
    for graph in graphs {
        let text = graph.to_string();
        let back = read(&text);
        assert_eq!(back.to_string(), text);
        for target in targets {
            let plan = Plan::new(back.clone(), target);
            assert_eq!(
                plan.to_string(),
                Plan::new(graph.clone(), target).to_string()
            );
            // The passes leave graphs with gaps between the numbers of values and with other types.
            let text = plan.graph.to_string();
            assert_eq!(read(&text).to_string(), text);
        }
    }
}
