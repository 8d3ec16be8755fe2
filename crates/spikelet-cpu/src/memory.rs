//! Aligned memory that kernels share, and their views of it.

use half::{bf16, f16};
use spikelet_graph::{DType, DeviceId, Storage, TensorType};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::slice;

/// Every tensor starts on a cache line.
const LINE: usize = 64;

/// Allocations of at least this size request huge pages: a scan strides over rows that are
/// megabytes apart, and with small pages it would be bound by address translation.
const HUGE: usize = 2 << 20;

/// An allocation of fixed size, initially zero.
///
/// It is written through shared handles. Every access holds the lock of the [`crate::Cpu`] that
/// allocated it, which it takes around every run, upload and download; no other device has the
/// address.
pub(crate) struct Memory {
    device: DeviceId,
    start: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

// SAFETY: the memory is owned, and its content is only touched under the lock of its device (see
// `Memory`); within a run kernels hand disjoint pieces to their threads.
unsafe impl Sync for Memory {}
// SAFETY: as above.
unsafe impl Send for Memory {}

impl Memory {
    /// Allocates this many bytes; `None` if there is not enough memory.
    pub(crate) fn new(device: DeviceId, bytes: usize) -> Option<Self> {
        let alignment = if bytes >= HUGE { HUGE } else { LINE };
        let size = bytes.max(1).checked_next_multiple_of(alignment)?;
        let layout = Layout::from_size_align(size, alignment).ok()?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        if bytes >= HUGE {
            use_huge_pages(start, size);
        }
        // SAFETY: the allocation has this size.
        unsafe { start.write_bytes(0, size) };
        Some(Self {
            device,
            start,
            layout,
            bytes,
        })
    }

    /// The address of a byte; one past the end at most.
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        assert!(
            offset <= self.bytes,
            "offset {offset} of {} bytes",
            self.bytes
        );
        // SAFETY: the offset lies within the allocation, or one past its end.
        unsafe { self.start.as_ptr().add(offset) }
    }
}

impl Storage for Memory {
    fn device(&self) -> DeviceId {
        self.device
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(target_os = "linux")]
fn use_huge_pages(start: NonNull<u8>, size: usize) {
    // SAFETY: the range is our own allocation and consists of full pages. Failure only costs speed.
    unsafe { libc::madvise(start.as_ptr().cast(), size, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn use_huge_pages(_: NonNull<u8>, _: usize) {}

/// A tensor that a kernel reads.
#[derive(Clone, Copy)]
pub(crate) enum View<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    F16(&'a [f16]),
    BF16(&'a [bf16]),
    I64(&'a [i64]),
    Bits(&'a [u64]),
    /// The operand is in the memory of this result until it is overwritten.
    InPlace(usize),
}

/// A tensor that a kernel writes.
pub(crate) enum ViewMut<'a> {
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
    F16(&'a mut [f16]),
    BF16(&'a mut [bf16]),
    I64(&'a mut [i64]),
    Bits(&'a mut [u64]),
    /// A result that nothing reads.
    Unused,
}

/// An element type of views.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    fn of<'a>(view: &View<'a>) -> &'a [Self];
    fn of_mut<'a, 'b>(view: &'a mut ViewMut<'b>) -> &'a mut [Self];
}

/// Calls a macro with the element types that host tensors can have, as `F32: f32, F64: f64, …`.
macro_rules! for_each_dtype {
    ($macro:ident) => {
        $macro! { F32: f32, F64: f64, F16: half::f16, BF16: half::bf16, I64: i64 }
    };
}
pub(crate) use for_each_dtype;

macro_rules! elements {
    ($($variant:ident: $type:ty),*) => {$(
        impl Element for $type {
            fn of<'a>(view: &View<'a>) -> &'a [Self] {
                match view {
                    View::$variant(values) => values,
                    _ => unreachable!("the graph checked the element types"),
                }
            }
            fn of_mut<'a, 'b>(view: &'a mut ViewMut<'b>) -> &'a mut [Self] {
                match view {
                    ViewMut::$variant(values) => values,
                    _ => unreachable!("the graph checked the element types"),
                }
            }
        }
    )*};
}

for_each_dtype!(elements);
elements!(Bits: u64);

/// A tensor's address and type, resolved when a plan is loaded.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) pointer: *mut u8,
    pub(crate) ty: TensorType,
}

// SAFETY: a slot is an address; access to the memory is guarded as described at `Memory`.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    /// The elements, for reading.
    ///
    /// # Safety
    /// The memory contains this tensor, stays allocated for `'a`, and is not written meanwhile.
    pub(crate) unsafe fn view<'a>(&self) -> View<'a> {
        let n = self.ty.len();
        let p = self.pointer;
        // SAFETY: address, length and freedom from writers as the caller promises; every tensor
        // starts on a cache line.
        unsafe {
            macro_rules! slice {
                ($($variant:ident: $type:ty),*) => {
                    match self.ty.dtype {
                        $(DType::$variant => View::$variant(slice::from_raw_parts(p.cast::<$type>(), n)),)*
                        DType::Bits => View::Bits(slice::from_raw_parts(p.cast(), self.ty.bytes() / 8)),
                        DType::U8 => unreachable!("graphs have no bytes: see `TensorType::check`"),
                    }
                };
            }
            for_each_dtype!(slice)
        }
    }

    /// The elements, for writing.
    ///
    /// # Safety
    /// The memory is as large as the tensor, stays allocated for `'a`, and nothing else reads
    /// or writes it meanwhile.
    pub(crate) unsafe fn view_mut<'a>(&self) -> ViewMut<'a> {
        let n = self.ty.len();
        let p = self.pointer;
        // SAFETY: as the caller promises; every tensor starts on a cache line.
        unsafe {
            macro_rules! slice {
                ($($variant:ident: $type:ty),*) => {
                    match self.ty.dtype {
                        $(DType::$variant => ViewMut::$variant(slice::from_raw_parts_mut(p.cast::<$type>(), n)),)*
                        DType::Bits => ViewMut::Bits(slice::from_raw_parts_mut(p.cast(), self.ty.bytes() / 8)),
                        DType::U8 => unreachable!("graphs have no bytes: see `TensorType::check`"),
                    }
                };
            }
            for_each_dtype!(slice)
        }
    }
}

/// A slice of which several threads write disjoint ranges.
pub(crate) struct SharedSlice<'a, R> {
    pointer: *mut R,
    length: usize,
    borrowed: std::marker::PhantomData<&'a mut [R]>,
}

// SAFETY: `range` is unsafe; its callers promise that threads take disjoint ranges.
unsafe impl<R: Send> Sync for SharedSlice<'_, R> {}
// SAFETY: as above.
unsafe impl<R: Send> Send for SharedSlice<'_, R> {}

impl<'a, R> SharedSlice<'a, R> {
    pub(crate) fn new(slice: &'a mut [R]) -> Self {
        Self {
            pointer: slice.as_mut_ptr(),
            length: slice.len(),
            borrowed: std::marker::PhantomData,
        }
    }

    /// The address of an element; one past the end at most.
    pub(crate) fn at(&self, offset: usize) -> *mut R {
        assert!(offset <= self.length, "an offset within the slice");
        // SAFETY: the offset lies within the slice, or one past its end.
        unsafe { self.pointer.add(offset) }
    }

    /// The elements `start..start + length`.
    ///
    /// # Safety
    /// No other range that is in use at the same time overlaps this one.
    #[allow(
        clippy::mut_from_ref,
        reason = "the ranges are disjoint, as the caller promises"
    )]
    pub(crate) unsafe fn range(&self, start: usize, length: usize) -> &mut [R] {
        assert!(start + length <= self.length, "range within the slice");
        // SAFETY: inside the slice, and disjoint from other ranges in use.
        unsafe { slice::from_raw_parts_mut(self.at(start), length) }
    }
}
