//! Pages of the documentation: all of them are in the book's and the guide's contents, and their links
//! lead to files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect(folder);
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    pages.sort();
    pages
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The targets of the links of a page, without the anchors. Code is skipped.
fn links(text: &str) -> Vec<String> {
    let mut found = vec![];
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // Every other part of a line is between backquotes.
        let plain: String = line.split('`').step_by(2).collect();
        for part in plain.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap_or_default();
            found.push(target.to_string());
        }
    }
    found
}

fn file_name(page: &Path) -> String {
    let name = page.file_name().expect("a file");
    name.to_string_lossy().into_owned()
}

#[test]
fn every_page_is_in_the_contents_of_the_book_and_of_the_guide() {
    let linked = |path: &str| -> BTreeSet<String> {
        let text = read(&root().join(path));
        links(&text).into_iter().collect()
    };
    let (book, guide) = (linked("docs/SUMMARY.md"), linked("docs/guide/README.md"));
    for page in pages("docs/guide") {
        let name = file_name(&page);
        assert!(
            book.contains(&format!("guide/{name}")),
            "SUMMARY.md lacks {name}"
        );
        assert!(
            name == "README.md" || guide.contains(&name),
            "the guide lacks {name}"
        );
    }
    for page in pages("docs") {
        let name = file_name(&page);
        assert!(
            name == "SUMMARY.md" || book.contains(&name),
            "SUMMARY.md lacks {name}"
        );
    }
}

#[test]
fn every_link_leads_to_a_file() {
    let all = [".", "docs", "docs/guide"].map(pages);
    for page in all.concat() {
        for link in links(&read(&page)) {
            if link.is_empty() || link.contains("://") {
                continue;
            }
            let target = page.parent().expect("a folder").join(&link);
            assert!(target.exists(), "{}: {link}", page.display());
        }
    }
}

#[test]
fn experiments_of_the_guide_and_recipes_are_read() {
    use spikelet::train::experiment::Experiment;
    let page = read(&root().join("docs/guide/experiments.md"));
    let blocks = page.split("```toml\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        Experiment::from_toml("experiments.md", block).unwrap_or_else(|error| panic!("{error}"));
    }
    for entry in fs::read_dir(root().join("recipes")).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        Experiment::read(&path).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_readme_counts_neurons_and_surrogates_and_the_guide_names_them() {
    let readme = read(&root().join("README.md"));
    let guide = |page: &str| read(&root().join("docs/guide").join(page));
    let neurons: Vec<_> = spikelet::neuron::NEURONS.summaries().collect();
    let surrogates: Vec<_> = spikelet::surrogate::SURROGATES.summaries().collect();
    for counted in [
        format!("[{} neurons]", neurons.len()),
        format!("[{} surrogates]", surrogates.len()),
    ] {
        assert!(readme.contains(&counted), "README.md lacks {counted}");
    }
    let (neuron_page, surrogate_page) = (guide("neurons.md"), guide("surrogates.md"));
    for (name, _) in neurons {
        let name = format!("`{name}`");
        assert!(neuron_page.contains(&name), "neurons.md lacks {name}");
    }
    for (name, _) in surrogates {
        let name = format!("`{name}`");
        assert!(surrogate_page.contains(&name), "surrogates.md lacks {name}");
    }
}

/// Packages come from the index that a machine is configured for.
#[test]
fn no_file_has_the_address_of_a_package_index() {
    let addresses = [
        concat!("download.", "pytorch.org"),
        concat!("py", "pi.org"),
        concat!("files.python", "hosted.org"),
        concat!("crates", ".io"),
    ];
    let mut folders = vec![root().to_path_buf()];
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = file_name(&path);
            let is_hidden = name.starts_with('.') && ![".ci", ".github"].contains(&&*name);
            if is_hidden || ["target", "runs", "data", "node_modules"].contains(&&*name) {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // The lock file names the index as cargo writes it.
            if name == "Cargo.lock" {
                continue;
            }
            let Ok(text) = fs::read_to_string(&path) else {
                continue; // pictures and tensors
            };
            count += 1;
            for address in addresses {
                assert!(!text.contains(address), "{}: {address}", path.display());
            }
        }
    }
    assert!(count > 1000, "{count} files");
}

#[test]
fn the_page_of_the_passes_is_the_pipeline() {
    use spikelet::graph::pass::PIPELINE;
    let page = read(&root().join("docs/passes.md"));
    let row = |pass: &spikelet::graph::pass::Pass| {
        format!("| `{}` | {} | {} |", pass.name, pass.stage(), pass.what)
    };
    let rows: Vec<String> = PIPELINE.iter().map(row).collect();
    let found: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    assert_eq!(found, rows, "replace the rows of docs/passes.md by these");
}
