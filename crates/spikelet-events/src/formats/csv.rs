//! csv: events as text, a line for each.
//!
//! The first line has the names `t` (microseconds), `x`, `y` and `p` in any order; values are integers between commas,
//! spaces or tabs.

use std::io::Write;

use super::columns::{Value, coordinate, polarity};
use super::{Decoder, Encoder, Entry, Events, Input, Open, Output, Unwritable, damaged};
use crate::Format;
use crate::error::{Error, Result};

const NAME: &str = Format::Csv.name();
const COLUMNS: [&str; 4] = ["t", "x", "y", "p"];

/// The longest line.
const MAX_LINE: usize = 4096;

pub(crate) const ENTRY: Entry = Entry {
    extensions: &["csv"],
    detect: |start| {
        let line = start.split(|&byte| byte == b'\n').next();
        line.and_then(order).is_some()
    },
    encoder: Some(|_, bytes| {
        bytes.extend(b"t,x,y,p\n");
        Ok(Box::new(CsvEncoder))
    }),
    open: Open::Stream(|_| Ok(Box::new(Csv::default()))),
};

/// The values of a line; a byte order mark and the end of the line are left out.
fn values(line: &[u8]) -> Option<impl Iterator<Item = &str> + Clone> {
    let line = str::from_utf8(line).ok()?.trim_start_matches('\u{feff}');
    let values = line.trim().split([',', ' ', '\t']);
    Some(values.map(str::trim).filter(|value| !value.is_empty()))
}

/// The places of t, x, y and p in the first line.
fn order(line: &[u8]) -> Option<[usize; 4]> {
    let names = values(line)?;
    let mut order = [0; 4];
    for (place, column) in order.iter_mut().zip(COLUMNS) {
        *place = names.clone().position(|name| name == column)?;
    }
    (names.count() == COLUMNS.len()).then_some(order)
}

/// The event of a line.
fn event(line: &[u8], order: [usize; 4]) -> Result<(i64, u16, u16, u8), String> {
    let mut found = [0; 4];
    let mut count = 0;
    for value in values(line).ok_or("the line is no text")? {
        if let Some(own) = found.get_mut(count) {
            let number = value.parse::<i64>();
            *own = number.map_err(|_| format!("`{value}` is no integer"))?;
        }
        count += 1;
    }
    if count != COLUMNS.len() {
        return Err(format!("the line has {count} values; 4 are expected"));
    }
    let [t, x, y, p] = order.map(|place| found[place]);
    Ok((
        t,
        coordinate(Value::Int(x)).map_err(|problem| format!("x {problem}"))?,
        coordinate(Value::Int(y)).map_err(|problem| format!("y {problem}"))?,
        polarity(Value::Int(p)).map_err(|problem| format!("p {problem}"))?,
    ))
}

#[derive(Default)]
struct Csv {
    order: Option<[usize; 4]>,
    /// The lines so far.
    lines: u64,
}

impl Decoder for Csv {
    fn decode(&mut self, input: Input<'_>, out: &mut Output) -> Result<usize> {
        let mut at = 0;
        while at < input.bytes.len() {
            let rest = &input.bytes[at..];
            let offset = input.position + at as u64;
            let end = rest.iter().position(|&byte| byte == b'\n');
            if end.unwrap_or(rest.len()) > MAX_LINE {
                let problem = format!("a line of more than {MAX_LINE} bytes");
                return Err(damaged(NAME, offset, problem));
            }
            let line = match end {
                Some(end) => &rest[..end],
                None if input.is_last => rest,
                None => break,
            };
            at += (line.len() + 1).min(rest.len());
            self.lines += 1;
            let error = |problem| {
                let problem = format!("line {}: {problem}", self.lines);
                Error::damaged(NAME, offset, problem, "correct the line, or remove it")
            };
            match self.order {
                _ if line.trim_ascii().is_empty() => {}
                Some(order) => {
                    let (t, x, y, p) = event(line, order).map_err(error)?;
                    out.events.push(t, x, y, p == 1);
                }
                None => {
                    let problem = "the names t, x, y and p are expected";
                    self.order = Some(order(line).ok_or_else(|| error(problem.into()))?);
                }
            }
        }
        Ok(at)
    }
}

struct CsvEncoder;

impl Encoder for CsvEncoder {
    fn encode(&mut self, events: Events<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        for (at, (t, x, y, p)) in events.iter().enumerate() {
            let written = writeln!(out, "{t},{x},{y},{p}");
            written.map_err(|error| Unwritable::value(at, error.to_string()))?;
        }
        Ok(())
    }
}
