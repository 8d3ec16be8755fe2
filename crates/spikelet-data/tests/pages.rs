//! The page of all transforms, which is printed from their declarations.

use std::fmt::Write;
use std::path::Path;

use spikelet_data::{IMAGE_TRANSFORMS, SEQUENCE_TRANSFORMS};
use spikelet_events::frames::{FRAME_RULES, SLICINGS};
use spikelet_events::transforms::EVENT_TRANSFORMS;
use spikelet_schema::markdown::{family, is_printed};

const HEAD: &str = "\
# Transforms

Random changes of training samples (`data.augment`), changes of the events of all samples (`data.events`) and rules by which events
become frames (`data.frames`). In a file each is its name, `{ name = value }` with the value of the main key, which is bold below, or
a table:

```toml
[data]
frames = { number = 16 }
events = [{ denoise = 10000 }]
augment = [\"event-drop\", { drop-events = 0.2 }, { name = \"time-skew\", coefficient = 0.9, coefficient_max = 1.1 }]
```

In a shell the same is said in words: `number=16`, `\"time-skew coefficient=0.9 coefficient_max=1.1\"`. Elements of a list are
separated by commas: `--augment flip,random-erasing=0.25`. The list has the keys of the whole augmentation as well, such as `crop=4`:
see [Data](guide/data.md#augmentation-and-normalization).

This page is printed from the declarations of the types: `SPIKELET_WRITE=1 cargo test -p spikelet-data --all-features pages`.
";

/// The page.
fn page() -> String {
    let mut text = HEAD.to_string();
    for (title, about, table) in [
        (
            "Images",
            "Transforms of images change bytes, after crop and flip and before all others, in the order of the list. With a `size` they \
             are for programs: the images of a training keep their size.",
            family(&IMAGE_TRANSFORMS),
        ),
        (
            "Sequences",
            "Transforms of sequences of features, `[T, C]`.",
            family(&SEQUENCE_TRANSFORMS),
        ),
        (
            "Events",
            "Transforms of the events of a recording. `nda` changes the frames that are made of them.",
            family(&EVENT_TRANSFORMS),
        ),
        (
            "Slicings",
            "Ways to cut the events of a recording. The name of a slicing is a rule of frames as well: those of the counts of its slices.",
            family(&SLICINGS),
        ),
        (
            "Frames",
            "Rules by which events become frames.",
            family(&FRAME_RULES),
        ),
    ] {
        let _ = write!(text, "\n## {title}\n\n{about}\n\n{table}");
    }
    text
}

#[test]
fn the_page_has_all_transforms() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/transforms.md");
    assert!(
        is_printed(&path, &page()),
        "docs/transforms.md is old: SPIKELET_WRITE=1 cargo test -p spikelet-data --all-features pages"
    );
}
