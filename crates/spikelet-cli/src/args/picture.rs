//! Paths of pictures on the command line.

use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::PathBuf;

/// Takes the path of an SVG file.
pub fn svg_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.extension() {
        Some(end) if end == "svg" => Ok(path),
        _ => Err("the picture is SVG; use a name that ends in .svg"),
    })
}
