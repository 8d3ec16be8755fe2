//! Values of a pickle.
//!
//! Containers are in a heap and refer to each other by number, so that values that are shared, contain themselves or
//! are nested a million times cost no more than their opcodes, and none needs recursion.

use crate::dtype::Dtype;

/// The most objects, elements of containers and values of the stack: some 300 MiB.
const MAX_OBJECTS: usize = 1 << 21;
const MAX_ELEMENTS: usize = 1 << 23;

/// A value. Those that are large or can change are in the [`Heap`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// A name that is known, which is not called but understood.
    Global(Global),
    /// The number of an object.
    Object(u32),
}

/// The names that are understood. Nothing is ever imported or called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Global {
    /// `OrderedDict`, `defaultdict`, `dict`: makes a dictionary.
    Dict,
    /// `list`, `set`, `Counter`, `torch.device`, `torch.FloatTensor` …: makes a value that is of no interest.
    Opaque,
    /// `torch.Size`: makes a tuple.
    Size,
    /// `torch._utils._rebuild_tensor` and `_v2`.
    RebuildTensor,
    /// `torch._utils._rebuild_tensor_v3`, with a type of elements.
    RebuildTypedTensor,
    /// `torch._utils._rebuild_parameter`.
    RebuildParameter,
    /// `torch.FloatStorage` …; the class of storages without a type.
    Storage(Option<Dtype>),
    /// `torch.float16` …
    Dtype(Dtype),
}

/// An object of the heap.
#[derive(Debug)]
pub(crate) enum Object {
    Text(Box<str>),
    List(Vec<Value>),
    Tuple(Box<[Value]>),
    Dict(Vec<(Value, Value)>),
    Storage(Box<StorageRef>),
    Tensor(Box<TensorRef>),
    /// Bytes, sets, large integers, devices.
    Opaque,
}

/// A storage: the elements of one or several tensors, which are elsewhere in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StorageRef {
    pub key: String,
    /// The type of the elements; `None` for bytes that get their type from the tensor.
    pub dtype: Option<Dtype>,
    /// The number of elements, or of bytes without a type.
    pub len: u64,
    /// The first element of this storage in the one with the key.
    pub offset: u64,
}

/// A tensor: a part of a storage. It is inside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TensorRef {
    pub storage: StorageRef,
    pub dtype: Dtype,
    /// The first element, counted in elements from the start of the storage.
    pub offset: u64,
    pub shape: Vec<usize>,
    pub strides: Vec<u64>,
}

/// All objects of a pickle.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    objects: Vec<Object>,
    elements: usize,
}

impl Heap {
    /// Adds an object.
    ///
    /// # Errors
    /// If there are too many.
    pub fn add(&mut self, object: Object) -> Result<Value, String> {
        let elements = match &object {
            Object::List(values) => values.len(),
            Object::Tuple(values) => values.len(),
            Object::Dict(entries) => 2 * entries.len(),
            _ => 0,
        };
        self.count(elements)?;
        if self.objects.len() >= MAX_OBJECTS {
            return Err(format!("it has more than {MAX_OBJECTS} objects"));
        }
        self.objects.push(object);
        Ok(Value::Object(self.objects.len() as u32 - 1))
    }

    /// Counts elements that are added to an object.
    ///
    /// # Errors
    /// If there are too many.
    pub fn count(&mut self, elements: usize) -> Result<(), String> {
        self.elements = self.elements.saturating_add(elements);
        match self.elements > MAX_ELEMENTS {
            true => Err(format!(
                "its containers have more than {MAX_ELEMENTS} elements"
            )),
            false => Ok(()),
        }
    }

    /// The object of a value.
    pub fn object(&self, value: Value) -> Option<&Object> {
        match value {
            Value::Object(number) => self.objects.get(number as usize),
            _ => None,
        }
    }

    /// The object of a value, to change it.
    pub fn object_mut(&mut self, value: Value) -> Option<&mut Object> {
        match value {
            Value::Object(number) => self.objects.get_mut(number as usize),
            _ => None,
        }
    }

    /// The text of a value.
    pub fn text(&self, value: Value) -> Option<&str> {
        match self.object(value)? {
            Object::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a tuple or list.
    pub fn sequence(&self, value: Value) -> Option<&[Value]> {
        match self.object(value)? {
            Object::Tuple(values) => Some(values),
            Object::List(values) => Some(values),
            _ => None,
        }
    }

    /// The entries of a dictionary.
    pub fn dict(&self, value: Value) -> Option<&[(Value, Value)]> {
        match self.object(value)? {
            Object::Dict(entries) => Some(entries),
            _ => None,
        }
    }

    /// All dictionaries, with their numbers.
    pub fn dicts(&self) -> impl Iterator<Item = (u32, &[(Value, Value)])> {
        let objects = self.objects.iter().enumerate();
        objects.filter_map(|(number, object)| match object {
            Object::Dict(entries) => Some((number as u32, entries.as_slice())),
            _ => None,
        })
    }

    /// All storages.
    pub fn storages(&self) -> impl Iterator<Item = &StorageRef> {
        self.objects.iter().filter_map(|object| match object {
            Object::Storage(storage) => Some(&**storage),
            _ => None,
        })
    }

    /// The tensor of a value.
    pub fn tensor(&self, value: Value) -> Option<&TensorRef> {
        match self.object(value)? {
            Object::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// What a value is, for messages.
    pub fn describe(&self, value: Value) -> &'static str {
        match value {
            Value::None => "None",
            Value::Bool(_) => "a truth value",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Global(_) => "a class or function",
            Value::Object(_) => match self.object(value) {
                Some(Object::Text(_)) => "a string",
                Some(Object::List(_)) => "a list",
                Some(Object::Tuple(_)) => "a tuple",
                Some(Object::Dict(_)) => "a dictionary",
                Some(Object::Storage(_)) => "a storage",
                Some(Object::Tensor(_)) => "a tensor",
                Some(Object::Opaque) | None => "a value",
            },
        }
    }
}
