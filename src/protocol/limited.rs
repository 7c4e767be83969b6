//! Parses JSON with a limited number of values, because a parsed value can take 16 times the memory
//! of its text.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

const MAX_VALUES: usize = 1 << 16;

/// Reads any JSON. Returns `None` for `null`, or if the JSON has more than [`MAX_VALUES`] values.
pub(crate) fn value<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let mut values_left = MAX_VALUES;
    let value = Limited { values_left: &mut values_left }.deserialize(deserializer)?;
    Ok(value.filter(|value| !value.is_null()))
}

/// Reads an array of at most `length_max` elements. Error messages call its elements `what`.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    length_max: usize,
    what: &'static str,
) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(ListVisitor { length_max, what, element: PhantomData })
}

struct ListVisitor<T> {
    length_max: usize,
    what: &'static str,
    element: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of {}", self.what)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let Self { length_max, what, .. } = self;
        let mut list = Vec::new();
        while list.len() < length_max {
            match seq.next_element()? {
                Some(element) => list.push(element),
                None => return Ok(list),
            }
        }
        match seq.next_element::<IgnoredAny>()? {
            Some(_) => Err(de::Error::custom(format_args!("expected at most {length_max} {what}"))),
            None => Ok(list),
        }
    }
}

/// Reads a JSON value. If it consists of more than `values_left` values, skips the rest and returns
/// `None`.
struct Limited<'a> {
    values_left: &'a mut usize,
}

impl<'de> DeserializeSeed<'de> for Limited<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        if *self.values_left == 0 {
            return IgnoredAny::deserialize(deserializer).map(|IgnoredAny| None);
        }
        *self.values_left -= 1;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Limited<'_> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_none<E>(self) -> Result<Option<Value>, E> {
        Ok(Some(Value::Null))
    }

    fn visit_unit<E>(self) -> Result<Option<Value>, E> {
        Ok(Some(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Option<Value>, E> {
        Ok(Some(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Option<Value>, E> {
        Ok(Some(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Option<Value>, E> {
        Ok(Some(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Option<Value>, E> {
        Ok(Some(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Option<Value>, E> {
        Ok(Some(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Option<Value>, A::Error> {
        let mut values = Some(Vec::new());
        while let Some(value) = seq.next_element_seed(Limited { values_left: &mut *self.values_left })? {
            match (value, &mut values) {
                (Some(value), Some(values)) => values.push(value),
                _ => values = None,
            }
        }
        Ok(values.map(Value::Array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<Value>, A::Error> {
        let mut fields = Some(Map::new());
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(Limited { values_left: &mut *self.values_left })?;
            match (value, &mut fields) {
                (Some(value), Some(fields)) => drop(fields.insert(name, value)),
                _ => fields = None,
            }
        }
        Ok(fields.map(Value::Object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<Value> {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let read = value(&mut deserializer).expect("JSON");
        deserializer.end().expect("nothing after the value");
        read
    }

    #[test]
    fn values_are_read_as_they_are() {
        for json in ["7", "-7", "0.5", "true", "\"a\\n\"", "[1,[2,null],{}]", r#"{"a":{"b":[null]},"c":"d"}"#] {
            assert_eq!(read(json), serde_json::from_str(json).ok(), "{json}");
        }
        assert_eq!(read("null"), None);
    }

    #[test]
    fn too_many_values_count_as_none() {
        let array = |length: usize| format!("[{}0]", "0,".repeat(length - 1));
        assert!(read(&array(MAX_VALUES - 1)).is_some());
        assert_eq!(read(&array(MAX_VALUES)), None);
        assert_eq!(read(&format!("{{\"a\":[{0},{0}],\"b\":1}}", array(MAX_VALUES))), None);
    }
}
