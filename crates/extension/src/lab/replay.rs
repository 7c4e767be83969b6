use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use getaway::game::{Move, State};
use getaway_viewer as viewer;

use crate::convert::without_gil;
use crate::game::{Board, Game};

const FRAME_HEIGHT_PX: u32 = 640;

/// A replay of a game, from its start to its current state.
///
/// A notebook shows the replay in the viewer, with the future path of the player.
/// `html` returns the viewer as a self-contained page, and `svg` an animation without controls.
///
/// Args:
///     game: the game.
///     title: the title; by default the name of the map.
///     subtitle: the subtitle, such as the planner's name.
#[pyclass(module = "getaway", frozen)]
pub(crate) struct Replay {
    board: std::sync::Arc<Board>,
    moves: Vec<Move>,
    title: String,
    subtitle: String,
}

impl Replay {
    fn states(&self) -> Vec<State> {
        let world = &self.board.world;
        world.states_along(&world.start(), &self.moves)
    }

    fn page(&self) -> String {
        let replay = viewer::Replay::of_states(&self.title, &self.subtitle, &self.board.world, &self.states());
        viewer::Page::new(viewer::PageSource::Replay(&replay), None).html
    }
}

#[pymethods]
impl Replay {
    #[new]
    #[pyo3(signature = (game, *, title = None, subtitle = ""))]
    fn new(game: &Bound<'_, Game>, title: Option<String>, subtitle: &str) -> PyResult<Self> {
        let game = game.try_borrow()?;
        let title = title.unwrap_or_else(|| game.board.map.map.name.clone());
        Ok(Self { board: game.board.clone(), moves: game.moves.clone(), title, subtitle: subtitle.to_owned() })
    }

    /// The replay in the viewer, as a self-contained HTML page.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        without_gil(py, || self.page())
    }

    /// The replay as an endless SVG animation. With `speed=1`, it shows ten ticks per second.
    ///
    /// Raises:
    ///     ValueError: if the speed is not from 0.1 to 100.
    #[pyo3(signature = (*, speed = 1.0))]
    fn svg(&self, py: Python<'_>, speed: f64) -> PyResult<String> {
        if !(0.1..=100.0).contains(&speed) {
            return Err(PyValueError::new_err(format!("speed: expected a number from 0.1 to 100, found {speed}")));
        }
        without_gil(py, || viewer::svg_animation(&self.board.world, &self.states(), speed))
    }

    /// Write the page to a file `*.html`, or the animation to a file `*.svg`.
    ///
    /// Raises:
    ///     ValueError: if the file has another extension.
    ///     OSError: if the file cannot be written.
    fn save(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        let content = match file.extension().and_then(|ending| ending.to_str()) {
            Some("html") => self.html(py)?,
            Some("svg") => self.svg(py, 1.0)?,
            _ => {
                let file = file.display();
                return Err(PyValueError::new_err(format!(
                    "file: expected a name that ends with .html or .svg, found {file}"
                )));
            }
        };
        let written = without_gil(py, || std::fs::write(&file, content))?;
        written.map_err(|error| PyOSError::new_err(format!("cannot write {}: {error}", file.display())))
    }

    /// The replay in the viewer, as an HTML frame.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let page = self.html(py)?.replace('&', "&amp;").replace('"', "&quot;");
        Ok(format!(
            "<iframe sandbox=\"allow-scripts\" title=\"A game of getaway\" style=\"border: 0; width: 100%; height: {FRAME_HEIGHT_PX}px\" srcdoc=\"{page}\"></iframe>"
        ))
    }

    fn __repr__(&self) -> String {
        format!("<Replay of {}, {} ticks>", self.title, self.moves.len())
    }
}
