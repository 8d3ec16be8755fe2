//! cuDNN's descriptors: objects that are created, get attributes, and are finalized.

use super::api::{Api, ApiResult, Raw, RawHandle};
use super::names::{AttributeType as Type, ConvolutionMode, DataType, HeurMode, Kind, Name};
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

/// A descriptor, with the descriptors that it refers to.
pub(super) struct Descriptor {
    api: &'static Api,
    raw: Raw,
    /// They are destroyed after it.
    parts: Vec<Arc<Descriptor>>,
}

// SAFETY: a finalized descriptor is only read; any other is owned by the thread that creates it.
unsafe impl Send for Descriptor {}
// SAFETY: as above.
unsafe impl Sync for Descriptor {}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once. A failure is ignored: there is no remedy.
        let _ = unsafe { (self.api.destroy_descriptor)(self.raw) };
    }
}

/// A Rust type with its attribute type in cuDNN.
///
/// # Safety
/// cuDNN must store values of `TYPE` in the same way.
pub(super) unsafe trait Value: Copy {
    const TYPE: Type;
}

/// A numerical note of an engine; later versions may have notes that are unknown here.
#[derive(Clone, Copy, Default, PartialEq)]
#[repr(transparent)]
pub(super) struct Note(u32);

impl Note {
    pub(super) const TENSOR_CORE: Self = Self(0);
    pub(super) const DOWN_CONVERT_INPUTS: Self = Self(1);
    pub(super) const NONDETERMINISTIC: Self = Self(4);
}

/// The number of one of an engine's knobs; later versions may have knobs that are unknown here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(transparent)]
pub(super) struct Knob(pub(super) u32);

macro_rules! value {
    ($($type:ty: $named:ident),* $(,)?) => {
        $(
            // SAFETY: as in cuDNN's header; enumerations are 32-bit integers.
            unsafe impl Value for $type {
                const TYPE: Type = Type::$named;
            }
        )*
    };
}

value! {
    i64: CUDNN_TYPE_INT64,
    f32: CUDNN_TYPE_FLOAT,
    Note: CUDNN_TYPE_NUMERICAL_NOTE,
    Knob: CUDNN_TYPE_KNOB_TYPE,
    RawHandle: CUDNN_TYPE_HANDLE,
    DataType: CUDNN_TYPE_DATA_TYPE,
    ConvolutionMode: CUDNN_TYPE_CONVOLUTION_MODE,
    HeurMode: CUDNN_TYPE_HEUR_MODE,
    // Addresses are not dereferenced before a plan is executed.
    *mut c_void: CUDNN_TYPE_VOID_PTR,
}

impl Descriptor {
    pub(super) fn new(api: &'static Api, kind: Kind) -> ApiResult<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: it writes one pointer.
        api.check(unsafe { (api.create_descriptor)(kind, &mut raw) }, kind)?;
        Ok(Self {
            api,
            raw,
            parts: Vec::new(),
        })
    }

    pub(super) fn api(&self) -> &'static Api {
        self.api
    }

    pub(super) fn raw(&self) -> Raw {
        self.raw
    }

    /// Sets an attribute of plain values.
    pub(super) fn with<V: Value>(self, name: Name, values: &[V]) -> ApiResult<Self> {
        // SAFETY: the values have the declared type; cuDNN rejects an attribute of another type.
        unsafe { self.set(name, V::TYPE, values) }?;
        Ok(self)
    }

    /// Sets an attribute of descriptors.
    pub(super) fn with_parts(mut self, name: Name, parts: &[Arc<Descriptor>]) -> ApiResult<Self> {
        let raw: Vec<_> = parts.iter().map(|part| part.raw).collect();
        // SAFETY: as above; the descriptors live as long as this one.
        unsafe { self.set(name, Type::CUDNN_TYPE_BACKEND_DESCRIPTOR, &raw) }?;
        self.parts.extend_from_slice(parts);
        Ok(self)
    }

    /// # Safety
    /// `V` must be stored as `ty` is, and descriptors must outlive this one.
    unsafe fn set<V>(&self, name: Name, ty: Type, values: &[V]) -> ApiResult<()> {
        let (count, from) = (values.len() as i64, values.as_ptr().cast());
        // SAFETY: the caller's promise; there are `count` values.
        let status = unsafe { (self.api.set)(self.raw, name, ty, count, from) };
        self.api.check(status, name)
    }

    /// Finalizes it: its attributes are fixed, and it is ready for use.
    pub(super) fn finish(self) -> ApiResult<Arc<Self>> {
        // SAFETY: created by `new`, not finalized yet.
        let status = unsafe { (self.api.finish)(self.raw) };
        self.api
            .check(status, format_args!("cudnnBackendFinalize"))?;
        Ok(Arc::new(self))
    }

    /// An attribute of at most `max` plain values.
    pub(super) fn values<V: Value + Default>(&self, name: Name, max: usize) -> ApiResult<Vec<V>> {
        let mut values = vec![V::default(); max];
        let mut count = 0;
        // SAFETY: it writes at most `max` values of the declared type, for which every bit pattern is
        // valid.
        let status = unsafe {
            let to = values.as_mut_ptr().cast();
            (self.api.get)(self.raw, name, V::TYPE, max as i64, &mut count, to)
        };
        self.api.check(status, name)?;
        values.truncate(usize::try_from(count).unwrap_or(0));
        Ok(values)
    }

    /// An attribute of one value.
    pub(super) fn value<V: Value + Default>(&self, name: Name) -> ApiResult<V> {
        let found = self.values(name, 1)?;
        found
            .first()
            .copied()
            .ok_or_else(|| format!("{name:?}: has no value"))
    }

    /// The number of descriptors of an attribute, if cuDNN reports it before it fills them in.
    pub(super) fn count(&self, name: Name) -> ApiResult<usize> {
        self.fill(name, &mut [])
    }

    /// An attribute of at most `max` descriptors of one kind.
    pub(super) fn parts(&self, name: Name, kind: Kind, max: usize) -> ApiResult<Vec<Arc<Self>>> {
        let descriptors: Vec<_> = (0..max)
            .map(|_| Descriptor::new(self.api, kind).map(Arc::new))
            .collect::<ApiResult<_>>()?;
        let mut raw: Vec<_> = descriptors.iter().map(|part| part.raw).collect();
        let filled = self.fill(name, &mut raw)?;
        Ok(descriptors.into_iter().take(filled).collect())
    }

    fn fill(&self, name: Name, parts: &mut [Raw]) -> ApiResult<usize> {
        let ty = Type::CUDNN_TYPE_BACKEND_DESCRIPTOR;
        let capacity = parts.len();
        let to = match capacity {
            0 => ptr::null_mut(),
            _ => parts.as_mut_ptr().cast(),
        };
        let mut count = 0;
        // SAFETY: it fills in at most `capacity` descriptors.
        let status = unsafe { (self.api.get)(self.raw, name, ty, capacity as i64, &mut count, to) };
        self.api.check(status, name)?;
        Ok(usize::try_from(count).unwrap_or(0))
    }
}
