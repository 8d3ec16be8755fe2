//! The text form of graphs, in both directions.
//!
//! ```text
//! %0 = Data `x`  f32[3, 8, 4]
//! %1 = Parameter `fc.weight`  f32[10, 4]
//! %2 = matmul[a·bᵀ](%0, %1)  f32[3, 8, 10]  fc
//! %3 = State `v`  f32[8, 10]
//! %4, %5, %6 = scan[lif #0, T=3](%2, %3)  f32[3, 8, 10], f32[8, 10], f32[3, 8, 10]  lif
//!     x; v; ; s spikes
//!     #0 = v + (x - v) · 0.5
//!     s = #0 - 1 ≥ 0
//!     v ← #0
//! `spikes` = %4
//! `v`: %3 becomes %5
//! ```
//!
//! A node has its results, its operation with the parameters, its operands, the types of the results and, behind
//! `∂` if it belongs to the backward pass, its layer. Lines below it are the body of a loop or the step of a scan:
//! its sequences; states; parameters; outputs, then what the expressions share, the outputs, the next states. A later
//! scan of the same step names it by its number.
//!
//! An operation describes its text once, in [`Operation::text`](crate::op::Operation::text): the same calls print and
//! read it.

mod lines;
#[cfg(test)]
mod tests;

use crate::error::InvalidOp;
use crate::graph::Graph;
use crate::op::{Recurrence, ScanId, StepOutput};
use crate::types::{DType, TensorType};
use spikelet_expr::{Expr, ExprReader, Listing, ParseError};
use std::fmt::{self, Write};
use std::str::FromStr;
use std::sync::Arc;

/// A text that is printed or read. Each call prints a value, or reads it from where the last call ended; after a text
/// that does not fit all further calls do nothing.
#[derive(Debug, Default)]
pub struct Text<'a> {
    /// The text that is read; `None` while one is printed.
    source: Option<&'a str>,
    /// The next byte to be read, the end of its line, and the first line that was not read.
    at: usize,
    end: usize,
    next_line: usize,
    /// Where and why the text does not fit.
    error: Option<(usize, String)>,
    /// The types of the results, while a node is read.
    results: Vec<TensorType>,
    /// What was printed: complete lines and the current one, and the lines that belong below it.
    out: String,
    below: String,
    indent: usize,
    /// The next expressions that are printed, the last first, and what those that are read share.
    listed: Vec<String>,
    reader: ExprReader,
    /// Scans and their steps, by their numbers.
    scans: Vec<ScanId>,
    steps: Vec<Arc<Recurrence>>,
}

impl<'a> Text<'a> {
    fn rest(&self) -> Option<&'a str> {
        let text = self.source.filter(|_| self.error.is_none())?;
        Some(&text[self.at..self.end])
    }

    fn fail(&mut self, problem: impl Into<String>) -> &mut Self {
        let at = self.at;
        self.error.get_or_insert_with(|| (at, problem.into()));
        self
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.rest().is_some_and(|rest| rest.starts_with(word));
        self.at += if found { word.len() } else { 0 };
        found
    }

    /// Whether to print something, or whether it was read.
    fn either(&mut self, print: bool, word: &str) -> bool {
        if self.source.is_some() {
            return self.takes(word);
        }
        if print {
            self.out.push_str(word);
        }
        print
    }

    /// These characters.
    pub fn word(&mut self, word: &str) -> &mut Self {
        if !self.either(true, word) {
            self.fail(format!("expected `{word}`"));
        }
        self
    }

    /// A number or another word of letters and digits; a floating-point number has all its digits.
    pub fn value<T: fmt::Display + FromStr>(&mut self, value: &mut T) -> &mut Self {
        let Some(rest) = self.rest() else {
            if self.source.is_none() {
                write!(self.out, "{value}").expect("a string takes everything");
            }
            return self;
        };
        // `1..5` is two numbers, `2d` a number and a letter.
        let sign = usize::from(rest.starts_with('-'));
        let is_number = rest[sign..].starts_with(|c: char| c.is_ascii_digit());
        let part = |c: char| match is_number {
            true => c.is_ascii_digit() || c == '.',
            false => c.is_alphanumeric(),
        };
        let length = rest[sign..].find(|c| !part(c));
        let length = length.map_or(rest.len(), |length| sign + length);
        let length = rest.find("..").map_or(length, |dots| length.min(dots));
        match rest[..length].parse() {
            Ok(read) => {
                *value = read;
                self.at += length;
                self
            }
            Err(_) => self.fail(format!(
                "expected a value of type {}",
                std::any::type_name::<T>()
            )),
        }
    }

    /// One of several values, by its name. An earlier name may begin with a later one.
    pub fn one_of<T: Copy + PartialEq>(&mut self, value: &mut T, names: &[(&str, T)]) -> &mut Self {
        match names
            .iter()
            .find(|(name, of)| self.either(of == value, name))
        {
            Some((_, read)) => {
                *value = *read;
                self
            }
            None => {
                let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
                self.fail(format!("expected one of `{}`", names.join("`, `")))
            }
        }
    }

    /// Characters that are there or not.
    pub fn flag(&mut self, value: &mut bool, word: &str) -> &mut Self {
        *value = self.either(*value, word);
        self
    }

    /// A value behind a word, unless it is the usual one.
    pub fn unless<T: PartialEq>(
        &mut self,
        value: &mut T,
        usual: T,
        word: &str,
        text: impl for<'t, 'v> FnOnce(&'t mut Self, &'v mut T) -> &'t mut Self,
    ) -> &mut Self {
        match self.either(*value != usual, word) {
            true => text(self, value),
            false => {
                *value = usual;
                self
            }
        }
    }

    /// A value behind a word, if there is one.
    pub fn optional<T: Default>(
        &mut self,
        value: &mut Option<T>,
        word: &str,
        text: impl for<'t, 'v> FnOnce(&'t mut Self, &'v mut T) -> &'t mut Self,
    ) -> &mut Self {
        match self.either(value.is_some(), word) {
            true => text(self, value.get_or_insert_default()),
            false => {
                *value = None;
                self
            }
        }
    }

    /// Values with a separator between them, perhaps none. `blank` is a value to be read into.
    pub fn many<T: Clone>(
        &mut self,
        values: &mut Vec<T>,
        blank: &T,
        separator: &str,
        mut text: impl for<'t, 'v> FnMut(&'t mut Self, &'v mut T) -> &'t mut Self,
    ) -> &mut Self {
        if self.source.is_none() {
            for (k, value) in values.iter_mut().enumerate() {
                self.word(if k == 0 { "" } else { separator });
                text(self, value);
            }
            return self;
        }
        values.clear();
        let closed = |c: char| matches!(c, ']' | ')' | ';');
        while self
            .rest()
            .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(closed))
        {
            let mut value = blank.clone();
            text(self, &mut value);
            values.push(value);
            if !self.takes(separator) {
                break;
            }
        }
        self
    }

    /// `[2, 3]`
    pub fn list(&mut self, values: &mut Vec<usize>) -> &mut Self {
        self.word("[").many(values, &0, ", ", Self::value).word("]")
    }

    /// `2×3`
    pub fn size(&mut self, [height, width]: &mut [usize; 2]) -> &mut Self {
        self.value(height).word("×").value(width)
    }

    /// An element type.
    pub fn dtype(&mut self, dtype: &mut DType) -> &mut Self {
        let names = DType::ALL.map(|dtype| (dtype.name(), dtype));
        self.one_of(dtype, &names)
    }

    /// What the next expressions share, on lines below the node or, without `lines`, in front of them.
    pub fn shared(&mut self, listing: Listing, lines: bool) -> &mut Self {
        if self.source.is_none() {
            for (k, part) in listing.shared.iter().enumerate() {
                let name = format!("#{k} = ");
                match lines {
                    true => self.line(|t| t.word(&name).word(part)),
                    false => _ = self.word(&name).word(part).word("; "),
                }
            }
            self.listed = listing.values.into_iter().rev().collect();
            return self;
        }
        self.reader = ExprReader::default();
        let define = |t: &mut Self| {
            let text = t.rest().unwrap_or_default();
            let read = t.reader.define(text);
            t.read_expr(read.map(|length| ((), length)));
        };
        loop {
            let name = self.reader.next_name();
            if !lines && self.takes(&name) {
                define(self);
                self.word("; ");
            } else if lines && self.line_begins(&name) {
                self.line(|t| {
                    define(t.word(&name));
                    t
                });
            } else {
                return self;
            }
        }
    }

    /// One of the expressions of which [`Text::shared`] has what they share.
    pub fn expr(&mut self, expr: &mut Expr) -> &mut Self {
        if self.source.is_none() {
            let text = self.listed.pop().unwrap_or_default();
            return self.word(&text);
        }
        let read = self.reader.read(self.rest().unwrap_or_default());
        if let Some(read) = self.read_expr(read) {
            *expr = read;
        }
        self
    }

    fn read_expr<T>(&mut self, read: std::result::Result<(T, usize), ParseError>) -> Option<T> {
        match read {
            Ok((value, length)) => {
                self.at += length;
                Some(value)
            }
            Err(error) => {
                self.at += error.at;
                self.fail(format!("expected {}", error.expected));
                None
            }
        }
    }

    /// Text between backquotes.
    pub fn quoted(&mut self, text: &mut String) -> &mut Self {
        self.word("`");
        match self.rest() {
            None if self.source.is_none() => self.out.push_str(&escaped(text)),
            None => {}
            Some(rest) => {
                let mut is_escaped = false;
                let end = rest.find(|c| {
                    let ends = c == '`' && !is_escaped;
                    is_escaped = c == '\\' && !is_escaped;
                    ends
                });
                *text = unescaped(&rest[..end.unwrap_or(rest.len())]);
                self.at += end.unwrap_or(rest.len());
            }
        }
        self.word("`")
    }

    /// Takes what the types of the results tell, while a node is read.
    pub fn results(&mut self, take: impl FnOnce(&[TensorType])) -> &mut Self {
        if self.rest().is_some() {
            take(&self.results);
        }
        self
    }

    /// Checks or completes what was read.
    pub fn read(
        &mut self,
        complete: impl FnOnce() -> std::result::Result<(), InvalidOp>,
    ) -> &mut Self {
        if self.rest().is_some()
            && let Err(error) = complete()
        {
            self.fail(error.to_string());
        }
        self
    }

    /// A line below the node.
    fn line(&mut self, text: impl for<'t> FnOnce(&'t mut Self) -> &'t mut Self) {
        if self.source.is_none() {
            let out = std::mem::take(&mut self.out);
            self.out = " ".repeat(self.indent + 4);
            text(self);
            let line = std::mem::replace(&mut self.out, out);
            self.below.push_str(&line);
            self.below.push('\n');
            return;
        }
        if self.rest().is_none() {
            return;
        }
        let node = (self.at, self.end);
        if self.next_line_at(self.indent + 4) {
            text(self);
        } else {
            self.fail("expected the lines of the step below");
        }
        if self.error.is_none() && self.at < self.end {
            self.fail("expected the end of the line");
        }
        if self.error.is_none() {
            (self.at, self.end) = node;
        }
    }

    /// Whether the next line below the node begins so.
    fn line_begins(&mut self, name: &str) -> bool {
        let before = (self.at, self.end, self.next_line);
        let found = self.rest().is_some()
            && self.next_line_at(self.indent + 4)
            && self.rest().is_some_and(|rest| rest.starts_with(name));
        (self.at, self.end, self.next_line) = before;
        found
    }

    /// A graph below the node.
    pub fn body(&mut self, graph: &mut Graph) -> &mut Self {
        if self.source.is_none() {
            let (out, below) = (
                std::mem::take(&mut self.out),
                std::mem::take(&mut self.below),
            );
            self.indent += 4;
            self.print(graph);
            self.indent -= 4;
            let body = std::mem::replace(&mut self.out, out);
            self.below = below + &body;
        } else if self.rest().is_some() {
            let node = (self.at, self.end);
            let results = std::mem::take(&mut self.results);
            self.indent += 4;
            *graph = self.graph();
            self.indent -= 4;
            self.results = results;
            if self.error.is_none() {
                (self.at, self.end) = node;
            }
        }
        self
    }

    /// The step of a scan, with its lines below the first scan of it. Returns its number.
    pub(crate) fn step(&mut self, step: &mut Arc<Recurrence>) -> usize {
        let known = self.steps.iter().position(|other| Arc::ptr_eq(other, step));
        let mut k = known.unwrap_or(self.steps.len());
        let mut name = step.name.clone();
        self.name(&mut name).word(" #").value(&mut k);
        if let Some(known) = self.steps.get(k) {
            *step = known.clone();
        } else if k > self.steps.len() {
            let next = self.steps.len();
            self.fail(format!(
                "expected at most {next}: steps are numbered as they occur"
            ));
        } else {
            let mut read = (**step).clone();
            read.name = name;
            read.text(self);
            if self.source.is_some() {
                *step = read.into();
            }
            self.steps.push(step.clone());
        }
        k
    }

    /// Which scan it is, unless it has the number of its step, and which part of it.
    pub(crate) fn scan(&mut self, id: &mut ScanId, step: usize) -> &mut Self {
        let (whole, mut part) = id.whole_and_part();
        let known = self.scans.iter().position(|other| *other == whole);
        let mut k = known.unwrap_or(self.scans.len());
        self.unless(&mut k, step, " of scan ", Self::value);
        self.unless(&mut part, 0, " part ", Self::value);
        let is_read = self.source.is_some();
        let whole = match self.scans.get(k) {
            Some(known) => *known,
            None if is_read => ScanId::new(),
            None => whole,
        };
        if k == self.scans.len() {
            self.scans.push(whole);
        } else if k > self.scans.len() {
            let next = self.scans.len();
            self.fail(format!(
                "expected at most {next}: scans are numbered as they occur"
            ));
        }
        *id = whole.with_part(part);
        self
    }

    /// A name, in backquotes unless it consists of letters and digits.
    pub fn name(&mut self, name: &mut String) -> &mut Self {
        let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '.' || c == '-';
        match self.rest() {
            None if name.is_empty() || !name.chars().all(plain) => self.quoted(name),
            None => self.word(&name.clone()),
            Some(rest) if rest.starts_with('`') => self.quoted(name),
            Some(rest) => {
                let length = rest.find(|c| !plain(c)).unwrap_or(rest.len());
                *name = rest[..length].to_string();
                self.at += length;
                self
            }
        }
    }
}

/// A text without line breaks and backquotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\\' | '`' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

fn unescaped(text: &str) -> String {
    let mut chars = text.chars();
    let mut plain = String::new();
    while let Some(c) = chars.next() {
        plain.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(other) => other,
                None => break,
            },
            c => c,
        });
    }
    plain
}

impl Recurrence {
    /// Lines below a node: the names, then the value of each output and the next value of each state.
    fn text(&mut self, t: &mut Text<'_>) {
        let zero = || Expr::constant(0.0);
        let blank = StepOutput {
            name: String::new(),
            value: zero(),
            binary: false,
        };
        t.line(|t| {
            for names in [&mut self.inputs, &mut self.states, &mut self.params] {
                t.many(names, &String::new(), ", ", Text::name).word("; ");
            }
            t.many(&mut self.outputs, &blank, ", ", |t, output| {
                t.name(&mut output.name).flag(&mut output.binary, " spikes")
            })
        });
        self.next.resize_with(self.states.len(), zero);
        let values = self.outputs.iter().map(|output| &output.value);
        let values: Vec<Expr> = values.chain(&self.next).cloned().collect();
        t.shared(Listing::exact(&values), true);
        for output in &mut self.outputs {
            t.line(|t| t.word(&output.name).word(" = ").expr(&mut output.value));
        }
        for (state, next) in self.states.iter().zip(&mut self.next) {
            t.line(|t| t.word(state).word(" ← ").expr(next));
        }
    }
}
