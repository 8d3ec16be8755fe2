//! Every operation, printed and read back.

use crate::graph::Graph;
use crate::op::{Op, Operation};
use std::collections::HashMap;
use std::mem::discriminant;

/// Each operation at least once.
const ALL: &str = include_str!("all_operations.txt");

fn error(text: &str) -> String {
    let result = text.parse::<Graph>();
    result.map_or_else(
        |error| error.to_string(),
        |graph| format!("no error: {graph}"),
    )
}

#[test]
fn every_operation_is_printed_as_it_was_read() {
    let graph: Graph = ALL.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(graph.to_string(), ALL);
    let mut missing: HashMap<_, Op> = Op::blanks()
        .into_iter()
        .map(|op| (discriminant(&op), op))
        .collect();
    for node in &graph.nodes {
        missing.remove(&discriminant(&node.op));
    }
    let missing: Vec<String> = missing.values().map(|op| op.name()).collect();
    assert!(missing.is_empty(), "all_operations.txt has no {missing:?}");
}

#[test]
fn scans_of_one_step_share_it_when_they_are_read() {
    let graph: Graph = ALL.parse().unwrap();
    let steps = graph.nodes.iter().filter_map(|node| match &node.op {
        Op::Scan(scan) => Some(&scan.recurrence),
        Op::ScanGrad(grad) => Some(&grad.of.recurrence),
        _ => None,
    });
    let steps: Vec<_> = steps.collect();
    assert!(steps.len() > 1 && std::sync::Arc::ptr_eq(steps[0], steps[1]));
}

#[test]
fn an_error_names_the_line_and_the_column() {
    let x = "%0 = Data `x`  f32[4, 6]\n";
    for (line, expected) in [
        (
            "%1 = flip[7](%0)  f32[4, 6]  fc",
            "2, column 6: flip in `fc`: axis 7 of a tensor with 2 axes",
        ),
        (
            "%1 = flip[x](%0)  f32[4, 6]",
            "2, column 11: expected a value of type usize",
        ),
        (
            "%1 = flop[1](%0)  f32[4, 6]",
            "2, column 6: `flop[1]` is no operation, or a custom one",
        ),
        (
            "%1 = flip[1](%2)  f32[4, 6]",
            "2, column 13: no line above computes %2",
        ),
        (
            "%1 = flip[1](%0)  f32[4, 7]",
            "2, column 6: the results of flip are f32[4, 6]",
        ),
        (
            "%1 = flip[1](%0)  f32[4, 6]  \n%2 = x",
            "3, column 7: expected `(`",
        ),
        (
            "%1 = map[x0 + y(x1)](%0)  f32[4, 6]",
            "2, column 15: expected a function",
        ),
        (
            "%0 = flip[1](%0)  f32[4, 6]",
            "2, column 1: a line above computes %0 too",
        ),
        (
            "%1, %2 = flip[1](%0)  f32[4, 6]",
            "2, column 32: expected 2 types",
        ),
        (
            "%9999999 = flip[1](%0)  f32[4, 6]",
            "2, column 1: numbers of values are below",
        ),
        (
            "    %1 = flip[1](%0)  f32[4, 6]",
            "2, column 5: this line is further to the right",
        ),
        (
            "%1 = scan[lif #0, T=4](%0)  f32[4, 6]",
            "2, column 17: expected the lines of the step below",
        ),
        (
            "%1 = scan[lif #3, T=4](%0)  f32[4, 6]",
            "2, column 17: expected at most 0",
        ),
        (
            "%1 = Data `x`  f32[2]",
            "2, column 22: an input above is named `x` too",
        ),
        (
            "%1 = Data `y`  f32[99999999999, 99999999999]",
            "2, column 1: f32[99999999999, 99999999999] has more",
        ),
        ("`y` = %7", "2, column 7: no line above computes %7"),
        ("hello", "2, column 1: expected `%`"),
    ] {
        let error = error(&format!("{x}{line}"));
        assert!(
            error.starts_with(&format!("line {expected}")),
            "{line}: {error}"
        );
    }
}

#[test]
fn a_damaged_text_is_read_or_refused() {
    let instead = [
        "",
        "0",
        "9",
        "18446744073709551615",
        "[",
        "]",
        "(",
        ", ",
        "`",
        "-",
        "é",
        "\n",
        "    ",
    ];
    let starts = ALL.char_indices().map(|(at, c)| (at, at + c.len_utf8()));
    for (k, (at, end)) in starts.enumerate().step_by(2) {
        let text = [&ALL[..at], instead[k / 2 % instead.len()], &ALL[end..]].concat();
        if let Ok(graph) = text.parse::<Graph>() {
            assert!(graph.to_string().parse::<Graph>().is_ok(), "{text}");
        }
    }
}
