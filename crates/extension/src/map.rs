use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

use pyo3::exceptions::{PyFileExistsError, PyFileNotFoundError, PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

#[cfg(feature = "lab")]
use getaway::game::{Direction, Rules, World};
use getaway::game::{Layout, Style};
use getaway::map::{self, GeneratorOptions, MapError, MapLibrary};

use crate::convert::{catch_panic, repr, seed_or_0, type_name, value_error, without_gil};
use crate::value::read_items;

/// A map: the streets, and the start positions of the player and the threats.
///
/// Two maps are equal if they have the same name, difficulty, tiles and start positions, and the
/// same threats in the same order. Maps can be hashed, copied and pickled.
///
/// Args:
///     rows: a drawing, as one string or as one string per row: `#` wall, `.` open,
///         `~` see-through, P the player, B bull, G goldfish, S shark, O owl, D deer, H hawk.
///     name: the map's name.
///     difficulty: for example easy, medium or hard; empty if unknown.
///
/// Raises:
///     ValueError: if the drawing is invalid.
#[pyclass(module = "getaway", frozen, eq)]
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub map: map::Map,
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        // The kind is ignored, because Python code cannot see it.
        let (one, two) = (&self.map, &other.map);
        one.name == two.name && one.difficulty == two.difficulty && one.layout == two.layout
    }
}

#[pymethods]
impl Map {
    #[new]
    #[pyo3(signature = (rows, *, name = "drawing", difficulty = ""))]
    fn new(rows: &Bound<'_, PyAny>, name: &str, difficulty: &str) -> PyResult<Self> {
        let drawing = match rows.cast::<PyString>() {
            Ok(drawing) => drawing.to_str()?.to_owned(),
            Err(_) => {
                let row = |index: usize, row: &Bound<'_, PyAny>| {
                    let Ok(row) = row.cast::<PyString>() else {
                        let found = type_name(row);
                        return Err(PyTypeError::new_err(format!("rows[{index}]: expected a string, found {found}")));
                    };
                    Ok(row.to_str()?.to_owned())
                };
                read_items("rows", "a drawing, or a sequence of its rows", rows, row)?.join("\n")
            }
        };
        let layout = catch_panic(|| Layout::parse(&drawing))?.map_err(value_error)?;
        let (name, kind, difficulty) = (name.to_owned(), "drawing".to_owned(), difficulty.to_owned());
        Ok(Self { map: map::Map { name, kind, difficulty, layout } })
    }

    /// The map's name. For a map from disk, the name of its folder, or of its file without the
    /// extension.
    #[getter]
    fn name(&self) -> &str {
        &self.map.name
    }

    /// The map's difficulty, for example easy, medium or hard; empty if unknown.
    #[getter]
    fn difficulty(&self) -> &str {
        &self.map.difficulty
    }

    /// The map as a drawing, one string per row.
    #[getter]
    fn rows(&self) -> Vec<String> {
        self.map.layout.rows()
    }

    /// The number of columns.
    #[getter]
    fn width(&self) -> i32 {
        self.map.layout.width
    }

    /// The number of rows.
    #[getter]
    fn height(&self) -> i32 {
        self.map.layout.height
    }

    /// Write the map to a new folder in the challenge's format: layout.png and meta.json.
    ///
    /// Raises:
    ///     FileExistsError: if `folder` exists.
    ///     OSError: if writing fails.
    ///     ValueError: if the format cannot represent the map.
    fn save(&self, py: Python<'_>, folder: PathBuf) -> PyResult<()> {
        without_gil(py, || self.map.save(folder))?.map_err(map_error)
    }

    /// A picture of the start of a game, or None if no game can start on the map.
    #[cfg(feature = "lab")]
    fn _repr_svg_(&self) -> PyResult<Option<String>> {
        catch_panic(|| {
            let world = World::new(&self.map.layout, &Rules::BLITZ_2025).ok()?;
            Some(getaway_viewer::svg(&world, &world.start(), Direction::Right))
        })
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.map.name, self.rows()).hash(&mut hasher);
        hasher.finish()
    }

    /// A drawing shows only one threat per tile, so the pickle contains the map as JSON.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let restore = py.get_type::<Self>().getattr("_restore")?;
        Ok((restore, (serde_json::to_string(&self.map).map_err(value_error)?,)))
    }

    #[classmethod]
    fn _restore(_class: &Bound<'_, PyType>, json: &str) -> PyResult<Self> {
        let map = serde_json::from_str(json).map_err(|error| value_error(format_args!("the pickled map: {error}")))?;
        Ok(Self { map })
    }

    pub(crate) fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Layout { width, height, threats, .. } = &self.map.layout;
        let name = repr(&PyString::new(py, &self.map.name))?;
        Ok(format!("<Map {name}, {width}x{height}, {} threats>", threats.len()))
    }
}

pub(crate) fn read_map(py: Python<'_>, map: &PathBuf) -> PyResult<map::Map> {
    let loaded = without_gil(py, || match map.to_str() {
        Some(name_or_path) => MapLibrary::default().find(name_or_path),
        None => map::Map::load(map),
    })?;
    loaded.map_err(map_error)
}

fn map_error(error: MapError) -> PyErr {
    match error {
        MapError::NoMap { .. } | MapError::NoFolder { .. } | MapError::NoFile { .. } | MapError::UnknownName { .. } => {
            PyFileNotFoundError::new_err(error.to_string())
        }
        MapError::Exists { .. } => PyFileExistsError::new_err(error.to_string()),
        MapError::Write { .. } => PyOSError::new_err(error.to_string()),
        _ => value_error(error),
    }
}

/// Load a map by its path (a folder, text file or PNG) or by its name. See `maps` for the names.
///
/// Raises:
///     FileNotFoundError: if the map does not exist.
///     ValueError: if the map cannot be read.
#[pyfunction]
pub(crate) fn load_map(py: Python<'_>, map: PathBuf) -> PyResult<Map> {
    Ok(Map { map: read_map(py, &map)? })
}

/// The names of the bundled maps, or of all maps in a folder.
///
/// Raises:
///     FileNotFoundError: if the folder does not exist.
///     ValueError: if the folder cannot be read.
#[pyfunction]
#[pyo3(signature = (folder = None))]
pub(crate) fn maps(py: Python<'_>, folder: Option<PathBuf>) -> PyResult<Vec<String>> {
    let library = match folder {
        Some(folder) => MapLibrary::new([folder]),
        None => MapLibrary::default(),
    };
    let entries = without_gil(py, || library.list())?.map_err(map_error)?;
    Ok(entries.into_iter().map(|entry| entry.name).collect())
}

/// Generate a map; the same arguments give the same map on every machine.
///
/// Args:
///     seed: the seed of the generator.
///     kind: maze, labyrinth or city. Mazes and labyrinths need an odd width and height.
///     width: number of columns, including the outer walls; by default 21.
///     height: number of rows, including the outer walls; by default 17.
///     threats: number of threats; by default 6.
///     styles: styles of the threats; repeating a style makes it more frequent. By default, each of
///         the six styles once.
///
/// Raises:
///     ValueError: if the kind or a style is unknown, or a number is invalid.
#[pyfunction]
#[pyo3(signature = (seed = None, *, kind = "maze", width = None, height = None, threats = None, styles = None),
    text_signature = "(seed=0, *, kind='maze', width=None, height=None, threats=None, styles=None)")]
pub(crate) fn generate_map(
    py: Python<'_>,
    seed: Option<&Bound<'_, PyAny>>,
    kind: &str,
    width: Option<i32>,
    height: Option<i32>,
    threats: Option<usize>,
    styles: Option<&Bound<'_, PyAny>>,
) -> PyResult<Map> {
    let seed = seed_or_0(seed)?;
    let kind = kind.parse().map_err(value_error)?;
    let base = GeneratorOptions::default();
    let styles: Vec<Style> = match styles {
        Some(styles) => read_items("styles", "a sequence of styles", styles, |_, style| {
            style.extract::<String>()?.parse().map_err(value_error)
        })?,
        None => base.styles.clone(),
    };
    let (width, height) = (width.unwrap_or(base.width), height.unwrap_or(base.height));
    let options = GeneratorOptions { kind, width, height, threats: threats.unwrap_or(base.threats), styles, ..base };
    Ok(Map { map: without_gil(py, || map::generate(&options, seed))?.map_err(value_error)? })
}
