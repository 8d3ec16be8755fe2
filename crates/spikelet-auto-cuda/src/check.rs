//! Checks of a call's arguments, by their descriptions.

use super::argument::count;
use super::kernel::Layout;
use super::params::{Base, CType, Passing};
use super::tensor::is_contiguous;
use super::{AutoCudaError, CKernel, Described, Description, Element};
use spikelet_graph::ShapeText;

/// Checks that all tensors are contiguous.
pub(super) fn contiguous(kernel: &CKernel, args: &Described<'_>) -> Result<(), AutoCudaError> {
    for (name, description) in args {
        if let Description::Tensor { shape, strides, .. } = description
            && !is_contiguous(shape, strides)
        {
            return Err(AutoCudaError::NotContiguous {
                kernel: kernel.kernel_name.clone(),
                cname: name.to_string(),
                shape: ShapeText(shape).to_string(),
                strides: ShapeText(strides).to_string(),
            });
        }
    }
    Ok(())
}

/// The GPU of the first tensor.
pub(super) fn device(kernel: &CKernel, args: &Described<'_>) -> Result<usize, AutoCudaError> {
    let device = |description: &Description| match description {
        Description::Tensor { device, .. } => Some(*device),
        Description::Int(_) | Description::Float(_) => None,
    };
    args.values()
        .find_map(device)
        .ok_or_else(|| AutoCudaError::NoTensor {
            kernel: kernel.kernel_name.clone(),
        })
}

/// Checks that all tensors are on this GPU.
pub(super) fn same_device(
    kernel: &CKernel,
    expected: usize,
    args: &Described<'_>,
) -> Result<(), AutoCudaError> {
    for (name, description) in args {
        if let Description::Tensor { device, .. } = description
            && *device != expected
        {
            return Err(AutoCudaError::OtherDevice {
                kernel: kernel.kernel_name.clone(),
                cname: name.to_string(),
                device: format!("cuda:{device}"),
                expected: format!("cuda:{expected}"),
            });
        }
    }
    Ok(())
}

/// Checks that there is one argument for each parameter.
pub(super) fn keys(kernel: &CKernel, args: &Described<'_>) -> Result<(), AutoCudaError> {
    names(kernel, args.keys().copied())
}

/// Checks that the given names are those of the parameters.
pub(super) fn names<'a>(
    kernel: &CKernel,
    given: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), AutoCudaError> {
    let params = &kernel.cparams;
    let missing: Vec<&str> = params
        .keys()
        .map(String::as_str)
        .filter(|name| given.clone().all(|known| known != *name))
        .collect();
    let unknown: Vec<&str> = given.filter(|name| !params.contains_key(*name)).collect();
    if missing.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    let listed = |names: &[&str]| match names {
        [] => "none".to_string(),
        names => names.join(", "),
    };
    let all: Vec<&str> = params.keys().map(String::as_str).collect();
    Err(AutoCudaError::Keys {
        kernel: kernel.kernel_name.clone(),
        missing: listed(&missing),
        unknown: listed(&unknown),
        expected: listed(&all),
    })
}

/// Checks that all arguments have the types of their parameters.
pub(super) fn ctypes(kernel: &CKernel, args: &Described<'_>) -> Result<(), AutoCudaError> {
    for (name, ctype) in &kernel.cparams {
        let Some(given) = args.get(name.as_str()) else {
            continue;
        };
        let parsed = CType::parse(ctype);
        let Some(base) = parsed.base else {
            return Err(AutoCudaError::ParameterType {
                kernel: kernel.kernel_name.clone(),
                cname: name.clone(),
                ctype: ctype.clone(),
            });
        };
        if !fits(base, parsed.passing, given) {
            return Err(AutoCudaError::ArgumentType {
                kernel: kernel.kernel_name.clone(),
                cname: name.clone(),
                ctype: ctype.clone(),
                given: given.to_string(),
                expected: expected(base, parsed.passing),
            });
        }
    }
    Ok(())
}

/// The element type of a tensor whose elements have this type in C++.
fn element(base: Base) -> Element {
    match base {
        Base::Float => Element::F32,
        Base::Half | Base::Half2 => Element::F16,
        Base::Int => Element::I32,
    }
}

/// Whether an argument is valid for a parameter.
pub(super) fn fits(base: Base, passing: Passing, given: &Description) -> bool {
    match given {
        Description::Int(_) => base == Base::Int && passing != Passing::Pointer,
        Description::Float(_) => base != Base::Int && passing != Passing::Pointer,
        Description::Tensor { element: own, .. } => {
            let count = given.len().unwrap_or(0);
            *own == element(base)
                && match passing {
                    Passing::Pointer => true,
                    // A single f16 element is duplicated, as in tensors of odd sizes.
                    Passing::Reference => count == 1 || (base == Base::Half2 && count == 2),
                    Passing::Value => false,
                }
        }
    }
}

/// A description of the valid arguments of a parameter.
pub(super) fn expected(base: Base, passing: Passing) -> &'static str {
    match (passing, element(base)) {
        (Passing::Pointer, Element::F32) => "a tensor of f32",
        (Passing::Pointer, Element::F16) => "a tensor of f16",
        (Passing::Pointer, Element::I32) => "a tensor of i32",
        (Passing::Reference, Element::F32) => "a number, or a tensor of one f32",
        (Passing::Reference, Element::F16) => "a number, or a tensor of one f16",
        (Passing::Reference, Element::I32) => "an integer, or a tensor of one i32",
        (Passing::Value, Element::F32 | Element::F16) => "a number",
        (Passing::Value, Element::I32) => "an integer",
    }
}

/// How a tensor of halves is padded so that pairs fit: its rows, and the elements of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// The padding of a tensor of halves of this shape; none if pairs fit.
///
/// In a kernel over sequences a second dimension of odd size gets one more column; everything else
/// is one row.
pub(super) fn padding(layout: Layout, shape: &[usize]) -> Option<Rows> {
    let (rows, columns) = match (layout, shape) {
        (Layout::Sequence { .. }, [rows, columns]) => (*rows, *columns),
        _ => (1, count(shape)),
    };
    (rows > 0 && columns % 2 == 1).then_some(Rows { rows, columns })
}

/// The parameters that take halves in pairs, with the shapes of their arguments.
pub(super) fn paired<'a>(
    kernel: &'a CKernel,
    args: &'a Described<'_>,
) -> impl Iterator<Item = (&'a str, CType, &'a [usize])> {
    kernel.cparams.iter().filter_map(|(name, ctype)| {
        let parsed = CType::parse(ctype);
        match args.get(name.as_str()) {
            Some(Description::Tensor { shape, .. }) if parsed.is_paired() => {
                Some((name.as_str(), parsed, shape.as_slice()))
            }
            _ => None,
        }
    })
}

/// Tensors of halves have pairs of them.
pub(super) fn half2(kernel: &CKernel, args: &Described<'_>) -> Result<(), AutoCudaError> {
    match paired(kernel, args).find(|(.., shape)| padding(kernel.layout, shape).is_some()) {
        None => Ok(()),
        Some((name, _, shape)) => Err(AutoCudaError::OddHalf2 {
            kernel: kernel.kernel_name.clone(),
            cname: name.to_string(),
            shape: ShapeText(shape).to_string(),
        }),
    }
}

/// A kernel over sequences takes tensors of at most two dimensions.
pub(super) fn dimensions(kernel: &CKernel, args: &Described<'_>) -> Result<(), AutoCudaError> {
    if !matches!(kernel.layout, Layout::Sequence { .. }) {
        return Ok(());
    }
    for (name, description) in args {
        if let Description::Tensor { shape, .. } = description
            && shape.len() > 2
        {
            return Err(AutoCudaError::Dimensions {
                kernel: kernel.kernel_name.clone(),
                cname: name.to_string(),
                shape: ShapeText(shape).to_string(),
            });
        }
    }
    Ok(())
}
