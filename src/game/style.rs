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

    /// Its colour in the picture of a map: red, green, blue. No two colours of a map are within 40
    /// of each other, channels summed.
    pub const fn color(self) -> [u8; 3] {
        match self {
            Self::Bull => [255, 0, 0],
            Self::Goldfish => [255, 125, 0],
            Self::Shark => [255, 255, 0],
            Self::Owl => [0, 125, 0],
            Self::Deer => [0, 255, 0],
            Self::Hawk => [125, 125, 0],
        }
    }

    /// What determines its moves besides its pose, its draws and the player.
    pub(crate) const fn memory(self) -> StyleMemory {
        match self {
            Self::Bull | Self::Goldfish | Self::Shark => StyleMemory::Nothing,
            Self::Deer => StyleMemory::Spawn,
            Self::Owl => StyleMemory::LastLook,
            Self::Hawk => StyleMemory::Target,
        }
    }

    /// Whether it draws a number on every move, so that its moves give the number of its draws.
    pub(crate) const fn draws_every_move(self) -> bool {
        match self {
            Self::Goldfish => true,
            Self::Bull | Self::Shark | Self::Owl | Self::Deer | Self::Hawk => false,
        }
    }

    /// Whether it ever draws a number, so that the number of its draws matters.
    pub(crate) const fn draws(self) -> bool {
        match self {
            Self::Goldfish | Self::Bull | Self::Hawk => true,
            Self::Shark | Self::Owl | Self::Deer => false,
        }
    }

    /// Rank by specificity, from 0: of the styles that explain some moves, the most specific is the
    /// likeliest.
    pub(crate) const fn specificity_rank(self) -> u8 {
        match self {
            Self::Shark => 0,
            Self::Deer => 1,
            Self::Bull => 2,
            Self::Goldfish => 3,
            Self::Owl => 4,
            Self::Hawk => 5,
        }
    }
}

/// What the moves of a style depend on besides its pose, its draws and the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StyleMemory {
    /// Nothing.
    Nothing,
    /// The tile on which it spawned.
    Spawn,
    /// The tile on which it last looked at the player, if it has.
    LastLook,
    /// The tile where it last saw the player, or the post that it is on its way to; else the moves
    /// that it has waited.
    Target,
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
