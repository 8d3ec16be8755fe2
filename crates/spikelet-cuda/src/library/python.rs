//! The packages of the active Python environment, found without running Python.

use super::Environment;
use super::folders::entries;
use std::path::{Path, PathBuf};

/// The package folders of the active Python: of `VIRTUAL_ENV`, else of the first `python3` on the path,
/// followed by the user's packages.
pub(super) fn site_packages(environment: &Environment) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = match &environment.virtual_env {
        Some(folder) => of_environment(folder),
        None => on_the_path(environment),
    };
    if let (None, Some(home)) = (&environment.virtual_env, &environment.home) {
        found.extend(packages(&home.join(".local")));
    }
    found
}

/// The package folders under a prefix such as `/usr`, the newest Python first.
pub(super) fn packages(prefix: &Path) -> Vec<PathBuf> {
    // Debian's pip installs beside the system's packages, into `local` and `dist-packages`.
    let libraries = ["lib", "lib64", "local/lib"].map(|folder| prefix.join(folder));
    libraries
        .iter()
        .flat_map(|folder| entries(folder, "python3"))
        .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
        .filter(|folder| folder.is_dir())
        .collect()
}

/// The packages of a virtual environment, and of its base Python if it includes them.
fn of_environment(folder: &Path) -> Vec<PathBuf> {
    let mut found = packages(folder);
    let settings = std::fs::read_to_string(folder.join("pyvenv.cfg")).unwrap_or_default();
    let setting = |wanted: &str| {
        settings.lines().find_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name.trim() == wanted).then(|| value.trim())
        })
    };
    let shares = setting("include-system-site-packages")
        .is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if shares && let Some(prefix) = setting("home").and_then(|home| Path::new(home).parent()) {
        found.extend(packages(prefix));
    }
    found
}

fn on_the_path(environment: &Environment) -> Vec<PathBuf> {
    for folder in &environment.path {
        for name in ["python3", "python"] {
            let program = folder.join(name);
            if !program.is_file() {
                continue;
            }
            let found = of_program(environment, folder, &program);
            if !found.is_empty() {
                return found;
            }
        }
    }
    Vec::new()
}

/// The packages of the Python whose program is `program` in `folder`.
fn of_program(environment: &Environment, folder: &Path, program: &Path) -> Vec<PathBuf> {
    let Some(prefix) = folder.parent() else {
        return Vec::new();
    };
    let versions = prefix.join("versions");
    if folder.ends_with("shims") && versions.is_dir() {
        return pyenv_versions(environment, prefix)
            .iter()
            .flat_map(|version| packages(&versions.join(version)))
            .collect();
    }
    // The `python3` of an environment is a link to another prefix, its packages are in the environment.
    if prefix.join("pyvenv.cfg").is_file() {
        return of_environment(prefix);
    }
    let mut found = packages(prefix);
    if let Ok(resolved) = program.canonicalize()
        && let Some(prefix) = resolved.parent().and_then(Path::parent)
    {
        for folder in packages(prefix) {
            if !found.contains(&folder) {
                found.push(folder);
            }
        }
    }
    found
}

/// The versions of pyenv's `python3`, which is a script and not a Python.
fn pyenv_versions(environment: &Environment, pyenv: &Path) -> Vec<String> {
    let chosen = environment
        .pyenv_version
        .clone()
        .or_else(|| std::fs::read_to_string(pyenv.join("version")).ok())
        .unwrap_or_default();
    chosen
        .split([':', '\n'])
        .map(str::trim)
        // A name must not leave pyenv's folder, and `system` is another `python3`.
        .filter(|name| !name.is_empty() && !name.contains('/') && *name != "system")
        .map(str::to_string)
        .collect()
}
