use crate::game::{Style, named};

named! {
    /// The kind of street network.
    #[derive(Default)]
    #[non_exhaustive]
    pub enum GeneratorKind, "kind" {
        /// A maze with many branches, which braiding joins into loops. Both sides must be odd.
        #[default]
        Maze = "maze",
        /// A maze with longer corridors and fewer loops than [`Self::Maze`]. Both sides must be odd.
        Labyrinth = "labyrinth",
        /// Streets around blocks of houses, with a few plazas, alleys and closed streets.
        City = "city",
    }
}

/// The options of the generator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratorOptions {
    /// The kind of street network.
    pub kind: GeneratorKind,
    /// Number of columns, including the outer walls.
    pub width: i32,
    /// Number of rows, including the outer walls.
    pub height: i32,
    /// Number of threats.
    pub threats: usize,
    /// The deck from which styles are dealt, reshuffled when empty. Repeat a style to favour it.
    pub styles: Vec<Style>,
    /// The share of dead ends that braiding removes, in thousandths.
    pub braid_permille: u32,
}

impl Default for GeneratorOptions {
    /// A fully braided maze of 21x17 tiles with 6 threats, one of each style.
    fn default() -> Self {
        Self {
            kind: GeneratorKind::default(),
            width: 21,
            height: 17,
            threats: 6,
            styles: Style::ALL.to_vec(),
            braid_permille: 1000,
        }
    }
}
