//! Aligned memory that kernels share, and the views of it that they get.

use half::{bf16, f16};
use spikelet_graph::{DType, DeviceId, Storage, TensorType};
use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

/// Every tensor starts on a cache line.
const LINE: usize = 64;

/// From this size on, memory is asked for in huge pages: a scan strides over rows that lie
/// megabytes apart, and with small pages it would wait for the address translation.
const HUGE: usize = 2 << 20;

/// A fixed piece of memory, zeroed at first.
///
/// It is written through shared handles. Whoever touches it holds the lock of the [`crate::Cpu`]
/// that allocated it, which that one takes around every run, upload and download; no other can come
/// by its address.
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
    /// Memory for this many bytes; `None` if there is not enough.
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
    // SAFETY: the range is our own allocation and whole pages. A refusal only costs speed.
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
    /// The memory of this result, which holds the operand until it is overwritten.
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
    /// Nobody reads this result.
    Unused,
}

/// The elements of a slice type inside the views.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    fn of<'a>(view: &View<'a>) -> &'a [Self];
    fn of_mut<'a, 'b>(view: &'a mut ViewMut<'b>) -> &'a mut [Self];
}

macro_rules! elements {
    ($($type:ty: $variant:ident),*) => {$(
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

elements!(f32: F32, f64: F64, f16: F16, bf16: BF16, i64: I64, u64: Bits);

/// A tensor's address and type, resolved when a plan is loaded.
#[derive(Clone)]
pub(crate) struct Slot {
    pub(crate) pointer: *mut u8,
    pub(crate) ty: TensorType,
}

// SAFETY: a slot is an address; what is behind it is guarded as `Memory` says.
unsafe impl Send for Slot {}
// SAFETY: as above.
unsafe impl Sync for Slot {}

impl Slot {
    /// The elements, for reading.
    ///
    /// # Safety
    /// The memory holds this tensor, stays allocated for `'a`, and is not written meanwhile.
    pub(crate) unsafe fn view<'a>(&self) -> View<'a> {
        let n = self.ty.len();
        let p = self.pointer;
        // SAFETY: address, length and freedom from writers as the caller promises; every tensor
        // starts on a cache line.
        unsafe {
            match self.ty.dtype {
                DType::F32 => View::F32(std::slice::from_raw_parts(p.cast(), n)),
                DType::F64 => View::F64(std::slice::from_raw_parts(p.cast(), n)),
                DType::F16 => View::F16(std::slice::from_raw_parts(p.cast(), n)),
                DType::BF16 => View::BF16(std::slice::from_raw_parts(p.cast(), n)),
                DType::I64 => View::I64(std::slice::from_raw_parts(p.cast(), n)),
                DType::Bits => {
                    View::Bits(std::slice::from_raw_parts(p.cast(), self.ty.bytes() / 8))
                }
            }
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
            match self.ty.dtype {
                DType::F32 => ViewMut::F32(std::slice::from_raw_parts_mut(p.cast(), n)),
                DType::F64 => ViewMut::F64(std::slice::from_raw_parts_mut(p.cast(), n)),
                DType::F16 => ViewMut::F16(std::slice::from_raw_parts_mut(p.cast(), n)),
                DType::BF16 => ViewMut::BF16(std::slice::from_raw_parts_mut(p.cast(), n)),
                DType::I64 => ViewMut::I64(std::slice::from_raw_parts_mut(p.cast(), n)),
                DType::Bits => ViewMut::Bits(std::slice::from_raw_parts_mut(
                    p.cast(),
                    self.ty.bytes() / 8,
                )),
            }
        }
    }
}

/// A slice whose disjoint ranges are written by several threads.
pub(crate) struct Shared<'a, R> {
    pointer: *mut R,
    length: usize,
    borrowed: std::marker::PhantomData<&'a mut [R]>,
}

// SAFETY: `range` is unsafe; its callers promise that threads take disjoint ranges.
unsafe impl<R: Send> Sync for Shared<'_, R> {}
// SAFETY: as above.
unsafe impl<R: Send> Send for Shared<'_, R> {}

impl<'a, R> Shared<'a, R> {
    pub(crate) fn new(slice: &'a mut [R]) -> Self {
        Self {
            pointer: slice.as_mut_ptr(),
            length: slice.len(),
            borrowed: std::marker::PhantomData,
        }
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
        unsafe { std::slice::from_raw_parts_mut(self.pointer.add(start), length) }
    }
}
