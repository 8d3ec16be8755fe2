//! The search for NVIDIA's libraries, in temporary folders and on this machine.

use spikelet_cuda::library::{self, Environment, Library, LibraryFile, Source};
use std::fs;
use std::path::{Path, PathBuf};

/// A file system of its own, with an environment in which nothing is set.
struct Machine {
    folder: tempfile::TempDir,
    environment: Environment,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        Machine {
            environment: Environment {
                root,
                ..Environment::default()
            },
            folder,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn file(&self, path: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        path
    }

    /// The files that would be opened, in order, relative to the root.
    fn files(&self, library: Library, driver: Option<u32>) -> Vec<(Source, String)> {
        let root = &self.environment.root;
        let candidates = self.environment.candidates(library, driver);
        candidates
            .into_iter()
            .filter_map(|candidate| match candidate.target {
                LibraryFile::Path(path) => {
                    let path = path.strip_prefix(root).unwrap().to_str().unwrap();
                    Some((candidate.source, path.to_string()))
                }
                LibraryFile::Name(_) => None,
            })
            .collect()
    }

    fn names(&self, library: Library, driver: Option<u32>) -> Vec<String> {
        let candidates = self.environment.candidates(library, driver);
        candidates
            .into_iter()
            .filter_map(|candidate| match candidate.target {
                LibraryFile::Name(name) => Some(name),
                LibraryFile::Path(_) => None,
            })
            .collect()
    }
}

fn paths(found: Vec<(Source, String)>) -> Vec<String> {
    found.into_iter().map(|(_, path)| path).collect()
}

#[test]
fn the_environment_goes_before_the_toolkit_before_python_before_conda() {
    let mut machine = Machine::new();
    machine.environment.cuda = vec![machine.at("mine")];
    machine.environment.virtual_env = Some(machine.at("venv"));
    machine.environment.conda_prefix = Some(machine.at("conda"));
    machine.file("conda/lib/libnvrtc.so.13");
    machine.file("conda/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.13");
    machine.file("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    machine.file("usr/local/cuda-13.0/lib64/libnvrtc.so.13");
    machine.file("mine/lib/libnvrtc.so.13");
    let expected = [
        (Source::CudaPath, "mine/lib/libnvrtc.so.13"),
        (Source::Toolkit, "usr/local/cuda-13.0/lib64/libnvrtc.so.13"),
        (
            Source::Python,
            "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        ),
        (Source::Conda, "conda/lib/libnvrtc.so.13"),
        (
            Source::Conda,
            "conda/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.13",
        ),
    ];
    assert_eq!(
        machine.files(Library::Nvrtc, None),
        expected.map(|(source, path)| (source, path.to_string()))
    );
}

#[test]
fn the_newest_toolkit_goes_first() {
    let machine = Machine::new();
    for version in ["9.2", "12.9", "13.0", "12.10"] {
        machine.file(&format!("usr/local/cuda-{version}/lib64/libcublasLt.so.12"));
    }
    machine.file("opt/cuda-13.1/lib64/libcublasLt.so.12");
    assert_eq!(
        paths(machine.files(Library::CublasLt, None)),
        [
            "opt/cuda-13.1/lib64/libcublasLt.so.12",
            "usr/local/cuda-13.0/lib64/libcublasLt.so.12",
            "usr/local/cuda-12.10/lib64/libcublasLt.so.12",
            "usr/local/cuda-12.9/lib64/libcublasLt.so.12",
            "usr/local/cuda-9.2/lib64/libcublasLt.so.12",
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_link_to_a_toolkit_is_that_toolkit() {
    let machine = Machine::new();
    machine.file("usr/local/cuda-12.9/lib64/libnvrtc.so.12");
    machine.file("usr/local/cuda-13.0/lib64/libnvrtc.so.13");
    std::os::unix::fs::symlink("cuda-12.9", machine.at("usr/local/cuda")).unwrap();
    assert_eq!(
        paths(machine.files(Library::Nvrtc, None)),
        [
            "usr/local/cuda-13.0/lib64/libnvrtc.so.13",
            "usr/local/cuda-12.9/lib64/libnvrtc.so.12",
        ]
    );
}

#[test]
fn a_generation_that_the_driver_does_not_support_goes_last() {
    let mut machine = Machine::new();
    machine.environment.cuda = vec![machine.at("mine")];
    machine.file("mine/lib64/libnvrtc.so.13");
    machine.file("mine/lib64/libnvrtc.so.12");
    machine.file("usr/local/cuda-12.8/lib64/libnvrtc.so.12");
    let newest_first = [
        "mine/lib64/libnvrtc.so.13",
        "mine/lib64/libnvrtc.so.12",
        "usr/local/cuda-12.8/lib64/libnvrtc.so.12",
    ];
    for driver in [None, Some(13), Some(14)] {
        assert_eq!(paths(machine.files(Library::Nvrtc, driver)), newest_first);
    }
    assert_eq!(
        paths(machine.files(Library::Nvrtc, Some(12))),
        [
            "mine/lib64/libnvrtc.so.12",
            "usr/local/cuda-12.8/lib64/libnvrtc.so.12",
            "mine/lib64/libnvrtc.so.13",
        ]
    );
    assert_eq!(
        machine.names(Library::Nvrtc, Some(12)),
        ["libnvrtc.so.12", "libnvrtc.so.13"]
    );
}

#[test]
fn an_environment_that_shares_packages_is_followed_to_its_python() {
    let mut machine = Machine::new();
    machine.environment.virtual_env = Some(machine.at("venv"));
    machine.file("venv/lib/python3.12/site-packages/readme");
    machine.file("base/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    let settings = |shares| {
        format!(
            "home = {}\ninclude-system-site-packages = {shares}\n",
            machine.at("base/bin").display()
        )
    };
    fs::write(machine.at("venv/pyvenv.cfg"), settings("false")).unwrap();
    assert_eq!(paths(machine.files(Library::Nvrtc, None)), [""; 0]);
    fs::write(machine.at("venv/pyvenv.cfg"), settings("true")).unwrap();
    assert_eq!(
        paths(machine.files(Library::Nvrtc, None)),
        ["base/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"]
    );
}

/// Makes a `python3` that is a link to another prefix's.
#[cfg(unix)]
fn link(from: &Path, to: &Path) {
    fs::create_dir_all(from.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(to, from).unwrap();
}

#[cfg(unix)]
#[test]
fn without_an_environment_the_first_python_on_the_path_counts() {
    let mut machine = Machine::new();
    let real = machine.file("python/bin/python3.12");
    link(&machine.at("bin/python3"), &real);
    machine.file("other/bin/python3");
    machine.file("other/lib/python3.11/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    machine.file("python/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    machine.file("home/.local/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    machine.environment.path = vec![
        machine.at("empty"),
        machine.at("bin"),
        machine.at("other/bin"),
    ];
    machine.environment.home = Some(machine.at("home"));
    assert_eq!(
        paths(machine.files(Library::Nvrtc, None)),
        [
            "python/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "home/.local/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13",
        ]
    );
}

#[cfg(unix)]
#[test]
fn an_environment_on_the_path_is_found_before_the_python_it_links_to() {
    let mut machine = Machine::new();
    let real = machine.file("python/bin/python3.12");
    link(&machine.at("venv/bin/python3"), &real);
    machine.file("venv/pyvenv.cfg");
    machine.file("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    machine.file("python/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
    machine.environment.path = vec![machine.at("venv/bin")];
    assert_eq!(
        paths(machine.files(Library::Nvrtc, None)),
        ["venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"]
    );
}

#[test]
fn the_packages_of_debians_pip_are_found() {
    let mut machine = Machine::new();
    machine.file("usr/bin/python3");
    machine.file("usr/local/lib/python3.12/dist-packages/nvidia/cublas/lib/libcublasLt.so.12");
    machine.environment.path = vec![machine.at("usr/bin")];
    assert_eq!(
        paths(machine.files(Library::CublasLt, None)),
        ["usr/local/lib/python3.12/dist-packages/nvidia/cublas/lib/libcublasLt.so.12"]
    );
}

#[test]
fn pyenvs_python_is_the_version_that_is_chosen() {
    let mut machine = Machine::new();
    machine.file("pyenv/shims/python3");
    for version in ["3.11.7", "3.12.1"] {
        let minor = &version[..4];
        machine.file(&format!(
            "pyenv/versions/{version}/lib/python{minor}/site-packages/nvidia/cu13/lib/libnvrtc.so.13"
        ));
    }
    fs::write(machine.at("pyenv/version"), "3.11.7\n").unwrap();
    machine.environment.path = vec![machine.at("pyenv/shims")];
    let expected = |version: &str, minor: &str| {
        format!(
            "pyenv/versions/{version}/lib/python{minor}/site-packages/nvidia/cu13/lib/libnvrtc.so.13"
        )
    };
    assert_eq!(
        paths(machine.files(Library::Nvrtc, None)),
        [expected("3.11.7", "3.11")]
    );
    machine.environment.pyenv_version = Some("3.12.1".to_string());
    assert_eq!(
        paths(machine.files(Library::Nvrtc, None)),
        [expected("3.12.1", "3.12")]
    );
}

#[test]
fn the_common_folder_of_the_newest_generation_goes_first() {
    let mut machine = Machine::new();
    machine.environment.virtual_env = Some(machine.at("venv"));
    let packages = "venv/lib/python3.12/site-packages/nvidia";
    for package in ["cublas", "cu12", "cu13"] {
        machine.file(&format!("{packages}/{package}/lib/libcublasLt.so.12"));
    }
    assert_eq!(
        paths(machine.files(Library::CublasLt, None)),
        ["cu13", "cu12", "cublas"].map(|p| format!("{packages}/{p}/lib/libcublasLt.so.12"))
    );
}

#[test]
fn the_driver_is_looked_for_in_the_system_and_not_among_packages() {
    let mut machine = Machine::new();
    machine.environment.virtual_env = Some(machine.at("venv"));
    machine.environment.conda_prefix = Some(machine.at("conda"));
    machine.file("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcuda.so.1");
    machine.file("conda/lib/libcuda.so.1");
    machine.file("usr/local/cuda-13.0/lib64/libcuda.so.1");
    machine.file("usr/local/nvidia/lib64/libcuda.so.1");
    assert_eq!(
        machine.files(Library::Driver, None),
        [(
            Source::Toolkit,
            "usr/local/nvidia/lib64/libcuda.so.1".to_string()
        )]
    );
}

#[test]
fn a_survey_names_every_library_and_how_to_install_missing_ones() {
    let survey = library::survey();
    let surveyed: Vec<Library> = survey.iter().map(|(library, _)| *library).collect();
    assert_eq!(surveyed, Library::ALL);
    for (library, answer) in survey {
        match answer {
            Ok(found) => {
                assert_eq!(found.library, library);
                assert!(found.path.is_absolute(), "{found}");
                assert!(found.version.is_some(), "{found}");
            }
            Err(missing) => {
                assert_eq!(missing.library, library);
                assert!(!missing.looked.is_empty());
                let message = missing.to_string();
                assert!(message.contains(library.name()), "{message}");
                assert!(
                    message.contains("pip install") || message.contains("nvidia.com"),
                    "{message}"
                );
            }
        }
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn nvrtc_is_searched_once_and_stays_loaded() {
    let found = library::find(Library::Nvrtc).unwrap();
    let file = found.path.file_name().unwrap().to_string_lossy();
    assert!(file.starts_with("libnvrtc.so"), "{found}");
    let again = library::find(Library::Nvrtc).unwrap();
    assert!(std::ptr::eq(found, again));
}

#[test]
fn the_gpus_are_listed_or_the_error_has_a_reason() {
    match library::gpus() {
        Ok(gpus) => {
            for (index, gpu) in gpus.iter().enumerate() {
                assert_eq!(gpu.index, index);
                assert!(gpu.memory > 0 && !gpu.name.is_empty(), "{gpu:?}");
            }
        }
        Err(error) => assert!(error.to_string().contains("NVIDIA driver"), "{error}"),
    }
}
