//! Element types of HDF5 as types of tensors, and back.

use half::f16;
use hdf5_pure::{
    Datatype, DatatypeByteOrder, EnumTypeBuilder, FixedPointLayout, FloatingPointLayout,
    FormatError, make_f32_type, make_f64_type, make_i8_type, make_i16_type, make_i32_type,
    make_i64_type, make_u8_type, make_u16_type, make_u32_type, make_u64_type,
};

use spikelet_weights::Dtype;

/// The layout of IEEE 754 binary16.
const BINARY16: FloatingPointLayout = FloatingPointLayout {
    bit_offset: 0,
    bit_precision: 16,
    exponent_location: 10,
    exponent_size: 5,
    mantissa_location: 0,
    mantissa_size: 10,
    exponent_bias: 15,
};

/// The layout of bfloat16, which NumPy does not have.
const BFLOAT16: FloatingPointLayout = FloatingPointLayout {
    bit_offset: 0,
    bit_precision: 16,
    exponent_location: 7,
    exponent_size: 8,
    mantissa_location: 0,
    mantissa_size: 7,
    exponent_bias: 127,
};

/// What the elements of a dataset are.
pub(super) enum Elements {
    Numbers {
        dtype: Dtype,
        big_endian: bool,
    },
    Text,
    /// What NIR does not have, in words.
    Unsupported(String),
}

/// The elements of a type.
pub(super) fn elements(datatype: &Datatype) -> Elements {
    match datatype {
        Datatype::FixedPoint {
            size,
            byte_order,
            layout,
        } => numbers(
            integer(*size, *layout),
            *byte_order,
            "integers of an odd size",
        ),
        Datatype::FloatingPoint {
            size,
            byte_order,
            layout,
        } => numbers(
            float(*size, *layout),
            *byte_order,
            "floats that are not IEEE 754",
        ),
        Datatype::Enumeration {
            base_type, members, ..
        } => match (elements(base_type), members.as_slice()) {
            (
                Elements::Numbers {
                    dtype: Dtype::I8 | Dtype::U8,
                    ..
                },
                [no, yes],
            ) if no.value == [0] && yes.value == [1] => Elements::Numbers {
                dtype: Dtype::Bool,
                big_endian: false,
            },
            _ => unsupported("an enumeration"),
        },
        Datatype::String { .. }
        | Datatype::VariableLength {
            is_string: true, ..
        } => Elements::Text,
        Datatype::VariableLength { .. } => unsupported("sequences of variable length"),
        Datatype::Compound { members, .. } => {
            let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
            match names[..] {
                ["r", "i"] => unsupported("complex numbers"),
                _ => unsupported("a compound type"),
            }
        }
        Datatype::Reference { .. } => unsupported("references"),
        Datatype::Array { .. } => unsupported("arrays in arrays"),
        Datatype::Time { .. } | Datatype::BitField { .. } | Datatype::Opaque { .. } => {
            unsupported("opaque data")
        }
        _ => unsupported("data of an unknown type"),
    }
}

fn unsupported(what: &str) -> Elements {
    Elements::Unsupported(what.into())
}

fn numbers(dtype: Option<Dtype>, order: DatatypeByteOrder, otherwise: &str) -> Elements {
    match (dtype, order) {
        (None, _) => unsupported(otherwise),
        (_, DatatypeByteOrder::Vax) => unsupported("VAX floats"),
        (Some(dtype), order) => Elements::Numbers {
            dtype,
            big_endian: order == DatatypeByteOrder::BigEndian,
        },
    }
}

fn integer(size: u32, layout: FixedPointLayout) -> Option<Dtype> {
    let is_standard =
        layout.bit_offset == 0 && u64::from(layout.bit_precision) == 8 * u64::from(size);
    Some(match (size, layout.signed) {
        _ if !is_standard => return None,
        (1, false) => Dtype::U8,
        (1, true) => Dtype::I8,
        (2, false) => Dtype::U16,
        (2, true) => Dtype::I16,
        (4, false) => Dtype::U32,
        (4, true) => Dtype::I32,
        (8, false) => Dtype::U64,
        (8, true) => Dtype::I64,
        _ => return None,
    })
}

fn float(size: u32, layout: FloatingPointLayout) -> Option<Dtype> {
    let known = [
        (2, BINARY16, Dtype::F16),
        (2, BFLOAT16, Dtype::BF16),
        (4, FloatingPointLayout::IEEE754_BINARY32, Dtype::F32),
        (8, FloatingPointLayout::IEEE754_BINARY64, Dtype::F64),
    ];
    let own = known
        .into_iter()
        .find(|&(bytes, known, _)| (bytes, known) == (size, layout));
    own.map(|(.., dtype)| dtype)
}

/// The type of HDF5, little-endian, for elements of a type. Truth values are an enumeration, as h5py's are.
pub(super) fn datatype(dtype: Dtype) -> Result<Datatype, FormatError> {
    let float = |layout| Datatype::FloatingPoint {
        size: size_of::<f16>() as u32,
        byte_order: DatatypeByteOrder::LittleEndian,
        layout,
    };
    Ok(match dtype {
        Dtype::Bool => EnumTypeBuilder::with_base(make_i8_type())
            .raw_value("FALSE", &[0])
            .raw_value("TRUE", &[1])
            .build()?,
        Dtype::U8 => make_u8_type(),
        Dtype::I8 => make_i8_type(),
        Dtype::U16 => make_u16_type(),
        Dtype::I16 => make_i16_type(),
        Dtype::U32 => make_u32_type(),
        Dtype::I32 => make_i32_type(),
        Dtype::U64 => make_u64_type(),
        Dtype::I64 => make_i64_type(),
        Dtype::F16 => float(BINARY16),
        Dtype::BF16 => float(BFLOAT16),
        Dtype::F32 => make_f32_type(),
        Dtype::F64 => make_f64_type(),
    })
}
