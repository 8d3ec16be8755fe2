//! The loop over time: its direction, and the reads that are issued ahead.

use super::layout::Layout;
use crate::kernel_source::element;
use crate::op::step::array_len;
use spikelet_graph::{DType, TensorType};

/// A sequence that a scan reads: element `[k]` of the array `name` is the pack of step `k` of a segment.
pub(super) struct Read {
    pub(super) name: String,
    /// The argument.
    pub(super) from: String,
    pub(super) dtype: DType,
    /// Whether it is of pooled neurons.
    pub(super) pooled: bool,
}

impl Read {
    pub(super) fn new(name: String, from: String, ty: &TensorType, pooled: bool) -> Self {
        let dtype = ty.dtype;
        Self {
            name,
            from,
            dtype,
            pooled,
        }
    }
}

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

    fn declare(&self, prefix: &str, count: usize) -> String {
        let (pack, places) = (self.layout.pack, self.layout.of_places());
        let one = |read: &Read| {
            let places = if read.pooled { "" } else { &places };
            let (ty, name) = (element(read.dtype), &read.name);
            format!("spk_vec<{ty}, {pack}> {prefix}{name}[{count}]{places};\n")
        };
        self.all().map(one).collect()
    }

    fn fetch(&self, reads: &[Read], prefix: &str, step: &str) -> String {
        let (layout, get, pack) = (self.layout, self.layout.access.0, self.layout.pack);
        let one = |read: &Read| {
            let Read { name, from, .. } = read;
            let (n, length) = layout.element(read.pooled);
            let at = if read.pooled { "" } else { layout.at() };
            let load = format!(
                "{prefix}{name}[k]{at} = {get}<{pack}>({from} + ({step}) * {length}u + {n});\n"
            );
            match read.pooled {
                true => load,
                false => layout.each_place(&load),
            }
        };
        reads.iter().map(one).collect()
    }

    fn fetch_all(&self, prefix: &str, step: &str) -> String {
        let groups = self.reads.iter();
        groups
            .map(|reads| self.fetch(reads, prefix, step))
            .collect()
    }

    /// The head of the loop over so many segments.
    fn head(&self, count: usize) -> String {
        let steps = self.steps;
        match self.reverse {
            true => format!(
                "#pragma unroll 1\nfor (Index b = {count}u; b-- > 0;) {{\nconst Index t0 = b * {steps}u;\n"
            ),
            false => format!(
                "#pragma unroll 1\nfor (Index t0 = 0; t0 < {}u; t0 += {steps}u) {{\n",
                count * steps
            ),
        }
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
            let fetch = |reads: &&[Read]| forwards(count, &self.fetch(reads, "", "t0 + k"));
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
                within(&first, &self.fetch_all("", &first)),
                last + 1,
                format!(
                    "float next{}[{}];\nif (b > 0) {{\n{}{}}}\n",
                    layout.of_neurons(),
                    array_len(self.states),
                    forwards(steps, &self.fetch_all("n", &format!("t0 - {steps}u + k"))),
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
                    self.fetch_all("", "k"),
                    full,
                    forwards(steps, &within(&after, &self.fetch_all("n", &after))),
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
