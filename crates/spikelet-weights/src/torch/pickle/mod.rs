//! A reader of pickles that knows tensors and containers, and nothing else.
//!
//! A pickle is a program for a stack machine. Its opcodes make values; `GLOBAL` names a class or function, `REDUCE`
//! calls it. Here a name is one of a fixed table (`globals.rs`) or an error, and a call is a case of a match
//! (`rebuild.rs`): nothing is imported, and no code of the file runs.
//!
//! Source: Python, `pickletools`; PyTorch, `torch/_utils.py`, `torch/serialization.py`.

mod globals;
mod opcode;
mod rebuild;
mod value;

use std::collections::HashMap;
use std::io::{self, Read};

use crate::error::{Error, ErrorKind, Result};

pub(super) use globals::storage_class;
pub(super) use rebuild::tensor_of;
pub(super) use value::{Global, Heap, Object, StorageRef, TensorRef, Value};

/// The most values on the stack, marks and memorized values.
const MAX_STACK: usize = 1 << 21;

/// The longest line of a name.
const MAX_LINE: usize = 512;

/// The newest protocol.
const MAX_PROTOCOL: u8 = 5;

/// How persistent ids are understood.
#[derive(Debug)]
pub(super) enum PersistentIds {
    /// Tuples that describe storages.
    Storages,
    /// Keys of tensors, as in tar archives.
    Tensors(HashMap<String, TensorRef>),
}

/// A reader of one or several pickles in a row. Their values are in one heap.
pub(super) struct Unpickler<'a> {
    input: &'a mut dyn Read,
    /// The bytes that were read.
    position: u64,
    /// The bytes that are left.
    left: u64,
    /// The name of the record, for messages.
    record: String,
    persistent_ids: PersistentIds,
    pub heap: Heap,
    stack: Vec<Value>,
    /// Lengths of the stack at marks.
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
}

impl<'a> Unpickler<'a> {
    /// A reader of `len` bytes.
    pub fn new(
        input: &'a mut dyn Read,
        len: u64,
        record: impl Into<String>,
        persistent_ids: PersistentIds,
    ) -> Self {
        Self {
            input,
            position: 0,
            left: len,
            record: record.into(),
            persistent_ids,
            heap: Heap::default(),
            stack: vec![],
            marks: vec![],
            memo: HashMap::new(),
        }
    }

    /// The bytes that were read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The value of the next pickle.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`]; [`ErrorKind::ForbiddenGlobal`] for names that are not known.
    pub fn load(&mut self) -> Result<Value> {
        self.stack.clear();
        self.marks.clear();
        self.memo.clear();
        loop {
            let start = self.position;
            let opcode = self.byte()?;
            match self.step(opcode) {
                Ok(None) => {}
                Ok(Some(value)) => return Ok(value),
                Err(Fault::Problem(problem)) => return Err(self.damaged(start, problem)),
                Err(Fault::Forbidden(name)) => {
                    return Err(ErrorKind::ForbiddenGlobal {
                        place: self.place(start),
                        name,
                    }
                    .into());
                }
                Err(Fault::Error(error)) => return Err(error),
            }
        }
    }

    /// Raw bytes between pickles.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if there are not as many.
    pub fn bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        let damaged = |own: &Self| {
            let problem = format!("{len} bytes are expected; {} are left", own.left);
            own.damaged(own.position, problem)
        };
        if len > self.left {
            return Err(damaged(self));
        }
        let mut bytes = vec![0; usize::try_from(len).map_err(|_| damaged(self))?];
        self.input.read_exact(&mut bytes).map_err(ErrorKind::Read)?;
        self.position += len;
        self.left -= len;
        Ok(bytes)
    }

    /// Skips raw bytes between pickles.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if there are not as many.
    pub fn skip(&mut self, len: u64) -> Result<()> {
        if len > self.left {
            let problem = format!("{len} bytes are expected; {} are left", self.left);
            return Err(self.damaged(self.position, problem));
        }
        io::copy(&mut self.input.take(len), &mut io::sink()).map_err(ErrorKind::Read)?;
        self.position += len;
        self.left -= len;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8> {
        let mut byte = [0];
        if self.left == 0 {
            return Err(self.damaged(self.position, "the pickle has no end"));
        }
        self.input.read_exact(&mut byte).map_err(ErrorKind::Read)?;
        self.position += 1;
        self.left -= 1;
        Ok(byte[0])
    }

    /// A line without its end.
    fn line(&mut self) -> Result<String, Fault> {
        let mut line = vec![];
        loop {
            match self.byte()? {
                b'\n' => break,
                byte => line.push(byte),
            }
            if line.len() > MAX_LINE {
                return Err(problem("a name is too long"));
            }
        }
        String::from_utf8(line).map_err(|_| problem("a name is not UTF-8"))
    }

    /// An error at a position.
    pub fn damaged(&self, position: u64, problem: impl Into<String>) -> Error {
        ErrorKind::Damaged {
            format: "pickle",
            place: self.place(position),
            problem: problem.into(),
            help: "save the state_dict() again with torch.save",
        }
        .into()
    }

    fn place(&self, position: u64) -> String {
        format!("{}, byte {position}", self.record)
    }
}

/// Why an opcode fails.
enum Fault {
    Problem(String),
    Forbidden(String),
    Error(Error),
}

fn problem(text: &str) -> Fault {
    Fault::Problem(text.into())
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<String> for Fault {
    fn from(problem: String) -> Self {
        Self::Problem(problem)
    }
}
