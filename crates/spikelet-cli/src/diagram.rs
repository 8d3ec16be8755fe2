//! Directed graphs as pictures: boxes in levels, from the top to the bottom.
//!
//! The level of a node is the length of the longest path to it. An edge that closes a cycle is drawn at the right side
//! and does not count in levels. An edge over several levels has a place in each of them, so that it passes no box.

use spikelet::report::svg::{
    AXIS, Anchor, Area, BLUE, FAINT_INK, INK, Stroke, Svg, TextStyle, VERMILION, number,
};
use std::collections::{BTreeMap, HashMap};

/// The meaning of a box, which gives its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An input or output.
    End,
    /// A layer without a state.
    Layer,
    /// Neurons.
    Neuron,
}

/// A box.
#[derive(Clone, Debug)]
pub struct DiagramNode {
    /// The name, in bold.
    pub name: String,
    kind: String,
    detail: String,
    shape: Shape,
}

/// A graph.
#[derive(Debug, Default)]
pub struct Diagram {
    /// The boxes.
    pub nodes: Vec<DiagramNode>,
    edges: Vec<[usize; 2]>,
    places: HashMap<String, usize>,
}

const NAME: TextStyle = TextStyle::caption(13.0)
    .colored(INK)
    .anchored(Anchor::Middle)
    .bold();
const CAPTION: TextStyle = TextStyle::caption(11.0)
    .colored(FAINT_INK)
    .anchored(Anchor::Middle);
const BOX_HEIGHT: f64 = 54.0;
const LEVEL_HEIGHT: f64 = 92.0;
const GAP: f64 = 28.0;
const MARGIN: f64 = 24.0;
/// The width of an edge that passes a level.
const PASSAGE: f64 = 12.0;
/// The distance of edges at the right side.
const LANE: f64 = 14.0;
const WIDEST: f64 = 320.0;
/// How far from the middle of a box edges that close a cycle leave and arrive, and from the box they turn.
const ASIDE: f64 = 24.0;
const TURN: f64 = 11.0;

/// A place in a level.
struct Cell {
    node: Option<usize>,
    width: f64,
    /// The middle.
    x: f64,
    /// Those in the level above that lead to it.
    sources: Vec<usize>,
}

impl Diagram {
    /// Adds a box with a name of its own, the kind of the node and a line below.
    pub fn node(&mut self, name: &str, kind: &str, detail: &str, shape: Shape) {
        self.places.insert(name.to_string(), self.nodes.len());
        self.nodes.push(DiagramNode {
            name: name.to_string(),
            kind: kind.to_string(),
            detail: detail.to_string(),
            shape,
        });
    }

    /// Adds an edge between two boxes, if there are boxes of these names.
    pub fn edge(&mut self, from: &str, to: &str) {
        if let (Some(&from), Some(&to)) = (self.places.get(from), self.places.get(to)) {
            self.edges.push([from, to]);
        }
    }

    /// The nodes by level.
    pub fn order(&self) -> Vec<usize> {
        let (levels, _) = self.levels();
        let mut order: Vec<usize> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&node| (levels[node], node));
        order
    }

    /// The level of each node, and for each edge whether it closes a cycle.
    fn levels(&self) -> (Vec<usize>, Vec<bool>) {
        let mut leaving = vec![vec![]; self.nodes.len()];
        let mut entered = vec![false; self.nodes.len()];
        for (k, &[from, to]) in self.edges.iter().enumerate() {
            leaving[from].push(k);
            entered[to] = true;
        }
        // Depth first, from the nodes that no edge leads to; an edge to a node whose search is not over closes a cycle.
        let (mut open, mut done) = (vec![false; self.nodes.len()], vec![false; self.nodes.len()]);
        let (mut closes, mut finished) = (vec![false; self.edges.len()], vec![]);
        let starts = (0..self.nodes.len()).filter(|&node| !entered[node]);
        for start in starts.chain(0..self.nodes.len()) {
            if done[start] {
                continue;
            }
            let mut path = vec![(start, 0)];
            open[start] = true;
            while let Some((node, next)) = path.last_mut() {
                let Some(&edge) = leaving[*node].get(*next) else {
                    (open[*node], done[*node]) = (false, true);
                    finished.push(*node);
                    path.pop();
                    continue;
                };
                *next += 1;
                let to = self.edges[edge][1];
                if open[to] {
                    closes[edge] = true;
                } else if !done[to] {
                    open[to] = true;
                    path.push((to, 0));
                }
            }
        }
        let mut levels = vec![0; self.nodes.len()];
        for &node in finished.iter().rev() {
            for &edge in leaving[node].iter().filter(|&&edge| !closes[edge]) {
                let to = self.edges[edge][1];
                levels[to] = levels[to].max(levels[node] + 1);
            }
        }
        (levels, closes)
    }

    /// The picture; `label` is its text for screen readers.
    pub fn to_svg(&self, label: &str) -> String {
        let (levels, closes) = self.levels();
        let (mut cells, mut rows) = (
            vec![],
            vec![vec![]; levels.iter().max().map_or(0, |&last| last + 1)],
        );
        let mut put = |cell: Cell, level: usize| {
            rows[level].push(cells.len());
            cells.push(cell);
            cells.len() - 1
        };
        for (node, &level) in levels.iter().enumerate() {
            let width = self.width(node);
            put(
                Cell {
                    node: Some(node),
                    width,
                    x: 0.0,
                    sources: vec![],
                },
                level,
            );
        }
        let mut links = vec![];
        for (&[from, to], _) in self
            .edges
            .iter()
            .zip(&closes)
            .filter(|(_, closes)| !**closes)
        {
            let mut source = from;
            for level in levels[from] + 1..levels[to] {
                let cell = Cell {
                    node: None,
                    width: PASSAGE,
                    x: 0.0,
                    sources: vec![source],
                };
                let passage = put(cell, level);
                links.push([source, passage]);
                source = passage;
            }
            links.push([source, to]);
        }
        for &[source, to] in &links {
            if cells[to].node.is_some() {
                cells[to].sources.push(source);
            }
        }
        let width = arrange(&mut cells, &mut rows);
        let mut row_of = vec![0; cells.len()];
        for (level, row) in rows.iter().enumerate() {
            row.iter().for_each(|&cell| row_of[cell] = level);
        }
        let loops = closes.iter().filter(|closes| **closes).count();
        let full = width + 2.0 * MARGIN + LANE * loops as f64;
        let height = 2.0 * MARGIN + LEVEL_HEIGHT * rows.len() as f64 - (LEVEL_HEIGHT - BOX_HEIGHT);
        let mut svg = Svg::new(full, height.max(2.0 * MARGIN), label);
        let top = |cell: usize| MARGIN + LEVEL_HEIGHT * row_of[cell] as f64;
        for &[from, to] in &links {
            draw_edge(
                &mut svg,
                [cells[from].x, top(from) + BOX_HEIGHT],
                [cells[to].x, top(to)],
            );
            if cells[to].node.is_none() {
                let x = cells[to].x;
                svg.line(
                    [x, top(to)],
                    [x, top(to) + BOX_HEIGHT],
                    Stroke::new(AXIS, 1.5),
                );
            } else {
                draw_arrow(&mut svg, [cells[to].x, top(to)], AXIS);
            }
        }
        let back = self
            .edges
            .iter()
            .zip(&closes)
            .filter(|(_, closes)| **closes);
        for (k, (&[from, to], _)) in back.enumerate() {
            let lane = width + MARGIN + LANE * (k as f64 + 0.5);
            // Below the source and above the target, between the levels, so that it passes no box.
            let (sx, ex) = (cells[from].x + ASIDE, cells[to].x + ASIDE);
            let (sy, ey) = (top(from) + BOX_HEIGHT, top(to));
            let [below, above] = [sy + TURN, ey - TURN].map(number);
            let [x, y, to_x, to_y, lane] = [sx, sy, ex, ey, lane].map(number);
            let commands = format!("M{x} {y}V{below}H{lane}V{above}H{to_x}V{to_y}");
            svg.path(&commands, Stroke::new(VERMILION, 1.5));
            draw_arrow(&mut svg, [ex, ey], VERMILION);
        }
        for (cell, place) in cells.iter().enumerate() {
            if let Some(node) = place.node {
                self.draw_box(&mut svg, node, [place.x, top(cell)]);
            }
        }
        svg.finish()
    }

    fn width(&self, node: usize) -> f64 {
        let DiagramNode {
            name, kind, detail, ..
        } = &self.nodes[node];
        let text = CAPTION.width_of(kind).max(CAPTION.width_of(detail));
        (NAME.width_of(name).max(text) + 20.0).clamp(90.0, WIDEST)
    }

    fn draw_box(&self, svg: &mut Svg, node: usize, [x, y]: [f64; 2]) {
        let own = &self.nodes[node];
        let width = self.width(node);
        let area = Area {
            x: x - width / 2.0,
            y,
            width,
            height: BOX_HEIGHT,
        };
        let (fill, color) = match own.shape {
            Shape::End => ("#f3f5f7", AXIS),
            Shape::Layer => ("#ffffff", AXIS),
            Shape::Neuron => ("#e6f1f8", BLUE),
        };
        svg.hinted(&own.name, |svg| {
            svg.rectangle(area, fill);
            svg.frame(area, Stroke::new(color, 1.2));
            svg.text([x, y + 18.0], NAME, &NAME.fit(&own.name, width - 12.0));
            svg.text(
                [x, y + 33.0],
                CAPTION,
                &CAPTION.fit(&own.kind, width - 12.0),
            );
            svg.text(
                [x, y + 47.0],
                CAPTION,
                &CAPTION.fit(&own.detail, width - 12.0),
            );
        });
    }
}

/// Orders the cells of each level by the middle of their sources and places them; the width of the widest level.
fn arrange(cells: &mut [Cell], rows: &mut [Vec<usize>]) -> f64 {
    let width = |row: &[usize], cells: &[Cell]| {
        let cells: f64 = row.iter().map(|&cell| cells[cell].width + GAP).sum();
        (cells - GAP).max(0.0)
    };
    let widest = rows.iter().map(|row| width(row, cells)).fold(0.0, f64::max);
    for row in rows {
        let middles: BTreeMap<usize, f64> = (row.iter())
            .map(|&cell| {
                let sources = &cells[cell].sources;
                let sum: f64 = sources.iter().map(|&source| cells[source].x).sum();
                let middle = if sources.is_empty() {
                    0.0
                } else {
                    sum / sources.len() as f64
                };
                (cell, middle)
            })
            .collect();
        row.sort_by(|a, b| middles[a].total_cmp(&middles[b]));
        let mut left = MARGIN + (widest - width(row, cells)) / 2.0;
        for &cell in row.iter() {
            cells[cell].x = left + cells[cell].width / 2.0;
            left += cells[cell].width + GAP;
        }
    }
    widest
}

fn draw_edge(svg: &mut Svg, from: [f64; 2], to: [f64; 2]) {
    let middle = number((from[1] + to[1]) / 2.0);
    let [sx, sy, ex, ey] = [from[0], from[1], to[0], to[1]].map(number);
    let curve = format!("M{sx} {sy}C{sx} {middle} {ex} {middle} {ex} {ey}");
    svg.path(&curve, Stroke::new(AXIS, 1.5));
}

/// The head of an arrow that points down to a place.
fn draw_arrow(svg: &mut Svg, [x, y]: [f64; 2], color: &'static str) {
    const LENGTH: f64 = 7.0;
    const HALF: f64 = 4.0;
    let corners = [[x - HALF, y - LENGTH], [x, y], [x + HALF, y - LENGTH]];
    let points = corners.map(|[x, y]| format!("{} {}", number(x), number(y)));
    svg.path(&format!("M{}", points.join("L")), Stroke::new(color, 1.5));
}

#[cfg(test)]
mod tests {
    use super::{Diagram, Shape};

    fn diagram(edges: &[[&str; 2]]) -> Diagram {
        let mut diagram = Diagram::default();
        for name in ["d", "c", "b", "a"] {
            diagram.node(name, "Kind", "[3]", Shape::Layer);
        }
        edges.iter().for_each(|[from, to]| diagram.edge(from, to));
        diagram
    }

    fn order(diagram: &Diagram) -> Vec<&str> {
        diagram
            .order()
            .into_iter()
            .map(|k| diagram.nodes[k].name.as_str())
            .collect()
    }

    #[test]
    fn nodes_are_ordered_by_the_longest_path_to_them() {
        let own = diagram(&[["a", "b"], ["b", "c"], ["a", "c"], ["c", "d"]]);
        assert_eq!(order(&own), ["a", "b", "c", "d"]);
    }

    #[test]
    fn cycles_and_loops_do_not_count_and_are_drawn() {
        let own = diagram(&[["a", "b"], ["b", "c"], ["c", "b"], ["c", "c"], ["c", "d"]]);
        assert_eq!(order(&own), ["a", "b", "c", "d"]);
        let picture = own.to_svg("a & b");
        assert_eq!(picture.matches("#d55e00").count(), 4, "{picture}");
        assert!(picture.contains("a &amp; b"));
    }

    #[test]
    fn a_graph_without_nodes_is_an_empty_picture() {
        assert!(Diagram::default().to_svg("empty").ends_with("</svg>\n"));
    }
}
