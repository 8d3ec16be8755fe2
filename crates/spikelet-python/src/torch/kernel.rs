//! The entry points of the operators.
//!
//! An error of a kernel is a C++ exception, which libtorch turns into one of Python. It must not pass through a frame of
//! Rust: a wheel that is linked by zig has an unwinder of its own. So an entry point is written in assembly: it calls
//! the kernel, and if that returns a message, it jumps to `aoti_torch_check`, which throws. No frame of Rust is left then.

use super::call::{self, Saving};
use super::shim::CHECK;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

static FUNCTION: [u8; 9] = *b"spikelet\0";

thread_local! {
    /// The message of the last error, which libtorch copies.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Null, or the address of the message.
fn message_of(run: impl FnOnce() -> Result<(), String>) -> *const c_char {
    let message = match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => return std::ptr::null(),
        Ok(Err(message)) => message,
        Err(_) => "spikelet: a panic (internal error; please report it)".to_string(),
    };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    MESSAGE.with_borrow_mut(|last| {
        *last = message;
        last.as_ptr()
    })
}

macro_rules! kernel {
    ($name:ident, $call:ident, $saving:ident) => {
        unsafe extern "C" fn $name(stack: *mut u64, inputs: u64, outputs: u64) -> *const c_char {
            let (inputs, outputs) = (inputs as usize, outputs as usize);
            // SAFETY: libtorch passes a stack with room for both, and the arguments of the schema.
            message_of(|| unsafe { call::$call(stack, inputs, outputs, Saving::$saving) })
        }
    };
}

kernel!(forward, forward, Nothing);
kernel!(forward_saving, forward, Checkpoints);
kernel!(backward, backward, Nothing);
kernel!(backward_of_saved, backward, Checkpoints);

macro_rules! entry_point {
    ($name:ident, $kernel:ident, $doc:literal) => {
        #[doc = $doc]
        #[unsafe(naked)]
        pub(super) unsafe extern "C-unwind" fn $name(stack: *mut u64, inputs: u64, outputs: u64) {
            // aoti_torch_check(false, function, file, line, message)
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                "push rbp",
                "call {kernel}",
                "pop rbp",
                "test rax, rax",
                "jnz 2f",
                "ret",
                "2:",
                "mov r8, rax",
                "xor edi, edi",
                "lea rsi, [rip + {function}]",
                "mov rdx, rsi",
                "xor ecx, ecx",
                "jmp qword ptr [rip + {check}]",
                kernel = sym $kernel, function = sym FUNCTION, check = sym CHECK,
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                "stp x29, x30, [sp, #-16]!",
                "bl {kernel}",
                "ldp x29, x30, [sp], #16",
                "cbz x0, 2f",
                "mov x4, x0",
                "mov w0, wzr",
                "adrp x1, {function}",
                "add x1, x1, :lo12:{function}",
                "mov x2, x1",
                "mov w3, wzr",
                "adrp x5, {check}",
                "ldr x5, [x5, :lo12:{check}]",
                "br x5",
                "2: ret",
                kernel = sym $kernel, function = sym FUNCTION, check = sym CHECK,
            );
        }
    };
}

entry_point!(forward_entry, forward, "The forward pass of a layer.");
entry_point!(
    forward_saving_entry,
    forward_saving,
    "The forward pass of a layer, which saves checkpoints of the states."
);
entry_point!(backward_entry, backward, "The backward pass of a layer.");
entry_point!(
    backward_of_saved_entry,
    backward_of_saved,
    "The backward pass of a layer with the checkpoints of the states."
);
