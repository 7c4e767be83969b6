//! The style and the personality of a threat.

use super::names::named;

named! {
    /// What a threat is: how it chooses its moves. In the order of the palette in which maps are
    /// drawn.
    pub enum Style, "style" {
        /// Straight on while it can, then a random option (the server's `straitHead`).
        Bull = "bull",
        /// A random option on every move (`girouette`).
        Goldfish = "goldfish",
        /// Takes the shortest path to where the player was (`aggressive`).
        Shark = "shark",
        /// The shared path to where it last looked at the player, which it does in ten ticks of
        /// every sixty (`surveillance`).
        Owl = "owl",
        /// Never turns back, greedy by distance (`le_fantome_orange_dans_pacman`).
        Deer = "deer",
        /// Chases what it sees, patrols intersections otherwise (`sheriff`).
        Hawk = "hawk",
    }
}

impl Style {
    /// The letter that stands for the style in drawings.
    pub const fn letter(self) -> char {
        match self {
            Self::Bull => 'B',
            Self::Goldfish => 'G',
            Self::Shark => 'S',
            Self::Owl => 'O',
            Self::Deer => 'D',
            Self::Hawk => 'H',
        }
    }
}

named! {
    /// How often threats move: the same for all threats, determined by the tick alone. From the
    /// slowest to the fastest.
    pub enum Personality, "personality" {
        /// A move every 5 ticks on the server.
        Lazy = "lazy",
        /// A move every 4 ticks.
        Tease = "tease",
        /// A move every 3 ticks.
        Awake = "awake",
        /// A move every 2 ticks.
        Hungry = "hungry",
        /// A move every tick.
        Insane = "insane",
    }
}
