//! JSON schemas of declarations, draft 2020-12.

use crate::{Declaration, Field, Kind, Record, Role};
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
    let tables = declaration.tables();
    if tables.is_empty() {
        return table(declaration, "");
    }
    let each = tables
        .into_iter()
        .map(|name| (name.to_string(), table(declaration, name)));
    json!({
        "type": "object",
        "description": declaration.summary(),
        "properties": each.collect::<Map<_, _>>(),
        "additionalProperties": false,
    })
}

/// The schema of the keys of one table.
fn table(declaration: &Declaration, table: &str) -> Json {
    let (mut properties, mut required) = (Map::new(), vec![]);
    let defaults = (declaration.default)();
    add(&mut properties, &mut required, &*defaults, table);
    let takes_all = declaration
        .fields
        .iter()
        .any(|field| field.role == Role::Rest);
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": takes_all,
    });
    if table.is_empty() {
        schema["description"] = json!(declaration.summary());
    }
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Adds the properties of a table.
fn add(
    properties: &mut Map<String, Json>,
    required: &mut Vec<&'static str>,
    defaults: &dyn Record,
    table: &str,
) {
    for (index, field) in defaults.declaration().fields.iter().enumerate() {
        let value = defaults.field(index);
        match (field.role, value.record(), (field.kind)()) {
            (Role::Flatten, Some(inner), _) if field.table.is_empty() => {
                add(properties, required, inner, table)
            }
            (Role::Flatten, Some(inner), _) if field.table == table => {
                add(properties, required, inner, "")
            }
            _ if field.table != table => {}
            (Role::Flatten, _, Kind::Member { members, names, .. }) => {
                let (members, names) = (members(), names());
                properties.insert(
                    "name".to_string(),
                    json!({"enum": names, "description": field.summary()}),
                );
                required.extend(field.required.then_some("name"));
                for member in members {
                    add(properties, &mut vec![], &*(member.default)(), "");
                }
            }
            (Role::Rest, ..) => {}
            _ => {
                let mut schema = field.json_schema();
                match value.write() {
                    Json::Null => schema["default"] = json!(field.none),
                    default if !field.required => schema["default"] = default,
                    _ => required.push(field.key),
                }
                properties.insert(field.key.to_string(), schema);
            }
        }
    }
}

impl Field {
    /// The JSON schema of its value, with its meaning as `description`.
    ///
    /// ```
    /// use spikelet_schema::Schema;
    /// /// A neuron.
    /// #[derive(Schema)]
    /// struct Lif {
    ///     /// Membrane time constant.
    ///     #[schema(default = 2.0, above = 1.0)]
    ///     tau: f64,
    /// }
    /// let expected = serde_json::json!({"type": "number", "exclusiveMinimum": 1.0, "description": "Membrane time constant."});
    /// assert_eq!(Lif::DECLARATION.fields[0].json_schema(), expected);
    /// ```
    pub fn json_schema(&self) -> Json {
        let mut schema = of_kind(&(self.kind)(), self);
        schema["description"] = json!(self.summary());
        schema
    }
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
        Kind::Member { family, names, .. } => {
            let names = names();
            // Former names are read too. A text may have values behind the name, and a table may have the name as a key.
            let name = json!({
                "anyOf": [{"enum": names}, {"type": "string"}],
                "description": format!("name of a {family}"),
            });
            let words = json!({"type": "string", "pattern": "[ :=]"});
            let table = json!({"type": "object", "properties": {"name": name}});
            json!({"anyOf": [{"enum": names}, words, table]})
        }
        Kind::Other(_, schema) => schema(),
    }
}
