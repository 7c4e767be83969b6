use std::fmt::Display;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::Value;

use getaway::game::{Action, Direction, Move, Position, Rules, Style, Threat, World};

use getaway::protocol::MAX_JSON_DEPTH;

use crate::convert::{clearer, is_interruption, repr, type_name, value_error};

/// Maximum number of values in a dict of rules. A complete dict has fewer than 100.
const RULES_VALUES_MAX: usize = 1000;
/// Maximum length of an iterable, so that endless iterables are rejected.
const ITEMS_MAX: usize = 1 << 20;

static MOVES: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
static THREAT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

pub(crate) fn to_value_of<'py>(
    py: Python<'py>,
    class: &str,
    fields: impl pyo3::call::PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("getaway.values")?.getattr(class)?.call1(fields)
}

pub(crate) fn to_move(py: Python<'_>, player_move: Move) -> PyResult<Py<PyAny>> {
    let members = MOVES.get_or_try_init(py, || {
        let class = py.import("getaway.values")?.getattr("Move")?;
        Move::ALL.iter().map(|&number| Ok(class.call1((number as u8,))?.unbind())).collect::<PyResult<Vec<_>>>()
    })?;
    Ok(members[player_move as usize].clone_ref(py))
}

/// For each byte, the move with this letter and `true`, or `Stay` and `false` if no move has it. A
/// table is faster than branches, because the letters are unpredictable.
const LETTERS: [(Move, bool); 256] = {
    let mut moves = [(Move::Stay, false); 256];
    let mut index = 0;
    while index < Move::ALL.len() {
        moves[Move::ALL[index].letter() as usize] = (Move::ALL[index], true);
        index += 1;
    }
    moves
};

fn move_of_letter(letter: u8) -> Option<Move> {
    let (player_move, is_move) = LETTERS[usize::from(letter)];
    is_move.then_some(player_move)
}

#[inline]
pub(crate) fn move_of_number(number: i64) -> Option<Move> {
    match number {
        0 => Some(Move::Left),
        1 => Some(Move::Right),
        2 => Some(Move::Up),
        3 => Some(Move::Down),
        4 => Some(Move::Stay),
        _ => None,
    }
}

pub(crate) fn from_move(name: impl Display, value: &Bound<'_, PyAny>) -> PyResult<Move> {
    from_move_or(name, "a Move, its number or its letter", value)
}

fn from_move_or(name: impl Display, expected: &str, value: &Bound<'_, PyAny>) -> PyResult<Move> {
    if let Ok(letter) = value.cast::<PyString>() {
        let letter = letter.to_str()?;
        let player_move = if letter.len() == 1 { move_of_letter(letter.as_bytes()[0]) } else { None };
        return player_move
            .ok_or_else(|| PyValueError::new_err(format!("{name}: expected L, R, U, D or ., found {letter:?}")));
    }
    let number: i64 = value.extract().map_err(|error| {
        clearer(value.py(), error, || {
            PyTypeError::new_err(format!("{name}: expected {expected}, found {}", type_name(value)))
        })
    })?;
    move_of_number(number)
        .ok_or_else(|| PyValueError::new_err(format!("{name}: expected a move from 0 to 4, found {number}")))
}

pub(crate) fn from_plan(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<Move>> {
    if let Ok(text) = value.cast::<PyString>() {
        let letters = text.to_str()?;
        let mut is_plan = true;
        let read = |letter: u8| {
            let (player_move, is_move) = LETTERS[usize::from(letter)];
            is_plan &= is_move;
            player_move
        };
        let plan: Vec<Move> = letters.bytes().map(read).collect();
        if is_plan {
            return Ok(plan);
        }
        let (index, letter) =
            letters.chars().enumerate().find(|(_, letter)| !"LRUD.".contains(*letter)).unwrap_or((0, '?'));
        return Err(PyValueError::new_err(format!("{name}[{index}]: expected L, R, U, D or ., found {letter:?}")));
    }
    read_items(name, "letters or moves", value, |index, item| from_move(format_args!("{name}[{index}]"), item))
}

pub(crate) fn read_items<'py, T>(
    name: &str,
    expected: &str,
    value: &Bound<'py, PyAny>,
    read: impl Fn(usize, &Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    read_at_most(ITEMS_MAX, name, expected, value, read)
}

/// Converts the items of an iterable with `read`, or fails if there are more than `max` items.
pub(crate) fn read_at_most<'py, T>(
    max: usize,
    name: &str,
    expected: &str,
    value: &Bound<'py, PyAny>,
    read: impl Fn(usize, &Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let unsuitable = || PyTypeError::new_err(format!("{name}: expected {expected}, found {}", type_name(value)));
    if value.is_instance_of::<PyString>() {
        return Err(unsuitable());
    }
    let items = value.try_iter().map_err(|error| clearer(value.py(), error, unsuitable))?;
    let item = |(index, item): (usize, PyResult<Bound<'py, PyAny>>)| {
        if index == max {
            return Err(value_error(format_args!("{name}: expected at most {max} items, found more")));
        }
        read(index, &item?)
    };
    items.enumerate().map(item).collect()
}

pub(crate) fn from_command(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Action>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let actions = value.try_iter()?.enumerate();
        return actions.map(|(index, action)| from_action(&format!("action[{index}]"), &action?)).collect();
    }
    if value.is_instance_of::<PyDict>() {
        return Ok(vec![from_action("action", value)?]);
    }
    let expected = "a Move, its number or letter, a dict, a list of dicts or None";
    Ok(from_move_or("action", expected, value)?.direction().map(Action::Move).into_iter().collect())
}

fn from_action(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Action> {
    let action = value
        .cast::<PyDict>()
        .map_err(|_| PyTypeError::new_err(format!("{name}: expected a dict, found {}", type_name(value))))?;
    let expected = "MOVE_LEFT, MOVE_RIGHT, MOVE_UP, MOVE_DOWN or MOVE_TO";
    let Some(kind) = action.get_item("type")? else {
        return Err(PyValueError::new_err(format!("{name}[\"type\"]: expected {expected}, found nothing")));
    };
    let Ok(kind) = kind.cast::<PyString>() else {
        let found = type_name(&kind);
        return Err(PyValueError::new_err(format!("{name}[\"type\"]: expected {expected}, found {found}")));
    };
    match kind.to_str()? {
        "MOVE_LEFT" => Ok(Action::Move(Direction::Left)),
        "MOVE_RIGHT" => Ok(Action::Move(Direction::Right)),
        "MOVE_UP" => Ok(Action::Move(Direction::Up)),
        "MOVE_DOWN" => Ok(Action::Move(Direction::Down)),
        "MOVE_TO" => move_to(action)?.ok_or_else(|| {
            PyValueError::new_err(format!("{name}[\"position\"]: expected a dict of two numbers, x and y"))
        }),
        _ => Err(PyValueError::new_err(format!("{name}[\"type\"]: expected {expected}, found {}", repr(kind)?))),
    }
}

fn move_to(action: &Bound<'_, PyDict>) -> PyResult<Option<Action>> {
    let Some(position) = action.get_item("position")? else { return Ok(None) };
    let Ok(position) = position.cast::<PyDict>() else { return Ok(None) };
    let number = |key| {
        let Some(value) = position.get_item(key)? else { return Ok(None) };
        match value.extract::<f64>() {
            Ok(number) => Ok(Some(number)),
            Err(error) if is_interruption(value.py(), &error) => Err(error),
            Err(_) => Ok(None),
        }
    };
    Ok(number("x")?.zip(number("y")?).map(|(x, y)| Action::MoveTo { x, y }))
}

pub(crate) fn to_position(position: Position) -> (i32, i32) {
    (position.x, position.y)
}

fn from_position((x, y): (i32, i32)) -> Position {
    Position::new(x, y)
}

pub(crate) fn to_threat(py: Python<'_>, threat: &Threat) -> PyResult<Py<PyAny>> {
    let class =
        THREAT.get_or_try_init(py, || Ok::<_, PyErr>(py.import("getaway.values")?.getattr("Threat")?.unbind()))?;
    let fields = (
        threat.style.name(),
        to_position(threat.position),
        threat.direction.name(),
        threat.draws,
        threat.remembered.map(to_position),
        threat.seen.map(to_position),
        threat.post.map(to_position),
        threat.idle_rounds,
    );
    class.call1(py, fields)
}

const PAIR: &str = "a pair of integers";
const PAIR_OR_NONE: &str = "a pair of integers or None";

/// Reads a value that PyO3 can extract.
pub(crate) fn read<'py, T: FromPyObjectOwned<'py>>(
    name: &str,
    expected: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<T> {
    value.extract().map_err(|error: T::Error| {
        let (py, error) = (value.py(), error.into());
        let is_number = error.is_instance_of::<PyOverflowError>(py);
        clearer(py, error, || match repr(value) {
            Ok(found) if is_number => value_error(format_args!("{name}: expected {expected}, found {found}")),
            Ok(found) => PyTypeError::new_err(format!("{name}: expected {expected}, found {found}")),
            Err(error) => error,
        })
    })
}

pub(crate) fn read_position(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Position> {
    read(name, PAIR, value).map(from_position)
}

pub(crate) fn from_threats(world: &World, threats: &Bound<'_, PyAny>) -> PyResult<Vec<Threat>> {
    read_items("threats", "a sequence of getaway.Threat", threats, |index, threat| from_threat(world, index, threat))
}

fn from_threat(world: &World, index: usize, threat: &Bound<'_, PyAny>) -> PyResult<Threat> {
    let invalid = |error: &dyn Display| value_error(format_args!("threats[{index}]: {error}"));
    let Some(threat) = threat.cast::<PyTuple>().ok().filter(|threat| threat.len() == 8) else {
        let found = type_name(threat);
        return Err(PyTypeError::new_err(format!("threats[{index}]: expected a getaway.Threat, found {found}")));
    };
    let style: String = read(&format!("threats[{index}].style"), "a style's name", &threat.get_item(0)?)?;
    let direction: String = read(&format!("threats[{index}].direction"), "a direction's name", &threat.get_item(2)?)?;
    let place = |number, name: &str| -> PyResult<Option<Position>> {
        let place = read(&format!("threats[{index}].{name}"), PAIR_OR_NONE, &threat.get_item(number)?)?;
        Ok(Option::map(place, from_position))
    };
    let style: Style = style.parse().map_err(|error| invalid(&error))?;
    if let Some(spawn) = world.layout().threats.get(index).filter(|spawn| spawn.style != style) {
        return Err(invalid(&format_args!("expected the map's {}, found {style}", spawn.style)));
    }
    Ok(Threat {
        style,
        position: read_position(&format!("threats[{index}].position"), &threat.get_item(1)?)?,
        direction: direction.parse().map_err(|error| invalid(&error))?,
        draws: read(&format!("threats[{index}].draws"), "an integer from 1 to 2001", &threat.get_item(3)?)?,
        remembered: place(4, "remembered")?,
        seen: place(5, "seen")?,
        post: place(6, "post")?,
        idle_rounds: read(
            &format!("threats[{index}].idle_rounds"),
            "an integer from -128 to 127",
            &threat.get_item(7)?,
        )?,
    })
}

/// Returns the variant if there is no dict. Otherwise returns the dict's rules, with the server's
/// values for missing rules, and with `no_jump` set if the variant sets it.
pub(crate) fn from_rules(variant: &Rules, rules: Option<&Bound<'_, PyAny>>) -> PyResult<Rules> {
    let rules: Rules = match rules {
        None => *variant,
        Some(rules) if rules.is_instance_of::<PyDict>() => {
            let rules = from_value("rules", rules, RULES_VALUES_MAX)?;
            serde_json::from_value(rules).map_err(|error| value_error(format_args!("rules: {error}")))?
        }
        Some(rules) => {
            return Err(PyTypeError::new_err(format!("rules: expected a dict, found {}", type_name(rules))));
        }
    };
    let rules = Rules { no_jump: rules.no_jump || variant.no_jump, ..rules };
    rules.validate().map_err(value_error)?;
    Ok(rules)
}

pub(crate) fn to_rules<'py>(py: Python<'py>, rules: &Rules) -> PyResult<Bound<'py, PyAny>> {
    to_value(py, &rules_value(rules))
}

/// Returns a dict of the rules that differ from the server's, or `None` if no rule differs.
pub(crate) fn other_rules<'py>(py: Python<'py>, rules: &Rules) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (mut value, servers) = (rules_value(rules), rules_value(&Rules::BLITZ_2025));
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, field| servers.get(name) != Some(field));
        if fields.is_empty() {
            return Ok(None);
        }
    }
    to_value(py, &value).map(Some)
}

/// Returns the arguments of a Python call that select these rules, such as `, no_jump=True`.
pub(crate) fn rules_options(py: Python<'_>, rules: &Rules) -> PyResult<String> {
    Ok(match other_rules(py, rules)? {
        None => String::new(),
        Some(others) if others.len()? == 1 && rules.no_jump => ", no_jump=True".to_owned(),
        Some(others) => format!(", rules={}", repr(&others)?),
    })
}

fn rules_value(rules: &Rules) -> Value {
    serde_json::to_value(rules).expect("rules are plain data")
}

pub(crate) fn to_value<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(number) => match number.as_i64() {
            Some(number) => PyInt::new(py, number).into_any(),
            None => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(|value| to_value(py, value)).collect::<PyResult<_>>()?;
            PyList::new(py, values)?.into_any()
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, to_value(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// Converts a Python value to JSON. Fails if JSON cannot represent the value, or if the value
/// contains more than `values_max` values, is nested too deeply or contains itself.
pub(crate) fn from_value(name: &str, value: &Bound<'_, PyAny>, values_max: usize) -> PyResult<Value> {
    // Count first, so that a large value is rejected before the slow conversion begins.
    JsonReader { name, values_max, values: 0 }.measure(value, 0)?;
    JsonReader { name, values_max, values: 0 }.read(value, 0)
}

struct JsonReader<'a> {
    name: &'a str,
    values_max: usize,
    values: usize,
}

impl JsonReader<'_> {
    fn count(&mut self, depth: usize) -> PyResult<()> {
        self.values += 1;
        let Self { name, values_max, values } = self;
        let limit = if depth > MAX_JSON_DEPTH {
            format!("{MAX_JSON_DEPTH} levels of nesting")
        } else if values > values_max {
            format!("{values_max} values")
        } else {
            return Ok(());
        };
        Err(value_error(format_args!("{name}: expected at most {limit}, found more")))
    }

    /// Counts a value and its contents without running any Python code.
    fn measure(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
        self.count(depth)?;
        if let Ok(dict) = value.cast::<PyDict>() {
            dict.iter().try_for_each(|(_, value)| self.measure(&value, depth + 1))
        } else if let Ok(list) = value.cast::<PyList>() {
            list.iter().try_for_each(|value| self.measure(&value, depth + 1))
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            tuple.iter().try_for_each(|value| self.measure(&value, depth + 1))
        } else {
            Ok(())
        }
    }

    fn read(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
        // Values are counted again, because converting a value may run Python code that adds more.
        self.count(depth)?;
        if value.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(flag) = value.cast::<PyBool>() {
            return Ok(Value::Bool(flag.is_true()));
        }
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Value::String(text.to_str()?.to_owned()));
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            // Items are copied, because converting an item may run Python code that changes the
            // dict.
            let items = dict.items();
            return items.iter().map(|item| self.field(&item, depth)).collect::<PyResult<_>>().map(Value::Object);
        }
        if let Ok(list) = value.cast::<PyList>() {
            return list.iter().map(|value| self.read(&value, depth + 1)).collect::<PyResult<_>>().map(Value::Array);
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return tuple.iter().map(|value| self.read(&value, depth + 1)).collect::<PyResult<_>>().map(Value::Array);
        }
        self.number(value)
    }

    fn field(&mut self, item: &Bound<'_, PyAny>, depth: usize) -> PyResult<(String, Value)> {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(text) = key.cast::<PyString>() else {
            let (name, found) = (self.name, type_name(&key));
            return Err(PyTypeError::new_err(format!("{name}: expected strings as the keys of a dict, found {found}")));
        };
        Ok((text.to_str()?.to_owned(), self.read(&value, depth + 1)?))
    }

    fn number(&self, value: &Bound<'_, PyAny>) -> PyResult<Value> {
        if !value.is_instance_of::<PyFloat>() {
            match value.extract::<i64>() {
                Ok(number) => return Ok(Value::from(number)),
                Err(error) if is_interruption(value.py(), &error) => return Err(error),
                Err(_) => {}
            }
        }
        let name = self.name;
        let number = value.extract::<f64>().map_err(|error| {
            clearer(value.py(), error, || {
                let found = type_name(value);
                PyTypeError::new_err(format!(
                    "{name}: expected numbers, strings, lists or dicts, found {found}, which JSON cannot represent"
                ))
            })
        })?;
        if !number.is_finite() {
            return Err(value_error(format_args!("{name}: expected finite numbers, found {number}")));
        }
        Ok(Value::from(number))
    }
}
