//! The opcodes.

use super::value::{Object, Value};
use super::{Fault, MAX_PROTOCOL, MAX_STACK, PersistentIds, Unpickler, globals, problem, rebuild};

impl Unpickler<'_> {
    /// Runs an opcode; the value of the pickle at its end.
    pub(super) fn step(&mut self, opcode: u8) -> Result<Option<Value>, Fault> {
        match opcode {
            // PROTO, FRAME, STOP
            0x80 => {
                let [protocol] = self.array()?;
                if protocol > MAX_PROTOCOL {
                    return Err(Fault::Problem(format!("protocol {protocol} is unknown")));
                }
            }
            0x95 => {
                let len = u64::from_le_bytes(self.array()?);
                if len > self.left {
                    return Err(Fault::Problem(format!(
                        "a frame of {len} bytes, where {} are left",
                        self.left
                    )));
                }
            }
            b'.' => return self.pop().map(Some),
            // MARK, POP, POP_MARK, DUP
            b'(' => {
                if self.marks.len() >= MAX_STACK {
                    return Err(problem("it has too many marks"));
                }
                self.marks.push(self.stack.len());
            }
            b'0' => match self.marks.last() == Some(&self.stack.len()) {
                true => drop(self.marks.pop()),
                false => drop(self.pop()?),
            },
            b'1' => drop(self.pop_to_mark()?),
            b'2' => {
                let top = self.top()?;
                self.push(top)?;
            }
            // NONE, NEWTRUE, NEWFALSE
            b'N' => self.push(Value::None)?,
            0x88 => self.push(Value::Bool(true))?,
            0x89 => self.push(Value::Bool(false))?,
            // BININT, BININT1, BININT2, LONG1, LONG4, BINFLOAT
            b'J' => {
                let value = i32::from_le_bytes(self.array()?);
                self.push(Value::Int(value.into()))?;
            }
            b'K' => {
                let [value] = self.array()?;
                self.push(Value::Int(value.into()))?;
            }
            b'M' => {
                let value = u16::from_le_bytes(self.array()?);
                self.push(Value::Int(value.into()))?;
            }
            0x8a => {
                let [len] = self.array()?;
                self.long(len.into())?;
            }
            0x8b => {
                let len = i32::from_le_bytes(self.array()?);
                let len = u64::try_from(len).map_err(|_| format!("an integer of {len} bytes"))?;
                self.long(len)?;
            }
            b'G' => {
                let value = f64::from_be_bytes(self.array()?);
                self.push(Value::Float(value))?;
            }
            // SHORT_BINSTRING, BINSTRING: text of Python 2
            b'U' => self.short_text()?,
            b'T' => {
                let len = i32::from_le_bytes(self.array()?);
                let len = u64::try_from(len).map_err(|_| format!("a string of {len} bytes"))?;
                self.text(len)?;
            }
            // SHORT_BINUNICODE, BINUNICODE, BINUNICODE8
            0x8c => self.short_text()?,
            b'X' => {
                let len = u32::from_le_bytes(self.array()?);
                self.text(len.into())?;
            }
            0x8d => {
                let len = u64::from_le_bytes(self.array()?);
                self.text(len)?;
            }
            // SHORT_BINBYTES, BINBYTES, BINBYTES8, BYTEARRAY8
            b'C' => {
                let [len] = self.array()?;
                self.opaque_bytes(len.into())?;
            }
            b'B' => {
                let len = u32::from_le_bytes(self.array()?);
                self.opaque_bytes(len.into())?;
            }
            0x8e | 0x96 => {
                let len = u64::from_le_bytes(self.array()?);
                self.opaque_bytes(len)?;
            }
            _ => self.container_step(opcode)?,
        }
        Ok(None)
    }

    /// Runs an opcode of containers, names and memorized values.
    fn container_step(&mut self, opcode: u8) -> Result<(), Fault> {
        match opcode {
            // EMPTY_DICT, EMPTY_LIST, EMPTY_TUPLE, EMPTY_SET
            b'}' => self.add(Object::Dict(vec![])),
            b']' => self.add(Object::List(vec![])),
            b')' => self.add(Object::Tuple([].into())),
            0x8f => self.add(Object::Opaque),
            // TUPLE, TUPLE1, TUPLE2, TUPLE3, LIST, DICT, FROZENSET
            b't' => {
                let values = self.pop_to_mark()?;
                self.add(Object::Tuple(values.into()))
            }
            0x85..=0x87 => {
                let len = usize::from(opcode - 0x84);
                let start = self
                    .stack
                    .len()
                    .checked_sub(len)
                    .filter(|&start| start >= self.bottom());
                let start = start.ok_or_else(|| problem("the stack is empty"))?;
                let values = self.stack.split_off(start);
                self.add(Object::Tuple(values.into()))
            }
            b'l' => {
                let values = self.pop_to_mark()?;
                self.add(Object::List(values))
            }
            b'd' => {
                let values = self.pop_to_mark()?;
                self.add(Object::Dict(vec![]))?;
                self.set_items(&values)
            }
            0x91 => {
                self.pop_to_mark()?;
                self.add(Object::Opaque)
            }
            // APPEND, APPENDS, SETITEM, SETITEMS, ADDITEMS
            b'a' => {
                let value = self.pop()?;
                self.append(&[value])
            }
            b'e' => {
                let values = self.pop_to_mark()?;
                self.append(&values)
            }
            b's' => {
                let value = self.pop()?;
                let key = self.pop()?;
                self.set_items(&[key, value])
            }
            b'u' => {
                let values = self.pop_to_mark()?;
                self.set_items(&values)
            }
            0x90 => {
                self.pop_to_mark()?;
                self.top().map(drop)
            }
            // GLOBAL, STACK_GLOBAL
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.global(&module, &name)
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let text = |value| {
                    self.heap
                        .text(value)
                        .map(|text| text.chars().take(128).collect::<String>())
                };
                let (Some(module), Some(name)) = (text(module), text(name)) else {
                    return Err(problem("a name is no string"));
                };
                self.global(&module, &name)
            }
            // REDUCE, BUILD, BINPERSID
            b'R' => {
                let (arguments, function) = (self.pop()?, self.pop()?);
                let value = rebuild::call(&mut self.heap, function, arguments)?;
                self.push(value)
            }
            b'b' => self.build(),
            b'Q' => {
                let id = self.pop()?;
                let value = self.persistent(id)?;
                self.push(value)
            }
            // BINPUT, LONG_BINPUT, MEMOIZE, BINGET, LONG_BINGET
            b'q' => {
                let [number] = self.array()?;
                self.memorize(number.into())
            }
            b'r' => {
                let number = u32::from_le_bytes(self.array()?);
                self.memorize(number)
            }
            0x94 => self.memorize(self.memo.len() as u32),
            b'h' => {
                let [number] = self.array()?;
                self.recall(number.into())
            }
            b'j' => {
                let number = u32::from_le_bytes(self.array()?);
                self.recall(number)
            }
            _ => self.refused_step(opcode),
        }
    }

    /// The error of an opcode that makes objects of classes, or that is unknown.
    fn refused_step(&mut self, opcode: u8) -> Result<(), Fault> {
        match opcode {
            // INST names a class itself; names of NEWOBJ, NEWOBJ_EX and OBJ are on the stack, and were looked up.
            b'i' => {
                let (module, name) = (self.line()?, self.line()?);
                Err(Fault::Forbidden(format!("{module}.{name}")))
            }
            0x81 | 0x92 | b'o' => Err(problem("an object of a class is made (NEWOBJ or OBJ)")),
            0x82..=0x84 => Err(problem("a name of the extension registry is used")),
            b'P' | b'p' | b'g' | b'I' | b'L' | b'F' | b'S' | b'V' => Err(Fault::Problem(format!(
                "opcode `{}` of protocol 0 is not read",
                char::from(opcode)
            ))),
            0x97 | 0x98 => Err(problem("buffers outside of the pickle are used")),
            _ => Err(Fault::Problem(format!("opcode {opcode:#04x} is unknown"))),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut array = [0; N];
        for byte in &mut array {
            *byte = self.byte()?;
        }
        Ok(array)
    }

    fn push(&mut self, value: Value) -> Result<(), Fault> {
        if self.stack.len() >= MAX_STACK {
            return Err(problem("it has too many values on the stack"));
        }
        self.stack.push(value);
        Ok(())
    }

    fn add(&mut self, object: Object) -> Result<(), Fault> {
        let value = self.heap.add(object)?;
        self.push(value)
    }

    /// The length of the stack at the last mark: values below are not taken without it.
    fn bottom(&self) -> usize {
        self.marks.last().copied().unwrap_or(0)
    }

    fn pop(&mut self) -> Result<Value, Fault> {
        match self.stack.len() > self.bottom() {
            true => self
                .stack
                .pop()
                .ok_or_else(|| problem("the stack is empty")),
            false => Err(problem("the stack is empty")),
        }
    }

    fn top(&self) -> Result<Value, Fault> {
        let top = self.stack[self.bottom()..].last();
        top.copied().ok_or_else(|| problem("the stack is empty"))
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Value>, Fault> {
        match self.marks.pop() {
            Some(start) => Ok(self.stack.split_off(start)),
            None => Err(problem("a mark is missing")),
        }
    }

    fn short_text(&mut self) -> Result<(), Fault> {
        let [len] = self.array()?;
        self.text(len.into())
    }

    fn text(&mut self, len: u64) -> Result<(), Fault> {
        let bytes = self.bytes(len)?;
        let text = String::from_utf8(bytes).map_err(|_| problem("a string is not UTF-8"))?;
        self.add(Object::Text(text.into()))
    }

    fn opaque_bytes(&mut self, len: u64) -> Result<(), Fault> {
        self.bytes(len)?;
        self.add(Object::Opaque)
    }

    /// An integer in two's complement. Larger ones than 64 bits are of no interest.
    fn long(&mut self, len: u64) -> Result<(), Fault> {
        let bytes = self.bytes(len)?;
        if bytes.len() > 8 {
            return self.add(Object::Opaque);
        }
        let is_negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
        let mut value = [if is_negative { 0xff } else { 0 }; 8];
        value[..bytes.len()].copy_from_slice(&bytes);
        self.push(Value::Int(i64::from_le_bytes(value)))
    }

    fn append(&mut self, values: &[Value]) -> Result<(), Fault> {
        let target = self.top()?;
        self.heap.count(values.len())?;
        match self.heap.object_mut(target) {
            Some(Object::List(list)) => list.extend(values),
            Some(Object::Opaque) => {}
            _ => {
                return Err(Fault::Problem(format!(
                    "{} gets elements",
                    self.heap.describe(target)
                )));
            }
        }
        Ok(())
    }

    fn set_items(&mut self, values: &[Value]) -> Result<(), Fault> {
        let target = self.top()?;
        let (pairs, rest) = values.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(problem("a key has no value"));
        }
        for &[key, _] in pairs {
            rebuild::check_key(&self.heap, key)?;
        }
        self.heap.count(values.len())?;
        match self.heap.object_mut(target) {
            Some(Object::Dict(entries)) => {
                entries.extend(pairs.iter().map(|&[key, value]| (key, value)))
            }
            Some(Object::Opaque) => {}
            _ => {
                return Err(Fault::Problem(format!(
                    "{} gets entries",
                    self.heap.describe(target)
                )));
            }
        }
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) -> Result<(), Fault> {
        match globals::find(module, name) {
            Some(global) => self.push(Value::Global(global)),
            None if module == "torch" && name.ends_with("Storage") => Err(Fault::Problem(format!(
                "elements of torch.{name} are not read; convert them to floats"
            ))),
            None if module == "torch._utils" && name.starts_with("_rebuild_") => {
                Err(Fault::Problem(format!(
                    "a tensor that {module}.{name} makes is not read; convert it to a dense one"
                )))
            }
            None => Err(Fault::Forbidden(format!("{module}.{name}"))),
        }
    }

    /// BUILD sets attributes. State dicts have one, the versions of their modules.
    fn build(&mut self) -> Result<(), Fault> {
        let state = self.pop()?;
        let target = self.top()?;
        let is_metadata = |&(key, _): &(Value, Value)| self.heap.text(key) == Some("_metadata");
        let is_known = match self.heap.dict(state) {
            Some(attributes) => attributes.iter().all(is_metadata),
            None => false,
        };
        match self.heap.dict(target) {
            Some(_) if is_known => Ok(()),
            _ => Err(Fault::Problem(format!(
                "{} gets attributes",
                self.heap.describe(target)
            ))),
        }
    }

    fn persistent(&mut self, id: Value) -> Result<Value, Fault> {
        let PersistentIds::Tensors(tensors) = &self.persistent_ids else {
            return Ok(rebuild::storage(&mut self.heap, id)?);
        };
        let key = match (id, self.heap.text(id)) {
            (_, Some(key)) => key.to_owned(),
            (Value::Int(key), _) => key.to_string(),
            _ => {
                return Err(Fault::Problem(format!(
                    "a persistent id is {}",
                    self.heap.describe(id)
                )));
            }
        };
        match tensors.get(&key) {
            Some(tensor) => {
                let tensor = Object::Tensor(Box::new(tensor.clone()));
                Ok(self.heap.add(tensor)?)
            }
            None => Err(Fault::Problem(format!(
                "there is no tensor `{}`",
                key.chars().take(40).collect::<String>()
            ))),
        }
    }

    fn memorize(&mut self, number: u32) -> Result<(), Fault> {
        let value = self.top()?;
        if self.memo.len() >= MAX_STACK {
            return Err(problem("it has too many memorized values"));
        }
        self.memo.insert(number, value);
        Ok(())
    }

    fn recall(&mut self, number: u32) -> Result<(), Fault> {
        match self.memo.get(&number) {
            Some(&value) => self.push(value),
            None => Err(Fault::Problem(format!("value {number} was not memorized"))),
        }
    }
}
