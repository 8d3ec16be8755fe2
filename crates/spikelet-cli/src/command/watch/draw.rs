//! Draws a run in a terminal.

use super::pages::Page;
use super::view::View;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, LineGauge, Paragraph};
use spikelet::human::{percent, thousands};
use spikelet::train::run::RunState;
use std::ops::Range;

/// The colors of the curves in their order.
const COLORS: [Color; 6] = [
    Color::Cyan,
    Color::Yellow,
    Color::Green,
    Color::Magenta,
    Color::Blue,
    Color::Red,
];

/// The markers of the curves without colors, and their signs in the legend.
const MARKERS: [(Marker, &str); 3] = [
    (Marker::Braille, "⠒"),
    (Marker::Dot, "•"),
    (Marker::Block, "█"),
];

/// The smallest width and height of a diagram in the overview.
const SMALLEST: [u16; 2] = [36, 8];

/// The largest number of diagrams in the overview.
const MOST: usize = 4;

/// Draws the state, the results, the titles of the diagrams, the selected diagrams and the keys.
pub fn draw(frame: &mut Frame<'_>, view: &View, color: bool) {
    let state = Span::styled(view.state(), state_style(view.run.state, color));
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let mut lines = vec![
        Line::from_iter([state, Span::raw("  "), Span::styled(view.name(), bold)]),
        Line::from(view.progress()),
    ];
    lines.extend(view.results().into_iter().map(Line::from));
    lines.extend(view.problem.clone().map(Line::from));
    let areas = Layout::vertical([
        Constraint::Length(u16::from(view.completed().is_some())),
        Constraint::Length(lines.len() as u16),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ]);
    let [gauge, top, tabs, middle, bottom] = areas.areas(frame.area());
    if let Some(completed) = view.completed() {
        let accent = match color {
            true => Style::new().fg(Color::Cyan),
            false => Style::new(),
        };
        let completed = LineGauge::default()
            .ratio(completed)
            .label(percent(completed))
            .filled_symbol("━")
            .unfilled_symbol("─")
            .filled_style(accent);
        frame.render_widget(completed, gauge);
    }
    frame.render_widget(Paragraph::new(lines), top);
    let width = usize::from(tabs.width);
    frame.render_widget(Paragraph::new(titles(view, width)), tabs);
    match view.shown() {
        [] => frame.render_widget(Paragraph::new("no epoch is completed yet"), middle),
        pages => grid(frame, pages, middle, color),
    }
    frame.render_widget(Paragraph::new("← → diagrams   q quit"), bottom);
}

fn state_style(state: RunState, color: bool) -> Style {
    match (color, state) {
        (true, RunState::Running { .. }) => Style::new().fg(Color::Green),
        (true, RunState::Interrupted) => Style::new().fg(Color::Yellow),
        _ => Style::new(),
    }
}

/// The titles of the pages, the selected one reversed; the first ones are left out if it did not fit. Arrows show that there
/// are others.
fn titles(view: &View, width: usize) -> Line<'_> {
    let spans = view.titles().enumerate().map(|(k, title)| {
        let style = match k == view.selected() {
            true => Style::new().add_modifier(Modifier::REVERSED),
            false => Style::new(),
        };
        Span::styled(format!(" {title} "), style)
    });
    let spans: Vec<Span<'_>> = spans.collect();
    let needed = |range: Range<usize>| spans[range].iter().map(Span::width).sum::<usize>();
    if needed(0..spans.len()) <= width {
        return Line::from_iter(spans);
    }
    // Both arrows have their place.
    let width = width.saturating_sub(2);
    let selected = view.selected();
    let first = (0..selected).find(|&first| needed(first..selected + 1) <= width);
    let first = first.unwrap_or(selected);
    let last = (selected + 1..=spans.len()).rfind(|&end| needed(first..end) <= width);
    let last = last.unwrap_or(selected + 1);
    let before = Span::raw(if first > 0 { "‹" } else { " " });
    let after = (last < spans.len()).then(|| Span::raw("›"));
    let shown = spans[first..last].to_vec();
    Line::from_iter([before].into_iter().chain(shown).chain(after))
}

/// Draws as many of the pages as fit, in one or two columns.
fn grid(frame: &mut Frame<'_>, pages: &[Page], area: Rect, color: bool) {
    let fit = |length: u16, smallest: u16| usize::from(length / smallest).max(1);
    let columns = fit(area.width, SMALLEST[0]).min(2).min(pages.len());
    let most = (columns * fit(area.height, SMALLEST[1])).min(MOST);
    let pages = &pages[..pages.len().min(most)];
    let rows = pages.len().div_ceil(columns);
    let areas = Layout::vertical(vec![Constraint::Fill(1); rows]).split(area);
    for (row, pages) in areas.iter().zip(pages.chunks(columns)) {
        let areas = Layout::horizontal(vec![Constraint::Fill(1); pages.len()]).split(*row);
        for (area, page) in areas.iter().zip(pages) {
            chart(frame, page, *area, color);
        }
    }
}

fn chart(frame: &mut Frame<'_>, page: &Page, area: Rect, color: bool) {
    let points = || page.curves.iter().flat_map(|curve| curve.points.iter());
    let x = x_range(points().map(|point| point.0));
    let y = y_range(points().map(|point| point.1), page.percent);
    let style = |k: usize| match color {
        true => Style::new().fg(COLORS[k % COLORS.len()]),
        false => Style::new(),
    };
    let marker = |k: usize| match color {
        true => (Marker::Braille, "━"),
        false => MARKERS[k % MARKERS.len()],
    };
    let mut title = vec![Span::raw(format!(" {} ", page.title))];
    let mut sets = vec![];
    for (k, curve) in page.curves.iter().enumerate() {
        let (marker, sign) = marker(k);
        title.push(Span::styled(format!(" {sign} "), style(k)));
        title.push(Span::raw(format!("{} ", curve.name)));
        let set = Dataset::default().data(&curve.points).marker(marker);
        sets.push(set.graph_type(GraphType::Line).style(style(k)));
    }
    let axis_name = Line::from(format!(" {} ", page.axis)).right_aligned();
    let block = Block::bordered().title(Line::from(title));
    let axis = |bounds| Axis::default().bounds(bounds);
    let x_labels = x.map(|value| thousands(value as u64));
    let chart = Chart::new(sets)
        .block(block.title_bottom(axis_name))
        .legend_position(None)
        .x_axis(axis(x).labels(x_labels))
        .y_axis(axis(y).labels(y_labels(y, page.percent)));
    frame.render_widget(chart, area);
}

/// Labels at the ends and in the middle of the vertical axis.
fn y_labels([low, high]: [f64; 2], is_percent: bool) -> [String; 3] {
    [low, 0.5 * (low + high), high].map(|value| match value.abs() {
        _ if is_percent => percent(value),
        size if size >= 1e4 || size < 1e-3 && size > 0.0 => format!("{value:.1e}"),
        _ => format!("{value:.3}"),
    })
}

/// The smallest and the largest value; `None` without values.
fn extremes(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.fold(None, |found, x| match found {
        None => Some([x, x]),
        Some([low, high]) => Some([low.min(x), high.max(x)]),
    })
}

/// The bounds of the axis of epochs or steps.
fn x_range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = extremes(values).unwrap_or([0.0, 1.0]);
    [low, high.max(low + 1.0)]
}

/// The bounds of the axis of values: a margin shows the extremes beside the border.
fn y_range(values: impl Iterator<Item = f64>, is_percent: bool) -> [f64; 2] {
    let [low, high] = extremes(values).unwrap_or([0.0, 1.0]);
    let margin = match low < high {
        true => 0.05 * (high - low),
        false => (0.1 * low.abs()).max(1e-3),
    };
    match is_percent {
        true => [(low - margin).max(0.0), (high + margin).min(1.0)],
        false if low >= 0.0 => [(low - margin).max(0.0), high + margin],
        false => [low - margin, high + margin],
    }
}
