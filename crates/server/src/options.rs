use std::path::{Path, PathBuf};
use std::time::Duration;

use getaway::files::Existing;
use getaway::game::Rules;
use getaway::map::Map;
use rand_pcg::Pcg32;
use rand_pcg::rand_core::Rng;

#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The maps; each game draws one at random.
    pub maps: Vec<Map>,
    pub seed: u64,
    pub tick_time: Duration,
    /// Pause between ticks, as long as the bot is connected.
    pub delay: Duration,
    /// The number of games to play; `None` for no limit.
    pub games: Option<u64>,
    pub rules: Rules,
    /// The first game's file, such as `game.jsonl`; later games use `game-2.jsonl` and so on.
    pub recording: Option<PathBuf>,
    pub existing_recordings: Existing,
}

impl ServerOptions {
    /// Creates options for an unlimited number of games with 100 ms per tick, as on the real
    /// server.
    pub fn with_maps(maps: Vec<Map>) -> Self {
        Self {
            maps,
            seed: 0,
            tick_time: Duration::from_millis(100),
            delay: Duration::ZERO,
            games: None,
            rules: Rules::BLITZ_2025,
            recording: None,
            existing_recordings: Existing::Keep,
        }
    }

    /// The map of a game. It depends only on the maps, the seed and the game's number.
    pub(super) fn map_of_game(&self, number: u64) -> &Map {
        let mut rng = Pcg32::new(self.seed, number);
        // Adjacent streams of the generator start with similar numbers, so skip the first ones.
        for _ in 0..16 {
            rng.next_u32();
        }
        let index = (u64::from(rng.next_u32()) * self.maps.len() as u64) >> 32;
        &self.maps[index as usize]
    }

    pub(super) fn recording_of_game(&self, number: u64) -> Option<PathBuf> {
        let path = self.recording.as_deref()?;
        Some(if number == 1 { path.to_owned() } else { numbered(path, number) })
    }
}

/// For example, `games/a.jsonl.gz` becomes `games/a-2.jsonl.gz`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let known = [".jsonl.gz", ".jsonl"].into_iter().find(|known| name.ends_with(known));
    let extension =
        known.or_else(|| name.rfind('.').filter(|&dot| dot > 0).map(|dot| &name[dot..])).unwrap_or_default();
    let stem = &name[..name.len() - extension.len()];
    path.with_file_name(format!("{stem}-{number}{extension}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_after_the_first_are_numbered() {
        for (path, expected) in [
            ("games/a.jsonl.gz", "games/a-2.jsonl.gz"),
            ("a.b.jsonl", "a.b-2.jsonl"),
            ("a.json", "a-2.json"),
            ("a", "a-2"),
            (".hidden", ".hidden-2"),
        ] {
            assert_eq!(numbered(Path::new(path), 2), Path::new(expected));
        }
    }
}
