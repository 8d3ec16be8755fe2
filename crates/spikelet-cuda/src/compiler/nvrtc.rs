//! NVRTC's functions, from the file that [`library`](crate::library) chose.
//!
//! cudarc has bindings too, but they open NVRTC by name, the newest first: on a machine with two
//! of them that may be one that the driver is too old for. And their error type is an `enum` of
//! the codes known to one version, which a code of a later version must never be read into.

use super::CompileError;
use crate::library::{self, Library, Missing, Refused, Target};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

/// What NVRTC answers if all is well.
const SUCCESS: c_int = 0;
/// What it answers if the source is wrong.
const COMPILATION: c_int = 6;

type Program = *mut c_void;

/// The functions that are used, with the types of `nvrtc.h`.
pub(super) struct Nvrtc {
    path: PathBuf,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> c_int,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    log: Output,
    ptx: Output,
    cubin: Output,
    count_architectures: unsafe extern "C" fn(*mut c_int) -> c_int,
    architectures: unsafe extern "C" fn(*mut c_int) -> c_int,
    error: unsafe extern "C" fn(c_int) -> *const c_char,
}

/// A pair of functions: how many bytes there are, and the bytes.
struct Output {
    size: unsafe extern "C" fn(Program, *mut usize) -> c_int,
    read: unsafe extern "C" fn(Program, *mut c_char) -> c_int,
}

/// What NVRTC made of a source that it took.
pub(crate) struct Compiled {
    /// Machine code or text.
    pub(crate) code: Vec<u8>,
    /// What it says all the same: warnings, and what it was asked to tell.
    pub(crate) log: String,
}

/// What a compilation makes.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// Machine code for one architecture.
    Cubin,
    /// Text that the driver compiles, with a zero byte at its end.
    Ptx,
}

impl Nvrtc {
    pub(super) fn open() -> Result<Self, Missing> {
        let loaded = library::open(Library::Nvrtc)?;
        let handle = &loaded.handle;
        let unusable = |name: &str| Missing {
            library: Library::Nvrtc,
            looked: Vec::new(),
            refused: vec![Refused {
                target: Target::Path(loaded.found.path.clone()),
                reason: format!("it has no function {name}"),
            }],
            remedy: "bring one of CUDA 12 or later with `pip install nvidia-cuda-nvrtc`"
                .to_string(),
        };
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the type of the field is the function's type in `nvrtc.h`.
                *unsafe { handle.get($name.as_bytes()) }.map_err(|_| unusable($name))?
            };
        }
        Ok(Nvrtc {
            path: loaded.found.path.clone(),
            create: function!("nvrtcCreateProgram"),
            compile: function!("nvrtcCompileProgram"),
            destroy: function!("nvrtcDestroyProgram"),
            log: Output {
                size: function!("nvrtcGetProgramLogSize"),
                read: function!("nvrtcGetProgramLog"),
            },
            ptx: Output {
                size: function!("nvrtcGetPTXSize"),
                read: function!("nvrtcGetPTX"),
            },
            cubin: Output {
                size: function!("nvrtcGetCUBINSize"),
                read: function!("nvrtcGetCUBIN"),
            },
            count_architectures: function!("nvrtcGetNumSupportedArchs"),
            architectures: function!("nvrtcGetSupportedArchs"),
            error: function!("nvrtcGetErrorString"),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The architectures that it makes code for, ascending: 90 is compute capability 9.0.
    pub(super) fn architectures(&self) -> Result<Vec<i32>, CompileError> {
        let mut count = 0;
        // SAFETY: it writes one number.
        self.check("count its architectures", unsafe {
            (self.count_architectures)(&mut count)
        })?;
        let mut found = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: it writes as many numbers as it said.
        self.check("list its architectures", unsafe {
            (self.architectures)(found.as_mut_ptr())
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Compiles a source; `Ok(Err(log))` if it is wrong. `headers` are names and texts of files
    /// that it can include.
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
        self.check("take a source", unsafe {
            (self.create)(
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
        match unsafe { (self.compile)(program.program, count, options.as_ptr()) } {
            COMPILATION => Ok(Err(program.text()?)),
            SUCCESS => Ok(Ok(Compiled {
                code: program.read(match form {
                    Form::Cubin => &self.cubin,
                    Form::Ptx => &self.ptx,
                })?,
                log: program.text()?,
            })),
            code => {
                let log = program.text().unwrap_or_default();
                Err(self.failure("compile", code, &log))
            }
        }
    }

    fn check(&self, action: &'static str, code: c_int) -> Result<(), CompileError> {
        match code {
            SUCCESS => Ok(()),
            code => Err(self.failure(action, code, "")),
        }
    }

    fn failure(&self, action: &'static str, code: c_int, log: &str) -> CompileError {
        // SAFETY: it returns a string that lives for ever, for unknown codes too.
        let text = unsafe {
            let text = (self.error)(code);
            match text.is_null() {
                true => format!("error {code}"),
                false => CStr::from_ptr(text).to_string_lossy().into_owned(),
            }
        };
        CompileError::Failed {
            action,
            path: self.path.clone(),
            reason: match log.trim() {
                "" => text,
                log => format!("{text}: {log}"),
            },
        }
    }
}

/// A program, destroyed when it goes out of scope.
struct Running<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Running<'_> {
    fn read(&self, output: &Output) -> Result<Vec<u8>, CompileError> {
        let mut size = 0;
        // SAFETY: the program is alive; it writes one number.
        let code = unsafe { (output.size)(self.program, &mut size) };
        self.nvrtc.check("tell the size of its output", code)?;
        let mut bytes = vec![0; size];
        // SAFETY: the program is alive; it writes as many bytes as it said.
        let code = unsafe { (output.read)(self.program, bytes.as_mut_ptr().cast()) };
        self.nvrtc.check("hand over its output", code)?;
        Ok(bytes)
    }

    fn text(&self) -> Result<String, CompileError> {
        let bytes = self.read(&self.nvrtc.log)?;
        // A zero is not only at the end: the assembler's messages come after one, too.
        let text = String::from_utf8_lossy(&bytes).replace('\0', "");
        Ok(text.trim_end().to_string())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program was made by this NVRTC and is not used any more. There is
            // nothing to do about an answer that is not success.
            unsafe { (self.nvrtc.destroy)(&mut self.program) };
        }
    }
}
