//! NVRTC's functions, see [`functions`](crate::library::functions).

use super::CompileError;
use crate::library::functions::{self, functions};
use crate::library::{self, Library, Missing};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

/// The status of a compilation with errors in the source.
const COMPILATION: c_int = 6;

type Program = *mut c_void;

functions! {
    /// The functions of `nvrtc.h` that are used.
    struct Functions of Nvrtc "12" {
        create: "nvrtcCreateProgram"(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        compile: "nvrtcCompileProgram"(Program, c_int, *const *const c_char) -> c_int;
        destroy: "nvrtcDestroyProgram"(*mut Program) -> c_int;
        log_size: "nvrtcGetProgramLogSize"(Program, *mut usize) -> c_int;
        log: "nvrtcGetProgramLog"(Program, *mut c_char) -> c_int;
        ptx_size: "nvrtcGetPTXSize"(Program, *mut usize) -> c_int;
        ptx: "nvrtcGetPTX"(Program, *mut c_char) -> c_int;
        cubin_size: "nvrtcGetCUBINSize"(Program, *mut usize) -> c_int;
        cubin: "nvrtcGetCUBIN"(Program, *mut c_char) -> c_int;
        count_architectures: "nvrtcGetNumSupportedArchs"(*mut c_int) -> c_int;
        architectures: "nvrtcGetSupportedArchs"(*mut c_int) -> c_int;
        error: "nvrtcGetErrorString"(c_int) -> *const c_char;
    }
}

/// NVRTC, loaded.
pub(super) struct Nvrtc {
    path: PathBuf,
    functions: &'static Functions,
}

/// Two functions: the number of bytes, and the bytes.
type Output = (
    unsafe extern "C" fn(Program, *mut usize) -> c_int,
    unsafe extern "C" fn(Program, *mut c_char) -> c_int,
);

/// The result of a successful compilation.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Machine code, a cubin; or PTX.
    pub code: Vec<u8>,
    /// Warnings, and the statistics that were requested.
    pub log: String,
}

/// The form of a compilation's result.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// Machine code for one architecture.
    Cubin,
    /// Null-terminated PTX, which the driver compiles.
    Ptx,
}

impl Nvrtc {
    pub(super) fn open() -> Result<Self, Missing> {
        let path = library::find(Library::Nvrtc)?.path.clone();
        let functions = Functions::get()?;
        Ok(Nvrtc { path, functions })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The supported architectures, ascending: 90 is compute capability 9.0.
    pub(super) fn architectures(&self) -> Result<Vec<i32>, CompileError> {
        let mut count = 0;
        // SAFETY: it writes one number.
        self.check("query the number of architectures", unsafe {
            (self.functions.count_architectures)(&mut count)
        })?;
        let mut found = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: it writes `count` numbers.
        self.check("query the architectures", unsafe {
            (self.functions.architectures)(found.as_mut_ptr())
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Compiles a source; `Ok(Err(log))` if it has errors. `headers` are names and texts of files that it
    /// may include.
    pub(super) fn compile(
        &self,
        source: &CStr,
        file: &CStr,
        headers: &[(&CStr, &CStr)],
        options: &[CString],
        form: Form,
    ) -> Result<Result<Compiled, String>, CompileError> {
        let mut program = Running {
            nvrtc: self,
            program: ptr::null_mut(),
        };
        let names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let count = c_int::try_from(headers.len()).expect("there is one header at most");
        // SAFETY: the strings end with zero and live until the program is destroyed, which is at
        // the end of this function; there are `count` names and as many texts.
        self.check("create a program", unsafe {
            (self.functions.create)(
                &mut program.program,
                source.as_ptr(),
                file.as_ptr(),
                count,
                texts.as_ptr(),
                names.as_ptr(),
            )
        })?;
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(options.len()).expect("there are a handful of options");
        // SAFETY: the program is alive, the options are `count` strings.
        match unsafe { (self.functions.compile)(program.program, count, options.as_ptr()) } {
            COMPILATION => Ok(Err(program.text()?)),
            status => {
                let log = program.text();
                let known = log.as_deref().unwrap_or_default();
                self.check_with("compile", status, known)?;
                Ok(Ok(Compiled {
                    code: program.read(match form {
                        Form::Cubin => (self.functions.cubin_size, self.functions.cubin),
                        Form::Ptx => (self.functions.ptx_size, self.functions.ptx),
                    })?,
                    log: log?,
                }))
            }
        }
    }

    fn check(&self, action: &'static str, code: c_int) -> Result<(), CompileError> {
        self.check_with(action, code, "")
    }

    /// An error with NVRTC's message and a log for any status but success.
    fn check_with(&self, action: &'static str, code: c_int, log: &str) -> Result<(), CompileError> {
        let log = Some(log.trim().to_string()).filter(|log| !log.is_empty());
        // SAFETY: the text is a static string, for unknown codes too.
        let checked = unsafe { functions::check(code, || ((self.functions.error)(code), log)) };
        checked.map_err(|reason| CompileError::Failed {
            action,
            path: self.path.clone(),
            reason,
        })
    }
}

/// A program, destroyed when it goes out of scope.
struct Running<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Running<'_> {
    fn read(&self, (size_of, bytes_of): Output) -> Result<Vec<u8>, CompileError> {
        let mut size = 0;
        // SAFETY: the program is alive; it writes one number.
        let code = unsafe { size_of(self.program, &mut size) };
        self.nvrtc.check("query the size of its output", code)?;
        let mut bytes = vec![0; size];
        // SAFETY: the program is alive; it writes `size` bytes.
        let code = unsafe { bytes_of(self.program, bytes.as_mut_ptr().cast()) };
        self.nvrtc.check("copy its output", code)?;
        Ok(bytes)
    }

    fn text(&self) -> Result<String, CompileError> {
        let functions = &self.nvrtc.functions;
        let bytes = self.read((functions.log_size, functions.log))?;
        // The log contains zero bytes: the assembler's messages follow one.
        let text = String::from_utf8_lossy(&bytes).replace('\0', "");
        Ok(text.trim_end().to_string())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program was created by this NVRTC and is no longer used. A failure has no
            // consequence.
            unsafe { (self.nvrtc.functions.destroy)(&mut self.program) };
        }
    }
}
