//! Lists the files of the folder `recipes`.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let folder =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo")).join("recipes");
    println!("cargo::rerun-if-changed={}", folder.display());
    let files = fs::read_dir(&folder).expect("the folder `recipes` is there");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let recipe = |file: &PathBuf| {
        let name = file.file_stem().unwrap_or_default();
        format!("Recipe {{ name: {name:?}, text: include_str!({file:?}) }},\n")
    };
    let list: String = files.iter().map(recipe).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let made = fs::write(out.join("recipes.rs"), format!("&[\n{list}]\n"));
    made.expect("the folder of outputs can be written");
}
