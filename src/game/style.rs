use super::names::named;

named! {
    /// The style of a threat, which determines its moves, in the order of the map palette.
    pub enum Style, "style" {
        /// Moves straight on if possible, otherwise takes a random option (`straitHead`).
        Bull = "bull",
        /// Takes a random option on every move (`girouette`).
        Goldfish = "goldfish",
        /// Follows the shortest path to the player's last position (`aggressive`).
        Shark = "shark",
        /// Follows the shared path to the player's position at its last look (`surveillance`).
        Owl = "owl",
        /// Takes the option nearest to its target, never reverses
        /// (`le_fantome_orange_dans_pacman`).
        Deer = "deer",
        /// Chases the player while it sees it, otherwise patrols intersections (`sheriff`).
        Hawk = "hawk",
    }
}

impl Style {
    /// The style's letter in drawings.
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

    /// The style's colour in a map image.
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

    pub(crate) const fn memory(self) -> StyleMemory {
        match self {
            Self::Bull | Self::Goldfish | Self::Shark => StyleMemory::Nothing,
            Self::Deer => StyleMemory::Spawn,
            Self::Owl => StyleMemory::LastLook,
            Self::Hawk => StyleMemory::Target,
        }
    }

    /// True if every move draws a number, so the number of moves determines the number of draws.
    pub(crate) const fn draws_every_move(self) -> bool {
        match self {
            Self::Goldfish => true,
            Self::Bull | Self::Shark | Self::Owl | Self::Deer | Self::Hawk => false,
        }
    }

    pub(crate) const fn draws(self) -> bool {
        match self {
            Self::Goldfish | Self::Bull | Self::Hawk => true,
            Self::Shark | Self::Owl | Self::Deer => false,
        }
    }

    /// The most specific style has rank 0: if several explain some moves, it is the likeliest.
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

/// The memory of a style, in addition to the pose, the number of draws and the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StyleMemory {
    Nothing,
    Spawn,
    /// The player's tile at its last look, if any.
    LastLook,
    /// The player's last seen tile, the threat's post, or the number of moves waited.
    Target,
}

named! {
    /// The personality of all threats, which determines the ticks between moves, from slow to fast.
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
