//! A graph as a tree of HDF5.

use super::metadata::{Metadata, MetadataValue};
use super::node::Parameter;
use super::sizes::Sizes;
use super::{Graph, Node, NodeKind};
use crate::graph::error::Result;
use crate::hdf5::{Item, Members, Text};
use spikelet_weights::Dtype;
use spikelet_weights::Tensor;

/// The members of a graph.
pub(super) fn graph(graph: &Graph) -> Result<Members> {
    let mut members = members("NIRGraph", &graph.metadata)?;
    let nodes = graph.nodes.iter();
    let nodes = nodes.map(|(name, own)| Ok((name.clone(), Item::Group(node(own)?))));
    members.insert("nodes".into(), Item::Group(nodes.collect::<Result<_>>()?));
    let edges = match graph.edges.len() {
        // Without edges nir writes an array of no numbers, and reads it.
        0 => Item::Tensor(Tensor::from_f64(&[0], &[])?),
        len => {
            let ends = graph.edges.iter().flat_map(|edge| [&edge.from, &edge.to]);
            Item::Text(Text {
                shape: vec![len, 2],
                values: ends.cloned().collect(),
            })
        }
    };
    members.insert("edges".into(), edges);
    Ok(members)
}

fn members(kind: &str, metadata: &Metadata) -> Result<Members> {
    let mut members = Members::new();
    members.insert("type".into(), Item::Text(Text::scalar(kind)));
    if !metadata.is_empty() {
        members.insert("metadata".into(), Item::Group(metadata_members(metadata)?));
    }
    Ok(members)
}

fn node(node: &Node) -> Result<Members> {
    if let NodeKind::Graph(own) = &node.kind {
        return graph(own);
    }
    let mut members = members(node.kind.name(), &node.metadata)?;
    for (name, parameter) in node.kind.parameters() {
        members.insert(name.into(), item(parameter)?);
    }
    Ok(members)
}

fn item(parameter: Parameter<'_>) -> Result<Item> {
    Ok(Item::Tensor(match parameter {
        Parameter::Tensor(tensor) => storable(tensor)?,
        Parameter::Sizes(Sizes::All(size)) => Tensor::from_i64(&[], &[*size])?,
        Parameter::Integer(value) => Tensor::from_i64(&[], &[value])?,
        Parameter::Sizes(Sizes::Each(sizes)) => Tensor::from_i64(&[sizes.len()], sizes)?,
        Parameter::Shape(shape) => {
            let sizes: Vec<i64> = shape.iter().map(|&size| size as i64).collect();
            Tensor::from_i64(&[sizes.len()], &sizes)?
        }
        Parameter::Text(word) => return Ok(Item::Text(Text::scalar(word))),
    }))
}

/// The tensor, as F32 if it is of a type that NumPy does not have.
fn storable(tensor: &Tensor) -> Result<Tensor> {
    match tensor.dtype() {
        Dtype::BF16 => Ok(Tensor::from_f32(tensor.shape(), &tensor.to_f32())?),
        _ => Ok(tensor.clone()),
    }
}

fn metadata_members(metadata: &Metadata) -> Result<Members> {
    let value = |value: &MetadataValue| -> Result<Item> {
        Ok(match value {
            MetadataValue::Text(text) => Item::Text(Text::scalar(text)),
            MetadataValue::Texts { shape, values } => Item::Text(Text {
                shape: shape.clone(),
                values: values.clone(),
            }),
            MetadataValue::Tensor(tensor) => Item::Tensor(storable(tensor)?),
            MetadataValue::Group(metadata) => Item::Group(metadata_members(metadata)?),
        })
    };
    let members = metadata.iter();
    members
        .map(|(name, own)| Ok((name.clone(), value(own)?)))
        .collect()
}
