//! Tables of comma-separated values.

use spikelet_data::{CsvTable, Dataset, Error, Field, InMemory, Result};

fn read(content: &[u8], select: impl FnOnce(CsvTable) -> CsvTable) -> Result<InMemory> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, content).unwrap();
    select(CsvTable::new(&path)).read()
}

#[test]
fn columns_are_selected_by_name_and_several_targets_are_fields() {
    let table = b"id;x;y;kind;z\n7;1.5;-2;\"b; c\";0.25\n8; 1e3 ;4;a;NaN\n";
    let data = read(table, |table| {
        table
            .delimiter(b';')
            .f32("inputs", ["z", "x"])
            .i64("pair", ["y", "id"])
            .label("id", "id")
            .classes("labels", "kind")
    })
    .unwrap();
    assert_eq!((data.name(), data.len()), ("table", 2));
    let fields: Vec<String> = data.fields().iter().map(Field::to_string).collect();
    assert_eq!(
        fields,
        [
            "inputs: f32[2]",
            "pair: i64[2]",
            "id: i64[]",
            "labels: i64[]"
        ]
    );
    let sample = data.sample(0).unwrap();
    assert_eq!(
        sample.require("inputs").unwrap().as_f32(),
        Some(&[0.25, 1.5][..])
    );
    assert_eq!(sample.require("pair").unwrap().as_i64(), Some(&[-2, 7][..]));
    assert_eq!(sample.require("id").unwrap().as_i64(), Some(&[7][..]));
    assert_eq!(sample.require("labels").unwrap().as_i64(), Some(&[1][..]));
    assert_eq!(data.class_names("labels"), ["a", "b; c"]);
    let sample = data.sample(1).unwrap();
    let inputs = sample.require("inputs").unwrap().as_f32().unwrap();
    assert!(inputs[0].is_nan() && inputs[1] == 1000.0);
}

#[test]
fn errors_name_the_file_the_line_and_the_column() {
    let error = |content: &[u8]| {
        let error = read(content, |table| table.f32("x", ["a", "b"])).unwrap_err();
        assert!(matches!(error, Error::Format { .. }), "{error}");
        error.to_string()
    };
    let cell = error(b"a,b\n1,2\n3,four\n");
    assert!(
        cell.contains("table.csv, byte 8: line 3, column `b`: `four`"),
        "{cell}"
    );
    assert!(error(b"a,c\n1,2\n").contains("no column `b`; there are: a, c"));
    assert!(error(b"a,b\n1,2\n3\n").contains("byte 8"));
    assert!(error(b"a,b\n1,\n").contains("column `b`: ``"));
    assert!(error(b"a,b\n1,\xff\n").contains("UTF-8"));
    assert!(error(b"").contains("no column `a`"));
    let twice = read(b"a\n1\n", |table| table.f32("x", ["a"]).label("x", "a"));
    assert!(matches!(twice, Err(Error::Field { .. })));
    let none = CsvTable::new("no such file.csv").f32("x", ["a"]).read();
    assert!(matches!(none, Err(Error::Open { .. })));
    // A table without lines has no samples.
    assert_eq!(
        read(b"a,b\n", |table| table.f32("x", ["a"])).unwrap().len(),
        0
    );
    let no_columns = read(b"a\n1\n", |table| table.f32("x", [] as [&str; 0]));
    assert!(matches!(no_columns, Err(Error::Column { .. })));
}
