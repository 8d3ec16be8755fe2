//! `spikelet-dev neuron docs`

use crate::common::said;
use spikelet::neuron;
use std::path::Path;

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn the_page_on_all_neurons_is_up_to_date() {
    let made = tempfile::tempdir().expect("a folder");
    said(&["neuron", "docs", "--out", &path(made.path(), "neurons.md")]);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |folder: &Path, name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let pictures = |folder: &Path| -> Vec<String> {
        let files = std::fs::read_dir(folder.join("neurons")).expect("a folder of pictures");
        let mut names: Vec<String> = files
            .map(|f| {
                f.expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    };
    let names = pictures(made.path());
    assert_eq!(names.len(), neuron::NEURONS.entries.len());
    assert_eq!(pictures(&kept), names);
    let pictures = names.iter().map(|name| format!("neurons/{name}"));
    for name in pictures.chain(["neurons.md".to_string()]) {
        assert!(
            read(made.path(), &name) == read(&kept, &name),
            "docs/{name} is old: run `spikelet-dev neuron docs --out docs/neurons.md`"
        );
    }
}

#[test]
fn the_page_on_all_surrogates_is_up_to_date() {
    let made = tempfile::tempdir().expect("a folder");
    let page = path(made.path(), "surrogates.md");
    said(&["surrogate", "docs", "--out", &page]);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/surrogates.md");
    assert!(
        std::fs::read_to_string(page).ok() == std::fs::read_to_string(kept).ok(),
        "docs/surrogates.md is old: run `spikelet-dev surrogate docs --out docs/surrogates.md`"
    );
}
