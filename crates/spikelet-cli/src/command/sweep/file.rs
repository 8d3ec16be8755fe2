//! The file of a sweep.
//!
//! ```toml
//! experiment = "mnist-fc"
//! search = "random"
//! runs = 20
//!
//! [values]
//! "optimizer.lr" = { min = 1e-4, max = 1e-2, scale = "log" }
//! "network.hidden" = [50, 100, 200]
//! ```

use serde_json::{Map, Value};
use spikelet::document::{Content, Document, DocumentProblem, Fields, Located, Node};
use std::collections::BTreeSet;
use std::path::Path;

/// The largest number of runs of a sweep.
pub const MOST_RUNS: usize = 10_000;

/// The largest integer of a range: all up to it are numbers with a fraction as well.
const LARGEST_INTEGER: f64 = 9_007_199_254_740_992.0;

/// A sweep: an experiment, and values of its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepFile {
    /// A named network, or the path of a file.
    pub experiment: String,
    pub search: Search,
    /// The settings that vary, with their values.
    pub axes: Vec<Axis>,
    /// The contents of the file by the paths of its keys, by which a resumed sweep is recognized.
    pub definition: Map<String, Value>,
}

/// How combinations of values are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// All combinations.
    Grid,
    /// This number of random combinations.
    Random { runs: usize, seed: u64 },
}

/// A setting that varies.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key of `--set`.
    pub key: String,
    pub values: Values,
}

/// The values of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// One of these.
    List(Vec<Value>),
    /// A number between two bounds, which are included.
    Range {
        min: f64,
        max: f64,
        integer: bool,
        /// Whether its logarithm is drawn uniformly, instead of the number.
        log: bool,
    },
}

impl SweepFile {
    /// Reads the file of a sweep. A relative path of the experiment is one from the folder of the file.
    ///
    /// # Errors
    /// When the file cannot be read, or a key or value is wrong, with its line and column.
    pub fn read(path: &Path) -> spikelet::Result<Self> {
        let document = Document::read(path)?;
        let mut sweep = Self::parse(&document).map_err(|error| document.error(error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let beside = folder.join(&sweep.experiment);
        if let Some(beside) = beside.to_str().filter(|_| beside.is_file()) {
            sweep.experiment = beside.to_string();
        }
        Ok(sweep)
    }

    fn parse(document: &Document) -> Result<Self, Located> {
        let known = ["experiment", "search", "runs", "seed", "values"];
        let root = Fields::new(document.root(), "the sweep", &known)?;
        let expected = "a named network or the path of an experiment file";
        let experiment = root.require("experiment", expected)?;
        let experiment = experiment.text("experiment")?.to_string();
        let search = match root.get("search") {
            Some(node) => node.choice("search", &["grid", "random"])?,
            None => "grid",
        };
        let search = match search {
            "grid" => {
                for key in ["runs", "seed"] {
                    if let Some(entry) = root.entry(key) {
                        let problem = format!("`{key}` is of a random search, this is a grid");
                        let help = "remove it, or set `search = \"random\"`";
                        return Err(Located::other(problem, help).or_at(entry.span.clone()));
                    }
                }
                Search::Grid
            }
            _ => Search::Random {
                runs: root
                    .require("runs", "the number of runs")?
                    .integer("runs", 1..=MOST_RUNS)?,
                seed: root.integer("seed", 0..=usize::MAX)?.unwrap_or(0) as u64,
            },
        };
        let table = root.require("values", "a table of settings with their values")?;
        let mut axes = vec![];
        read_axes("", table, search, &mut axes)?;
        let mut keys = BTreeSet::new();
        if let Some(twice) = axes.iter().find(|axis| !keys.insert(&axis.key)) {
            let problem = format!("`{}` is given twice", twice.key);
            return Err(Located::other(problem, "remove one").or_at(table.span.clone()));
        }
        if axes.is_empty() {
            let help = "add a setting with its values, as in `\"optimizer.lr\" = [1e-3, 3e-3]`";
            return Err(Located::other("`values` is empty", help).or_at(table.span.clone()));
        }
        let mut definition = Map::new();
        flatten("", &document.root().to_json(), &mut definition);
        Ok(Self {
            experiment,
            search,
            axes,
            definition,
        })
    }
}

/// The settings of a table; other tables in it, as in `[values.optimizer]`, are prefixes of their keys.
fn read_axes(
    prefix: &str,
    table: &Node,
    search: Search,
    axes: &mut Vec<Axis>,
) -> Result<(), Located> {
    let Some(entries) = table.entries() else {
        return Err(table.wrong("values", "a table of settings with their values"));
    };
    for entry in entries {
        let key = match prefix {
            "" => entry.key.clone(),
            prefix => format!("{prefix}.{}", entry.key),
        };
        let bounds = ["min", "max"];
        let is_range = bounds.iter().any(|name| entry.value.get(name).is_some());
        let values = match &entry.value.content {
            Content::List(items) => list(&key, &entry.value, items)?,
            Content::Table(_) if is_range => range(&key, &entry.value, search)?,
            Content::Table(_) => {
                read_axes(&key, &entry.value, search, axes)?;
                continue;
            }
            _ => {
                let expected = "a list of values, or { min = …, max = … }";
                return Err(entry.value.wrong(&key, expected));
            }
        };
        axes.push(Axis { key, values });
    }
    Ok(())
}

fn list(key: &str, node: &Node, items: &[Node]) -> Result<Values, Located> {
    if items.is_empty() {
        return Err(node.wrong(key, "a list with at least one value"));
    }
    let mut values: Vec<Value> = vec![];
    for item in items {
        let value = item.to_json();
        if item.entries().is_some() {
            return Err(item.wrong(key, "a list of numbers, words, true or false"));
        }
        if values.contains(&value) {
            let problem = format!("`{key}` has the value {value} twice");
            return Err(Located::other(problem, "remove one").or_at(item.span.clone()));
        }
        values.push(value);
    }
    Ok(Values::List(values))
}

fn range(key: &str, node: &Node, search: Search) -> Result<Values, Located> {
    let owner = format!("the range of `{key}`");
    let fields = Fields::new(node, &owner, &["min", "max", "integer", "scale"])?;
    if search == Search::Grid {
        return Err(node.wrong(key, "a list of values: a range is for search = \"random\""));
    }
    let [low, high] = [
        fields.require("min", "the smallest value")?,
        fields.require("max", "the largest value")?,
    ];
    let (min, max) = (low.number("min")?, high.number("max")?);
    if min >= max {
        return Err(high.wrong("max", format!("larger than min, which is {min}")));
    }
    let integer = fields.flag("integer")?.unwrap_or(false);
    for (name, value, node) in [("min", min, low), ("max", max, high)] {
        if integer && (value.fract() != 0.0 || value.abs() > LARGEST_INTEGER) {
            return Err(node.wrong(name, "a whole number up to 2^53, because integer = true"));
        }
    }
    let scale = fields.get("scale");
    let scale = scale.map(|node| node.choice("scale", &["linear", "log"]));
    let log = scale.transpose()? == Some("log");
    if log && min <= 0.0 {
        return Err(low.wrong("min", "larger than 0, because scale = \"log\""));
    }
    Ok(Values::Range {
        min,
        max,
        integer,
        log,
    })
}

/// The values of an object by their paths.
fn flatten(path: &str, value: &Value, found: &mut Map<String, Value>) {
    let Value::Object(fields) = value else {
        found.insert(path.to_string(), value.clone());
        return;
    };
    for (name, value) in fields {
        match path {
            "" => flatten(name, value, found),
            path => flatten(&format!("{path}.{name}"), value, found),
        }
    }
}

/// The problem of a sweep with too many combinations.
pub fn too_many(runs: u128) -> Located {
    Located::new(DocumentProblem::WrongValue {
        key: "values".to_string(),
        given: format!("a grid of {runs} runs"),
        expected: format!("at most {MOST_RUNS} combinations"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(text: &str) -> Result<SweepFile, String> {
        let document = Document::from_toml("sweep.toml", text).map_err(|e| e.to_string())?;
        SweepFile::parse(&document).map_err(|error| document.error(error).to_string())
    }

    #[test]
    fn lists_ranges_and_nested_keys_are_read() {
        let text = "experiment = 'csnn'\nsearch = 'random'\nruns = 3\nseed = 7\n[values]\n\
                    'optimizer.lr' = { min = 1e-4, max = 1e-2, scale = 'log' }\n\
                    [values.training]\nbatch_size = [32, 64]\n";
        let sweep = parse(text).expect("valid");
        assert_eq!(sweep.search, Search::Random { runs: 3, seed: 7 });
        let keys: Vec<&str> = sweep.axes.iter().map(|axis| axis.key.as_str()).collect();
        assert_eq!(keys, ["optimizer.lr", "training.batch_size"]);
        assert_eq!(
            sweep.axes[1].values,
            Values::List(vec![json!(32), json!(64)])
        );
        assert_eq!(
            sweep.definition["values.training.batch_size"],
            json!([32, 64])
        );
        assert_eq!(sweep.definition["values.optimizer.lr.scale"], json!("log"));
        let grid = parse("experiment = 'csnn'\n[values]\ntau = [2]").expect("valid");
        assert_eq!(grid.search, Search::Grid);
    }

    #[test]
    fn wrong_files_name_the_line_and_a_remedy() {
        let head = "experiment = 'csnn'\n";
        for (text, parts) in [
            (
                "experimnt = 'csnn'",
                &["sweep.toml:1:1", "did you mean `experiment`?"][..],
            ),
            ("[values]\ntau = [1]", &["needs `experiment`"]),
            (
                "experiment = 3\n[values]\ntau = [1]",
                &["`experiment` is 3", "a string"],
            ),
            (
                "search = 'gird'\n[values]\ntau = [1]",
                &["sweep.toml:2:10", "did you mean \"grid\"?"],
            ),
            ("search = 'random'\n[values]\ntau = [1]", &["needs `runs`"]),
            (
                "search = 'random'\nruns = 0\n[values]\ntau = [1]",
                &["sweep.toml:3:8", "1 to 10000"],
            ),
            (
                "runs = 3\n[values]\ntau = [1]",
                &["sweep.toml:2:1", "`runs` is of a random search"],
            ),
            ("", &["needs `values`"]),
            ("[values]", &["`values` is empty"]),
            ("values = 3", &["`values` is 3"]),
            (
                "[values]\ntau = 3",
                &["sweep.toml:3:7", "`tau` is 3", "a list of values"],
            ),
            ("[values]\ntau = []", &["at least one value"]),
            (
                "[values]\ntau = [1, 1]",
                &["sweep.toml:3:11", "`tau` has the value 1 twice"],
            ),
            ("[values]\ntau = [{ a = 1 }]", &["a list of numbers, words"]),
            (
                "[values]\ntau = { min = 1, max = 2 }",
                &["a range is for search"],
            ),
            (
                "[values]\n'a.b' = [1]\n[values.a]\nb = [2]",
                &["`a.b` is given twice"],
            ),
        ] {
            let text = match text.starts_with("exper") || text.contains("needs") {
                true => text.to_string(),
                false => format!("{head}{text}"),
            };
            let text = match parts[0].contains("needs `experiment`") {
                true => text.replace(head, ""),
                false => text,
            };
            let problem = parse(&text).expect_err(&text);
            for part in parts {
                assert!(problem.contains(part), "{text}: {part}: {problem}");
            }
            assert!(problem.contains("help: "), "{problem}");
        }
    }

    #[test]
    fn wrong_ranges_name_the_bound() {
        for (range, part) in [
            ("min = 1", "needs `max`"),
            ("max = 1", "needs `min`"),
            (
                "min = 2, max = 1",
                "`max` is 1; it must be larger than min, which is 2",
            ),
            (
                "min = 0, max = 1, scale = 'log'",
                "`min` is 0; it must be larger than 0",
            ),
            (
                "min = 0.5, max = 2, integer = true",
                "`min` is 0.5; it must be a whole number",
            ),
            ("min = 1, max = 2, scale = 'lg'", "did you mean \"log\"?"),
            (
                "min = 1, max = 2, step = 1",
                "the range of `lr` has no key `step`",
            ),
            ("min = 'a', max = 2", "`min` is \"a\"; it must be a number"),
        ] {
            let text = format!(
                "experiment = 'csnn'\nsearch = 'random'\nruns = 2\n[values]\nlr = {{ {range} }}"
            );
            let problem = parse(&text).expect_err(range);
            assert!(
                problem.contains(part) && problem.contains("sweep.toml:5:"),
                "{range}: {problem}"
            );
        }
    }
}
