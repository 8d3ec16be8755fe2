//! The loop over time: its direction, and the reads that are issued ahead.

use super::layout::{Layout, Places};
use super::read::Read;
use crate::op::step::array_len;

/// The time steps of a scan, by segments whose reads are issued together.
pub(super) struct Segments<'a> {
    pub(super) layout: &'a Layout,
    pub(super) time: usize,
    /// Steps of a segment; the last one may be shorter.
    pub(super) steps: usize,
    /// Whether the last segment is first.
    pub(super) reverse: bool,
    /// Whether the reads of the next segment are issued before this one is computed.
    pub(super) ahead: bool,
    /// Groups of reads.
    pub(super) reads: Vec<&'a [Read]>,
    /// The number of states.
    pub(super) states: usize,
    /// Sets the states, which are called as the first argument says, to those at the start of the segment of this index.
    pub(super) restart: &'a dyn Fn(&str, &str) -> String,
}

/// The text of a segment, given its number of steps and what statements about step `k` become where there may be no such step.
pub(super) type Body<'a> = &'a dyn Fn(usize, &dyn Fn(&str) -> String) -> String;

/// The text that reads the next step of a part of a cluster's tile.
pub(super) type Next<'a> = &'a dyn Fn(&Layout) -> String;

/// `body` for each step `k` of a segment.
pub(super) fn forwards(count: usize, body: &str) -> String {
    format!("#pragma unroll\nfor (int k = 0; k < {count}; ++k) {{\n{body}}}\n")
}

/// The same from the last step to the first.
pub(super) fn backwards(count: usize, body: &str) -> String {
    format!("#pragma unroll\nfor (int k = {count} - 1; k >= 0; --k) {{\n{body}}}\n")
}

impl Segments<'_> {
    fn all(&self) -> impl Iterator<Item = &Read> {
        self.reads.iter().copied().flatten()
    }

    /// Declares the registers of segments of so many steps.
    pub(super) fn declare(&self, prefix: &str, count: usize) -> String {
        let one = |read| self.layout.registers(read, prefix, count);
        self.all().map(one).collect()
    }

    pub(super) fn fetch(&self, prefix: &str, step: &str) -> String {
        let one = |read| self.layout.load(read, prefix, step);
        self.all().map(one).collect()
    }

    /// The head of the loop over so many segments.
    fn head(&self, count: usize) -> String {
        let (steps, end) = (self.steps, count * self.steps);
        let head = match (&self.layout.places, self.reverse) {
            (Places::Cluster(..), true) => format!(
                "for (Index step = 0; step < {end}u; ++step) {{\nconst Index t = {end}u - 1 - step;\n"
            ),
            (Places::Cluster(..), false) => format!(
                "for (Index t = 0; t < {end}u; ++t) {{\nconst Index at = t * NEURONS + own_place;\n"
            ),
            (_, true) => {
                format!("for (Index b = {count}u; b-- > 0;) {{\nconst Index t0 = b * {steps}u;\n")
            }
            (_, false) => format!("for (Index t0 = 0; t0 < {end}u; t0 += {steps}u) {{\n"),
        };
        format!("#pragma unroll 1\n{head}")
    }

    /// Reads a step of a cluster's neurons in reverse order.
    fn fetch_at(&self, step: &str, layout: &Layout) -> String {
        format!(
            "const Index at_time = {step}, at = at_time * NEURONS + own_place;\n{}",
            layout.each(&self.fetch("", "at"))
        )
    }

    /// Reads the first step of a cluster: for each neuron, or in reverse order of all.
    pub(super) fn first(&self) -> String {
        match self.reverse {
            true => {
                let last = format!("{}u - 1", self.time);
                format!("{{\n{}}}\n", self.fetch_at(&last, self.layout))
            }
            false => self.fetch("", "own_place"),
        }
    }

    /// `body` for each step of a cluster. The text that it is given for a part of the tile reads the next step into the
    /// registers of this one, whose values are used before.
    pub(super) fn rounds(&self, body: &dyn Fn(Next<'_>) -> String) -> String {
        let next = |part: &Layout| match self.reverse {
            true => format!("if (t > 0) {{\n{}}}\n", self.fetch_at("t - 1", part)),
            false => format!(
                "if (t + 1 < {}u) {{\n{}}}\n",
                self.time,
                part.each(&self.fetch("", "at + NEURONS"))
            ),
        };
        format!("{}{}}}\n", self.head(self.time), body(&next))
    }

    /// `body` for each segment.
    pub(super) fn text(&self, body: Body<'_>) -> String {
        let (time, steps) = (self.time, self.steps);
        let (full, tail) = match time == steps {
            true => (0, time),
            false => (time / steps, time % steps),
        };
        if self.ahead && full + usize::from(tail > 0) > 1 {
            return self.text_ahead(body);
        }
        let segment = |count: usize| {
            let groups = self.reads.iter();
            let load = |read: &Read| self.layout.load(read, "", "t0 + k");
            let fetch =
                |reads: &&[Read]| forwards(count, &reads.iter().map(load).collect::<String>());
            format!(
                "{}{}{}{}",
                (self.restart)("v", "b"),
                self.declare("", count),
                groups.map(fetch).collect::<String>(),
                body(count, &str::to_string)
            )
        };
        let whole = match full {
            0 => String::new(),
            _ => format!("{}{}}}\n", self.head(full), segment(steps)),
        };
        let index = if self.reverse {
            format!("b = {full}u, ")
        } else {
            String::new()
        };
        let rest = match tail {
            0 => String::new(),
            _ => format!(
                "{{\nconst Index {index}t0 = {}u;\n{}}}\n",
                full * steps,
                segment(tail)
            ),
        };
        match self.reverse {
            true => rest + &whole,
            false => whole + &rest,
        }
    }

    fn text_ahead(&self, body: Body<'_>) -> String {
        let layout = self.layout;
        let (time, steps) = (self.time, self.steps);
        let (full, tail) = (time / steps, time % steps);
        let within = |step: &str, body: &str| format!("if ({step} < {time}u) {{\n{body}}}\n");
        let last = time.div_ceil(steps) - 1;
        let first = format!("{}u + k", last * steps);
        let (start, count, next, rest) = match self.reverse {
            true => (
                within(&first, &self.fetch("", &first)),
                last + 1,
                format!(
                    "float next{}[{}];\nif (b > 0) {{\n{}{}}}\n",
                    layout.of_neurons(),
                    array_len(self.states),
                    forwards(steps, &self.fetch("n", &format!("t0 - {steps}u + k"))),
                    (self.restart)("next", "(b - 1)")
                ),
                String::new(),
            ),
            false => {
                let after = format!("t0 + {steps}u + k");
                let rest = match tail {
                    0 => String::new(),
                    _ => format!(
                        "const Index t0 = {}u;\n{}",
                        full * steps,
                        body(tail, &str::to_string)
                    ),
                };
                (
                    self.fetch("", "k"),
                    full,
                    forwards(steps, &within(&after, &self.fetch("n", &after))),
                    rest,
                )
            }
        };
        // In reverse order the shorter segment is the first of the loop.
        let shorter = |body: &str| match self.reverse && tail > 0 {
            true => within("t0 + k", body),
            false => body.to_string(),
        };
        let took = |read: &Read| format!("{0}[k] = n{0}[k];\n", read.name);
        let take = forwards(steps, &self.all().map(took).collect::<String>());
        let resumed = match self.reverse {
            true => layout.each(&layout.copy_states(self.states, "v", "next")),
            false => String::new(),
        };
        format!(
            "{{\n{}{}{}{}{}{next}{}{take}{resumed}}}\n{rest}}}\n",
            self.declare("", steps),
            forwards(steps, &start),
            (self.restart)("v", &format!("{last}u")),
            self.head(count),
            self.declare("n", steps),
            body(steps, &shorter),
        )
    }
}
