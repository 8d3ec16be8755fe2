//! Printing plans.

use super::{Location, Plan};
use crate::op::Operation;
use std::fmt;

/// `12.3 MiB`
fn bytes(n: usize) -> String {
    let n = n as f64;
    match n {
        _ if n >= 1024.0 * 1024.0 * 1024.0 => format!("{:.2} GiB", n / 1024.0 / 1024.0 / 1024.0),
        _ if n >= 1024.0 * 1024.0 => format!("{:.1} MiB", n / 1024.0 / 1024.0),
        _ if n >= 1024.0 => format!("{:.1} KiB", n / 1024.0),
        _ => format!("{n} B"),
    }
}

fn flops(n: u64) -> String {
    let n = n as f64;
    match n {
        _ if n >= 1e9 => format!("{:.2} GFLOP", n / 1e9),
        _ if n >= 1e6 => format!("{:.1} MFLOP", n / 1e6),
        _ if n >= 1e3 => format!("{:.1} kFLOP", n / 1e3),
        _ => format!("{n} FLOP"),
    }
}

impl Plan {
    fn place_text(&self, place: Location) -> String {
        match place {
            Location::Arena(offset) => format!("@{offset}"),
            Location::Input(k) => self.graph.inputs[k].name.clone(),
            Location::Output(k) => self.graph.outputs[k].name.clone(),
            Location::InputAt(k, offset) => format!("{}+{offset}", self.graph.inputs[k].name),
            Location::OutputAt(k, offset) => format!("{}+{offset}", self.graph.outputs[k].name),
            Location::Unused => "-".to_string(),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} kernels · {} · arena {} · buffers {} · peak {}",
            self.kernels.len(),
            flops(self.flops()),
            bytes(self.arena_bytes),
            bytes(self.buffer_bytes()),
            bytes(self.peak_bytes()),
        )?;
        for report in &self.reports {
            writeln!(f, "  {}: {}", report.pass, report.summary)?;
        }
        writeln!(
            f,
            "{:>3}  {:<22} {:<14} {:>12} {:>10}  results ← operands",
            "#", "kernel", "layer", "work", "moved"
        )?;
        self.print_kernels(f, "")
    }
}

impl Plan {
    /// One line for each kernel; below an operation that owns a graph, the kernels of that graph.
    fn print_kernels(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        for (k, kernel) in self.kernels.iter().enumerate() {
            let node = &self.graph.nodes[kernel.node];
            let mark = if node.backward { "∂ " } else { "" };
            let results = node.outputs.iter().zip(&kernel.writes);
            let results: Vec<String> = results
                .filter(|(_, place)| **place != Location::Unused)
                .map(|(v, place)| format!("{} {}", self.place_text(*place), self.graph.ty(*v)))
                .collect();
            let operands: Vec<String> = kernel.reads.iter().map(|p| self.place_text(*p)).collect();
            let name = match &kernel.body {
                Some(_) => node.op.describe(),
                None => node.op.name(),
            };
            writeln!(
                f,
                "{indent}{:>3}  {:<22} {:<14} {:>12} {:>10}  {} ← {}",
                k + 1,
                format!("{mark}{name}{}", node.notes),
                node.layer,
                flops(kernel.flops),
                bytes(usize::try_from(kernel.bytes).unwrap_or(usize::MAX)),
                results.join(", "),
                operands.join(", "),
            )?;
            if let Some(body) = &kernel.body {
                body.print_kernels(f, &format!("{indent}    "))?;
            }
        }
        Ok(())
    }
}
