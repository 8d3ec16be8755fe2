//! Who makes and who reads each value, kept up to date while a pass changes nodes.

use crate::graph::{Graph, Node, ValueId};

/// For each value the node that makes it and those that read it, each once.
pub(super) struct Links {
    producers: Vec<Option<usize>>,
    readers: Vec<Vec<usize>>,
    /// How many outputs of the graph are the value.
    named: Vec<usize>,
}

impl Links {
    pub(super) fn of(graph: &Graph) -> Self {
        let mut links = Self {
            producers: vec![],
            readers: vec![],
            named: vec![],
        };
        links.grow(graph);
        for output in &graph.outputs {
            links.named[output.value.index()] += 1;
        }
        for (k, node) in graph.nodes.iter().enumerate() {
            links.link(k, node);
        }
        links
    }

    pub(super) fn maker<'a>(&self, graph: &'a Graph, value: ValueId) -> Option<&'a Node> {
        self.producers[value.index()].map(|k| &graph.nodes[k])
    }

    pub(super) fn readers(&self, value: ValueId) -> &[usize] {
        &self.readers[value.index()]
    }

    /// How many outputs of the graph are the value.
    pub(super) fn named(&self, value: ValueId) -> usize {
        self.named[value.index()]
    }

    /// Puts another node in the place of node `k`.
    pub(super) fn replace(&mut self, graph: &mut Graph, k: usize, node: Node) {
        self.grow(graph);
        let old = std::mem::replace(&mut graph.nodes[k], node);
        for input in old.inputs {
            self.readers[input.index()].retain(|reader| *reader != k);
        }
        for output in old.outputs {
            let maker = &mut self.producers[output.index()];
            *maker = maker.filter(|maker| *maker != k);
        }
        self.link(k, &graph.nodes[k]);
    }

    /// Adds a node behind all others and returns its number.
    pub(super) fn push(&mut self, graph: &mut Graph, node: Node) -> usize {
        self.grow(graph);
        let k = graph.nodes.len();
        self.link(k, &node);
        graph.nodes.push(node);
        k
    }

    fn link(&mut self, k: usize, node: &Node) {
        for input in &node.inputs {
            let readers = &mut self.readers[input.index()];
            if readers.last() != Some(&k) {
                readers.push(k);
            }
        }
        for output in &node.outputs {
            self.producers[output.index()] = Some(k);
        }
    }

    fn grow(&mut self, graph: &Graph) {
        let values = graph.values();
        self.producers.resize(values, None);
        self.readers.resize(values, vec![]);
        self.named.resize(values, 0);
    }
}
