//! Tensors of libtorch, and their layouts in memory.

use super::shim::{Handle, StringHandle, shim};
use spikelet_graph::DType;
use std::ffi::c_void;

/// An owned tensor.
pub(super) struct Tensor(Handle);

impl Drop for Tensor {
    fn drop(&mut self) {
        // SAFETY: the handle is owned and not used again.
        unsafe { (shim().aoti_torch_delete_tensor_object)(self.0) };
    }
}

/// An owned string.
pub(super) struct Text(StringHandle);

impl Drop for Text {
    fn drop(&mut self) {
        // SAFETY: the handle is owned and not used again.
        unsafe { (shim().torch_delete_string)(self.0) };
    }
}

impl Text {
    /// # Safety
    /// The word must be an argument of type `str`, which the kernel owns.
    pub(super) unsafe fn argument(word: u64) -> Self {
        Self(word as StringHandle)
    }

    pub(super) fn get(&self) -> Result<&str, String> {
        let (mut length, mut data) = (0, std::ptr::null());
        // SAFETY: the handle is alive, and each call writes one value.
        let failed = unsafe {
            (shim().torch_string_length)(self.0, &mut length)
                | (shim().torch_string_c_str)(self.0, &mut data)
        };
        if failed != 0 || data.is_null() {
            return Err("libtorch did not return the text of a definition".to_string());
        }
        // SAFETY: libtorch keeps that many bytes there as long as the string lives.
        let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length) };
        std::str::from_utf8(bytes).map_err(|error| format!("the definition is not UTF-8: {error}"))
    }
}

/// A device of libtorch: its type and its index.
pub(super) type Device = (i32, i32);

/// The properties of a tensor. They are valid as long as the tensor.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) address: usize,
    pub(super) sizes: &'a [i64],
    pub(super) strides: &'a [i64],
    pub(super) dtype: i32,
    pub(super) device: Device,
}

impl Tensor {
    /// # Safety
    /// The word must be an argument of type `Tensor`, which the kernel owns.
    pub(super) unsafe fn argument(word: u64) -> Self {
        Self(word as Handle)
    }

    /// # Safety
    /// The word must be an argument of type `Tensor?`, which the kernel owns.
    pub(super) unsafe fn optional(word: u64) -> Option<Self> {
        let cell = word as *mut u64;
        if cell.is_null() {
            return None;
        }
        // SAFETY: by convention it is an allocation of C++ with the value, which the kernel frees.
        let value = unsafe { cell.read() };
        // SAFETY: as above.
        unsafe { (shim().delete)(cell.cast()) };
        Some(Self(value as Handle))
    }

    /// The tensor as a result.
    pub(super) fn into_word(self) -> u64 {
        let handle = self.0;
        std::mem::forget(self);
        handle as u64
    }

    pub(super) fn view(&self) -> Result<View<'_>, String> {
        let s = shim();
        let (mut data, mut dim) = (std::ptr::null_mut(), 0);
        let (mut sizes, mut strides) = (std::ptr::null_mut(), std::ptr::null_mut());
        let (mut dtype, mut kind, mut index) = (0, 0, 0);
        // SAFETY: the handle is alive, and each call writes one value of the type that it is given.
        let failed = unsafe {
            (s.aoti_torch_get_data_ptr)(self.0, &mut data)
                | (s.aoti_torch_get_dim)(self.0, &mut dim)
                | (s.aoti_torch_get_sizes)(self.0, &mut sizes)
                | (s.aoti_torch_get_strides)(self.0, &mut strides)
                | (s.aoti_torch_get_dtype)(self.0, &mut dtype)
                | (s.aoti_torch_get_device_type)(self.0, &mut kind)
                | (s.aoti_torch_get_device_index)(self.0, &mut index)
        };
        if failed != 0 {
            return Err("libtorch did not describe a tensor".to_string());
        }
        let list = |values: *mut i64| match dim {
            0 => &[][..],
            // SAFETY: libtorch keeps `dim` values there as long as the tensor lives.
            _ => unsafe { std::slice::from_raw_parts(values.cast_const(), dim as usize) },
        };
        Ok(View {
            address: data as usize,
            sizes: list(sizes),
            strides: list(strides),
            dtype,
            device: (kind, index),
        })
    }

    /// The address of its elements.
    pub(super) fn address(&self) -> Result<usize, String> {
        let mut data = std::ptr::null_mut::<c_void>();
        // SAFETY: the handle is alive, and one value is written.
        match unsafe { (shim().aoti_torch_get_data_ptr)(self.0, &mut data) } {
            0 => Ok(data as usize),
            _ => Err("libtorch did not return the address of a tensor".to_string()),
        }
    }

    /// A new tensor, from libtorch's allocator.
    pub(super) fn empty(
        sizes: &[i64],
        strides: &[i64],
        dtype: i32,
        device: Device,
    ) -> Result<Self, String> {
        let mut made = std::ptr::null_mut();
        // SAFETY: sizes and strides have the same length.
        let failed = unsafe {
            (shim().aoti_torch_empty_strided)(
                sizes.len() as i64,
                sizes.as_ptr(),
                strides.as_ptr(),
                dtype,
                device.0,
                device.1,
                &mut made,
            )
        };
        if failed != 0 {
            return Err(format!(
                "out of memory: a tensor of shape {sizes:?} could not be allocated"
            ));
        }
        Ok(Self(made))
    }

    /// Sets all elements to zero.
    pub(super) fn clear(&self) -> Result<(), String> {
        // SAFETY: the handle is alive.
        match unsafe { (shim().aoti_torch_zero_)(self.0) } {
            0 => Ok(()),
            _ => Err("libtorch did not clear a tensor".to_string()),
        }
    }

    /// The tensor in a layout: itself, or a copy.
    pub(super) fn with_strides(self, strides: &[i64]) -> Result<Self, String> {
        let view = self.view()?;
        let same = |((a, b), size): ((&i64, &i64), &i64)| *size <= 1 || a == b;
        // A tensor over foreign memory may begin at any address.
        let alignment = match view.device.0 == shim().cuda {
            true => ALIGNMENT,
            false => dtype(view.dtype)?.size_in_bytes(),
        };
        let aligned = view.address.is_multiple_of(alignment);
        if aligned && view.strides.iter().zip(strides).zip(view.sizes).all(same) {
            return Ok(self);
        }
        let copy = Self::empty(view.sizes, strides, view.dtype, view.device)?;
        // SAFETY: two live tensors of one shape.
        match unsafe { (shim().aoti_torch_copy_)(copy.0, self.0, 0) } {
            0 => Ok(copy),
            _ => Err("libtorch did not copy a tensor".to_string()),
        }
    }
}

/// The alignment of tensors that kernels of GPUs need.
const ALIGNMENT: usize = 16;

/// The most axes of a tensor.
pub(super) const MAX_AXES: usize = 64;

/// Sizes or strides, on the stack.
#[derive(Clone, Copy)]
pub(super) struct Axes {
    values: [i64; MAX_AXES],
    count: usize,
}

impl Axes {
    pub(super) fn new(values: &[i64]) -> Result<Self, String> {
        if values.len() > MAX_AXES {
            return Err(format!(
                "a tensor has {} axes, at most {MAX_AXES} are supported",
                values.len()
            ));
        }
        let mut all = [0; MAX_AXES];
        all[..values.len()].copy_from_slice(values);
        Ok(Self {
            values: all,
            count: values.len(),
        })
    }

    /// The strides of a contiguous tensor.
    pub(super) fn contiguous(sizes: &[i64]) -> Result<Self, String> {
        let mut strides = Self::new(sizes)?;
        let mut stride = 1;
        for (to, size) in strides.values[..sizes.len()].iter_mut().zip(sizes).rev() {
            *to = stride;
            stride *= (*size).max(1);
        }
        Ok(strides)
    }

    pub(super) fn get(&self) -> &[i64] {
        &self.values[..self.count]
    }

    pub(super) fn get_mut(&mut self) -> &mut [i64] {
        &mut self.values[..self.count]
    }
}

/// Whether axes with these sizes and strides are dense, in whatever order.
pub(super) fn is_dense(sizes: &[i64], strides: &[i64]) -> bool {
    // Contiguous, which is frequent and quick to see.
    let mut expected = 1;
    let contiguous = sizes.iter().zip(strides).rev().all(|(size, stride)| {
        let fits = *size == 1 || *stride == expected;
        expected *= *size;
        fits
    });
    if contiguous {
        return true;
    }
    let mut expected = 1;
    // Selection by stride: few axes.
    let mut done = [false; MAX_AXES];
    for _ in 0..sizes.len() {
        let open = (0..sizes.len()).filter(|k| !done[*k]);
        let Some(next) = open.min_by_key(|k| (sizes[*k] != 1, strides[*k])) else {
            break;
        };
        done[next] = true;
        if sizes[next] != 1 {
            if strides[next] != expected {
                return false;
            }
            expected *= sizes[next];
        }
    }
    true
}

/// The element type with this code.
pub(super) fn dtype(code: i32) -> Result<DType, String> {
    const ALL: [DType; 4] = [DType::F32, DType::F16, DType::BF16, DType::F64];
    let found = shim().dtypes.iter().position(|known| *known == code);
    found
        .map(|k| ALL[k])
        .ok_or_else(|| "expected float32, float16, bfloat16 or float64".to_string())
}

/// The code of an element type.
pub(super) fn code(dtype: DType) -> i32 {
    let codes = shim().dtypes;
    match dtype {
        DType::F16 => codes[1],
        DType::BF16 => codes[2],
        DType::F64 => codes[3],
        _ => codes[0],
    }
}

/// Elements of a tensor of these sizes.
pub(super) fn elements(sizes: &[i64]) -> usize {
    sizes.iter().product::<i64>() as usize
}
