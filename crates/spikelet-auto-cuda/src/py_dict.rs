//! Arguments of a call that are made on the device of another: the reference's `scalar_to_cupy` and `new_tensors`.

use super::{Argument, AutoCudaError, CudaTensor, Element};
use spikelet_graph::f16;
use std::collections::BTreeMap;

/// An argument that owns its tensor: a value of the reference's `py_dict`.
#[derive(Clone, Debug)]
pub enum OwnedArgument {
    /// A tensor.
    Tensor(CudaTensor),
    /// An integer.
    Int(i32),
    /// A number.
    Float(f32),
}

/// The arguments of a call by name.
///
/// ```no_run
/// use spikelet_cuda::Cuda;
/// use spikelet_auto_cuda::{CudaTensor, PyDict, arguments, new_tensors, scalar_to_cupy};
/// let gpu = Cuda::new(0)?;
/// let x_seq = CudaTensor::new(&gpu, [2, 1], &[0.5_f32, 0.75])?;
/// let mut py_dict = PyDict::from([("x_seq", x_seq.into()), ("v_th", 1.0_f32.into())]);
/// scalar_to_cupy(&mut py_dict, "x_seq")?;
/// new_tensors(&["h_seq", "spike_seq"], &mut py_dict, "x_seq")?;
/// assert_eq!(arguments(&py_dict).len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type PyDict<'a> = BTreeMap<&'a str, OwnedArgument>;

from_values!(OwnedArgument: CudaTensor => Tensor, i32 => Int, f32 => Float);

impl OwnedArgument {
    /// The argument of a call.
    pub fn argument(&self) -> Argument<'_> {
        match self {
            Self::Tensor(tensor) => Argument::Tensor(tensor),
            Self::Int(value) => Argument::Int(*value),
            Self::Float(value) => Argument::Float(*value),
        }
    }
}

/// The arguments as a call takes them.
pub fn arguments<'a>(py_dict: &'a PyDict<'_>) -> Vec<(&'a str, Argument<'a>)> {
    let all = py_dict.iter();
    all.map(|(name, value)| (*name, value.argument())).collect()
}

/// Puts all numbers into the memory of the device of the tensor `reference`: integers as one i32, others as one f32, or as
/// two f16 if that is the tensor's element type.
///
/// Calls accept numbers too, and put them into device memory one by one; tensors can be used in several calls.
///
/// # Errors
/// [`AutoCudaError::Reference`]; if there is not enough memory, or the device fails.
pub fn scalar_to_cupy(py_dict: &mut PyDict<'_>, reference: &str) -> Result<(), AutoCudaError> {
    let like = tensor(py_dict, reference, "f32 or f16")?;
    let (cuda, element) = (like.memory.cuda(), like.element());
    if element == Element::I32 {
        return Err(AutoCudaError::Reference {
            cname: reference.to_string(),
            given: Argument::Tensor(&like).describe().to_string(),
            expected: "f32 or f16",
        });
    }
    for value in py_dict.values_mut() {
        let tensor = match (&value, element) {
            (OwnedArgument::Tensor(_), _) => continue,
            (OwnedArgument::Int(number), _) => CudaTensor::new(cuda, [], &[*number])?,
            (OwnedArgument::Float(number), Element::F16) => {
                CudaTensor::new(cuda, [2], &[f16::from_f32(*number); 2])?
            }
            (OwnedArgument::Float(number), _) => CudaTensor::new(cuda, [], &[*number])?,
        };
        *value = OwnedArgument::Tensor(tensor);
    }
    Ok(())
}

/// Adds tensors of zeros with these names, of the shape, element type and device of the tensor `reference`.
///
/// # Errors
/// [`AutoCudaError::Reference`]; if there is not enough memory, or the device fails.
pub fn new_tensors<'a>(
    news: &[&'a str],
    py_dict: &mut PyDict<'a>,
    reference: &str,
) -> Result<(), AutoCudaError> {
    let like = tensor(py_dict, reference, "any type")?;
    for name in news {
        let zeros = CudaTensor::zeros(like.memory.cuda(), like.element(), like.shape())?;
        py_dict.insert(name, zeros.into());
    }
    Ok(())
}

/// The tensor of this name; a clone, which shares its memory.
fn tensor(
    py_dict: &PyDict<'_>,
    name: &str,
    expected: &'static str,
) -> Result<CudaTensor, AutoCudaError> {
    let given = match py_dict.get(name) {
        Some(OwnedArgument::Tensor(tensor)) => return Ok(tensor.clone()),
        Some(number) => number.argument().describe().to_string(),
        None => "not given".to_string(),
    };
    Err(AutoCudaError::Reference {
        cname: name.to_string(),
        given,
        expected,
    })
}
