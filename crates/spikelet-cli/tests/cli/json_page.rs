//! The guide's page of `--json` keys against the lines that commands print.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PAGE: &str = include_str!("../../../../docs/guide/json.md");

/// A key of the page, `key` or `key.subkey`.
#[derive(Debug)]
struct Row {
    key: &'static str,
    /// Whether the keys in it vary.
    map: bool,
    optional: bool,
}

/// The tables of the page by their headings; the lines of `train` are below those of their events.
fn sections() -> BTreeMap<&'static str, Vec<Row>> {
    let mut sections = BTreeMap::<_, Vec<Row>>::new();
    let mut heading = "";
    for line in PAGE.lines() {
        if let Some(title) = line.trim_start_matches('#').strip_prefix(' ')
            && line.starts_with('#')
        {
            heading = title;
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let [_, key, kind, _, _, _] = cells[..]
            && let Some(key) = key.strip_prefix('`')
        {
            sections.entry(heading).or_default().push(Row {
                key: key.trim_end_matches('`'),
                map: kind.contains("map"),
                optional: kind.contains("optional"),
            });
        }
    }
    sections
}

/// The keys of a line, as the page writes them.
fn keys(value: &Value, prefix: &str, maps: &BTreeSet<&str>, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let key = match prefix {
                    "" => key.clone(),
                    prefix => format!("{prefix}.{key}"),
                };
                if !maps.contains(key.as_str()) {
                    keys(value, &key, maps, found);
                }
                found.insert(key);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| keys(item, prefix, maps, found)),
        _ => {}
    }
}

/// Checks that these lines have the keys of these sections and no others.
pub fn check(headings: &[&str], lines: &[Value]) {
    assert!(!lines.is_empty(), "{headings:?}");
    let sections = sections();
    let rows: Vec<&Row> = (headings.iter())
        .flat_map(|heading| sections.get(heading).expect("a section of the page"))
        .collect();
    let known: BTreeSet<&str> = rows.iter().map(|row| row.key).collect();
    let maps: BTreeSet<&str> = rows.iter().filter(|r| r.map).map(|r| r.key).collect();
    let required = |row: &&&Row| !row.optional && !row.key.contains('.');
    let mut all = BTreeSet::new();
    for line in lines {
        let mut found = BTreeSet::new();
        keys(line, "", &maps, &mut found);
        let unknown: Vec<_> = found
            .iter()
            .filter(|key| !known.contains(key.as_str()))
            .collect();
        assert!(unknown.is_empty(), "{headings:?} lacks {unknown:?}: {line}");
        for row in rows.iter().filter(required) {
            assert!(found.contains(row.key), "{headings:?}: {row:?}: {line}");
        }
        all.extend(found);
    }
    for row in rows {
        // The keys of an object are there unless it is null, and those of an array unless it is empty.
        let within = row
            .key
            .rsplit_once('.')
            .map(|(parent, _)| format!("{parent}."));
        let there = within.is_none_or(|parent| all.iter().any(|key| key.starts_with(&parent)));
        let needed = !row.optional && there;
        assert!(!needed || all.contains(row.key), "{headings:?}: {row:?}");
    }
}
