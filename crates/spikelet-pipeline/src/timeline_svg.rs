//! The chart of a timeline: one row per device, one box per task, time to the right.
//!
//! Forward passes are light boxes in the upper part of a row, backward passes dark ones in the lower part,
//! so that they can be distinguished without color.

use super::task::{Phase, Task};
use super::timeline::{Span, Timeline};
use spikelet_core::Result;
use spikelet_core::files::write_atomically;
use spikelet_report::report::axis::{Axis, range};
use spikelet_report::report::svg::{
    AXIS, Anchor, Area, BLUE, FAINT_INK, GRID, INK, Stroke, Svg, TextStyle, VERMILION,
};
use std::collections::BTreeSet;
use std::path::Path;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 28.0;
const TOP: f64 = 108.0;
/// From one row to the next.
const PITCH: f64 = 48.0;
const ROW: f64 = 38.0;
/// The height of a box, and the offset of those of backward passes.
const BOX: f64 = 30.0;
const LOWER: f64 = ROW - BOX;
/// The minimal width of a box, so that short tasks are visible.
const NARROWEST: f64 = 1.5;
const GAP: f64 = 16.0;

const SMALL: TextStyle = TextStyle::caption(11.0);
const NUMBER: TextStyle = SMALL.colored(INK).anchored(Anchor::Middle);

/// The style of the boxes of a phase.
struct PhaseStyle {
    name: &'static str,
    fill: &'static str,
    rim: &'static str,
    number: TextStyle,
    lower: f64,
}

fn look(phase: Phase) -> PhaseStyle {
    match phase {
        Phase::Forward => PhaseStyle {
            name: "forward",
            fill: "#d3e6f3",
            rim: BLUE,
            number: NUMBER,
            lower: 0.0,
        },
        Phase::Backward => PhaseStyle {
            name: "backward",
            fill: VERMILION,
            rim: "#8f3f00",
            number: NUMBER.colored("#ffffff").bold(),
            lower: LOWER,
        },
        Phase::Loss => PhaseStyle {
            name: "loss",
            fill: INK,
            rim: INK,
            number: NUMBER.colored("#ffffff"),
            lower: 0.5 * LOWER,
        },
    }
}

/// One more than the largest, 0 of none.
fn count(numbers: impl Iterator<Item = usize>) -> usize {
    numbers.max().map_or(0, |most| most + 1)
}

fn counted(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

impl Timeline {
    /// The timeline as an SVG chart, 960 units wide: one row per device and one box per task, with the index
    /// of its micro-batch and, if there are several, of its chunk of time. The tooltip of a box has the
    /// stage, start and end.
    pub fn to_svg(&self) -> String {
        let height = TOP + PITCH * self.devices.len() as f64 + 46.0;
        let mut svg = Svg::new(WIDTH, height, &self.title());
        let inner = WIDTH - 2.0 * MARGIN;
        let title = TextStyle::caption(19.0).colored(INK).bold();
        svg.text([MARGIN, 40.0], title, &title.fit(&self.title(), inner));
        let subtitle = TextStyle::caption(13.0);
        let text = subtitle.fit(&self.subtitle(), inner);
        svg.text([MARGIN, 62.0], subtitle, &text);
        draw_legend(&mut svg, self.chunks() > 1);

        let labels: Vec<String> = (0..self.devices.len()).map(|d| self.label(d)).collect();
        let widest = labels.iter().map(|label| SMALL.width_of(label));
        let names = widest.fold(0.0, f64::max).min(0.25 * inner);
        let rows = Area {
            x: MARGIN + names + GAP,
            y: TOP,
            width: inner - names - GAP,
            height: PITCH * labels.len() as f64,
        };
        let total = 1e3 * self.seconds();
        let axis = Axis::linear([0.0, total].into_iter(), [0.0, total], 8);
        draw_axis(&mut svg, rows, &axis);
        for (row, label) in labels.iter().enumerate() {
            let y = rows.y + PITCH * row as f64;
            let lower = [rows.x, y + PITCH - 0.5 * (PITCH - ROW)];
            svg.line(lower, [rows.right(), lower[1]], Stroke::new(GRID, 1.0));
            let at = [rows.x - GAP, y + 0.5 * PITCH + 4.0];
            let style = SMALL.colored(INK).anchored(Anchor::End);
            svg.text(at, style, &style.fit(label, names));
        }
        self.draw_tasks(&mut svg, rows, &axis);
        svg.finish()
    }

    /// Writes [`Timeline::to_svg`] to a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save_svg(&self, path: impl AsRef<Path>) -> Result<()> {
        Ok(write_atomically(path, self.to_svg().as_bytes())?)
    }

    fn title(&self) -> String {
        let tasks = || self.spans.iter().map(|span| span.task);
        let stages = count(tasks().map(|task| task.stage));
        let micros = count(tasks().map(|task| task.micro_batch.index));
        let mut title = format!(
            "{} on {}: {}",
            counted(stages, "stage", "stages"),
            counted(self.devices.len(), "device", "devices"),
            counted(micros, "micro-batch", "micro-batches")
        );
        if self.chunks() > 1 {
            title += &format!(" in {} of time", counted(self.chunks(), "chunk", "chunks"));
        }
        title
    }

    fn subtitle(&self) -> String {
        let (time, idle) = (1e3 * self.seconds(), 100.0 * self.idle());
        format!(
            "{time:.1} ms · devices idle for {idle:.0} % of it · {}",
            counted(self.len(), "task", "tasks")
        )
    }

    fn chunks(&self) -> usize {
        count(self.spans.iter().map(|span| span.task.micro_batch.chunk))
    }

    /// The label of a device: its name and stages.
    fn label(&self, device: usize) -> String {
        let own = self.spans.iter().filter(|span| span.device == device);
        let stages: BTreeSet<usize> = own.map(|span| span.task.stage).collect();
        let s = if stages.len() == 1 { "" } else { "s" };
        let list: Vec<String> = stages.iter().map(usize::to_string).collect();
        if list.is_empty() {
            self.devices[device].clone()
        } else {
            format!("{} · stage{s} {}", self.devices[device], list.join(", "))
        }
    }

    fn draw_tasks(&self, svg: &mut Svg, rows: Area, axis: &Axis) {
        let Some((start, _)) = range(self.spans.iter().map(|span| span.start)) else {
            return;
        };
        let several = self.chunks() > 1;
        for span in &self.spans {
            let at = |seconds: f64| axis.position(1e3 * (seconds - start)).unwrap_or(0.0);
            let (left, right) = (at(span.start), at(span.end));
            let look = look(span.task.phase);
            let area = Area {
                x: rows.x + left * rows.width,
                y: rows.y + PITCH * span.device as f64 + 0.5 * (PITCH - ROW) + look.lower,
                width: ((right - left) * rows.width).max(NARROWEST),
                height: BOX,
            };
            svg.hinted(&hint(span, start), |svg| {
                svg.rectangle(area, look.fill);
                svg.frame(area, Stroke::new(look.rim, 0.75));
                let number = number_of(&span.task, several);
                if look.number.width_of(&number) + 3.0 <= area.width {
                    let middle = [area.x + 0.5 * area.width, area.y + 0.5 * BOX + 4.0];
                    svg.text(middle, look.number, &number);
                }
            });
        }
    }
}

/// The text of a box: the micro-batch, and the chunk if there are several.
fn number_of(task: &Task, several: bool) -> String {
    if several {
        format!("{}.{}", task.micro_batch.index, task.micro_batch.chunk)
    } else {
        task.micro_batch.index.to_string()
    }
}

fn hint(span: &Span, start: f64) -> String {
    let Task {
        phase,
        stage,
        micro_batch,
    } = span.task;
    format!(
        "{}, stage {stage}, micro-batch {}, chunk {}: {:.3} to {:.3} ms",
        look(phase).name,
        micro_batch.index,
        micro_batch.chunk,
        1e3 * (span.start - start),
        1e3 * (span.end - start)
    )
}

fn draw_axis(svg: &mut Svg, rows: Area, axis: &Axis) {
    let (base, bottom) = (rows.bottom() + 6.0, rows.bottom() + 22.0);
    for (tick, label) in axis.ticks() {
        let Some(position) = axis.position(*tick) else {
            continue;
        };
        let x = rows.x + position * rows.width;
        svg.line([x, rows.y], [x, base], Stroke::new(GRID, 1.0));
        svg.text([x, bottom], SMALL.anchored(Anchor::Middle), label);
    }
    svg.line([rows.x, base], [rows.right(), base], Stroke::new(AXIS, 1.0));
    let end = SMALL.anchored(Anchor::End);
    svg.text([rows.right(), bottom + 15.0], end, "milliseconds");
}

/// The legend of the phases.
fn draw_legend(svg: &mut Svg, several: bool) {
    let mut x = MARGIN;
    for phase in [Phase::Forward, Phase::Backward, Phase::Loss] {
        let look = look(phase);
        let square = Area {
            x,
            y: 78.0 + look.lower / 2.0,
            width: 16.0,
            height: 11.0,
        };
        svg.rectangle(square, look.fill);
        svg.frame(square, Stroke::new(look.rim, 0.75));
        let style = TextStyle::caption(12.0).colored(FAINT_INK);
        svg.text([x + 22.0, 90.0], style, look.name);
        x += 22.0 + style.width_of(look.name) + GAP;
    }
    let style = TextStyle::caption(12.0).colored(FAINT_INK);
    let numbers = if several {
        "numbers: micro-batch and chunk of time"
    } else {
        "numbers: micro-batch"
    };
    svg.text([x, 90.0], style, numbers);
}

#[cfg(test)]
mod tests {
    use super::super::task::{MicroBatch, Phase};
    use super::*;

    /// Stages 0 and 2 on the first device, 1 on the second.
    fn trace(micros: usize, chunks: usize) -> Timeline {
        let mut spans = vec![];
        let mut now = 0.25;
        for (micro, chunk) in (0..micros).flat_map(|m| (0..chunks).map(move |c| (m, c))) {
            for (phase, stage) in [
                (Phase::Forward, 0),
                (Phase::Forward, 1),
                (Phase::Forward, 2),
                (Phase::Loss, 2),
                (Phase::Backward, 2),
                (Phase::Backward, 1),
                (Phase::Backward, 0),
            ] {
                let seconds = if phase == Phase::Loss { 1e-9 } else { 2e-3 };
                spans.push(Span {
                    task: Task {
                        phase,
                        stage,
                        micro_batch: MicroBatch {
                            index: micro,
                            chunk,
                        },
                    },
                    device: stage % 2,
                    start: now,
                    end: now + seconds,
                });
                now += seconds;
            }
        }
        Timeline::new(vec!["cpu:0".into(), "<&>".into()], spans)
    }

    /// Whether all elements are closed in order, and text is escaped.
    fn is_well_formed(svg: &str) -> bool {
        let mut open: Vec<&str> = vec![];
        for part in svg.split('<').skip(1) {
            let Some((tag, text)) = part.split_once('>') else {
                return false;
            };
            let even = tag.matches('"').count() % 2 == 0;
            let entities = text.split('&').skip(1);
            let known = |rest: &str| {
                ["lt;", "gt;", "amp;", "quot;"]
                    .iter()
                    .any(|e| rest.starts_with(e))
            };
            if !even || !entities.into_iter().all(known) {
                return false;
            }
            let name = tag.split_whitespace().next().unwrap_or_default();
            match (name.strip_prefix('/'), tag.ends_with('/')) {
                (Some(name), _) if open.pop() != Some(name) => return false,
                (Some(_), _) | (None, true) => {}
                (None, false) => open.push(name),
            }
        }
        open.is_empty()
    }

    #[test]
    fn every_task_has_a_box_with_its_stage_and_times() {
        let trace = trace(2, 2);
        let svg = trace.to_svg();
        assert!(is_well_formed(&svg));
        assert_eq!(svg.matches("<g><title>").count(), trace.len());
        for span in &trace.spans {
            let hint = hint(span, 0.25);
            assert_eq!(svg.matches(&format!("<g><title>{hint}</title>")).count(), 1);
        }
        for number in ["0.0", "0.1", "1.0", "1.1"] {
            let written = svg.matches(&format!(">{number}</text>")).count();
            assert!(written == 6, "{number} stands in {written} boxes");
        }
        assert!(svg.contains("3 stages on 2 devices: 2 micro-batches in 2 chunks of time"));
        assert!(svg.contains("cpu:0 · stages 0, 2") && svg.contains("&lt;&amp;&gt; · stage 1"));
        assert!(svg.contains("devices idle for 50 % of it"), "{svg}");
    }

    #[test]
    fn all_shapes_are_on_the_page_for_any_number_of_tasks() {
        for (micros, chunks) in [(0, 0), (1, 1), (1, 9), (40, 1), (200, 4)] {
            let svg = trace(micros, chunks).to_svg();
            assert!(is_well_formed(&svg) && !svg.contains("NaN"));
            for name in ["x", "x1", "x2"] {
                for rest in svg.split(&format!(" {name}=\"")).skip(1) {
                    let x: f64 = rest.split('"').next().unwrap().parse().unwrap();
                    assert!((0.0..=WIDTH).contains(&x), "{name} = {x}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_left_out_where_they_do_not_fit() {
        let svg = trace(400, 1).to_svg();
        assert!(!svg.contains(">399</text>"));
        assert!(trace(4, 1).to_svg().contains(">3</text>"));
    }

    #[test]
    fn a_chart_is_saved_completely() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs/pipeline.svg");
        trace(2, 1).save_svg(&path).unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), trace(2, 1).to_svg());
    }
}
