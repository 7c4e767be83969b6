use super::names::named;

named! {
    /// The style of a threat, which determines how it moves. The description of each style ends
    /// with the server's internal name in parentheses.
    pub enum Style, "style" {
        /// Moves straight on if possible, otherwise in a pseudo-random open direction
        /// (`straitHead`).
        Bull = "bull",
        /// Picks a pseudo-random open direction on every move (`girouette`).
        Goldfish = "goldfish",
        /// Follows a shortest path to the player (`aggressive`).
        Shark = "shark",
        /// Follows a shortest path to the position where it last saw the player (`surveillance`).
        Owl = "owl",
        /// Takes the step that ends nearest, in a straight line, to the player, or to its own spawn
        /// if the player is near. Turns back only in dead ends (`le_fantome_orange_dans_pacman`).
        Deer = "deer",
        /// Drives to where it last saw the player, otherwise patrols intersections (`sheriff`).
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

    /// True if threats of this style make a random pick on every move.
    pub(crate) const fn draws_every_move(self) -> bool {
        match self {
            Self::Goldfish => true,
            Self::Bull | Self::Shark | Self::Owl | Self::Deer | Self::Hawk => false,
        }
    }

    /// True if threats of this style can make random picks after the pick of their first direction.
    pub(crate) const fn draws(self) -> bool {
        match self {
            Self::Goldfish | Self::Bull | Self::Hawk => true,
            Self::Shark | Self::Owl | Self::Deer => false,
        }
    }

    /// If several styles explain a threat's moves, the bot assumes the one with the lowest rank.
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

/// The data that affect a threat's moves, apart from its pose, its draws, the tick and the player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StyleMemory {
    Nothing,
    Spawn,
    /// The player's tile that the owl remembers from its last look.
    LastLook,
    /// The hawk's target (its post, or where it last saw the player) and its idle rounds.
    Target,
}

named! {
    /// The personality, which all threats share. It determines how often they move.
    pub enum Personality, "personality" {
        /// On the server: one move every 5 ticks.
        Lazy = "lazy",
        /// On the server: one move every 4 ticks.
        Tease = "tease",
        /// On the server: one move every 3 ticks.
        Awake = "awake",
        /// On the server: one move every 2 ticks.
        Hungry = "hungry",
        /// On the server: one move every tick.
        Insane = "insane",
    }
}
