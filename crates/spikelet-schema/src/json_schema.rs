//! JSON schemas of declarations, draft 2020-12.

use crate::{Declaration, Field, Kind};
use serde_json::{Map, Value as Json, json};

/// The schema of a table with the keys of a declaration.
///
/// ```
/// use spikelet_schema::{Schema, json_schema};
/// /// A neuron.
/// #[derive(Schema)]
/// struct Lif {
///     /// Membrane time constant.
///     #[schema(default = 2.0, above = 1.0, unit = "steps")]
///     tau: f64,
/// }
/// let schema = json_schema(Lif::DECLARATION);
/// assert_eq!(schema["properties"]["tau"]["exclusiveMinimum"], 1.0);
/// assert_eq!(schema["properties"]["tau"]["default"], 2.0);
/// ```
pub fn json_schema(declaration: &Declaration) -> Json {
    let defaults = crate::to_json(&*(declaration.default)());
    let all = declaration.all_fields();
    let properties = all.iter().map(|field| {
        let mut schema = of_kind(&(field.kind)(), field);
        schema["description"] = json!(field.summary());
        match defaults.get(field.key) {
            Some(Json::Null) => schema["default"] = json!(field.none),
            Some(default) if !field.role.is_required() => schema["default"] = default.clone(),
            _ => {}
        }
        (field.key.to_string(), schema)
    });
    let mut schema = json!({
        "type": "object",
        "description": declaration.summary(),
        "properties": properties.collect::<Map<_, _>>(),
        "additionalProperties": false,
    });
    let required: Vec<&str> = all
        .iter()
        .filter(|f| f.role.is_required())
        .map(|f| f.key)
        .collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn of_kind(kind: &Kind, field: &Field) -> Json {
    let limited = |name: &str| {
        let mut schema = json!({"type": name});
        for (keyword, limit) in field.domain.iter().flat_map(|domain| domain.json_schema()) {
            schema[keyword] = json!(limit);
        }
        schema
    };
    match kind {
        Kind::Number => limited("number"),
        Kind::Integer => limited("integer"),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Text => json!({"type": "string"}),
        Kind::Word(words) => json!({"enum": words}),
        Kind::List(of, None) => json!({"type": "array", "items": of_kind(of, field)}),
        Kind::List(of, Some(length)) => {
            json!({"type": "array", "items": of_kind(of, field), "minItems": length, "maxItems": length})
        }
        Kind::Optional(of) => json!({"anyOf": [of_kind(of, field), {"const": field.none}]}),
        Kind::Table(declaration) => json_schema(declaration),
        Kind::Member(family, members) => {
            let names: Vec<&str> = members().iter().map(|member| member.name).collect();
            let name = json!({"enum": names, "description": format!("name of a {family}")});
            let table =
                json!({"type": "object", "properties": {"name": name}, "required": ["name"]});
            json!({"anyOf": [{"enum": names}, table]})
        }
        Kind::Other(_, schema) => schema(),
    }
}
