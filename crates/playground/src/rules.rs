//! The fields of the rules for a form, each with an explanation.

use serde::Serialize;
use serde_json::Value;

use getaway::game::Rules;
use getaway::inference::{Parameter, differences, sentence};

/// The fields of the rules, and how they differ from the server's.
#[derive(Debug, Serialize)]
pub struct Form {
    fields: Vec<Field>,
    /// A sentence per difference from the server's rules.
    differences: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Field {
    /// The field in JSON; a dot separates a nested field.
    name: String,
    value: Value,
    /// The value's consequence, as a sentence.
    sentence: String,
    is_changed: bool,
}

impl Form {
    /// The form for rules.
    ///
    /// # Errors
    /// If the rules cannot be played.
    pub fn of(rules: &Rules) -> Result<Self, String> {
        rules.validate().map_err(|error| error.to_string())?;
        let json = |rules: &Rules| serde_json::to_value(rules).map_err(|error| error.to_string());
        let (found, server) = (json(rules)?, json(&Rules::BLITZ_2025)?);
        let field = |parameter: Parameter| {
            let name = parameter.name();
            let pointer = format!("/{}", name.replace('.', "/"));
            let value = found.pointer(&pointer).cloned().unwrap_or_default();
            let is_changed = server.pointer(&pointer) != Some(&value);
            Field { name, value, sentence: sentence(parameter, rules), is_changed }
        };
        let fields = Parameter::ALL.into_iter().map(field).collect();
        let differences = differences(&Rules::BLITZ_2025, rules).into_iter().map(|found| found.sentence).collect();
        Ok(Self { fields, differences })
    }
}
