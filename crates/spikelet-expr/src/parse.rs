//! Printed equations, read back.

use crate::expr::{Binary, Expr, Node};
use crate::print::is_plain;
use crate::unary::Unary;
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

impl Expr {
    /// Reads the expression at the beginning of a text that was printed with `{:#}`, and returns it with the
    /// number of bytes that it takes. The nodes are those that were printed; nothing is simplified.
    ///
    /// ```
    /// use spikelet_expr::Expr;
    /// let text = "v + (x - v) · 0.5; the rest";
    /// let (h, length) = Expr::parse(text)?;
    /// assert_eq!((format!("{h:#}"), &text[length..]), ("v + (x - v) · 0.5".into(), "; the rest"));
    /// # Ok::<(), spikelet_expr::ParseError>(())
    /// ```
    ///
    /// # Errors
    /// When the text does not begin with an expression, or one is nested too deeply.
    pub fn parse(text: &str) -> Result<(Expr, usize), ParseError> {
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
            named: vec![],
        };
        // #0 = …; #1 = …; the expression
        loop {
            let begin = parser.at;
            if parser.name(parser.named.len()) && parser.take(" = ") {
                let part = parser.select()?;
                parser.expect("; ")?;
                parser.named.push(part);
            } else {
                parser.at = begin;
                return Ok((parser.select()?, parser.at));
            }
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// The shared subexpressions `#0`, `#1`, ….
    named: Vec<Expr>,
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
            expr = Expr(Arc::new(Node::Select {
                condition: expr,
                then,
                otherwise: self.binary(1)?,
            }));
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
            return Ok(Expr::symbol(name));
        }
        if let Some(k) = (0..self.named.len()).rev().find(|&k| {
            let begin = self.at;
            self.name(k) || {
                self.at = begin;
                false
            }
        }) {
            return Ok(self.named[k].clone());
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
            return Ok(Expr::symbol(word));
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
