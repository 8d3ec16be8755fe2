//! Invariants of a plan that a device relies on.
//!
//! Devices use the locations of a plan unchecked; these checks, with those of the buffers and of the
//! target, make that safe.

use super::{Kernel, Location, Plan, check_collective};
use crate::arena;
use crate::error::{Error, Result};
use crate::graph::ValueId;
use crate::op::Operation;
use crate::semantics::InPlace;
use crate::types::TensorType;
use std::collections::HashSet;

pub(super) fn plan_error(problem: impl Into<String>) -> Error {
    Error::Plan {
        problem: problem.into(),
    }
}

impl Plan {
    /// Checks that every value is computed before it is read, that no two allocations that are live at
    /// the same time overlap, that every value fits its location, and that no kernel overwrites other
    /// memory that it uses. A result may overwrite an operand of the same type where the operation allows
    /// that ([`InPlace`]). Every plan of [`Plan::new`] passes; executors rely on it.
    ///
    /// # Errors
    /// When one of these is violated.
    pub fn check(&self) -> Result<()> {
        if !arena::is_sound(&self.allocations, self.arena_bytes) {
            return Err(plan_error(
                "its allocations overlap; use a plan from Plan::new unchanged",
            ));
        }
        let mut made: HashSet<ValueId> = self.graph.inputs.iter().map(|i| i.value).collect();
        for node in &self.graph.nodes {
            if let Some(missing) = node.inputs.iter().find(|v| !made.contains(v)) {
                let (name, layer) = (node.op.name(), &node.layer);
                return Err(plan_error(format!(
                    "{name} in `{layer}` reads %{}, which is not computed before",
                    missing.index()
                )));
            }
            made.extend(&node.outputs);
        }
        check_collective::check(&self.graph)?;
        for kernel in &self.kernels {
            self.check_places(kernel)?;
            self.check_pieces(kernel)?;
            self.check_body(kernel)?;
        }
        for (from, to, ty) in &self.copies {
            self.check_place(*from, ty)?;
            self.check_place(*to, ty)?;
        }
        Ok(())
    }

    /// Checks the plan of the graph that a kernel's operation owns: its arena is in the workspace.
    fn check_body(&self, kernel: &Kernel) -> Result<()> {
        let node = &self.graph.nodes[kernel.node];
        let available = kernel.workspace.map_or(0, |(_, bytes)| bytes);
        match (&kernel.body, node.op.body()) {
            (None, None) => Ok(()),
            (Some(body), Some(graph))
                if body.arena_bytes <= available
                    && body.graph.inputs.len() == graph.inputs.len()
                    && body.graph.outputs.len() == graph.outputs.len() =>
            {
                body.check()
            }
            _ => Err(plan_error(format!(
                "the body of {} in `{}` has no plan, or one that does not fit its workspace",
                node.op.name(),
                node.layer
            ))),
        }
    }

    /// Whether [`Plan::check`] passes.
    pub fn is_sound(&self) -> bool {
        self.check().is_ok()
    }

    /// Checks that a value of this type fits its location.
    fn check_place(&self, place: Location, ty: &TensorType) -> Result<()> {
        let bytes = |value: Option<ValueId>| value.map_or(0, |v| self.graph.ty(v).bytes());
        let Some((memory, offset)) = place.within() else {
            return Ok(());
        };
        let whole = match memory {
            Location::Input(k) => bytes(self.graph.inputs.get(k).map(|i| i.value)),
            Location::Output(k) => bytes(self.graph.outputs.get(k).map(|o| o.value)),
            _ => self.arena_bytes,
        };
        let off = offset % arena::ALIGNMENT != 0;
        if ty.bytes() > whole.saturating_sub(offset) || off {
            return Err(plan_error(format!(
                "{ty} does not fit its location {place:?}"
            )));
        }
        Ok(())
    }

    /// Checks that a kernel has a location for every operand and result, and that a result overwrites
    /// only an operand for which the operation allows that.
    fn check_places(&self, kernel: &Kernel) -> Result<()> {
        let Some(node) = self.graph.nodes.get(kernel.node) else {
            return Err(plan_error(format!("it has no node {}", kernel.node)));
        };
        if kernel.reads.len() != node.inputs.len() || kernel.writes.len() != node.outputs.len() {
            let name = node.op.name();
            return Err(plan_error(format!(
                "{name} has fewer locations than operands and results"
            )));
        }
        let reads = || kernel.reads.iter().zip(&node.inputs);
        let writes = || kernel.writes.iter().zip(&node.outputs);
        for (place, value) in reads().chain(writes()) {
            self.check_place(*place, self.graph.ty(*value))?;
        }
        for (k, (place, _)) in writes().enumerate() {
            let in_buffer = !matches!(place, Location::Arena(_) | Location::Unused);
            if in_buffer && kernel.writes[..k].contains(place) {
                let name = node.op.name();
                return Err(plan_error(format!(
                    "{name} writes two results to one location"
                )));
            }
        }
        for (k, (read, from)) in reads().enumerate() {
            let (from, nowhere) = (self.graph.ty(*from), *read == Location::Unused);
            let mut over = writes().enumerate();
            let over = over.find(|(_, (write, _))| !nowhere && *write == read);
            let in_place = over.is_none_or(|(at, (_, to))| {
                let to = self.graph.ty(*to);
                let may_take = match node.op.in_place(at) {
                    InPlace::Never => false,
                    InPlace::Elements => true,
                    InPlace::ElementsOf(operand) | InPlace::Operand(operand) => operand == k,
                };
                may_take && from.dtype == to.dtype && from.len() == to.len()
            });
            if nowhere || !in_place {
                let name = node.op.name();
                return Err(plan_error(format!(
                    "{name} overwrites an operand that it still reads, or an operand has no location"
                )));
            }
        }
        Ok(())
    }

    /// Checks that the results of a kernel overlap no other memory that the kernel uses.
    fn check_pieces(&self, kernel: &Kernel) -> Result<()> {
        let node = &self.graph.nodes[kernel.node];
        type Piece = (Location, usize, usize);
        let pieces = |places: &[Location], values: &[ValueId]| -> Vec<Piece> {
            let found = places.iter().zip(values).filter_map(|(place, v)| {
                let (memory, offset) = place.within()?;
                let bytes = self.graph.ty(*v).bytes();
                Some((memory, offset, offset.saturating_add(bytes)))
            });
            found.collect()
        };
        let mut written = pieces(&kernel.writes, &node.outputs);
        let workspace = |(offset, bytes): (usize, usize)| {
            let end = offset.saturating_add(bytes);
            (Location::Arena(0), offset, end)
        };
        written.extend(kernel.workspace.map(workspace));
        // Operands that a result overwrites were checked with the locations.
        let apart = kernel.reads.iter().zip(&node.inputs);
        let apart = apart.filter(|(place, _)| !kernel.writes.contains(place));
        let (places, values): (Vec<Location>, Vec<ValueId>) = apart.unzip();
        let read = pieces(&places, &values);
        let meets = |a: &Piece, b: &Piece| a.0 == b.0 && a.1 < b.2 && b.1 < a.2;
        for (k, piece) in written.iter().enumerate() {
            let others = written[k + 1..].iter().chain(&read);
            let in_arena = piece.0 == Location::Arena(0);
            let outside = in_arena && piece.2 > self.arena_bytes;
            let outside = outside || piece.1 % arena::ALIGNMENT != 0;
            if outside || others.into_iter().any(|other| meets(piece, other)) {
                let name = node.op.name();
                return Err(plan_error(format!(
                    "{name} overwrites memory that it uses; use a plan from Plan::new unchanged"
                )));
            }
        }
        Ok(())
    }
}
