//! Other time steps: reset, comparison with the threshold, discretization, length, start, feedback, conventions.

use super::super::super::choices::{FeedbackFrom, Fires, Reset, VStart};
use super::super::super::convention::Convention;
use super::super::super::options::{ImportOptions, StepLengthFrom};
use super::super::super::step_length;
use super::super::cause::{Candidate, Cause};
use super::Situation;
use crate::graph::NodeKind;
use spikelet_nn::neuron::Discretization;
use std::collections::BTreeSet;

/// How far two lengths of a step must be apart to be tried both, relatively.
const SAME: f64 = 1e-6;

fn option(cause: Cause, change: String, set: impl Fn(&mut ImportOptions) + 'static) -> Candidate {
    Candidate::new(cause, change, move |runnable| {
        set(&mut runnable.options.import);
        Ok(())
    })
}

pub(super) fn candidates(situation: &Situation<'_>) -> Vec<Candidate> {
    let now = situation.semantics;
    let mut found = vec![];
    let fires = |kind: &NodeKind| {
        matches!(
            kind,
            NodeKind::If(_) | NodeKind::Lif(_) | NodeKind::CubaLif(_)
        )
    };
    if situation.has(fires) {
        found.extend(resets(situation));
    }
    if situation.has(|kind| fires(kind) || matches!(kind, NodeKind::Threshold(_))) {
        let others = Fires::ALL.into_iter().filter(|fires| *fires != now.fires);
        found.extend(others.map(|fires| {
            option(Cause::Fires, format!("fires {fires}"), move |o| {
                o.fires = Some(fires)
            })
        }));
    }
    found.extend(discretizations(situation));
    for dt in lengths(situation) {
        let change = format!("dt {}", number(dt));
        found.push(option(Cause::StepLength, change, move |o| o.dt = Some(dt)));
    }
    let starts = VStart::ALL
        .into_iter()
        .filter(|start| *start != now.v_start);
    let rests = situation.has(rests_elsewhere);
    found.extend(starts.filter(|_| rests).map(|start| {
        option(Cause::VStart, format!("v(0) {start}"), move |o| {
            o.v_start = Some(start)
        })
    }));
    if has_cycle(situation) {
        let others = FeedbackFrom::ALL
            .into_iter()
            .filter(|from| *from != now.feedback);
        found.extend(others.map(|from| {
            option(Cause::Feedback, format!("feedback {from}"), move |o| {
                o.feedback = Some(from)
            })
        }));
    }
    found
}

fn resets(situation: &Situation<'_>) -> Vec<Candidate> {
    let now = situation.semantics;
    let late = |late: bool| {
        if late {
            "a step late"
        } else {
            "in the step of the spike"
        }
    };
    let delay = !now.reset_delay;
    let mut found = vec![];
    for reset in Reset::ALL.into_iter().filter(|reset| *reset != now.reset) {
        found.push(option(Cause::Reset, format!("reset {reset}"), move |o| {
            o.reset = Some(reset);
        }));
    }
    found.push(option(
        Cause::ResetDelay,
        format!("reset {}", late(delay)),
        move |o| {
            o.reset_delay = Some(delay);
        },
    ));
    for reset in Reset::ALL.into_iter().filter(|reset| *reset != now.reset) {
        let change = format!("reset {reset}, {}", late(delay));
        found.push(option(Cause::ResetDelay, change, move |o| {
            o.reset = Some(reset);
            o.reset_delay = Some(delay);
        }));
    }
    found
}

/// The other discretizations; those that differ for currents only if there are currents.
fn discretizations(situation: &Situation<'_>) -> Vec<Candidate> {
    let now = situation.semantics.discretization;
    let currents = situation.has(|kind| matches!(kind, NodeKind::CubaLi(_) | NodeKind::CubaLif(_)));
    let leaks = situation.has(|kind| matches!(kind, NodeKind::Li(_) | NodeKind::Lif(_)));
    let others = Discretization::ALL
        .into_iter()
        .filter(|other| match (currents, leaks) {
            (true, _) => *other != now,
            (false, true) => {
                other.is_exact() != now.is_exact()
                    && matches!(other, Discretization::EulerSeq | Discretization::Exact)
            }
            (false, false) => false,
        });
    let candidate = |other: Discretization| {
        option(
            Cause::Discretization,
            format!("discretization {other}"),
            move |o| {
                o.discretization = Some(other);
            },
        )
    };
    others.map(candidate).collect()
}

/// Other lengths of a step: that of the other network, that of the parameters, multiples, usual ones.
fn lengths(situation: &Situation<'_>) -> Vec<f64> {
    let now = situation.semantics;
    if now.dt_from == StepLengthFrom::Unused {
        return vec![];
    }
    let mut all: Vec<f64> = situation.other.iter().map(|(_, other)| other.dt).collect();
    let implied = step_length::find(situation.graph, None, None, None);
    all.extend(implied.ok().map(|(dt, _)| dt));
    all.extend([10.0, 0.1, 2.0, 0.5].map(|factor| now.dt * factor));
    all.extend([1e-3, 1e-4, 1.0]);
    let same = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs();
    let mut found: Vec<f64> = vec![];
    for dt in all {
        if !same(dt, now.dt) && !found.iter().any(|known| same(dt, *known)) {
            found.push(dt);
        }
    }
    found
}

/// A length without the digits that a multiplication adds.
fn number(value: f64) -> String {
    let short: f64 = format!("{value:.9e}").parse().unwrap_or(value);
    format!("{short:?}")
}

/// Whether the potential before the first step depends on the choice.
fn rests_elsewhere(kind: &NodeKind) -> bool {
    let parameters = kind.elementwise_parameters();
    let mut rests = parameters
        .iter()
        .filter(|(name, _)| matches!(*name, "v_leak" | "v_reset"));
    rests.any(|(_, tensor)| tensor.to_f64().iter().any(|value| *value != 0.0))
}

/// Whether nodes remain when those without a source are removed again and again.
fn has_cycle(situation: &Situation<'_>) -> bool {
    let graph = situation.graph;
    let mut rest: BTreeSet<&str> = graph.nodes.keys().map(String::as_str).collect();
    loop {
        let fed: BTreeSet<&str> = (graph.edges.iter())
            .filter(|edge| rest.contains(edge.from.as_str()))
            .map(|edge| edge.to.as_str())
            .collect();
        let before = rest.len();
        rest.retain(|path| fed.contains(path));
        if rest.is_empty() || rest.len() == before {
            return !rest.is_empty();
        }
    }
}

/// All choices of a framework, with the length of a step as it is and with the framework's.
pub(super) fn conventions(situation: &Situation<'_>) -> Vec<Candidate> {
    let now = situation.semantics.dt;
    let mut found = vec![];
    for convention in Convention::ALL {
        let own = convention
            .choices()
            .dt
            .filter(|dt| (dt - now).abs() > SAME * now);
        for dt in [Some(now), own].into_iter().flatten() {
            let change = match dt == now {
                true => format!("convention {convention}"),
                false => format!("convention {convention}, dt {}", number(dt)),
            };
            found.push(option(Cause::Convention, change, move |o| {
                let choices = convention.choices();
                o.dt = Some(dt);
                o.discretization = Some(choices.discretization);
                o.reset = Some(choices.reset);
                o.reset_delay = Some(choices.reset_delay);
                o.fires = Some(choices.fires);
                o.feedback = Some(choices.feedback);
                o.v_start = Some(choices.v_start);
            }));
        }
    }
    found
}
