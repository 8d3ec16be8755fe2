//! The files and names that are tried for a library: a function of the environment, for tests.

use super::folders::{entries, version_in};
use super::{Library, Source, python};
use std::cmp::Reverse;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The part of the process's environment that determines where libraries are searched for.
///
/// ```
/// use spikelet_cuda::library::{Environment, Library};
///
/// let environment = Environment { cuda: vec!["/opt/mine".into()], ..Environment::default() };
/// let (source, folder) = &environment.folders(Library::Nvrtc)[0];
/// assert_eq!(source.to_string(), "CUDA_PATH");
/// assert_eq!(folder.to_str(), Some("/opt/mine/lib64"));
/// ```
#[derive(Clone, Debug)]
pub struct Environment {
    /// The root of the system's folders: `/`.
    pub root: PathBuf,
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `CUDA_PATH` and `CUDA_HOME`, those that are set.
    pub cuda: Vec<PathBuf>,
    /// Folders with libraries that the program named: [`search_in`](super::search_in).
    pub named: Vec<PathBuf>,
    /// `VIRTUAL_ENV`: the active Python environment.
    pub virtual_env: Option<PathBuf>,
    /// The folders of `PATH`, where `python3` is searched for if no environment is active.
    pub path: Vec<PathBuf>,
    /// `PYENV_VERSION`: the Python version of pyenv's `python3`.
    pub pyenv_version: Option<String>,
    /// `CONDA_PREFIX`: the active conda environment.
    pub conda_prefix: Option<PathBuf>,
}

/// The folders of [`search_in`].
fn named() -> MutexGuard<'static, Vec<PathBuf>> {
    static NAMED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    NAMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a folder in which libraries other than the driver are searched for, behind those of `CUDA_PATH` and `CUDA_HOME`:
/// for a program that knows where they are, such as a Python package beside the libraries of another one. A library that
/// was searched for before stays as it is.
///
/// ```
/// use spikelet_cuda::library::{self, Environment, Library};
/// library::search_in("/opt/packages/nvidia/cu13/lib");
/// let folders = Environment::current().folders(Library::Nvrtc);
/// assert!(folders.iter().any(|(_, folder)| folder.ends_with("nvidia/cu13/lib")));
/// ```
pub fn search_in(folder: impl Into<PathBuf>) {
    let (folder, mut named) = (folder.into(), named());
    if !named.contains(&folder) {
        named.push(folder);
    }
}

impl Default for Environment {
    /// No variable is set, the root is `/`.
    fn default() -> Self {
        Environment {
            root: PathBuf::from("/"),
            home: None,
            cuda: Vec::new(),
            named: Vec::new(),
            virtual_env: None,
            path: Vec::new(),
            pyenv_version: None,
            conda_prefix: None,
        }
    }
}

impl Environment {
    /// The environment of this process.
    pub fn current() -> Self {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let folder = |name| variable(name).map(PathBuf::from);
        let path = variable("PATH").unwrap_or_default();
        Environment {
            root: PathBuf::from("/"),
            home: folder("HOME"),
            cuda: [folder("CUDA_PATH"), folder("CUDA_HOME")]
                .into_iter()
                .flatten()
                .collect(),
            named: named().clone(),
            virtual_env: folder("VIRTUAL_ENV"),
            path: std::env::split_paths(&path)
                .filter(|folder| folder.is_absolute())
                .collect(),
            pyenv_version: std::env::var("PYENV_VERSION").ok(),
            conda_prefix: folder("CONDA_PREFIX"),
        }
    }

    /// The folders in which `library` is searched for, in order; folders of a fixed name are included
    /// even if they do not exist.
    pub fn folders(&self, library: Library) -> Vec<(Source, PathBuf)> {
        let mut folders = Vec::new();
        let mut add = |source, folder: PathBuf| {
            if !folders.iter().any(|(_, known)| *known == folder) {
                folders.push((source, folder));
            }
        };
        for toolkit in &self.cuda {
            libraries(toolkit).for_each(|folder| add(Source::CudaPath, folder));
        }
        if library != Library::Driver {
            for folder in &self.named {
                add(Source::Python, folder.clone());
            }
            for toolkit in self.toolkits() {
                libraries(&toolkit).for_each(|folder| add(Source::Toolkit, folder));
            }
        }
        for folder in self.system(library) {
            add(Source::Toolkit, folder);
        }
        // Python and conda have no package of the driver: a file of its name there is a stub.
        if library != Library::Driver {
            for packages in python::site_packages(self) {
                wheels(&packages).for_each(|folder| add(Source::Python, folder));
            }
            if let Some(prefix) = &self.conda_prefix {
                add(Source::Conda, prefix.join("lib"));
                add(Source::Conda, prefix.join(target_folder()));
                for packages in python::packages(prefix) {
                    wheels(&packages).for_each(|folder| add(Source::Conda, folder));
                }
            }
        }
        folders
    }

    /// The candidates for `library`, the best first: names for the loader, and existing files in
    /// [`folders`](Environment::folders).
    ///
    /// `driver` is the CUDA generation that the driver supports (13 for CUDA 13.0), `None` without a
    /// driver; files of a newer generation are last.
    pub fn candidates(&self, library: Library, driver: Option<u32>) -> Vec<Candidate> {
        let fits = |generation: Option<u32>| match (generation, driver) {
            (Some(generation), Some(driver)) => generation <= driver,
            _ => true,
        };
        let mut candidates = Vec::new();
        let folders = self.folders(library);
        for round in [true, false] {
            let files: Vec<&str> = library
                .files()
                .iter()
                .filter(|(_, generation)| fits(*generation) == round)
                .map(|(name, _)| *name)
                .collect();
            candidates.extend(files.iter().map(|name| Candidate {
                source: Source::Loader,
                target: LibraryFile::Name(name.to_string()),
            }));
            for (source, folder) in &folders {
                let there = files.iter().map(|name| folder.join(name));
                candidates.extend(there.filter(|path| path.is_file()).map(|path| Candidate {
                    source: *source,
                    target: LibraryFile::Path(path),
                }));
            }
        }
        candidates
    }

    /// The toolkits in their default folders, the newest first.
    fn toolkits(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for toolkit in entries(&self.root.join("usr/local"), "cuda")
            .into_iter()
            .chain(entries(&self.root.join("opt"), "cuda"))
        {
            // `/usr/local/cuda` is usually a link to the folder of one version.
            let resolved = toolkit.canonicalize().unwrap_or(toolkit);
            if !found.contains(&resolved) {
                found.push(resolved);
            }
        }
        // A folder without a version in its name was installed by hand and is first.
        found.sort_by_key(|toolkit| {
            let version = version_in(toolkit);
            (!version.is_empty(), Reverse(version))
        });
        found
    }

    /// Folders of the system.
    fn system(&self, library: Library) -> Vec<PathBuf> {
        let multiarch = match std::env::consts::ARCH {
            "aarch64" => "usr/lib/aarch64-linux-gnu",
            _ => "usr/lib/x86_64-linux-gnu",
        };
        let driver: &[&str] = match library {
            Library::Driver => &[
                "usr/local/nvidia/lib64",
                "usr/lib/wsl/lib",
                "run/opengl-driver/lib",
            ],
            _ => &[],
        };
        [multiarch, "usr/lib64"]
            .iter()
            .chain(driver)
            .map(|folder| self.root.join(folder))
            .collect()
    }
}

/// A candidate for a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The kind of place.
    pub source: Source,
    /// The name or file.
    pub target: LibraryFile,
}

/// The argument of the dynamic loader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LibraryFile {
    /// A name that the loader resolves.
    Name(String),
    /// A file.
    Path(PathBuf),
}

impl fmt::Display for LibraryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LibraryFile::Name(name) => f.write_str(name),
            LibraryFile::Path(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The library folders of a toolkit.
fn libraries(toolkit: &Path) -> impl Iterator<Item = PathBuf> {
    ["lib64", "lib", target_folder()]
        .into_iter()
        .map(|folder| toolkit.join(folder))
}

pub(super) fn target_folder() -> &'static str {
    match std::env::consts::ARCH {
        "aarch64" => "targets/sbsa-linux/lib",
        _ => "targets/x86_64-linux/lib",
    }
}

/// pip's folders of NVIDIA's libraries, the newest generation's common folder (`cu13`) first.
fn wheels(packages: &Path) -> impl Iterator<Item = PathBuf> {
    let mut found = entries(&packages.join("nvidia"), "");
    found.sort_by_key(|folder| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let generation = name.strip_prefix("cu").and_then(|n| n.parse::<u32>().ok());
        (Reverse(generation), name.into_owned())
    });
    found
        .into_iter()
        .map(|package| package.join("lib"))
        .filter(|folder| folder.is_dir())
}
