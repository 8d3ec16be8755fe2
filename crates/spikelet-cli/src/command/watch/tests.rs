use super::draw::draw;
use super::view::View;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use spikelet::train::EpochRecord;
use spikelet::train::metric::MetricValues;
use spikelet::train::run::{RunInfo, RunState};
use std::collections::BTreeMap;

fn record(epoch: usize) -> EpochRecord {
    let x = epoch as f64;
    let metrics = |shift: f64| {
        [
            ("accuracy", 1.0 - 0.5 / x - shift),
            ("fc.2.rate", 0.1 + 0.01 * x),
            ("fc.4.rate", 0.3 / x),
        ]
    };
    let values = |shift: f64| MetricValues::new(1.0 / x + shift, metrics(shift));
    EpochRecord {
        epoch,
        train: values(0.0),
        validation: Some(MetricValues::new(1.0 / x + 0.1, metrics(0.1))),
        test: None,
        monitor: "accuracy".to_string(),
        best: Some(1.0 - 0.5 / x - 0.1),
        samples_per_second: 9830.0,
        seconds: 2.0,
    }
}

fn view(epochs: usize) -> View {
    let run = RunInfo {
        folder: "runs/mnist-fc/2026-11-22-001".into(),
        state: RunState::Running { pid: Some(7) },
        history: (1..=epochs).map(record).collect(),
        checkpoint: None,
        experiment: None,
    };
    let loss = (1..=20).map(|k| (50 * k, 1.0 / k as f32)).collect();
    let steps = [("step/loss".to_string(), loss)];
    let steps = steps.into_iter().filter(|_| epochs > 0);
    View::new(run, BTreeMap::from_iter(steps))
}

fn drawn(view: &View, [width, height]: [u16; 2], color: bool) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal
        .draw(|frame| draw(frame, view, color))
        .expect("drawn");
    terminal
}

#[test]
fn a_run_is_drawn_as_its_snapshots() {
    let mut view = view(8);
    insta::assert_snapshot!("watch_overview", drawn(&view, [100, 34], true).backend());
    insta::assert_snapshot!("watch_small", drawn(&view, [60, 20], false).backend());
    view.select(3);
    insta::assert_snapshot!("watch_rates", drawn(&view, [78, 24], false).backend());
    view.select(-4);
    let text = drawn(&view, [40, 24], true).backend().to_string();
    assert!(
        text.contains("loss of steps") && !text.contains("overview"),
        "{text}"
    );
}

#[test]
fn arrows_show_that_there_are_more_diagrams() {
    let mut view = view(8);
    let arrows = |view: &View, width| {
        let text = drawn(view, [width, 24], false).backend().to_string();
        let lines: Vec<&str> = text.lines().collect();
        let frame = lines.iter().position(|line| line.contains('┌'));
        let tabs = lines[frame.expect("a diagram") - 1];
        [tabs.contains('‹'), tabs.contains('›')]
    };
    assert_eq!(arrows(&view, 100), [false, false]);
    assert_eq!(arrows(&view, 30), [false, true]);
    view.select(2);
    assert_eq!(arrows(&view, 20), [true, true]);
    view.select(2);
    assert_eq!(arrows(&view, 30), [true, false]);
}

#[test]
fn without_colors_none_is_used() {
    let has_color = |color| {
        let terminal = drawn(&view(8), [78, 24], color);
        let cells = terminal.backend().buffer().content();
        cells
            .iter()
            .any(|cell| cell.fg != ratatui::style::Color::Reset)
    };
    assert!(has_color(true) && !has_color(false));
}

#[test]
fn terminals_and_runs_of_any_size_are_drawn() {
    for size in [[1, 1], [3, 2], [10, 5], [300, 100]] {
        for epochs in [0, 1, 2] {
            drawn(&view(epochs), size, true);
        }
    }
    let text = drawn(&view(0), [78, 24], true).backend().to_string();
    assert!(text.contains("no epoch is completed yet"), "{text}");
}
