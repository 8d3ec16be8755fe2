//! The lines of a graph: inputs, nodes, outputs.

use super::{Text, escaped, unescaped};
use crate::error::{Error, Result};
use crate::graph::{Graph, Input, InputKind, Node, Output, ValueId};
use crate::notes::{DeviceShare, Notes};
use crate::op::{Op, Operation};
use crate::types::TensorType;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Values with larger numbers are not read: a graph has a type for each number below.
const MAX_VALUES: u32 = 1 << 20;

/// Graphs inside of more graphs are not read.
const MAX_NESTED: usize = 32;

const KINDS: [(&str, InputKind); 3] = [
    ("Data", InputKind::Data),
    ("Parameter", InputKind::Parameter),
    ("State", InputKind::State),
];

impl fmt::Display for Graph {
    /// One line for each node: `%3 = matmul[a·b](%0, %2)  f32[8, 10]  fc.0`. The text can be read back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text::default();
        text.print(self);
        f.write_str(&text.out)
    }
}

impl FromStr for Graph {
    type Err = Error;

    /// Reads a printed graph. Custom operations are not read: their code is not in the text.
    ///
    /// ```
    /// use spikelet_graph::Graph;
    /// let text = "%0 = Data `x`  f32[8, 4]\n%1 = flip[1](%0)  f32[8, 4]\n`y` = %1\n";
    /// assert_eq!(text.parse::<Graph>()?.to_string(), text);
    /// let error = text.replace("flip", "flop").parse::<Graph>().unwrap_err().to_string();
    /// assert!(error.starts_with("line 2, column 6: `flop[1]` is no operation"), "{error}");
    /// # Ok::<(), spikelet_graph::Error>(())
    /// ```
    fn from_str(source: &str) -> Result<Self> {
        let mut text = Text {
            source: Some(source),
            ..Text::default()
        };
        let graph = text.graph();
        let Some((at, problem)) = text.error else {
            return Ok(graph);
        };
        let before = &source[..at];
        let line_start = before.rfind('\n').map_or(0, |k| k + 1);
        Err(Error::Text {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            problem,
        })
    }
}

impl Op {
    /// The operation with its parameters, as in a printed graph.
    pub fn describe(&self) -> String {
        let mut text = Text::default();
        self.clone().text(&mut text);
        text.out
    }
}

impl fmt::Display for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Text::default();
        text.notes(&mut self.clone());
        f.write_str(&text.out)
    }
}

impl Text<'_> {
    /// Prints or reads the notes of a node, each in parentheses.
    fn notes(&mut self, notes: &mut Notes) {
        let shares = [
            ("  (half of the device)", DeviceShare::First),
            ("  (other half of the device)", DeviceShare::Second),
            ("", DeviceShare::Whole),
        ];
        self.one_of(&mut notes.share, &shares);
        let mut why = notes.unfused.as_ref().map(|why| why.to_string());
        self.optional(&mut why, "  (not one kernel: ", |t, why| {
            t.quoted(why).word(")")
        });
        notes.unfused = why.map(Arc::from);
    }

    fn id(&mut self, value: &mut ValueId) -> &mut Self {
        self.word("%").value(&mut value.0)
    }

    fn ids(&mut self, values: &mut Vec<ValueId>) -> &mut Self {
        self.many(values, &ValueId(0), ", ", Self::id)
    }

    fn ty(&mut self, ty: &mut TensorType) -> &mut Self {
        self.dtype(&mut ty.dtype).list(&mut ty.shape)
    }

    pub(super) fn print(&mut self, graph: &Graph) {
        let indent = " ".repeat(self.indent);
        if graph.disable_fusion {
            self.word(&indent).word("no fusion\n");
        }
        for input in &graph.inputs {
            self.word(&indent).id(&mut input.value.clone());
            self.word(" = ")
                .one_of(&mut input.kind.clone(), &KINDS)
                .word(" ");
            self.quoted(&mut input.name.clone()).word("  ");
            self.ty(&mut graph.ty(input.value).clone());
            self.word("\n");
        }
        for node in &graph.nodes {
            self.word(&indent)
                .ids(&mut node.outputs.clone())
                .word(" = ");
            node.op.clone().text(self);
            self.word("(").ids(&mut node.inputs.clone()).word(")  ");
            let types: Vec<String> = node
                .outputs
                .iter()
                .map(|v| graph.ty(*v).to_string())
                .collect();
            self.word(&types.join(", "));
            self.notes(&mut node.notes.clone());
            let mark = if node.backward { "∂ " } else { "" };
            let line = format!("  {mark}{}", escaped(&node.layer));
            let below = std::mem::take(&mut self.below);
            self.word(line.trim_end()).word("\n").word(&below);
        }
        for output in &graph.outputs {
            self.word(&indent).quoted(&mut output.name.clone());
            if let Some(mut input) = output.updates {
                self.word(": ").id(&mut input);
            }
            self.word(output.updates.map_or(" = ", |_| " becomes "));
            self.id(&mut output.value.clone());
            self.word("\n");
        }
    }

    /// Goes to the next line that was not read, if it has this indentation.
    pub(super) fn next_line_at(&mut self, indent: usize) -> bool {
        let source = self.source.unwrap_or_default();
        let rest = &source[self.next_line..];
        let Some(begin) = rest.find(|c: char| !c.is_whitespace()) else {
            return false;
        };
        let line = self.next_line + rest[..begin].rfind('\n').map_or(0, |k| k + 1);
        let spaces = self.next_line + begin - line;
        if spaces < indent {
            return false;
        }
        let text = &source[line..];
        let length = text.find('\n').unwrap_or(text.len());
        (self.at, self.end) = (line + spaces, line + text[..length].trim_end().len());
        if spaces > indent {
            self.fail("this line is further to the right than the one above allows: no body or step belongs here");
            return false;
        }
        self.next_line = (line + length + 1).min(source.len());
        true
    }

    /// The graph whose lines have this indentation.
    pub(super) fn graph(&mut self) -> Graph {
        let mut graph = Graph::default();
        let mut is_made = vec![];
        if self.indent > 4 * MAX_NESTED {
            self.fail(format!(
                "more than {MAX_NESTED} graphs inside of each other are not read"
            ));
        }
        while self.error.is_none() && self.next_line_at(self.indent) {
            if self.takes("no fusion") {
                graph.disable_fusion = true;
            } else if self.rest().is_some_and(|rest| rest.starts_with('`')) {
                self.read_output(&mut graph, &is_made);
            } else {
                self.read_values(&mut graph, &mut is_made);
            }
            if self.at < self.end {
                self.fail("expected the end of the line");
            }
        }
        graph
    }

    fn read_output(&mut self, graph: &mut Graph, is_made: &[bool]) {
        let (mut name, mut value, mut updates) = (String::new(), ValueId(0), None);
        self.quoted(&mut name);
        if self.takes(": ") {
            updates = Some(self.made(is_made));
            self.word(" becomes ");
        } else {
            self.word(" = ");
        }
        value.0 = self.made(is_made).0;
        graph.outputs.push(Output {
            name,
            value,
            updates,
        });
    }

    /// A value that a line above computes.
    fn made(&mut self, is_made: &[bool]) -> ValueId {
        let (mut value, at) = (ValueId(0), self.at);
        self.id(&mut value);
        self.check_made(value, is_made, at);
        value
    }

    fn check_made(&mut self, value: ValueId, is_made: &[bool], at: usize) {
        if self.error.is_none() && is_made.get(value.index()) != Some(&true) {
            self.at = at;
            self.fail(format!("no line above computes %{}", value.0));
        }
    }

    /// An input or a node.
    fn read_values(&mut self, graph: &mut Graph, is_made: &mut Vec<bool>) {
        let (begin, mut values, mut types) = (self.at, vec![], vec![]);
        self.ids(&mut values).word(" = ");
        let rest = self.rest().unwrap_or_default();
        let kind = KINDS
            .iter()
            .find(|kind| rest.starts_with(&format!("{} `", kind.0)));
        if let Some((word, kind)) = kind {
            let (kind, mut name, value) = (*kind, String::new(), values.first().copied());
            let mut ty = TensorType::default();
            self.word(word).word(" ").quoted(&mut name).word("  ");
            self.ty(&mut ty);
            if graph.inputs.iter().any(|input| input.name == name) {
                self.fail(format!("an input above is named `{name}` too"));
            }
            graph
                .inputs
                .extend(value.map(|value| Input { name, kind, value }));
            types.push(ty);
        } else if let Some(node) = self.read_node(graph, is_made, &values, &mut types) {
            graph.nodes.push(node);
        }
        if self.error.is_none() && types.len() != values.len() {
            self.fail(format!(
                "expected {} types, one for each value of the line",
                values.len()
            ));
        }
        for (value, ty) in values.into_iter().zip(types) {
            if self.error.is_some() {
                return;
            }
            let known = is_made.get(value.index()) == Some(&true);
            let problem = match ty.check_size() {
                Err(error) => error.to_string(),
                Ok(()) if known => format!("a line above computes %{} too", value.0),
                Ok(()) if value.0 >= MAX_VALUES => {
                    format!("numbers of values are below {MAX_VALUES}")
                }
                Ok(()) => {
                    is_made.resize(is_made.len().max(value.index() + 1), false);
                    is_made[value.index()] = true;
                    graph.set_type(value, ty);
                    continue;
                }
            };
            self.at = begin;
            self.fail(problem);
        }
    }

    fn read_node(
        &mut self,
        graph: &Graph,
        is_made: &[bool],
        outputs: &[ValueId],
        types: &mut Vec<TensorType>,
    ) -> Option<Node> {
        let (begin, end) = (self.at, self.end);
        let length = operation_length(self.rest()?);
        let mut inputs = vec![];
        self.at += length;
        self.word("(").ids(&mut inputs).word(")  ");
        self.many(types, &TensorType::default(), ", ", Self::ty);
        if types.is_empty() {
            self.fail("expected the types of the results");
        }
        let mut notes = Notes::default();
        self.notes(&mut notes);
        let backward = self.takes("  ∂");
        let layer = match self.takes(if backward { " " } else { "  " }) {
            true => unescaped(self.rest()?),
            false => String::new(),
        };
        self.at = if layer.is_empty() { self.at } else { end };
        let behind = self.at;
        for value in &inputs {
            self.check_made(*value, is_made, begin + length);
        }
        self.rest()?;
        (self.at, self.end) = (begin, begin + length);
        self.results.clone_from(types);
        let op = self.operation()?;
        let given: Vec<TensorType> = inputs.iter().map(|v| graph.ty(*v).clone()).collect();
        self.at = begin;
        match op.infer(&given) {
            Err(error) => {
                self.fail(error.at(&layer, &op.name(), &given).to_string());
            }
            // Passes give results other element types.
            Ok(made)
                if !made
                    .iter()
                    .map(|t| &t.shape)
                    .eq(types.iter().map(|t| &t.shape)) =>
            {
                let made: Vec<String> = made.iter().map(TensorType::to_string).collect();
                self.fail(format!(
                    "the results of {} are {}",
                    op.name(),
                    made.join(", ")
                ));
            }
            Ok(_) => (self.at, self.end) = (behind, end),
        }
        Some(Node {
            op,
            inputs,
            outputs: outputs.to_vec(),
            layer: layer.into(),
            backward,
            notes,
        })
    }

    /// The operation whose text is the rest of the line: that of the kind which fits furthest.
    fn operation(&mut self) -> Option<Op> {
        let (begin, end, next_line) = (self.at, self.end, self.next_line);
        let (scans, steps) = (self.scans.len(), self.steps.len());
        let mut furthest = (begin, String::new());
        for mut op in Op::blanks() {
            op.text(self);
            if self.error.is_none() && self.at == end {
                return Some(op);
            }
            self.fail("expected the operands");
            let error = self.error.take()?;
            if error.0 > furthest.0 {
                furthest = error;
            }
            (self.at, self.end, self.next_line) = (begin, end, next_line);
            self.scans.truncate(scans);
            self.steps.truncate(steps);
        }
        if furthest.0 == begin {
            let name = self.rest().unwrap_or_default();
            furthest.1 =
                format!("`{name}` is no operation, or a custom one, whose code is not in the text");
        }
        self.error = Some(furthest);
        None
    }
}

/// The bytes of an operation: up to the parenthesis outside of brackets and quotes.
fn operation_length(text: &str) -> usize {
    let (mut depth, mut is_quoted, mut is_escaped) = (0, false, false);
    let end = text.find(|c| {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '`' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '[' => depth += 1,
            ']' => depth -= 1,
            '(' => return depth <= 0,
            _ => {}
        }
        false
    });
    end.unwrap_or(text.len())
}
