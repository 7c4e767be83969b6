//! The slow, literal model of the rules that judges `game`.
