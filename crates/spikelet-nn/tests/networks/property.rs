//! Generated lists of layers.

use proptest::prelude::*;
use serde_json::{Value, json};
use spikelet_nn::network::{Layers, Network};
use spikelet_nn::prelude::{Context, DType, Mode};

/// Sizes: mostly small, some at the bounds and beyond.
fn size() -> impl Strategy<Value = Value> {
    prop_oneof![
        12 => (1_i64..5).prop_map(Value::from),
        1 => prop_oneof![Just(0), Just(-1), Just(1 << 20), Just((1 << 20) + 1), Just(i64::MAX), Just(i64::MIN)].prop_map(Value::from),
        1 => prop::collection::vec(1_i64..4, 0..4).prop_map(Value::from),
        1 => prop_oneof![Just(json!(0.5)), Just(json!("x")), Just(json!(null)), Just(json!({})), Just(json!(true))],
    ]
}

/// A layer without inner layers, with some of its keys.
fn leaf() -> impl Strategy<Value = Value> {
    let kinds = spikelet_nn::network::layer_kinds();
    let kind = prop::sample::select(kinds);
    (
        kind,
        prop::collection::vec((any::<prop::sample::Index>(), size()), 0..4),
        size(),
        0..10_u8,
    )
        .prop_map(|(kind, keys, main, form)| {
            let (name, keys_of_kind) = (kind.name(), kind.keys());
            let has_value = kind.declaration.main().is_some();
            if !has_value && form < 5 {
                return json!(name);
            }
            let mut layer = json!({});
            match has_value {
                false => layer["layer"] = json!(name),
                true => layer[name] = main,
            }
            if keys_of_kind.iter().any(|key| key.key == "kernel") {
                layer["kernel"] = json!(form % 3 + 1);
            }
            for (index, value) in keys {
                if !keys_of_kind.is_empty() {
                    layer[index.get(&keys_of_kind).key] = value;
                }
            }
            layer
        })
}

fn layer() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let list = prop::collection::vec(inner, 0..4);
        (prop::collection::vec(list, 0..3), 0..6_u8, size()).prop_map(|(lists, form, n)| {
            let first = lists.first().cloned().unwrap_or_default();
            match form {
                0 => json!({"layers": first, "repeat": n}),
                1 => json!({"residual": first}),
                2 => json!({"residual": first, "shortcut": lists.last(), "join": "and"}),
                3 => json!({"branches": lists}),
                4 => json!({"branches": lists, "combine": "concat"}),
                _ => json!({"static": first}),
            }
        })
    })
}

fn network() -> impl Strategy<Value = Value> {
    let input = prop_oneof![
        8 => prop::collection::vec(1_i64..9, 1..5).prop_map(Value::from),
        1 => size(),
    ];
    let neuron = prop::sample::select(vec![
        json!("lif"),
        json!({"name": "plif"}),
        json!("psn"),
        json!("nothing"),
        json!(3),
    ]);
    (input, neuron, prop::collection::vec(layer(), 0..6))
        .prop_map(|(input, neuron, layers)| json!({"name": "x", "input": input, "neuron": neuron, "layers": layers}))
}

/// JSON as an inline value of TOML, which has no null.
fn toml(value: &Value) -> String {
    match value {
        Value::Null => "\"none\"".to_string(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(toml).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(k, v)| format!("{k} = {}", toml(v)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A generated network is an error or can be traced, with the shapes that were inferred.
    #[test]
    fn a_generated_list_never_panics(spec in network()) {
        let network = serde_json::from_value::<Network>(spec.clone());
        if let Ok(Network::Layers(layers)) = &network {
            prop_assert_eq!(layers.image().len(), 3);
            let module = layers.module();
            let cost = layers.cost(2);
            if let (Ok(module), Ok(cost)) = (module, cost) {
                let cx = Context::new(Mode::TRAIN, DType::F32);
                let shape = [&[2, 2], &layers.input[..]].concat();
                let x = cx.tracer().input("x_seq", DType::F32, shape);
                let y = cx.trace(&*module, x);
                prop_assert!(y.is_ok(), "{:?}", y.err().map(|e| e.to_string()));
                let elements: usize = cx.traced().parameters.iter().map(|p| p.shape.iter().product::<usize>()).sum();
                prop_assert_eq!(cost.parameters(), elements);
            }
        }
        // The same as a file: the errors have a position.
        let table = spec.as_object().expect("an object");
        let lines: Vec<String> = table.iter().map(|(k, v)| format!("{k} = {}", toml(v))).collect();
        let read = Layers::from_toml("net.toml", &format!("[network]\n{}\n", lines.join("\n")), &[]);
        match read {
            Ok(layers) => prop_assert!(layers.module().is_ok()),
            Err(error) => prop_assert!(error.place.is_some(), "{}", error),
        }
    }

    /// Any text is an error or a network.
    #[test]
    fn any_text_never_panics(text in "(\\[network\\]\n)?([a-z0-9\\[\\]{}=,\" .\n-]|layers|input|conv|kernel|linear|neuron){0,60}") {
        let _ = Network::from_toml("net.toml", &text, &[]);
    }
}
