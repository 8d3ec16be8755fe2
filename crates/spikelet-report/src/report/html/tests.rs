use super::*;

const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'<!--{{data}}{{script}}";

fn series(name: &str, points: usize) -> Series {
    Series {
        name: name.to_string(),
        points: (1..=points)
            .map(|k| (k as f64, (k as f64).sin() * 0.123_456))
            .collect(),
        ..Series::default()
    }
}

/// A report in which every text is the given one.
fn report(text: &str) -> HtmlReport {
    let text = text.to_string();
    HtmlReport {
        title: text.clone(),
        subtitle: text.clone(),
        status: "finished",
        message: Some(text.clone()),
        tiles: vec![Tile {
            name: text.clone(),
            value: text.clone(),
            note: text.clone(),
        }],
        findings: vec![Advice {
            layer: Some(text.clone()),
            sentence: text.clone(),
            advice: text.clone(),
        }],
        panels: vec![
            Panel {
                title: text.clone(),
                ..Panel::default()
            }
            .with([series(&text, 3)]),
        ],
        layers: vec![LayerRow {
            name: text.clone(),
            ..LayerRow::default()
        }],
        classes: vec![text.clone()],
        command: Some(text.clone()),
        configuration: vec![Table {
            title: text.clone(),
            rows: vec![(text.clone(), text)],
        }],
        ..HtmlReport::default()
    }
}

/// The contents of the elements `script`.
fn scripts(page: &str) -> Vec<(&str, &str)> {
    let each = page.split("<script").skip(1);
    each.map(|rest| {
        let (attributes, rest) = rest.split_once('>').expect("a tag");
        (attributes, rest.split_once("</script>").expect("an end").0)
    })
    .collect()
}

#[test]
fn hostile_names_stay_text() {
    let page = report(HOSTILE).to_html();
    let scripts = scripts(&page);
    assert_eq!(scripts.len(), 2, "the data and the program");
    assert!(!page.contains("<img") && !page.contains("alert(1)</script>"));
    let data: serde_json::Value = serde_json::from_str(scripts[0].1).expect("JSON");
    assert_eq!(data["title"], HOSTILE);
    assert_eq!(data["panels"][0]["series"][0]["name"], HOSTILE);
    let title = page
        .split("<title>")
        .nth(1)
        .and_then(|rest| rest.split("</title>").next());
    assert_eq!(title, Some(escaped(HOSTILE).as_str()));
}

#[test]
fn only_the_program_of_the_page_may_run_and_nothing_is_loaded() {
    let page = report("a network").to_html();
    let program = scripts(&page)[1].1;
    let digest = BASE64_STANDARD.encode(Sha256::digest(program.as_bytes()));
    assert!(page.contains(&format!("default-src 'none'; script-src 'sha256-{digest}'")));
    for reference in [" src=", "<link", "@import", "url("] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("Copyright (c) 2022 Leon Sorokin") && page.contains("The MIT License"));
}

#[test]
fn assets_have_no_end_of_their_element() {
    for script in SCRIPTS {
        assert!(!script.contains("</script") && !script.contains("<!--"));
    }
    for style in STYLES {
        assert!(!style.contains("</style"));
    }
    assert!(!LICENSE.contains("--"));
}

#[test]
fn a_long_run_of_a_deep_network_is_below_three_megabytes() {
    let mut large = report("a deep network");
    // 2,000 epochs, 200 layers with six values, 400 parameters; and curves of steps.
    let panel = |rows: usize, points: usize| {
        Panel::default().with((0..rows).map(|k| series(&format!("stage.{k}.block.neuron"), points)))
    };
    large.panels = (0..6).map(|_| panel(200, 2000)).collect();
    large.panels.push(panel(400, 2000));
    large.panels.push(panel(200, 20_000));
    large.panels.extend((0..6).map(|_| panel(3, 2000)));
    large.bound();
    let bytes = large.to_html().len();
    println!("{bytes} bytes");
    assert!(bytes < 2_000_000, "{bytes} bytes");
    assert!(
        large
            .panels
            .iter()
            .flat_map(|panel| &panel.series)
            .all(|one| one.points.len() >= 39)
    );
}
