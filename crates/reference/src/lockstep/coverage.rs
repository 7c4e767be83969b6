//! Counts the events of lockstep games, to find rules that are not tested.

use std::fmt;

use crate::{Game, Threat};
use getaway::game::{Personality, Rules, Style};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pub games: u64,
    pub ticks: u64,
    pub no_jump_games: u64,
    /// Games whose rules differ from the server's rules in a field other than `no_jump`.
    pub other_rules_games: u64,
    pub complete_games: u64,
    /// Games that ended with the player caught, except those counted in `no_jump_catches`.
    pub caught_games: u64,
    /// Games with `no_jump` that ended because the player moved onto a threat's tile.
    pub no_jump_catches: u64,
    /// Ticks by personality, without the ticks of no-jump catches, in the order of
    /// [`Personality::ALL`].
    pub personality_ticks: [u64; Personality::ALL.len()],
    /// Steps of threats by style, in the order of [`Style::ALL`].
    pub style_steps: [u64; Style::ALL.len()],
    pub updates: u64,
    /// Owl looks that changed the remembered position.
    pub looks: u64,
    /// Sightings of the player by hawks that remembered no earlier sighting.
    pub sightings: u64,
    /// Posts that hawks picked.
    pub posts: u64,
    /// Posts that hawks reached.
    pub rests: u64,
    pub player_steps: u64,
    pub actions: u64,
    pub action_errors: u64,
    /// Actions that were refused without an error.
    pub refusals: u64,
    /// Ordered pairs of tiles whose paths and line of sight were compared.
    pub pairs: u64,
}

impl Coverage {
    pub(super) fn count_tick(&mut self, before: &Game, after: &Game) {
        self.ticks += 1;
        self.player_steps += u64::from(before.player != after.player);
        if before.tick == after.tick {
            return;
        }
        self.personality_ticks[before.rules.phase_clocks.personality(before.tick - 1) as usize] += 1;
        for (before, after) in before.threats.iter().zip(&after.threats) {
            self.count_update(before, after);
        }
    }

    fn count_update(&mut self, before: &Threat, after: &Threat) {
        self.updates += 1;
        self.style_steps[after.style as usize] += u64::from(before.position != after.position);
        let (old, new) = (&before.memory, &after.memory);
        self.looks += u64::from(old.remembered != new.remembered);
        self.sightings += u64::from(old.seen.is_none() && new.seen.is_some());
        self.posts += u64::from(old.post.is_none() && new.post.is_some());
        let is_at_post = old.post.is_some() && new.post.is_none() && new.seen.is_none();
        self.rests += u64::from(is_at_post);
    }

    pub(super) fn count_end(&mut self, game: &Game, is_no_jump_catch: bool) {
        self.games += 1;
        self.no_jump_games += u64::from(game.rules.no_jump);
        let server = Rules { no_jump: game.rules.no_jump, ..Rules::BLITZ_2025 };
        self.other_rules_games += u64::from(game.rules != server);
        self.no_jump_catches += u64::from(is_no_jump_catch);
        self.caught_games += u64::from(game.caught() && !is_no_jump_catch);
        self.complete_games += u64::from(!game.caught() && game.tick == 2001);
    }

    /// Returns the names of the counters that are zero and thereby point to an untested rule.
    pub fn gaps(&self) -> Vec<String> {
        let personalities = Personality::ALL.map(|p| (format!("{p} ticks"), self.personality_ticks[p as usize]));
        let styles = Style::ALL.map(|s| (format!("{s} steps"), self.style_steps[s as usize]));
        let others = [
            ("complete games", self.complete_games),
            ("caught games", self.caught_games),
            ("no-jump catches", self.no_jump_catches),
            ("looks", self.looks),
            ("sightings", self.sightings),
            ("posts", self.posts),
            ("rests", self.rests),
            ("player's steps", self.player_steps),
            ("errors", self.action_errors),
            ("refusals", self.refusals),
            ("pairs", self.pairs),
        ];
        let all = personalities.into_iter().chain(styles).chain(others.map(|(name, count)| (name.to_owned(), count)));
        all.filter(|&(_, count)| count == 0).map(|(name, _)| name).collect()
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ticks in {} games, {} of them no-jump, ", self.ticks, self.games, self.no_jump_games)?;
        writeln!(f, "{} with other rules changed", self.other_rules_games)?;
        write!(f, "games: {} complete, {} caught, ", self.complete_games, self.caught_games)?;
        writeln!(f, "{} caught before the threats moved", self.no_jump_catches)?;
        write!(f, "ticks:")?;
        for personality in Personality::ALL {
            write!(f, " {personality} {}", self.personality_ticks[personality as usize])?;
        }
        write!(f, "\nthreats: {} updates; steps:", self.updates)?;
        for style in Style::ALL {
            write!(f, " {style} {}", self.style_steps[style as usize])?;
        }
        writeln!(
            f,
            "\nowls: {} looks; hawks: {} sightings, {} posts, {} rests",
            self.looks, self.sightings, self.posts, self.rests
        )?;
        write!(f, "player: {} steps; actions: {} sent, ", self.player_steps, self.actions)?;
        writeln!(f, "{} errors, {} refused silently", self.action_errors, self.refusals)?;
        write!(f, "pairs of tiles: {}", self.pairs)
    }
}
