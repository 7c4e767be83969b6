//! Identifies styles: finds the styles that explain the moves of the threats with a word.

use std::collections::BTreeSet;

use super::best::keep;
use super::hawk::HawkSets;
use super::learner::Learner;
use super::observed_game::{FollowedThreat, ObservedGame, ThreatMemory};
use super::paths::Owls;
use super::sets::{Sets, game_step};
use crate::game::{Rules, Style};

/// Finds all styles that explain the moves of the threats with certain words.
#[derive(Clone, Debug)]
pub(super) struct Identification {
    /// The styles to try, the last first.
    trials: Vec<StyleTrial>,
    /// The styles that explain each word so far, the most detailed first, and whether some first seed
    /// explains the picks, if there are enough of them.
    explaining: Vec<(String, Vec<(Style, bool)>)>,
}

impl Identification {
    pub fn new(game: &ObservedGame, expected: &Rules, is_open: impl Fn(&FollowedThreat) -> bool) -> Self {
        let words: BTreeSet<&str> =
            game.threats.iter().filter(|threat| is_open(threat)).map(|threat| &*threat.named.word).collect();
        let named = || game.threats.iter().map(|threat| &threat.named);
        let is_free = |word, style| named().all(|named| named.word == word || named.style != Some(style));
        let pairs = words.iter().flat_map(|&word| STYLES_BY_DETAIL.map(|style| (word, style)));
        let free = pairs.filter(|&(word, style)| is_free(word, style)).rev();
        let trials = free.map(|(word, style)| StyleTrial::new(game, word, style, expected)).collect();
        Self { trials, explaining: words.into_iter().map(|word| (word.to_owned(), Vec::new())).collect() }
    }

    /// Tries one more step with a style. Returns false if all styles were tried.
    pub fn advance(&mut self, game: &ObservedGame) -> bool {
        let Some(trial) = self.trials.last_mut() else { return false };
        if let Some(explains) = trial.advance(game) {
            if explains {
                let word = &game.threats[trial.threats[0].0].named.word;
                let (_, styles) = self.explaining.iter_mut().find(|(other, _)| other == word).expect("an open word");
                styles.push((trial.style, !trial.sets.picks.are_unexplained()));
            }
            self.trials.pop();
        }
        true
    }

    /// The styles that explain each word, the most detailed first. If possible, each word can have a
    /// style of its own.
    pub fn found(self) -> Vec<(String, Vec<Style>)> {
        let mut found = Vec::new();
        for (word, mut styles) in self.explaining {
            // If no seed explains the picks, their scale may be one that is not searched for.
            keep(&mut styles, |(_, explains_picks)| *explains_picks);
            found.push((word, styles.into_iter().map(|(style, _)| style).collect()));
        }
        keep_different(&mut found);
        found
    }
}

#[derive(Clone, Debug)]
struct StyleTrial {
    style: Style,
    threats: Vec<(usize, ThreatMemory)>,
    sets: Sets,
    next: usize,
}

impl StyleTrial {
    fn new(game: &ObservedGame, word: &str, style: Style, expected: &Rules) -> Self {
        let mut sets = Sets::new(expected);
        sets.owls = (style == Style::Owl).then(|| Owls::new(&game.streets));
        let is_from_start = game.is_followed_from_start();
        if let Some(owls) = sets.owls.as_mut().filter(|_| !is_from_start) {
            owls.forget();
        }
        let memory = |home| ThreatMemory::new(Some(style), home, &HawkSets::ANY, is_from_start);
        let threats = game.threats.iter().enumerate().filter(|(_, threat)| threat.named.word == word);
        let memories = threats.map(|(index, threat)| (index, memory(threat.memory.home)));
        Self { style, threats: memories.collect(), sets, next: 0 }
    }

    /// Follows one more step. Returns whether the style explains all steps once that is known.
    fn advance(&mut self, game: &ObservedGame) -> Option<bool> {
        let Some(step) = game.steps.get(self.next) else { return Some(true) };
        self.next += 1;
        if !game.is_move(self.next - 1) {
            return None;
        }
        if let Some(owls) = &mut self.sets.owls {
            owls.look(step);
        }
        let Self { threats, sets, style, .. } = self;
        let explains = |(threat, memory): &mut _| game_step(sets, &game.streets, step, (*threat, *style), memory);
        (!threats.iter_mut().all(explains)).then_some(false)
    }
}

/// True if each word can have a style of its own that is possible and not taken.
fn can_differ(possible: &[&[Style]], taken: &[Style]) -> bool {
    let Some((styles, others)) = possible.split_first() else { return true };
    styles.iter().any(|style| !taken.contains(style) && can_differ(others, &[taken, &[*style]].concat()))
}

/// Keeps the styles with which each word can have a style of its own, if there are any.
fn keep_different(words: &mut Vec<(String, Vec<Style>)>) {
    let explained = words.clone();
    for (word, styles) in words {
        let others = explained.iter().filter(|(other, styles)| other != word && !styles.is_empty());
        let others: Vec<_> = others.map(|(_, styles)| &**styles).collect();
        keep(styles, |&style| can_differ(&others, &[style]));
    }
}

const STYLES_BY_DETAIL: [Style; 6] = [Style::Shark, Style::Deer, Style::Bull, Style::Owl, Style::Hawk, Style::Goldfish];

impl Learner {
    /// Narrows down the styles of each unknown word to those that explain the moves of the word's
    /// threats in this game and in earlier games. If possible, each word gets a style of its own. Call
    /// this at the end of the last game; [`Self::begin`] does so for the game before. Only another
    /// learner, created [with these words](Self::with_words_of), applies them to these games.
    pub fn identify_words(&mut self) {
        let Some(game) = self.games.last() else { return };
        let mut identification = Identification::new(game, &self.expected, |threat| threat.named.style.is_none());
        while identification.advance(game) {}
        for (word, fits) in identification.found() {
            match self.possible.iter_mut().find(|(known, _)| *known == word) {
                Some((_, possible)) => possible.retain(|style| fits.contains(style)),
                None => self.possible.push((word, fits)),
            }
        }
        keep_different(&mut self.possible);
    }
}
