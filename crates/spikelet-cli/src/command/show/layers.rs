//! The layers of a checkpoint and how they are connected.
//!
//! The network is traced for one sample. Each node of the trace has the path of its layer; an edge between two layers is
//! a value that one computes and the other reads.

use super::{Show, shape_text};
use crate::command::trained::Trained;
use crate::command::{path_text, say_table};
use crate::diagram::{Diagram, Shape};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::graph::{DType, ValueId};
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet::module::{Context, Mode, Module};
use spikelet::train::SampleShape;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the input in the table.
const INPUT: &str = "input";

/// The name of the network's output.
const OUTPUT: &str = "output";

/// A layer of the trace.
struct Layer {
    path: String,
    kind: String,
    output: Vec<usize>,
    parameters: usize,
    sources: Vec<usize>,
}

impl Show {
    pub(super) fn layers(&self, console: &Console) -> Result<(), Failure> {
        let trained = Trained::open(&self.file, &self.device)?;
        let settings = trained.checkpoint.settings()?;
        let input = match trained.sample() {
            SampleShape::Image(image) => [&[settings.time_steps, 1], &image[..]].concat(),
            SampleShape::Sequence { steps, shape, .. } => [&[steps, 1], shape.sizes()].concat(),
            _ => [&[1, 1], &trained.network.input()[..]].concat(),
        };
        let layers = traced(&*trained.network.module()?, &input)?;
        let mut diagram = Diagram::default();
        for layer in &layers {
            let shape = match layer.kind.as_str() {
                "" => Shape::End,
                kind if is_neuron(kind) => Shape::Neuron,
                _ => Shape::Layer,
            };
            diagram.node(&layer.path, &layer.kind, &shape_text(&layer.output), shape);
        }
        for layer in &layers {
            for &source in &layer.sources {
                diagram.edge(&layers[source].path, &layer.path);
            }
        }
        let head = ["layer", "kind", "output", "parameters", "from"];
        let mut table = Table::new(&head).right(&[3]);
        let names = |layer: &Layer| -> Vec<String> {
            layer
                .sources
                .iter()
                .map(|&source| layers[source].path.clone())
                .collect()
        };
        for layer in &layers {
            let parameters = match layer.parameters {
                0 => String::new(),
                count => thousands(count as u64),
            };
            table.row([
                layer.path.clone(),
                layer.kind.clone(),
                shape_text(&layer.output),
                parameters,
                names(layer).join(", "),
            ]);
        }
        let rows = layers.iter().map(|layer| {
            json!({
                "path": layer.path, "kind": layer.kind, "output": layer.output, "parameters": layer.parameters,
                "from": names(layer),
            })
        });
        console.say_json(&json!({
            "checkpoint": path_text(&self.file), "network": trained.network.name(), "graph": rows.collect::<Vec<_>>(),
            "picture": self.svg.as_deref().map(path_text),
        }));
        console.say(format!(
            "{}: {}",
            self.file.display(),
            trained.network.name()
        ));
        say_table(console, &table);
        self.draw(&diagram, console)
    }
}

/// Whether a module of this type is a neuron.
fn is_neuron(kind: &str) -> bool {
    let neurons = spikelet::neuron::NEURONS.declarations();
    neurons.iter().any(|neuron| neuron.type_name == kind)
}

/// The layers of a module in the order in which they run, for an input `[T, N, …]`.
fn traced(module: &dyn Module, input: &[usize]) -> Result<Vec<Layer>, Failure> {
    let cx = Context::new(Mode::EVAL, DType::F32);
    // A fused normalization would be a part of the neuron behind it.
    cx.tracer().disable_fusion(true);
    let x = cx.tracer().input(INPUT, DType::F32, input);
    let output = cx.trace(module, x)?;
    cx.tracer().output(OUTPUT, &output);
    let graph = cx.tracer().finish()?;
    let tree = module.tree();
    let mut layers = vec![Layer {
        path: INPUT.to_string(),
        kind: String::new(),
        output: input.to_vec(),
        parameters: 0,
        sources: vec![],
    }];
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    // The layer that computes each value.
    let mut producers = BTreeMap::new();
    for value in &graph.inputs {
        if value.name == INPUT {
            producers.insert(value.value, 0);
        }
    }
    let mut sources: Vec<BTreeSet<usize>> = vec![BTreeSet::new()];
    for node in &graph.nodes {
        // Nodes that do not depend on the input compute constants, such as bounds of trained ones.
        let producer = |value: &ValueId| Some((*producers.get(value)?, *value));
        let read: Vec<(usize, ValueId)> = node.inputs.iter().filter_map(producer).collect();
        if read.is_empty() {
            continue;
        }
        let path = &*node.layer;
        let at = *places.entry(path).or_insert_with(|| {
            let name = if path.is_empty() { "(network)" } else { path };
            let kind = tree.find(path).map_or("", |tree| tree.kind());
            layers.push(Layer {
                path: name.to_string(),
                kind: kind.to_string(),
                output: vec![],
                parameters: 0,
                sources: vec![],
            });
            sources.push(BTreeSet::new());
            layers.len() - 1
        });
        // The output of a layer is the value that others read; its states are other values.
        for (source, value) in read.into_iter().filter(|&(source, _)| source != at) {
            sources[at].insert(source);
            layers[source].output = graph.shape(value).to_vec();
        }
        producers.extend(node.outputs.iter().map(|&value| (value, at)));
    }
    for output in &graph.outputs {
        if let Some(&at) = producers
            .get(&output.value)
            .filter(|_| output.name == OUTPUT)
        {
            layers[at].output = graph.shape(output.value).to_vec();
        }
    }
    for parameter in cx.traced().parameters {
        let owner = |layer: &&mut Layer| {
            let rest = parameter.name.strip_prefix(layer.path.as_str());
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        // The innermost layer has the longest path.
        let owner = layers
            .iter_mut()
            .filter(|layer| owner(layer))
            .max_by_key(|layer| layer.path.len());
        if let Some(layer) = owner {
            layer.parameters += parameter.shape.iter().product::<usize>();
        }
    }
    for (layer, sources) in layers.iter_mut().zip(sources) {
        layer.sources = sources.into_iter().collect();
    }
    Ok(layers)
}
