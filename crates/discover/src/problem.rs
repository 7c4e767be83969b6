use getaway::game::Rules;
use getaway::map::{GeneratorError, GeneratorOptions};
use getaway_problems::morpion::Morpion;
use getaway_problems::regression::RandomFormulas;
use getaway_problems::samegame::RandomBoards;
use getaway_problems::sudoku::RandomGrids;
use getaway_problems::survival::SurvivalMaps;
use thiserror::Error;

use crate::bank::{Bank, DistributionBank};

pub const PROBLEMS: [(&str, &str); 8] = [
    ("survival", "the pursuit game on generated maps; the score is that of the game"),
    ("morpion-5d", "Morpion Solitaire, lines of five, disjoint; the score is the number of moves"),
    ("morpion-5t", "Morpion Solitaire, lines of five, touching"),
    ("morpion-4d", "Morpion Solitaire, lines of four, disjoint"),
    ("morpion-4t", "Morpion Solitaire, lines of four, touching"),
    ("samegame", "SameGame on random 15x15 boards with five colours"),
    ("sudoku", "16x16 Sudoku with about a third of the cells given; the score is the number of filled cells"),
    ("regression", "symbolic regression of random formulas; the score is 1 / (1 + mean absolute error)"),
];

#[derive(Clone, Debug, PartialEq)]
pub struct MapOptions {
    pub generator: GeneratorOptions,
    pub rules: Rules,
}

#[derive(Debug, Error)]
pub enum ProblemError {
    #[error("no problem named {name}: expected one of {}", PROBLEMS.map(|(name, _)| name).join(", "))]
    Unknown { name: String },
    #[error(transparent)]
    Maps(#[from] GeneratorError),
}

/// Creates the bank of the problem `name`. Only the problem `survival` uses `maps`.
pub fn bank(name: &str, maps: &MapOptions, seed: u64) -> Result<Box<dyn Bank>, ProblemError> {
    let morpion = |variant| DistributionBank::new(Morpion::named(variant).expect("a variant"), seed);
    let bank: Box<dyn Bank> = match name {
        "survival" => {
            let maps = SurvivalMaps::new(maps.generator.clone(), maps.rules)?;
            Box::new(DistributionBank::new(maps, seed))
        }
        "morpion-5d" => Box::new(morpion("5D")),
        "morpion-5t" => Box::new(morpion("5T")),
        "morpion-4d" => Box::new(morpion("4D")),
        "morpion-4t" => Box::new(morpion("4T")),
        "samegame" => Box::new(DistributionBank::new(RandomBoards, seed)),
        "sudoku" => Box::new(DistributionBank::new(RandomGrids, seed)),
        "regression" => Box::new(DistributionBank::new(RandomFormulas, seed)),
        _ => return Err(ProblemError::Unknown { name: name.to_owned() }),
    };
    Ok(bank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::{Play, Split};

    #[test]
    fn every_name_has_a_bank_whose_plays_repeat() {
        let generator = GeneratorOptions { width: 15, height: 13, ..GeneratorOptions::default() };
        let maps = MapOptions { generator, rules: Rules::NO_JUMP };
        let play = |split, number| Play { split, number, budget_evals: 20 };
        for (name, _) in PROBLEMS {
            let of = |play| bank(name, &maps, 1).expect(name).play(&"simulate".parse().expect("simulate"), play);
            let score = of(play(Split::Training, 3));
            assert!(score > 0.0 && score == of(play(Split::Training, 3)), "{name}: {score}");
        }
        let error = bank("chess", &maps, 1).err().expect("an error").to_string();
        assert!(error.starts_with("no problem named chess: expected one of survival, "), "{error}");
    }
}
