//! The names in pickles that are understood.

use super::value::Global;
use crate::dtype::Dtype;

/// Types of elements in PyTorch, and the prefix of their classes `…Storage` and `…Tensor`.
const TYPES: [(&str, &str, Dtype); 10] = [
    ("float64", "Double", Dtype::F64),
    ("float32", "Float", Dtype::F32),
    ("float16", "Half", Dtype::F16),
    ("bfloat16", "BFloat16", Dtype::BF16),
    ("int64", "Long", Dtype::I64),
    ("int32", "Int", Dtype::I32),
    ("int16", "Short", Dtype::I16),
    ("int8", "Char", Dtype::I8),
    ("uint8", "Byte", Dtype::U8),
    ("bool", "Bool", Dtype::Bool),
];

/// Types of elements without such classes.
const UNTYPED: [(&str, Dtype); 3] = [
    ("uint16", Dtype::U16),
    ("uint32", Dtype::U32),
    ("uint64", Dtype::U64),
];

/// What a name means; `None` if it is not known.
pub(super) fn find(module: &str, name: &str) -> Option<Global> {
    Some(match (module, name) {
        ("collections", "OrderedDict" | "defaultdict") => Global::Dict,
        ("collections", "Counter") => Global::Opaque,
        ("__builtin__" | "builtins", "dict") => Global::Dict,
        (
            "__builtin__" | "builtins",
            "list" | "tuple" | "set" | "frozenset" | "int" | "long" | "float" | "complex" | "bool"
            | "str" | "bytes" | "bytearray" | "slice",
        )
        | ("_codecs", "encode")
        | ("torch", "device" | "Tensor") => Global::Opaque,
        ("torch", "Size") => Global::Size,
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Global::RebuildTensor,
        ("torch._utils", "_rebuild_tensor_v3") => Global::RebuildTypedTensor,
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
            Global::RebuildParameter
        }
        ("torch.storage" | "torch", "UntypedStorage") => Global::Storage(None),
        ("torch", name) => {
            let typed = TYPES.iter().find_map(|&(own, prefix, dtype)| {
                if own == name {
                    return Some(Global::Dtype(dtype));
                }
                match name.strip_prefix(prefix)? {
                    "Storage" => Some(Global::Storage(Some(dtype))),
                    "Tensor" => Some(Global::Opaque),
                    _ => None,
                }
            });
            let untyped = || UNTYPED.iter().find(|(own, _)| *own == name);
            typed.or_else(|| untyped().map(|&(_, dtype)| Global::Dtype(dtype)))?
        }
        _ => return None,
    })
}

/// The name of the storage class of a type, for writing; `None` if it has none.
pub(in super::super) fn storage_class(dtype: Dtype) -> Option<&'static str> {
    Some(match dtype {
        Dtype::F64 => "DoubleStorage",
        Dtype::F32 => "FloatStorage",
        Dtype::F16 => "HalfStorage",
        Dtype::BF16 => "BFloat16Storage",
        Dtype::I64 => "LongStorage",
        Dtype::I32 => "IntStorage",
        Dtype::I16 => "ShortStorage",
        Dtype::I8 => "CharStorage",
        Dtype::U8 => "ByteStorage",
        Dtype::Bool => "BoolStorage",
        Dtype::U16 | Dtype::U32 | Dtype::U64 => return None,
    })
}
