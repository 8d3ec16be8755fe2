//! Compilation of CUDA C++ with NVRTC.
//!
//! The options keep every operation IEEE: no contraction into fused multiply-adds, no flushing of
//! denormals, correctly rounded division and square root. A kernel therefore gives the same bits as
//! the CPU for the same expression.

mod excerpt;
mod headers;
mod message;
mod nvrtc;

use crate::library::{self, Library, Missing};
use excerpt::excerpt;
pub(crate) use headers::Headers;
pub use message::{Message, Severity};
pub use nvrtc::Compiled;
use nvrtc::{Form, Nvrtc};
use std::ffi::CString;
use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Options of every compilation.
const OPTIONS: [&str; 6] = [
    "--std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
    "-default-device",
];

/// A kernel cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// NVRTC cannot be loaded.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The source has errors.
    #[error("kernel `{name}` does not compile:\n{log}\n{excerpt}")]
    Source {
        /// The kernel's name.
        name: String,
        /// The compiler's messages.
        log: String,
        /// The lines of the messages, numbered.
        excerpt: String,
    },
    /// The GPU is older than all architectures that this compiler supports.
    #[error(
        "NVRTC {version} supports compute capability {oldest} and later, the GPU has {given}; install \
         an older NVRTC with `pip install nvidia-cuda-nvrtc-cu12`"
    )]
    TooOld {
        /// The compiler's version.
        version: String,
        /// The oldest compute capability that it supports, such as `7.5`.
        oldest: String,
        /// The GPU's.
        given: String,
    },
    /// An architecture for which this compiler has no machine code.
    #[error(
        "NVRTC {version} has no machine code for compute capability {given}; it supports {known}"
    )]
    Architecture {
        /// The compiler's version.
        version: String,
        /// The architecture requested, such as `8.5`.
        given: String,
        /// The supported ones.
        known: String,
    },
    /// A source or name with a zero byte.
    #[error("the source or the name of kernel `{name}` contains a zero byte; remove it")]
    ZeroByte {
        /// The kernel's name, without the zero byte.
        name: String,
    },
    /// The compiler itself failed.
    #[error("NVRTC ({}) cannot {action}: {reason}", path.display())]
    Failed {
        /// The action that failed.
        action: &'static str,
        /// The library.
        path: PathBuf,
        /// Its message.
        reason: String,
    },
}

/// NVRTC, the compiler of this process.
///
/// ```
/// use spikelet_cuda::{CompileError, Compiler, Text};
/// let source = r#"extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }"#;
/// let text = Text { source, name: "twice", file: "twice.cu" };
/// match Compiler::get() {
///     Ok(compiler) => assert_eq!(&compiler.compile_file(&text, (9, 0), &[])?.code[..4], b"\x7fELF"),
///     Err(error) => assert!(matches!(error, CompileError::Missing(_))),
/// }
/// # Ok::<(), CompileError>(())
/// ```
pub struct Compiler {
    nvrtc: Nvrtc,
    version: String,
    /// Ascending.
    architectures: Vec<i32>,
    /// Headers for sources that include some; searched for the first of these.
    headers: OnceLock<Headers>,
}

/// A source with its names.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// CUDA C++.
    pub source: &'a str,
    /// The name in errors.
    pub name: &'a str,
    /// The file name in the compiler's messages.
    pub file: &'a str,
}

/// The architecture of the generated code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Architecture {
    /// Machine code for this architecture.
    Real(i32),
    /// PTX of this architecture, which the driver compiles.
    Virtual(i32),
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiler")
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Compiler {
    /// The compiler, opened when it is first needed.
    ///
    /// # Errors
    /// If NVRTC cannot be loaded.
    pub fn get() -> Result<&'static Self, CompileError> {
        static COMPILER: OnceLock<Result<Compiler, CompileError>> = OnceLock::new();
        COMPILER
            .get_or_init(|| {
                let found = library::find(Library::Nvrtc)?;
                let nvrtc = Nvrtc::open()?;
                Ok(Compiler {
                    version: found.version.clone().unwrap_or_default(),
                    architectures: nvrtc.architectures()?,
                    headers: OnceLock::new(),
                    nvrtc,
                })
            })
            .as_ref()
            .map_err(CompileError::clone)
    }

    /// The version of NVRTC, such as `13.0`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The architecture for a GPU of compute capability `arch`.
    pub(crate) fn target(&self, arch: (i32, i32)) -> Result<Architecture, CompileError> {
        target(&self.architectures, arch).ok_or_else(|| CompileError::TooOld {
            version: self.version.clone(),
            oldest: self
                .architectures
                .first()
                .map_or("(none)".to_string(), |oldest| dotted(*oldest)),
            given: format!("{}.{}", arch.0, arch.1),
        })
    }

    /// Compiles a source of a file to machine code for a compute capability, such as `(9, 0)`, and for no other, with
    /// further options. It may include the toolkit's headers, if they are installed beside NVRTC.
    ///
    /// # Errors
    /// If NVRTC does not support this compute capability, or if the source has errors: [`CompileError::Source`] contains its
    /// messages and the lines in question.
    pub fn compile_file(
        &self,
        text: &Text<'_>,
        capability: (i32, i32),
        options: &[String],
    ) -> Result<Compiled, CompileError> {
        let wanted = architecture(capability);
        if !self.architectures.contains(&wanted) {
            let known: Vec<String> = self.architectures.iter().copied().map(dotted).collect();
            return Err(CompileError::Architecture {
                version: self.version.clone(),
                given: format!("{}.{}", capability.0, capability.1),
                known: known.join(", "),
            });
        }
        let beside = self
            .headers
            .get_or_init(|| Headers::beside(self.nvrtc.path()));
        let headers = match beside {
            Headers::Folder(..) => beside,
            Headers::Builtin | Headers::None => self.headers(text.source),
        };
        self.compile_text(text, Architecture::Real(wanted), headers, options)
    }

    /// The headers of a source.
    pub(crate) fn headers(&self, source: &str) -> &Headers {
        if !headers::are_included(source) {
            return &Headers::None;
        }
        self.headers
            .get_or_init(|| Headers::beside(self.nvrtc.path()))
    }

    /// The options for an architecture.
    pub(crate) fn options(target: Architecture) -> Vec<String> {
        let architecture = match target {
            Architecture::Real(architecture) => format!("--gpu-architecture=sm_{architecture}"),
            Architecture::Virtual(architecture) => {
                format!("--gpu-architecture=compute_{architecture}")
            }
        };
        let fixed = OPTIONS.iter().map(|option| option.to_string());
        [architecture].into_iter().chain(fixed).collect()
    }

    /// Compiles a source for an architecture, to machine code or null-terminated PTX. The driver loads
    /// both in the same way.
    pub(crate) fn compile(
        &self,
        source: &str,
        name: &str,
        target: Architecture,
        headers: &Headers,
    ) -> Result<Vec<u8>, CompileError> {
        let file = format!("{name}.cu");
        let text = Text {
            source,
            name,
            file: &file,
        };
        Ok(self.compile_text(&text, target, headers, &[])?.code)
    }

    /// As [`compile`](Self::compile), for a source from a file, with further options and with the
    /// compiler's messages. Incomplete headers of the toolkit are not used.
    fn compile_text(
        &self,
        text: &Text<'_>,
        target: Architecture,
        headers: &Headers,
        more: &[String],
    ) -> Result<Compiled, CompileError> {
        let result = self.compile_with(text, target, headers, more);
        if let Err(CompileError::Source { log, .. }) = &result
            && headers.are_broken(log)
        {
            return self
                .compile_with(text, target, &Headers::Builtin, more)
                .or(result);
        }
        result
    }

    fn compile_with(
        &self,
        text: &Text<'_>,
        target: Architecture,
        headers: &Headers,
        more: &[String],
    ) -> Result<Compiled, CompileError> {
        let Text { source, name, file } = *text;
        let zero_byte = || CompileError::ZeroByte {
            name: name.replace('\0', ""),
        };
        let text = CString::new(source).map_err(|_| zero_byte())?;
        let file_text = CString::new(file).map_err(|_| zero_byte())?;
        let options: Vec<CString> = Self::options(target)
            .into_iter()
            .chain(headers.option())
            .chain(more.iter().cloned())
            .map(|option| CString::new(option).expect("options have no zero bytes"))
            .collect();
        let included = headers.text();
        let included: Vec<_> = included
            .iter()
            .map(|(n, text)| (*n, text.as_c_str()))
            .collect();
        let form = match target {
            Architecture::Real(_) => Form::Cubin,
            Architecture::Virtual(_) => Form::Ptx,
        };
        let output = self
            .nvrtc
            .compile(&text, &file_text, &included, &options, form)?;
        match output {
            Ok(compiled) if compiled.code.is_empty() => Err(CompileError::Failed {
                action: "compile",
                path: self.nvrtc.path().to_path_buf(),
                reason: format!("no code was generated for kernel `{name}`"),
            }),
            Ok(compiled) => Ok(compiled),
            Err(log) => Err(CompileError::Source {
                name: name.to_string(),
                excerpt: excerpt(source, file, &log),
                log: log + headers.remark(),
            }),
        }
    }
}

/// The best of the supported architectures for a GPU: its own, else the newest older one, as PTX.
fn target(architectures: &[i32], arch: (i32, i32)) -> Option<Architecture> {
    let wanted = architecture(arch);
    let best = *architectures
        .iter()
        .filter(|&&known| known <= wanted)
        .max()?;
    Some(if best == wanted {
        Architecture::Real(best)
    } else {
        Architecture::Virtual(best)
    })
}

/// `(9, 0)` as NVRTC names it: 90.
fn architecture((major, minor): (i32, i32)) -> i32 {
    major.saturating_mul(10).saturating_add(minor)
}

/// 90 as a compute capability: 9.0.
fn dotted(architecture: i32) -> String {
    format!("{}.{}", architecture / 10, architecture % 10)
}

/// Compiles a source for a GPU of compute capability `arch`, without any cache.
#[cfg(test)]
pub(crate) fn compile(source: &str, name: &str, arch: (i32, i32)) -> Result<Vec<u8>, CompileError> {
    let compiler = Compiler::get()?;
    let target = compiler.target(arch)?;
    compiler.compile(source, name, target, compiler.headers(source))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str =
        "extern \"C\" __global__ void twice(float* x) {\n    x[threadIdx.x] *= 2.0f;\n}\n";

    #[test]
    fn a_supported_gpu_gets_machine_code_and_a_later_one_ptx() {
        let known = [75, 80, 90, 120];
        assert_eq!(target(&known, (9, 0)), Some(Architecture::Real(90)));
        assert_eq!(target(&known, (10, 3)), Some(Architecture::Virtual(90)));
        assert_eq!(target(&known, (13, 0)), Some(Architecture::Virtual(120)));
        assert_eq!(target(&known, (7, 0)), None);
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn a_kernel_is_compiled_to_machine_code() {
        let code = compile(KERNEL, "twice", (9, 0)).unwrap();
        assert_eq!(&code[..4], b"\x7fELF");
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn a_kernel_for_an_unknown_gpu_is_compiled_to_null_terminated_ptx() {
        let code = compile(KERNEL, "twice", (99, 9)).unwrap();
        assert_eq!(code.last(), Some(&0));
        let text = String::from_utf8(code).unwrap();
        assert!(text.contains(".entry twice"), "{text}");
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn products_and_sums_are_not_contracted() {
        let source =
            "extern \"C\" __global__ void f(float* x) { x[0] = x[1] * x[2] + x[3] / x[4]; }";
        let text = String::from_utf8(compile(source, "f", (99, 9)).unwrap()).unwrap();
        assert!(!text.contains("fma."), "{text}");
        assert!(text.contains("div.rn.f32"), "{text}");
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn a_wrong_source_is_shown_with_its_numbered_lines() {
        let source = KERNEL.replace("x[threadIdx.x]", "y");
        let message = compile(&source, "twice", (9, 0)).unwrap_err().to_string();
        assert!(
            message.starts_with("kernel `twice` does not compile:\n"),
            "{message}"
        );
        assert!(
            message.contains("identifier \"y\" is undefined"),
            "{message}"
        );
        assert!(message.contains(">    2 |     y *= 2.0f;"), "{message}");
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn an_unsupported_gpu_is_a_separate_error() {
        let message = compile(KERNEL, "twice", (3, 5)).unwrap_err().to_string();
        assert!(message.contains("the GPU has 3.5"), "{message}");
    }

    #[test]
    #[ignore = "needs NVRTC"]
    fn a_zero_byte_in_a_source_is_an_error() {
        let error = compile("\0", "a\0b", (9, 0)).unwrap_err();
        assert_eq!(error, CompileError::ZeroByte { name: "ab".into() });
    }
}
