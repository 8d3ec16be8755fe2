use super::*;

fn error(text: &str, read: impl Fn(&Node) -> Result<(), Located>) -> String {
    let document = match Document::from_toml("a.toml", text) {
        Ok(document) => document,
        Err(error) => return error.to_string(),
    };
    let problem = read(document.root()).expect_err("it is wrong");
    document.error(problem).to_string()
}

#[test]
fn an_error_names_line_and_column_and_marks_the_value() {
    let text = "# a comment\n[\"é\"]\n\"τ\" = [1, \"deux\"]\n";
    let found = error(text, |root| {
        let table = root.get("é").expect("given");
        let list = table.get("τ").expect("given").list("τ")?;
        list[1].integer("τ", 1..=3).map(|_| ())
    });
    let expected = "a.toml:3:11: `τ` is \"deux\"; it must be an integer from 1 to 3\n  \
                    3 | \"τ\" = [1, \"deux\"]\n    |           ^^^^^^\n  help: set `τ` to an integer from 1 to 3";
    assert_eq!(found, expected);
}

#[test]
fn an_unknown_key_has_a_suggestion() {
    let found = error("size = 3\ncolour = 1\n", |root| {
        Fields::new(root, "the file", &["size", "color"]).map(|_| ())
    });
    assert!(
        found.starts_with("a.toml:2:1: the file has no key `colour`\n"),
        "{found}"
    );
    assert!(
        found.ends_with("did you mean `color`? the keys are: size, color"),
        "{found}"
    );
}

#[test]
fn text_that_is_not_toml_is_an_error_with_its_line() {
    for (text, place) in [
        ("a = 1\nb = \n", "a.toml:2:5"),
        ("a = [1, 2\n", "a.toml:"),
        ("a = 1\na = 2\n", "a.toml:2:1"),
        ("a = 99999999999999999999\n", "a.toml:1:5"),
        ("a = nan\n", "a.toml:1:5"),
        ("a = 2026-11-22\n", "a.toml:1:5"),
        ("a = \"\u{0}\"\n", "a.toml:1:"),
    ] {
        let found = error(text, |_| Ok(()));
        assert!(found.starts_with(place), "{text:?}: {found}");
    }
}

#[test]
fn hostile_documents_cost_little() {
    let nested =
        |open: &str, close: &str| format!("a = {}{}", open.repeat(100_000), close.repeat(100_000));
    let keys = vec!["a"; 200_000].join(".");
    for text in [
        nested("[", "]"),
        nested("{a=", "}"),
        format!("{keys} = 1"),
        format!("[{keys}]\nb = 1"),
        format!("[[{keys}]]\nb = 1"),
        " ".repeat(MAX_BYTES + 1),
        "[".repeat(MAX_BYTES),
        "\u{feff}".repeat(1000),
        "x".repeat(MAX_BYTES),
    ] {
        let made = Document::from_toml("a.toml", &text);
        let message = made.expect_err("refused").to_string();
        assert!(message.len() < 2000, "{message}");
    }
    let mut value = serde_json::Value::Null;
    for _ in 0..1000 {
        value = serde_json::Value::Array(vec![value]);
    }
    assert!(Node::from_json(&value).is_err());
}

#[test]
fn toml_and_json_give_the_same_values() {
    let document = Document::from_toml("", "a = 1\nb = [1.5, true, \"x\"]\n[c]\nd = {}\n");
    let value = document.expect("TOML").root().to_json();
    let expected = serde_json::json!({"a": 1, "b": [1.5, true, "x"], "c": {"d": {}}});
    assert_eq!(value, expected);
    assert_eq!(Node::from_json(&value).expect("JSON").to_json(), expected);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    for path in ["/nowhere/at/all.toml", "/"] {
        let error = Document::read(std::path::Path::new(path)).expect_err("no file");
        assert!(error.to_string().starts_with(path), "{error}");
    }
}
