//! Printed equations, read back.

use crate::expr::{Binary, Expr, Node};
use crate::print::is_plain;
use crate::unary::Unary;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Expressions in more parentheses are not read: each takes a frame of the stack.
const MAX_DEPTH: usize = 500;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {at}: expected {expected}")]
pub struct ParseError {
    /// The byte of the text at which it was found.
    pub at: usize,
    /// What may stand there.
    pub expected: String,
}

/// Reads expressions that were printed in full, one after the other. The nodes are those that were printed;
/// nothing is simplified.
///
/// ```
/// use spikelet_expr::{ExprReader, Listing};
/// let mut reader = ExprReader::default();
/// reader.define("v · 0.5 + x")?; // #0
/// let text = "#0 ≥ 1; the rest";
/// let (spike, length) = reader.read(text)?;
/// assert_eq!((spike.to_string().as_str(), &text[length..]), ("v · 0.5 + x ≥ 1", "; the rest"));
/// # Ok::<(), spikelet_expr::ParseError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ExprReader {
    named: Vec<Expr>,
    /// The node of each symbol, with the primes of its name.
    symbols: RefCell<HashMap<String, Expr>>,
}

impl ExprReader {
    /// How the text of the next shared part begins: `#0 = `.
    pub fn next_name(&self) -> String {
        format!("#{} = ", self.named.len())
    }

    /// Reads the next shared part at the beginning of a text, and returns the number of bytes that it takes.
    ///
    /// # Errors
    /// As [`ExprReader::read`].
    pub fn define(&mut self, text: &str) -> Result<usize, ParseError> {
        let (part, length) = self.read(text)?;
        self.named.push(part);
        Ok(length)
    }

    /// Reads the expression at the beginning of a text, and returns it with the number of bytes that it takes.
    ///
    /// # Errors
    /// When the text does not begin with an expression, or one is nested too deeply.
    pub fn read(&self, text: &str) -> Result<(Expr, usize), ParseError> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            reader: self,
        };
        Ok((parser.select()?, parser.at))
    }
}

impl std::str::FromStr for Expr {
    type Err = ParseError;

    /// Reads an expression that was printed with `{:#}`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (mut reader, mut at) = (ExprReader::default(), 0);
        let further = |at: usize| move |e: ParseError| ParseError { at: e.at + at, ..e };
        while text[at..].starts_with(&reader.next_name()) {
            at += reader.next_name().len();
            at += reader.define(&text[at..]).map_err(further(at))?;
            at += if text[at..].starts_with("; ") { 2 } else { 0 };
        }
        let (expr, length) = reader.read(&text[at..]).map_err(further(at))?;
        match text.len() - at - length {
            0 => Ok(expr),
            _ => Err(ParseError {
                at: at + length,
                expected: "the end of the expression".to_string(),
            }),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    reader: &'a ExprReader,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        self.at += if found { text.len() } else { 0 };
        found
    }

    /// `#` and a number.
    fn name(&mut self, k: usize) -> bool {
        self.take(&format!("#{k}")) && !self.rest().starts_with(|c: char| c.is_ascii_digit())
    }

    fn error<T>(&self, expected: impl Into<String>) -> Result<T, ParseError> {
        let expected = expected.into();
        let at = self.at;
        Err(ParseError { at, expected })
    }

    fn expect(&mut self, text: &str) -> Result<(), ParseError> {
        match self.take(text) {
            true => Ok(()),
            false => self.error(format!("`{text}`")),
        }
    }

    /// `condition ? then : otherwise`, or a binary operation.
    fn select(&mut self) -> Result<Expr, ParseError> {
        let mut expr = self.binary(1)?;
        if self.take(" ? ") {
            let then = self.binary(1)?;
            self.expect(" : ")?;
            expr = Expr(Arc::new(Node::Select(expr, then, self.binary(1)?)));
        }
        Ok(expr)
    }

    /// Operators that bind at least so tightly, from left to right: comparisons 1, sums 2, products 3.
    fn binary(&mut self, at_least: u8) -> Result<Expr, ParseError> {
        let mut left = self.operand()?;
        loop {
            let begin = self.at;
            let operator = Binary::ALL.into_iter().find(|op| {
                self.at = begin;
                self.take(" ") && self.take(op.sign()) && self.take(" ")
            });
            let binding = operator.map_or(0, |op| match op {
                Binary::Add | Binary::Sub => 2,
                Binary::Mul | Binary::Div => 3,
                _ => 1,
            });
            let Some(operator) = operator.filter(|_| binding >= at_least) else {
                self.at = begin;
                return Ok(left);
            };
            let right = self.binary(binding + 1)?;
            left = Expr(Arc::new(Node::Binary(operator, left, right)));
        }
    }

    /// A symbol, with the primes behind its name.
    fn symbol(&mut self, name: &str) -> Expr {
        let begin = self.at;
        while self.take("'") {}
        let key = format!("{name}{}", &self.text[begin..self.at]);
        let mut symbols = self.reader.symbols.borrow_mut();
        symbols
            .entry(key)
            .or_insert_with(|| Expr::symbol(name))
            .clone()
    }

    fn operand(&mut self) -> Result<Expr, ParseError> {
        if self.depth == MAX_DEPTH {
            return self.error(format!("no more than {MAX_DEPTH} nested expressions"));
        }
        self.depth += 1;
        let expr = self.primary()?;
        self.depth -= 1;
        Ok(expr)
    }

    fn primary(&mut self) -> Result<Expr, ParseError> {
        let mut inside = |open: &str, close: &str| -> Result<Option<Expr>, ParseError> {
            if !self.take(open) {
                return Ok(None);
            }
            let expr = self.select()?;
            self.expect(close)?;
            Ok(Some(expr))
        };
        let unary = |op, expr| Expr(Arc::new(Node::Unary(op, expr)));
        if let Some(expr) = inside("(", ")")? {
            return Ok(expr);
        }
        if let Some(expr) = inside("|", "|")? {
            return Ok(unary(Unary::Abs, expr));
        }
        if self.take("{") {
            let value = self.select()?;
            self.expect(" ∂ ")?;
            let tangent = self.select()?;
            self.expect("}")?;
            return Ok(Expr(Arc::new(Node::CustomGradient { value, tangent })));
        }
        if self.take("`") {
            let Some(length) = self.rest().find('`') else {
                return self.error("a name that ends with a backquote");
            };
            let name = &self.rest()[..length];
            self.at += length + 1;
            return Ok(self.symbol(name));
        }
        if let Some(k) = (0..self.reader.named.len()).rev().find(|&k| {
            let begin = self.at;
            self.name(k) || {
                self.at = begin;
                false
            }
        }) {
            return Ok(self.reader.named[k].clone());
        }
        let begin = self.at;
        let negative = self.take("-");
        let length = self
            .rest()
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'));
        let word = &self.rest()[..length.unwrap_or(self.rest().len())];
        if let Ok(value) = word.parse::<f64>() {
            self.at += word.len();
            return Ok(Expr::constant(if negative { -value } else { value }));
        }
        if negative {
            return Ok(unary(Unary::Neg, self.operand()?));
        }
        if !is_plain(word) {
            self.at = begin;
            return self.error("a number, a name, a function or a parenthesis");
        }
        self.at += word.len();
        if !self.take("(") {
            return Ok(self.symbol(word));
        }
        let first = self.select()?;
        let unary_op = Unary::ALL.into_iter().find(|op| op.name() == word);
        let expr = match Binary::ALL.into_iter().find(|op| op.sign() == word) {
            Some(op) => {
                self.expect(", ")?;
                let second = self.select()?;
                Expr(Arc::new(Node::Binary(op, first, second)))
            }
            None => match unary_op {
                Some(op) => unary(op, first),
                None => {
                    self.at = begin;
                    return self.error("a function that expressions have");
                }
            },
        };
        self.expect(")")?;
        Ok(expr)
    }
}
