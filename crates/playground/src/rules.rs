//! Describes the fields of the rules, so that a page can show them as a form.

use serde::Serialize;
use serde_json::{Value, json};

use getaway::game::Rules;
use getaway::inference::{Orders, Parameter, differences};

#[derive(Debug, Serialize)]
pub struct Form {
    fields: Vec<Field>,
    differences: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Field {
    /// The name in JSON. Dots separate the names of nested fields.
    name: String,
    value: Value,
    /// The values to choose from; empty for a number or a boolean.
    options: Vec<Value>,
    sentence: String,
    is_changed: bool,
}

impl Form {
    /// Returns the form for these rules. Fails if the rules are invalid.
    pub fn of(rules: &Rules) -> Result<Self, String> {
        rules.validate().map_err(|error| error.to_string())?;
        let to_json = |rules: &Rules| serde_json::to_value(rules).map_err(|error| error.to_string());
        let (found, server) = (to_json(rules)?, to_json(&Rules::BLITZ_2025)?);
        let field = |parameter: Parameter| {
            let name = parameter.name();
            let pointer = format!("/{}", name.replace('.', "/"));
            let value = found.pointer(&pointer).cloned().unwrap_or_default();
            let is_changed = server.pointer(&pointer) != Some(&value);
            let options = options(&found, &pointer, &value);
            Field { name, value, options, sentence: parameter.sentence(rules), is_changed }
        };
        let fields = Parameter::ALL.into_iter().map(field).collect();
        let differences = differences(&Rules::BLITZ_2025, rules).into_iter().map(|found| found.sentence).collect();
        Ok(Self { fields, differences })
    }
}

fn options(rules: &Value, pointer: &str, value: &Value) -> Vec<Value> {
    const WORDS: [&str; 6] = ["present", "stale", "server", "unknown", "missing", "mismatched"];
    let is_accepted = |word: &Value| {
        let mut changed = rules.clone();
        changed.pointer_mut(pointer).map(|place| *place = word.clone()).is_some()
            && serde_json::from_value::<Rules>(changed).is_ok()
    };
    match value {
        Value::String(_) => WORDS.into_iter().map(Value::from).filter(is_accepted).collect(),
        Value::Array(_) => Orders::ALL.iter().map(|(_, order)| json!(order)).collect(),
        _ => Vec::new(),
    }
}
