//! The passes, in order.

use super::{
    Report, bit_pack_spikes, channel_sums, checkpoint, copy_before_update, dead_code,
    early_updates, fold_casts, fuse, fuse_affine_into_scan, fuse_recurrent_scan, hoist_from_loops,
    hoist_time, layout, merge_products, precision, prune_loops, recompute_cheap, rematerialize,
    remove_copies, time_chunking, unroll,
};
use crate::graph::Graph;
use crate::precision::Precision;
use crate::rewrite::for_each_graph;
use crate::target::Target;
use std::fmt;

/// A pass in the [`PIPELINE`].
#[derive(Debug)]
pub struct Pass {
    /// The name of its module.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    run: Run,
    /// Whether its report is shown where nothing was changed.
    always: bool,
}

/// When a pass runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// On a traced graph, before it is differentiated.
    BeforeGradients,
    /// On the complete graph, for a target.
    ForTarget,
    /// Behind these, where memory is divided.
    Memory,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeGradients => "before differentiation",
            Self::ForTarget => "for a device",
            Self::Memory => "where memory is divided",
        })
    }
}

/// What a plan tries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Choices {
    /// Writes out the steps of short loops.
    pub(crate) write_out: bool,
    /// Lets recurrent layers overlap in time.
    pub(crate) overlap: bool,
    /// The most bytes of the arena.
    pub(crate) limit: Option<usize>,
}

/// A pass as a function. It runs on every graph, from the innermost outwards, or on the `Outermost` one, whose bodies it
/// changes itself.
#[derive(Debug)]
enum Run {
    BeforeGradients(fn(&mut Graph, Precision) -> Report),
    EveryGraph(Stage, fn(&mut Graph, &dyn Target) -> Report),
    Outermost(
        Stage,
        fn(&mut Graph, &dyn Target, Choices) -> Option<Report>,
    ),
}

use Run::{BeforeGradients, EveryGraph, Outermost};
use Stage::{ForTarget, Memory};

const fn pass(name: &'static str, run: Run, what: &'static str) -> Pass {
    Pass {
        name,
        what,
        run,
        always: false,
    }
}

/// All passes, in the order in which they run.
#[rustfmt::skip]
pub const PIPELINE: &[Pass] = &[
    pass("hoist_time", BeforeGradients(|graph, _| hoist_time::run(graph)),
        "computes values that are constant over time once, and never repeats them in memory"),
    pass("layout", BeforeGradients(|graph, _| layout::run(graph)),
        "keeps images channels-last in memory: permutations meet their inverse and cancel"),
    pass("hoist_from_loops", BeforeGradients(|graph, _| hoist_from_loops::run(graph)),
        "moves out of loops what does not depend on their carried values"),
    pass("fuse_recurrent_scan", BeforeGradients(|graph, _| fuse_recurrent_scan::run(graph)),
        "turns loops around a neuron and its feedback into one scan"),
    pass("precision", BeforeGradients(precision::run),
        "if requested: products and sequences in 16 bits, or products marked for TF32"),
    pass("fuse_affine_into_scan", BeforeGradients(|graph, _| fuse_affine_into_scan::run(graph)),
        "normalization in front of a neuron and max pooling behind it become part of the neuron's scan"),
    pass("hoist_from_loops", BeforeGradients(|graph, _| hoist_from_loops::run(graph)),
        "again, for what the fusion left"),
    pass("remove_copies", EveryGraph(ForTarget, |graph, _| remove_copies::run(graph)),
        "removes what only stopped a gradient"),
    pass("prune_loops", Outermost(ForTarget, |graph, _, _| Some(prune_loops::run(graph))),
        "removes results and operands of loops that are not needed"),
    pass("hoist_from_loops", EveryGraph(ForTarget, |graph, _| hoist_from_loops::run(graph)),
        "again, for the backward pass"),
    pass("unroll", Outermost(ForTarget, |graph, target, choices| choices.write_out.then(|| unroll::run(graph, target))),
        "writes out the steps of short loops where a device asks for it, if the plan is then hardly larger: pieces are \
         views of their sequences, and what the backward pass would recompute is read from the forward pass"),
    pass("hoist_time", EveryGraph(ForTarget, |graph, _| hoist_time::run(graph)),
        "again, for the backward pass").shown(),
    pass("dead_code", EveryGraph(ForTarget, |graph, _| dead_code::run(graph)),
        "removes nodes whose results are not read").shown(),
    pass("merge_products", EveryGraph(ForTarget, |graph, _| merge_products::run(graph)),
        "computes equal matrix products, such as those of EventProp's two adjoints, once"),
    pass("fold_casts", EveryGraph(ForTarget, |graph, _| fold_casts::run(graph)),
        "a product or a random draw writes the type that its only reader would cast it to"),
    pass("fuse", EveryGraph(ForTarget, |graph, _| fuse::run(graph)),
        "fuses elementwise operations that feed each other; constants and repetitions are read at the source").shown(),
    pass("channel_sums", EveryGraph(ForTarget, |graph, target| channel_sums::run(graph, target)),
        "backward scans sum the gradients of parameters that a channel shares, if the target supports it"),
    pass("checkpoint", EveryGraph(ForTarget, |graph, target| checkpoint::run(graph, target)),
        "scans store their states every K steps for their backward passes, if the target asks for it"),
    pass("recompute_cheap", EveryGraph(ForTarget, |graph, _| recompute_cheap::run(graph)),
        "recomputes cheap values in the backward pass instead of keeping them").shown(),
    pass("bit_pack_spikes", EveryGraph(ForTarget, |graph, target| bit_pack_spikes::run(graph, target)),
        "stores binary values as bits if every reader can use bits").shown(),
    pass("early_updates", EveryGraph(ForTarget, |graph, _| early_updates::run(graph)),
        "updates large parameters as soon as their gradients are there, which frees the gradients"),
    pass("overlap", Outermost(Memory, |graph, target, choices| choices.overlap.then(|| time_chunking::overlap::run(graph, target))),
        "lets recurrent layers behind each other run at the same time, in chunks of time steps"),
    pass("rematerialize", Outermost(Memory, |graph, target, choices| Some(rematerialize::run(graph, target, choices.limit?).report())),
        "only under a memory budget: spikes stored as bits, operations recomputed, sequences in chunks").shown(),
    pass("time_chunking", Outermost(Memory, |graph, target, _| Some(time_chunking::run(graph, target))),
        "convolutions and statistics of very long sequences process the time steps in chunks"),
    pass("copy_before_update", EveryGraph(Memory, |graph, _| copy_before_update::run(graph)),
        "gives an old value that an output wants a place of its own before it is updated"),
];

impl Pass {
    const fn shown(mut self) -> Self {
        self.always = true;
        self
    }

    /// Runs the pass alone, for comparisons: as if a plan had chosen it, with the least memory if it has a limit and in full
    /// precision. `None` if it found nothing to choose.
    pub fn run_alone(&self, graph: &mut Graph, target: &dyn Target) -> Option<Report> {
        let choices = Choices {
            write_out: true,
            overlap: true,
            limit: Some(0),
        };
        graph.forget_uses();
        self.run(graph, (target, choices, Precision::default()))
    }

    fn run(
        &self,
        graph: &mut Graph,
        (target, choices, precision): (&dyn Target, Choices, Precision),
    ) -> Option<Report> {
        match self.run {
            Run::BeforeGradients(run) => {
                Some(in_every_graph(graph, &mut |graph| run(graph, precision)))
            }
            Run::EveryGraph(_, run) => Some(in_every_graph(graph, &mut |graph| run(graph, target))),
            Run::Outermost(_, run) => run(graph, target, choices),
        }
    }

    /// When it runs.
    pub fn stage(&self) -> Stage {
        match self.run {
            Run::BeforeGradients(_) => Stage::BeforeGradients,
            Run::EveryGraph(stage, _) | Run::Outermost(stage, _) => stage,
        }
    }
}

/// The passes of a stage.
fn of(stage: Stage) -> impl Iterator<Item = &'static Pass> {
    PIPELINE.iter().filter(move |pass| pass.stage() == stage)
}

/// Prepares a traced graph for its gradients. Values keep their ids.
pub fn prepare(graph: &mut Graph, precision: Precision) {
    for pass in of(Stage::BeforeGradients) {
        if let Run::BeforeGradients(run) = pass.run {
            in_every_graph(graph, &mut |graph| run(graph, precision));
        }
    }
}

/// Runs the passes for a target that need no choice of a plan.
pub fn run_all(graph: &mut Graph, target: &dyn Target) -> Vec<Report> {
    run_all_with(graph, target, Choices::default())
}

/// As [`run_all`], with a plan's choices.
pub(crate) fn run_all_with(
    graph: &mut Graph,
    target: &dyn Target,
    choices: Choices,
) -> Vec<Report> {
    graph.forget_uses();
    run_stage(Stage::ForTarget, graph, target, choices)
}

/// Runs the passes that decide about memory.
pub(crate) fn place(graph: &mut Graph, target: &dyn Target, choices: Choices) -> Vec<Report> {
    run_stage(Stage::Memory, graph, target, choices)
}

fn run_stage(
    stage: Stage,
    graph: &mut Graph,
    target: &dyn Target,
    choices: Choices,
) -> Vec<Report> {
    let reports = of(stage).filter_map(|pass| {
        let report = pass.run(graph, (target, choices, Precision::default()))?;
        (pass.always || report.changes > 0).then_some(report)
    });
    reports.collect()
}

/// Runs a pass over a graph and the graphs that its operations own. The report counts the changes
/// of all of them; its sentence is about the outermost graph.
fn in_every_graph(graph: &mut Graph, pass: &mut dyn FnMut(&mut Graph) -> Report) -> Report {
    let (mut inside, mut last) = (0, None);
    for_each_graph(graph, &mut |graph| {
        let report = pass(graph);
        inside += report.changes;
        last = Some(report);
    });
    let last = last.expect("a graph is visited after those inside it");
    Report {
        changes: inside,
        ..last
    }
}
