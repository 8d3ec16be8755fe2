//! Parameters of a kernel: their C types and their names.

/// How a parameter reaches the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passing {
    /// A number.
    Value,
    /// `&`: the address of one number in device memory.
    Reference,
    /// `*`: the address of a tensor's first element.
    Pointer,
}

/// A number type that an argument can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Float,
    Half,
    Half2,
    Int,
}

impl Base {
    fn parse(name: &str) -> Option<Base> {
        Some(match name {
            "float" => Base::Float,
            "half" | "__half" => Base::Half,
            "half2" | "__half2" => Base::Half2,
            "int" => Base::Int,
            _ => return None,
        })
    }

    /// Its size.
    pub(super) fn bytes(self) -> usize {
        match self {
            Base::Half => 2,
            Base::Float | Base::Half2 | Base::Int => 4,
        }
    }
}

/// A parameter's type, read from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CType {
    /// None for a type that a text may use and a call cannot pass.
    pub(super) base: Option<Base>,
    pub(super) passing: Passing,
    /// Whether what it leads to is only read.
    pub(super) constant: bool,
}

impl CType {
    /// Reads a type such as `const float * __restrict__`.
    pub(super) fn parse(ctype: &str) -> CType {
        let sign = ctype.find(['*', '&']);
        let (pointee, signs) = ctype.split_at(sign.unwrap_or(ctype.len()));
        let passing = match (signs.chars().next(), signs.matches(['*', '&']).count()) {
            (None, _) => Some(Passing::Value),
            (Some('*'), 1) => Some(Passing::Pointer),
            (Some('&'), 1) => Some(Passing::Reference),
            _ => None,
        };
        let words: Vec<&str> = pointee.split_whitespace().collect();
        let names: Vec<&str> = words.iter().copied().filter(|w| *w != "const").collect();
        let base = match names[..] {
            [name] if passing.is_some() => Base::parse(name),
            _ => None,
        };
        CType {
            base,
            passing: passing.unwrap_or(Passing::Pointer),
            constant: words.contains(&"const"),
        }
    }

    /// Whether the kernel leaves results there.
    pub(super) fn is_output(self) -> bool {
        self.passing == Passing::Pointer && !self.constant
    }

    /// Whether a tensor is taken two numbers at a time.
    pub(super) fn is_paired(self) -> bool {
        self.base == Some(Base::Half2)
    }
}

/// Whether a text can be the name of something in C++.
pub(super) fn is_identifier(text: &str) -> bool {
    let mut characters = text.chars();
    characters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ctype: &str) -> (Option<Base>, Passing, bool) {
        let CType {
            base,
            passing,
            constant,
        } = CType::parse(ctype);
        (base, passing, constant)
    }

    #[test]
    fn types_are_read_however_they_are_spaced() {
        use Passing::{Pointer, Reference, Value};
        assert_eq!(read("const int &"), (Some(Base::Int), Reference, true));
        assert_eq!(read("const float*"), (Some(Base::Float), Pointer, true));
        assert_eq!(read("float const *"), (Some(Base::Float), Pointer, true));
        assert_eq!(read("half2 *"), (Some(Base::Half2), Pointer, false));
        assert_eq!(
            read("float * const __restrict__"),
            (Some(Base::Float), Pointer, false)
        );
        assert_eq!(read("half2 &"), (Some(Base::Half2), Reference, false));
        assert_eq!(read("float"), (Some(Base::Float), Value, false));
    }

    #[test]
    fn a_type_that_no_argument_has_is_told_apart() {
        for ctype in ["double *", "float **", "unsigned int", "float *&", ""] {
            assert_eq!(CType::parse(ctype).base, None, "{ctype}");
        }
    }

    #[test]
    fn identifiers_are_those_of_cpp() {
        assert!(["x", "_1", "v_v_seq", "N"].into_iter().all(is_identifier));
        assert!(!["", "1x", "a b", "a-b", "é"].into_iter().any(is_identifier));
    }
}
