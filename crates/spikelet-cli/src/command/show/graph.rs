//! A NIR graph as a table and as a picture.

use super::{Show, shape_text};
use crate::command::{path_text, say_table};
use crate::diagram::{Diagram, Shape};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::{Map, Value, json};
use spikelet::log::Console;
use spikelet_nir::{CheckedGraph, ExpandedGraph, Graph, NodeKind, Parameter, Sizes};

impl Show {
    pub(super) fn nir(&self, console: &Console) -> Result<(), Failure> {
        let graph = Graph::read(&self.file)?;
        let in_file = |error: spikelet_nir::Error| error.in_file(&self.file);
        let checked = graph.check().map_err(in_file)?;
        let expanded = graph.expand().map_err(in_file)?;
        let diagram = diagram(&expanded, &checked);
        console.say_json(&self.graph_line(&expanded, &checked));
        let head = ["node", "type", "input", "output", "parameters", "to"];
        let mut table = Table::new(&head);
        for at in diagram.order() {
            let name = &diagram.nodes[at].name;
            let node = expanded.nodes[name];
            let shapes = checked.shapes.get(name);
            let shape = |shape: Option<&Vec<usize>>| {
                shape.map_or_else(|| "?".into(), |own| shape_text(own))
            };
            let parameters = node.kind.parameters();
            let parameters = parameters.iter().filter(|(name, _)| *name != "shape");
            let parameters: Vec<String> = parameters
                .map(|(name, value)| format!("{name} {}", text(*value)))
                .collect();
            let edges = expanded.edges.iter().filter(|edge| edge.from == *name);
            let targets: Vec<&str> = edges.map(|edge| edge.to.as_str()).collect();
            table.row([
                name.clone(),
                node.kind.name().to_string(),
                shape(shapes.map(|own| &own.input)),
                shape(shapes.map(|own| &own.output)),
                parameters.join(", "),
                targets.join(", "),
            ]);
        }
        console.say(format!(
            "{}: {} nodes, {} edges",
            self.file.display(),
            expanded.nodes.len(),
            expanded.edges.len()
        ));
        say_table(console, &table);
        for warning in &checked.warnings {
            console.say(format!("warning: {warning}"));
        }
        self.draw(&diagram, console)
    }

    fn graph_line(&self, graph: &ExpandedGraph<'_>, checked: &CheckedGraph) -> Value {
        let nodes = graph.nodes.iter().map(|(name, node)| {
            let shapes = checked.shapes.get(name);
            let parameters: Map<String, Value> = (node.kind.parameters().into_iter())
                .map(|(name, value)| (name.to_string(), json_of(value)))
                .collect();
            json!({
                "name": name, "type": node.kind.name(), "input": shapes.map(|own| &own.input),
                "output": shapes.map(|own| &own.output), "parameters": parameters,
            })
        });
        let edges = graph
            .edges
            .iter()
            .map(|edge| json!({"from": edge.from, "to": edge.to}));
        let warnings: Vec<String> = checked.warnings.iter().map(ToString::to_string).collect();
        json!({
            "file": path_text(&self.file), "format": "nir", "nodes": nodes.collect::<Vec<_>>(),
            "edges": edges.collect::<Vec<_>>(), "warnings": warnings, "picture": self.svg.as_deref().map(path_text),
        })
    }
}

fn diagram(graph: &ExpandedGraph<'_>, checked: &CheckedGraph) -> Diagram {
    let mut diagram = Diagram::default();
    for (name, node) in &graph.nodes {
        let output = checked.shapes.get(name).map(|own| shape_text(&own.output));
        let shape = match node.kind {
            NodeKind::Input { .. } | NodeKind::Output { .. } => Shape::End,
            _ if node.kind.is_neuron() => Shape::Neuron,
            _ => Shape::Layer,
        };
        diagram.node(
            name,
            node.kind.name(),
            output.as_deref().unwrap_or_default(),
            shape,
        );
    }
    for edge in &graph.edges {
        diagram.edge(&edge.from, &edge.to);
    }
    diagram
}

/// A parameter in a line: numbers themselves if there is one, otherwise their shape.
fn text(parameter: Parameter<'_>) -> String {
    match parameter {
        Parameter::Tensor(tensor) => match tensor.to_f64()[..] {
            [value] => value.to_string(),
            _ => shape_text(tensor.shape()),
        },
        Parameter::Sizes(Sizes::All(size)) => size.to_string(),
        Parameter::Sizes(Sizes::Each(sizes)) => format!("{sizes:?}"),
        Parameter::Shape(shape) => shape_text(shape),
        Parameter::Integer(value) => value.to_string(),
        Parameter::Text(text) => text.to_string(),
    }
}

/// A parameter in JSON: of a tensor its type and shape.
fn json_of(parameter: Parameter<'_>) -> Value {
    match parameter {
        Parameter::Tensor(tensor) => {
            json!({"type": tensor.dtype().name(), "shape": tensor.shape()})
        }
        Parameter::Sizes(Sizes::All(size)) => json!(size),
        Parameter::Sizes(Sizes::Each(sizes)) => json!(sizes),
        Parameter::Shape(shape) => json!(shape),
        Parameter::Integer(value) => json!(value),
        Parameter::Text(text) => json!(text),
    }
}
