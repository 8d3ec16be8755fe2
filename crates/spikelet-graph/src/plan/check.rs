//! What must hold of a plan itself before a device runs it.
//!
//! Devices follow a plan's places without looking: these checks, and those of the buffers and of
//! the target, are what makes that safe.

use super::{Kernel, Location, Plan, check_collective};
use crate::arena;
use crate::error::{Error, Result};
use crate::graph::ValueId;
use crate::op::{Op, Operation};
use crate::types::TensorType;
use std::collections::HashSet;

pub(super) fn refusal(problem: impl Into<String>) -> Error {
    Error::Plan {
        problem: problem.into(),
    }
}

impl Plan {
    /// Checks that what is read was made before, that no two allocations that live at the same time
    /// overlap, that every value fits its place, and that no kernel writes over anything else that it touches, but for a map,
    /// a backward scan, a gradient of pooling or a sum over ranks that takes the place of an operand of the same type. True for every plan that
    /// [`Plan::new`] makes; executors rely on it.
    ///
    /// # Errors
    /// When one of these does not hold.
    pub fn check(&self) -> Result<()> {
        if !arena::is_sound(&self.allocations, self.arena_bytes) {
            return Err(refusal(
                "its allocations overlap; it was not made by Plan::new",
            ));
        }
        let mut made: HashSet<ValueId> = self.graph.inputs.iter().map(|i| i.value).collect();
        for node in &self.graph.nodes {
            if let Some(missing) = node.inputs.iter().find(|v| !made.contains(v)) {
                let (name, layer) = (node.op.name(), &node.layer);
                return Err(refusal(format!(
                    "{name} in `{layer}` reads %{}, which nobody has made yet",
                    missing.index()
                )));
            }
            made.extend(&node.outputs);
        }
        check_collective::check(&self.graph)?;
        for kernel in &self.kernels {
            self.check_places(kernel)?;
            self.check_pieces(kernel)?;
        }
        for (from, to, ty) in &self.copies {
            self.check_place(*from, ty)?;
            self.check_place(*to, ty)?;
        }
        Ok(())
    }

    /// Whether [`Plan::check`] finds nothing.
    pub fn is_sound(&self) -> bool {
        self.check().is_ok()
    }

    /// Checks that a value of this type fits its place.
    fn check_place(&self, place: Location, ty: &TensorType) -> Result<()> {
        let bytes = |value: Option<ValueId>| value.map_or(0, |v| self.graph.ty(v).bytes());
        let room = match place {
            Location::Arena(offset) => self.arena_bytes.saturating_sub(offset),
            Location::Input(k) => bytes(self.graph.inputs.get(k).map(|i| i.value)),
            Location::Output(k) => bytes(self.graph.outputs.get(k).map(|o| o.value)),
            Location::Unused => return Ok(()),
        };
        let off = matches!(place, Location::Arena(offset) if offset % arena::ALIGNMENT != 0);
        if ty.bytes() > room || off {
            return Err(refusal(format!("{ty} does not fit its place {place:?}")));
        }
        Ok(())
    }

    /// Checks that a kernel has a place for every operand and result, and that an operand whose
    /// place a result takes is one that can be overwritten element by element.
    fn check_places(&self, kernel: &Kernel) -> Result<()> {
        let Some(node) = self.graph.nodes.get(kernel.node) else {
            return Err(refusal(format!("it has no node {}", kernel.node)));
        };
        if kernel.reads.len() != node.inputs.len() || kernel.writes.len() != node.outputs.len() {
            let name = node.op.name();
            return Err(refusal(format!("{name} lacks places for what it touches")));
        }
        let reads = || kernel.reads.iter().zip(&node.inputs);
        let writes = || kernel.writes.iter().zip(&node.outputs);
        for (place, value) in reads().chain(writes()) {
            self.check_place(*place, self.graph.ty(*value))?;
        }
        for (k, (place, _)) in writes().enumerate() {
            let in_buffer = matches!(place, Location::Input(_) | Location::Output(_));
            if in_buffer && kernel.writes[..k].contains(place) {
                let name = node.op.name();
                return Err(refusal(format!("{name} writes two results to one place")));
            }
        }
        for (k, (read, from)) in reads().enumerate() {
            let (from, nowhere) = (self.graph.ty(*from), *read == Location::Unused);
            let mut over = writes().enumerate();
            let over = over.find(|(_, (write, _))| !nowhere && *write == read);
            let in_place = over.is_none_or(|(at, (_, to))| {
                let to = self.graph.ty(*to);
                let elementwise = match node.op {
                    Op::Map(_) | Op::ScanGrad(_) | Op::PoolGrad(_) => true,
                    Op::AllReduceStart(_) | Op::AllReduceDone(_) => at == k,
                    _ => false,
                };
                elementwise && from.dtype == to.dtype && from.len() == to.len()
            });
            if nowhere || !in_place {
                let name = node.op.name();
                return Err(refusal(format!(
                    "{name} reads what it overwrites, or what is nowhere"
                )));
            }
        }
        Ok(())
    }

    /// Checks that what a kernel writes in the arena overlaps nothing else that it touches there.
    fn check_pieces(&self, kernel: &Kernel) -> Result<()> {
        let node = &self.graph.nodes[kernel.node];
        let pieces = |places: &[Location], values: &[ValueId]| -> Vec<(usize, usize)> {
            let arena = places
                .iter()
                .zip(values)
                .filter_map(|(place, v)| match place {
                    Location::Arena(offset) => {
                        let bytes = self.graph.ty(*v).bytes();
                        Some((*offset, offset.saturating_add(bytes)))
                    }
                    _ => None,
                });
            arena.collect()
        };
        let mut written = pieces(&kernel.writes, &node.outputs);
        written.extend(
            kernel
                .workspace
                .map(|(offset, bytes)| (offset, offset.saturating_add(bytes))),
        );
        // An operand whose place a result takes was looked at with the places.
        let apart = kernel.reads.iter().zip(&node.inputs);
        let apart = apart.filter(|(place, _)| !kernel.writes.contains(place));
        let (places, values): (Vec<Location>, Vec<ValueId>) = apart.unzip();
        let read = pieces(&places, &values);
        let meets = |a: &(usize, usize), b: &(usize, usize)| a.0 < b.1 && b.0 < a.1;
        for (k, piece) in written.iter().enumerate() {
            let others = written[k + 1..].iter().chain(&read);
            let outside = piece.1 > self.arena_bytes || piece.0 % arena::ALIGNMENT != 0;
            if outside || others.into_iter().any(|other| meets(piece, other)) {
                let name = node.op.name();
                return Err(refusal(format!(
                    "{name} writes over what it uses; it was not made by Plan::new"
                )));
            }
        }
        Ok(())
    }
}
