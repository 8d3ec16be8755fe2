//! Traced values.

use super::error::{invalid, raise};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};
use spikelet::graph::{DType, Operand, Var};

/// A value of a graph that is being built: its shape is known, its elements are not.
///
/// Arithmetic and methods build the graph. It exists while the function of a `Step` is traced.
#[pyclass(frozen, unsendable, name = "Var", module = "spikelet.graph")]
pub(super) struct PyVar {
    pub var: Var,
}

/// A traced value or a number.
#[derive(FromPyObject)]
pub(super) enum Term<'py> {
    Var(PyRef<'py, PyVar>),
    Number(f64),
}

impl Term<'_> {
    pub fn operand(&self) -> Operand<'_> {
        match self {
            Self::Var(var) => Operand::Tensor(&var.var),
            Self::Number(number) => Operand::Number(*number),
        }
    }

    /// The value as a tensor of the same graph.
    fn tensor(&self, like: &Var) -> Var {
        match self {
            Self::Var(var) => var.var.clone(),
            Self::Number(number) => like.tracer().fill(like.ty().dtype, [], *number),
        }
    }
}

/// One axis, several, or all.
#[derive(FromPyObject)]
pub(super) enum Axes {
    One(isize),
    Several(Vec<isize>),
}

/// A traced value, or the error of the operation that made it.
pub(super) fn made(var: Var) -> PyResult<PyVar> {
    if var.id().is_none() {
        var.tracer().check().map_err(raise)?;
    }
    Ok(PyVar { var })
}

/// An axis counted from the front, for one that may be counted from the end.
pub(super) fn axis(rank: usize, axis: isize) -> PyResult<usize> {
    let found = if axis < 0 { axis + rank as isize } else { axis };
    match usize::try_from(found) {
        Ok(found) if found < rank => Ok(found),
        _ => Err(PyIndexError::new_err(format!(
            "axis: {axis} was given, the tensor has {rank} axes"
        ))),
    }
}

impl PyVar {
    fn axes(&self, axes: Option<Axes>) -> PyResult<Vec<usize>> {
        let rank = self.var.rank();
        match axes {
            None => Ok((0..rank).collect()),
            Some(Axes::One(one)) => Ok(vec![axis(rank, one)?]),
            Some(Axes::Several(all)) => all.into_iter().map(|one| axis(rank, one)).collect(),
        }
    }

    fn axis(&self, one: isize) -> PyResult<usize> {
        axis(self.var.rank(), one)
    }
}

#[pymethods]
impl PyVar {
    #[classattr]
    #[pyo3(name = "__array_ufunc__")]
    fn array_ufunc() -> Option<u8> {
        // Operators of numpy's scalars leave the operation to this class.
        None
    }

    /// The sizes of the axes.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.var.shape())
    }

    /// The number of axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.var.rank()
    }

    /// The element type: "f32", "i64", ….
    #[getter]
    fn dtype(&self) -> String {
        self.var.ty().dtype.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Var({})", self.var.ty())
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err(
            "Var: it has no value while the step is traced\n  help: use `where(condition, x, y)` in place of `if`",
        ))
    }

    fn __add__(&self, other: Term<'_>) -> PyResult<Self> {
        made(&self.var + &other.tensor(&self.var))
    }

    fn __radd__(&self, other: Term<'_>) -> PyResult<Self> {
        made(&other.tensor(&self.var) + &self.var)
    }

    fn __sub__(&self, other: Term<'_>) -> PyResult<Self> {
        made(&self.var - &other.tensor(&self.var))
    }

    fn __rsub__(&self, other: Term<'_>) -> PyResult<Self> {
        made(&other.tensor(&self.var) - &self.var)
    }

    fn __mul__(&self, other: Term<'_>) -> PyResult<Self> {
        made(&self.var * &other.tensor(&self.var))
    }

    fn __rmul__(&self, other: Term<'_>) -> PyResult<Self> {
        made(&other.tensor(&self.var) * &self.var)
    }

    fn __truediv__(&self, other: Term<'_>) -> PyResult<Self> {
        made(&self.var / &other.tensor(&self.var))
    }

    fn __rtruediv__(&self, other: Term<'_>) -> PyResult<Self> {
        made(&other.tensor(&self.var) / &self.var)
    }

    fn __neg__(&self) -> PyResult<Self> {
        made(-&self.var)
    }

    fn __pow__(&self, exponent: Term<'_>, _modulo: Option<Bound<'_, PyAny>>) -> PyResult<Self> {
        made(self.var.pow(exponent.operand()))
    }

    fn __matmul__(&self, other: PyRef<'_, Self>) -> PyResult<Self> {
        made(match (self.var.rank(), other.var.rank()) {
            (_, 2) => self.var.matmul(&other.var),
            _ => self.var.bmm(&other.var),
        })
    }

    fn __abs__(&self) -> PyResult<Self> {
        made(self.var.abs())
    }

    fn __richcmp__(&self, other: Term<'_>, how: CompareOp) -> PyResult<Self> {
        let other = other.operand();
        made(match how {
            CompareOp::Lt => self.var.lt(other),
            CompareOp::Le => self.var.le(other),
            CompareOp::Gt => self.var.gt(other),
            CompareOp::Ge => self.var.ge(other),
            CompareOp::Eq => self.var.equals(other),
            CompareOp::Ne => self.var.differs(other),
        })
    }

    /// The error of an attribute that does not exist.
    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Self> {
        let all = py.get_type::<Self>().dir()?.extract::<Vec<String>>()?;
        let names: Vec<&str> = (all.iter().map(String::as_str))
            .filter(|name| !name.starts_with('_'))
            .collect();
        let close = spikelet::suggest::closest(name, names.iter().copied());
        let close = close.map_or_else(String::new, |close| format!("did you mean `{close}`? "));
        Err(PyAttributeError::new_err(format!(
            "Var: there is no `{name}`\n  help: {close}it has {}; losses are in `spikelet.graph`",
            names.join(", ")
        )))
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.var.shape().first().copied();
        first.ok_or_else(|| PyTypeError::new_err("Var: a scalar has no length"))
    }

    /// A part: indices and slices of the first axes.
    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let given: Vec<Bound<'_, PyAny>> = match index.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => vec![index.clone()],
        };
        let rank = self.var.rank();
        let is_ellipsis = |item: &Bound<'_, PyAny>| item.is(index.py().Ellipsis());
        let named = given.iter().filter(|item| !is_ellipsis(item)).count();
        if named > rank {
            return Err(PyIndexError::new_err(format!(
                "index: {named} were given, the tensor has {rank} axes"
            )));
        }
        let mut var = self.var.clone();
        let mut at = 0;
        for item in &given {
            if is_ellipsis(item) {
                at += rank - named;
                continue;
            }
            let size = var.dim(at);
            if let Ok(slice) = item.cast::<PySlice>() {
                let found = slice.indices(size as isize)?;
                if found.step != 1 {
                    return Err(invalid(
                        "slice",
                        format!("the step is {}", found.step),
                        "use a step of 1",
                    ));
                }
                let (start, stop) = (
                    found.start.max(0) as usize,
                    found.stop.max(found.start) as usize,
                );
                var = var.slice(at, start..stop);
                at += 1;
                continue;
            }
            let number: isize = item.extract().map_err(|_| {
                PyTypeError::new_err(
                    "index: give integers and slices; `gather` selects by a tensor",
                )
            })?;
            let place = if number < 0 {
                number + size as isize
            } else {
                number
            };
            let place = usize::try_from(place).ok().filter(|place| *place < size);
            let place = place.ok_or_else(|| {
                PyIndexError::new_err(format!(
                    "index: {number} was given, axis {at} has {size} elements"
                ))
            })?;
            var = var.slice(at, place..place + 1).squeeze(at);
        }
        made(var)
    }

    /// x².
    fn square(&self) -> PyResult<Self> {
        made(self.var.square())
    }

    /// The square root.
    fn sqrt(&self) -> PyResult<Self> {
        made(self.var.sqrt())
    }

    /// 1/√x.
    fn rsqrt(&self) -> PyResult<Self> {
        made(self.var.rsqrt())
    }

    /// 1/x.
    fn reciprocal(&self) -> PyResult<Self> {
        made(self.var.reciprocal())
    }

    /// The absolute value.
    fn abs(&self) -> PyResult<Self> {
        made(self.var.abs())
    }

    /// −1, 0 or 1.
    fn sign(&self) -> PyResult<Self> {
        made(self.var.sign())
    }

    /// The nearest integer.
    fn round(&self) -> PyResult<Self> {
        made(self.var.round())
    }

    /// The largest integer that is not larger.
    fn floor(&self) -> PyResult<Self> {
        made(self.var.floor())
    }

    /// The smallest integer that is not smaller.
    fn ceil(&self) -> PyResult<Self> {
        made(self.var.ceil())
    }

    /// The exponential function.
    fn exp(&self) -> PyResult<Self> {
        made(self.var.exp())
    }

    /// exp(x) − 1.
    fn expm1(&self) -> PyResult<Self> {
        made(self.var.exp_m1())
    }

    /// The natural logarithm.
    fn log(&self) -> PyResult<Self> {
        made(self.var.ln())
    }

    /// As `log`.
    fn ln(&self) -> PyResult<Self> {
        self.log()
    }

    /// ln(1 + x).
    fn log1p(&self) -> PyResult<Self> {
        made(self.var.ln_1p())
    }

    /// As `log1p`.
    fn ln_1p(&self) -> PyResult<Self> {
        self.log1p()
    }

    /// The sine.
    fn sin(&self) -> PyResult<Self> {
        made(self.var.sin())
    }

    /// The cosine.
    fn cos(&self) -> PyResult<Self> {
        made(self.var.cos())
    }

    /// The arc tangent.
    fn atan(&self) -> PyResult<Self> {
        made(self.var.atan())
    }

    /// The hyperbolic tangent.
    fn tanh(&self) -> PyResult<Self> {
        made(self.var.tanh())
    }

    /// 1/(1 + exp(−x)).
    fn sigmoid(&self) -> PyResult<Self> {
        made(self.var.sigmoid())
    }

    /// The logarithm of the sigmoid.
    fn log_sigmoid(&self) -> PyResult<Self> {
        made(self.var.log_sigmoid())
    }

    /// The error function.
    fn erf(&self) -> PyResult<Self> {
        made(self.var.erf())
    }

    /// max(x, 0).
    fn relu(&self) -> PyResult<Self> {
        made(self.var.relu())
    }

    /// x, times `slope` below 0.
    #[pyo3(signature = (slope=0.01))]
    fn leaky_relu(&self, slope: f64) -> PyResult<Self> {
        made(self.var.leaky_relu(slope))
    }

    /// x, and `alpha` · (exp(x) − 1) below 0.
    #[pyo3(signature = (alpha=1.0))]
    fn elu(&self, alpha: f64) -> PyResult<Self> {
        made(self.var.elu(alpha))
    }

    /// x limited to −1 and 1.
    fn hard_tanh(&self) -> PyResult<Self> {
        made(self.var.hard_tanh())
    }

    /// ln(1 + exp(x)).
    fn softplus(&self) -> PyResult<Self> {
        made(self.var.softplus())
    }

    /// x · sigmoid(x).
    fn silu(&self) -> PyResult<Self> {
        made(self.var.silu())
    }

    /// x · Φ(x).
    fn gelu(&self) -> PyResult<Self> {
        made(self.var.gelu())
    }

    /// The index of the largest element of the last axis.
    fn argmax(&self) -> PyResult<Self> {
        made(self.var.argmax())
    }

    /// The index of the smallest element of the last axis.
    fn argmin(&self) -> PyResult<Self> {
        made(self.var.argmin())
    }

    /// 1 where the value is 0, else 0.
    fn logical_not(&self) -> PyResult<Self> {
        made(self.var.logical_not())
    }

    /// 1 where both are not 0, else 0.
    fn logical_and(&self, other: Term<'_>) -> PyResult<Self> {
        made(self.var.logical_and(other.operand()))
    }

    /// 1 where one of both is not 0, else 0.
    fn logical_or(&self, other: Term<'_>) -> PyResult<Self> {
        made(self.var.logical_or(other.operand()))
    }

    /// 1 where exactly one of both is not 0, else 0.
    fn logical_xor(&self, other: Term<'_>) -> PyResult<Self> {
        made(self.var.logical_xor(other.operand()))
    }

    /// The same value without a gradient.
    fn detach(&self) -> PyResult<Self> {
        made(self.var.detach())
    }

    /// The sum over axes; by default over all.
    #[pyo3(signature = (axis=None))]
    fn sum(&self, axis: Option<Axes>) -> PyResult<Self> {
        made(self.var.sum(&self.axes(axis)?))
    }

    /// The mean over axes; by default over all.
    #[pyo3(signature = (axis=None))]
    fn mean(&self, axis: Option<Axes>) -> PyResult<Self> {
        made(self.var.mean(&self.axes(axis)?))
    }

    /// The largest element of axes; by default of all.
    #[pyo3(signature = (axis=None))]
    fn max(&self, axis: Option<Axes>) -> PyResult<Self> {
        made(self.var.max(&self.axes(axis)?))
    }

    /// The smallest element of axes; by default of all.
    #[pyo3(signature = (axis=None))]
    fn min(&self, axis: Option<Axes>) -> PyResult<Self> {
        made(self.var.min(&self.axes(axis)?))
    }

    /// The variance over axes; the sum of squares is divided by the number of elements less `correction`.
    #[pyo3(signature = (axis=None, correction=1))]
    fn var(&self, axis: Option<Axes>, correction: usize) -> PyResult<Self> {
        made(self.var.var(&self.axes(axis)?, correction))
    }

    /// The standard deviation over axes.
    #[pyo3(signature = (axis=None, correction=1))]
    fn std(&self, axis: Option<Axes>, correction: usize) -> PyResult<Self> {
        made(self.var.std(&self.axes(axis)?, correction))
    }

    /// The Euclidean norm over axes.
    #[pyo3(signature = (axis=None))]
    fn norm(&self, axis: Option<Axes>) -> PyResult<Self> {
        made(self.var.norm(&self.axes(axis)?))
    }

    /// The logarithm of the sum of exponentials over axes; by default over all.
    #[pyo3(signature = (axis=None))]
    fn logsumexp(&self, axis: Option<Axes>) -> PyResult<Self> {
        made(self.var.log_sum_exp(&self.axes(axis)?))
    }

    /// The running sum along an axis.
    fn cumsum(&self, axis: isize) -> PyResult<Self> {
        made(self.var.cumsum(self.axis(axis)?))
    }

    /// The softmax along an axis.
    #[pyo3(signature = (axis=-1))]
    fn softmax(&self, axis: isize) -> PyResult<Self> {
        made(self.var.softmax_along(self.axis(axis)?))
    }

    /// The logarithm of the softmax along an axis.
    #[pyo3(signature = (axis=-1))]
    fn log_softmax(&self, axis: isize) -> PyResult<Self> {
        made(self.var.log_softmax_along(self.axis(axis)?))
    }

    /// The larger of two values, element by element.
    fn maximum(&self, other: Term<'_>) -> PyResult<Self> {
        made(self.var.maximum(other.operand()))
    }

    /// The smaller of two values, element by element.
    fn minimum(&self, other: Term<'_>) -> PyResult<Self> {
        made(self.var.minimum(other.operand()))
    }

    /// The value limited to an interval.
    fn clamp(&self, low: Term<'_>, high: Term<'_>) -> PyResult<Self> {
        made(self.var.clamp(low.operand(), high.operand()))
    }

    /// The elements in another shape; one size may be −1.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let sizes: Vec<isize> = match shape.len() {
            1 => match shape.get_item(0)?.extract::<Vec<isize>>() {
                Ok(sizes) => sizes,
                Err(_) => shape.extract()?,
            },
            _ => shape
                .iter()
                .map(|size| size.extract())
                .collect::<PyResult<_>>()?,
        };
        let total: usize = self.var.shape().iter().product();
        let known: usize = sizes
            .iter()
            .filter(|size| **size >= 0)
            .map(|size| *size as usize)
            .product();
        let wanted = sizes.iter().map(|&size| match size {
            -1 => total.checked_div(known).unwrap_or(0),
            size => size.max(0) as usize,
        });
        made(self.var.reshape(wanted.collect::<Vec<_>>()))
    }

    /// The axes from `start` on as one.
    #[pyo3(signature = (start=0))]
    fn flatten(&self, start: isize) -> PyResult<Self> {
        made(self.var.flatten(self.axis(start)?))
    }

    /// The axes in another order.
    fn permute(&self, order: Vec<isize>) -> PyResult<Self> {
        let order: Vec<usize> = order
            .into_iter()
            .map(|one| self.axis(one))
            .collect::<PyResult<_>>()?;
        made(self.var.permute(&order))
    }

    /// Two axes exchanged.
    fn transpose(&self, first: isize, second: isize) -> PyResult<Self> {
        made(self.var.transpose(self.axis(first)?, self.axis(second)?))
    }

    /// A new axis of one element.
    fn unsqueeze(&self, axis: isize) -> PyResult<Self> {
        made(self.var.unsqueeze(self::axis(self.var.rank() + 1, axis)?))
    }

    /// The value without an axis of one element.
    fn squeeze(&self, axis: isize) -> PyResult<Self> {
        made(self.var.squeeze(self.axis(axis)?))
    }

    /// The value repeated to another shape.
    fn expand(&self, shape: Vec<usize>) -> PyResult<Self> {
        made(self.var.expand(shape))
    }

    /// A sequence that has the value at each time step.
    fn repeat_over_time(&self, time_steps: usize) -> PyResult<Self> {
        made(self.var.repeat_over_time(time_steps))
    }

    /// The value with constants before and after it on an axis.
    #[pyo3(signature = (axis, before, after, value=0.0))]
    fn pad(&self, axis: isize, before: usize, after: usize, value: f64) -> PyResult<Self> {
        made(self.var.pad(self.axis(axis)?, before, after, value))
    }

    /// The elements of an axis in reverse order.
    fn flip(&self, axis: isize) -> PyResult<Self> {
        made(self.var.flip(self.axis(axis)?))
    }

    /// The elements of an axis shifted; those that leave it enter at the other end.
    fn roll(&self, axis: isize, shift: isize) -> PyResult<Self> {
        made(self.var.roll(self.axis(axis)?, shift))
    }

    /// Classes as vectors of zeros with a one.
    fn one_hot(&self, classes: usize) -> PyResult<Self> {
        made(self.var.one_hot(classes))
    }

    /// The largest elements of the last axis and their indices.
    fn topk(&self, k: usize) -> PyResult<(Self, Self)> {
        let [values, indices] = self.var.topk(k);
        Ok((made(values)?, made(indices)?))
    }

    /// Elements along an axis by their indices.
    fn gather(&self, axis: isize, index: PyRef<'_, Self>) -> PyResult<Self> {
        made(self.var.gather(self.axis(axis)?, &index.var))
    }

    /// x·Wᵀ over the last axis.
    fn linear(&self, weight: PyRef<'_, Self>) -> PyResult<Self> {
        made(self.var.linear(&weight.var))
    }

    /// `x` where this is not 0, else `y`.
    #[pyo3(name = "where")]
    fn where_(&self, x: Term<'_>, y: Term<'_>) -> PyResult<Self> {
        made(self.var.where_(x.operand(), y.operand()))
    }

    /// The value as another type: "f32" or "i64".
    fn cast(&self, dtype: &str) -> PyResult<Self> {
        made(self.var.cast(dtype_of(dtype)?))
    }
}

/// The element type of a name.
pub(super) fn dtype_of(name: &str) -> PyResult<DType> {
    match name {
        "f32" | "float32" => Ok(DType::F32),
        "i64" | "int64" => Ok(DType::I64),
        _ => Err(invalid(
            "dtype",
            format!("`{name}` was given"),
            "use \"f32\" or \"i64\"",
        )),
    }
}
