use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use getaway::files::{self, Object};
use getaway::game::{Layout, Rules, Style};
use getaway::inference::variant;
use getaway::map::{GeneratorKind, GeneratorOptions, Map, generate_nth};

use crate::{BenchmarkError, failed};

const LIST: &str = "instances.jsonl";
const LIST_BYTES_MAX: u64 = 1 << 24;
const MAP_BYTES_MAX: u64 = 1 << 21;

/// An instance of the benchmark: a map file and the rules of play.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// The track and the instance's name within the track, separated by a slash.
    #[serde(rename = "instance")]
    pub name: String,
    /// The map file, relative to the benchmark's folder.
    pub map: String,
    /// The SHA-256 hash of the map file in hexadecimal.
    pub sha256: String,
    #[serde(flatten, with = "getaway::game::rules_fields")]
    pub rules: Rules,
}

impl Instance {
    pub fn track(&self) -> &str {
        self.name.split_once('/').map_or("", |(track, _)| track)
    }

    fn checked(self) -> Result<Self, String> {
        let is_plain = |part: &str| {
            let is_allowed = |character: char| character.is_alphanumeric() || "-_.".contains(character);
            part.starts_with(char::is_alphanumeric) && part.chars().all(is_allowed) && !part.ends_with('.')
        };
        let refused = |field, path, expected| {
            Err(format!("{field} {path:?}: expected {expected} of letters, digits, -, _ and ., separated by slashes"))
        };
        let Self { name, map, .. } = &self;
        if name.matches('/').count() != 1 || !name.split('/').all(is_plain) {
            return refused("instance", name, "two names");
        }
        if !map.split('/').all(is_plain) {
            return refused("map", map, "names");
        }
        Ok(self)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub time: Duration,
    /// Maximum address space of each process of an external solver in MiB.
    pub memory_mib: u64,
}

#[derive(Clone, Debug)]
pub struct Benchmark {
    pub folder: PathBuf,
    pub instances: Vec<Instance>,
}

impl Benchmark {
    /// Loads the list of instances in a folder. Fails if the list cannot be read, if one of its
    /// lines is not a valid instance, or if two names are equal but for capitals. The name and the
    /// map of a valid instance are paths that stay within any folder, on any system.
    pub fn load(folder: impl Into<PathBuf>) -> Result<Self, BenchmarkError> {
        let folder = folder.into();
        let path = folder.join(LIST);
        let text = files::read_text(&path, LIST_BYTES_MAX).map_err(failed(&path))?;
        let parse = |(at, line): (usize, &str)| {
            let instance = serde_json::from_str(line).map_err(|error| error.to_string());
            instance
                .and_then(|Object::<Instance>(instance)| instance.checked())
                .map_err(|why| BenchmarkError::Content { path: path.clone(), why: format!("line {}: {why}", at + 1) })
        };
        let instances = text.lines().enumerate().map(parse).collect::<Result<Vec<_>, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(again) = instances.iter().find(|instance| !names.insert(instance.name.to_lowercase())) {
            let why = format!("instance {}: expected a name that differs from all others in any case", again.name);
            return Err(BenchmarkError::Content { path, why });
        }
        Ok(Self { folder, instances })
    }

    pub fn find(&self, name: &str) -> Result<&Instance, BenchmarkError> {
        let found = self.instances.iter().find(|instance| instance.name == name);
        found.ok_or_else(|| BenchmarkError::Unknown { what: "instance", name: name.to_owned() })
    }

    /// Returns the instances of a track. Fails if there are none.
    pub fn track(&self, track: &str) -> Result<Vec<&Instance>, BenchmarkError> {
        let found: Vec<&Instance> = self.instances.iter().filter(|instance| instance.track() == track).collect();
        let unknown = || BenchmarkError::Unknown { what: "track", name: track.to_owned() };
        if found.is_empty() { Err(unknown()) } else { Ok(found) }
    }

    pub fn record_path(&self, instance: &str) -> PathBuf {
        self.folder.join("records").join(format!("{instance}.txt"))
    }

    pub fn map_path(&self, instance: &Instance) -> PathBuf {
        self.folder.join(&instance.map)
    }

    /// Reads an instance's map file. Fails if the file cannot be read or its hash does not match.
    pub fn map_text(&self, instance: &Instance) -> Result<String, BenchmarkError> {
        let path = self.map_path(instance);
        let text = files::read_text(&path, MAP_BYTES_MAX).map_err(failed(&path))?;
        let found = sha256(&text);
        if found != instance.sha256 {
            return Err(BenchmarkError::Content {
                path,
                why: format!("SHA-256 {found}: expected {}", instance.sha256),
            });
        }
        Ok(text)
    }

    /// Loads an instance's map. Fails if the file is unreadable, has a wrong hash, or is not a map.
    pub fn layout(&self, instance: &Instance) -> Result<Layout, BenchmarkError> {
        Layout::parse(&self.map_text(instance)?)
            .map_err(|error| BenchmarkError::Content { path: self.map_path(instance), why: error.to_string() })
    }
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("text");
        digits
    })
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstanceWithMap {
    pub instance: Instance,
    /// The content of the map file.
    pub text: String,
}

/// Without a seed, generates the public instances; `real_like` must then be the bundled maps. With
/// a seed, generates fresh instances like the public ones, but without the track `real-like`, whose
/// maps are drawn by hand. Fails if a map cannot be generated; the error states the map's index.
pub fn generate(real_like: &[Map], seed: Option<u64>) -> Result<Vec<InstanceWithMap>, String> {
    let mut recipe = Recipe { seed, generated: Vec::new() };
    if seed.is_none() {
        for map in real_like {
            recipe.add_variants("real-like", &map.name, &map.layout);
        }
    }
    let kinds = [GeneratorKind::Maze, GeneratorKind::Labyrinth];
    for kind in kinds {
        for size in [(15, 13), (21, 17)] {
            for braid_permille in [250, 500] {
                for index in 0..24 {
                    let maze = recipe.maze(kind, size, braid_permille, index)?;
                    recipe.add_variants("mazes", &maze.name, &maze.layout);
                }
            }
        }
    }
    for index in 0..20 {
        let options = options(GeneratorKind::Labyrinth, (21, 17), 1000, 32);
        let layout = recipe.layout(&options, 11, index)?;
        recipe.add("crowds", &format!("labyrinth-21x17-1000-crowd-{index:02}"), &layout, Rules::NO_JUMP);
    }
    for kind in kinds {
        for size in [(41, 31), (61, 49)] {
            for threats in [6, 24, 62] {
                let layout = recipe.layout(&options(kind, size, 500, threats), 13, 0)?;
                let name = format!("{kind}-{}x{}-500-threats-{threats:02}", size.0, size.1);
                recipe.add("large", &name, &layout, Rules::NO_JUMP);
            }
        }
    }
    for index in 0..24 {
        let maze = recipe.maze(kinds[index as usize % 2], (15, 13), 500, index)?;
        let rules = Rules { no_jump: true, ..variant(recipe.seed_of(0).wrapping_add(index), 2) };
        recipe.add_with_rules("changed-rules", &maze.name, &format!("rules-{index:02}"), &maze.layout, rules);
    }
    Ok(recipe.generated)
}

struct Maze {
    name: String,
    layout: Layout,
}

struct Recipe {
    seed: Option<u64>,
    generated: Vec<InstanceWithMap>,
}

impl Recipe {
    /// Returns the public seed or, for fresh maps, a seed derived from the public seed and the
    /// recipe's seed.
    fn seed_of(&self, public: u64) -> u64 {
        self.seed.map_or(public, |seed| seed.wrapping_mul(1_000_003).wrapping_add(public))
    }

    fn layout(&self, options: &GeneratorOptions, public_seed: u64, index: u64) -> Result<Layout, String> {
        let map = generate_nth(options, self.seed_of(public_seed), index);
        map.map(|map| map.layout).map_err(|error| format!("map {index}: {error}"))
    }

    fn maze(&self, kind: GeneratorKind, size: (i32, i32), braid_permille: u32, index: u64) -> Result<Maze, String> {
        let layout = self.layout(&options(kind, size, braid_permille, 6), 7, index)?;
        Ok(Maze { name: format!("{kind}-{}x{}-{braid_permille}-{index:02}", size.0, size.1), layout })
    }

    fn add_variants(&mut self, track: &str, map: &str, layout: &Layout) {
        self.add_with_rules(track, map, "jump", layout, Rules::BLITZ_2025);
        self.add(track, map, layout, Rules::NO_JUMP);
    }

    fn add(&mut self, track: &str, map: &str, layout: &Layout, rules: Rules) {
        self.add_with_rules(track, map, "no-jump", layout, rules);
    }

    fn add_with_rules(&mut self, track: &str, map: &str, variant: &str, layout: &Layout, rules: Rules) {
        let text = layout.rows().join("\n") + "\n";
        let prefix = self.seed.map_or(String::new(), |seed| format!("s{seed}-"));
        let instance = Instance {
            name: format!("{track}/{prefix}{map}-{variant}"),
            map: format!("maps/{prefix}{map}.txt"),
            sha256: sha256(&text),
            rules,
        };
        self.generated.push(InstanceWithMap { instance, text });
    }
}

fn options(kind: GeneratorKind, size: (i32, i32), braid_permille: u32, threats: usize) -> GeneratorOptions {
    let (width, height) = size;
    GeneratorOptions { kind, width, height, threats, styles: Style::ALL.to_vec(), braid_permille }
}

/// Writes instances to a new folder. Fails if the folder exists or cannot be created, or if a file
/// cannot be written.
pub fn write_instances(folder: &Path, generated: &[InstanceWithMap]) -> Result<(), BenchmarkError> {
    std::fs::create_dir(folder).and_then(|()| std::fs::create_dir(folder.join("maps"))).map_err(failed(folder))?;
    let mut list = String::new();
    for InstanceWithMap { instance, text } in generated {
        list.push_str(&serde_json::to_string(instance).expect("an instance is valid JSON"));
        list.push('\n');
        let path = folder.join(&instance.map);
        std::fs::write(&path, text).map_err(failed(&path))?;
    }
    let path = folder.join(LIST);
    std::fs::write(&path, list).map_err(failed(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_maps_stay_within_their_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let load = |name: &str, map: &str| {
            let instance =
                Instance { name: name.into(), map: map.into(), sha256: String::new(), rules: Rules::BLITZ_2025 };
            let line = serde_json::to_string(&instance).expect("JSON");
            std::fs::write(folder.path().join(LIST), line).expect("a file");
            Benchmark::load(folder.path()).map_err(|error| error.to_string())
        };
        for map in ["n.txt", "maps/n.txt", "maps/v1.2/Zürich_3-x.txt"] {
            assert!(load("real-like/Zürich_3-no.jump", map).is_ok(), "{map}");
        }
        for path in [
            "../../escaped/t",
            "/etc/t",
            "t/../t",
            "t/..",
            "../t",
            "./t",
            "t/.t",
            "t//t",
            "t/",
            "/t",
            "",
            "C:/t",
            "t/C:t",
            "..\\t/t",
            "t/t\\..",
            "t/t\0",
            "t/t\n",
            "t/t ",
            "t/t.",
            "t/\u{2028}",
            "~/t",
        ] {
            let error = load(path, "n.txt").expect_err(path);
            assert!(error.contains(&format!(": line 1: instance {path:?}: expected two names of ")), "{error}");
            let error = load("t/n", path).expect_err(path);
            assert!(error.contains(&format!(": line 1: map {path:?}: expected names of ")), "{error}");
        }
        for name in ["t", "t/n/n"] {
            assert!(load(name, "n.txt").is_err(), "{name}");
        }
    }

    #[test]
    fn names_are_unique() {
        let folder = tempfile::tempdir().expect("a folder");
        let line = |name: &str| {
            let (name, map, sha256) = (name.into(), "m.txt".into(), String::new());
            serde_json::to_string(&Instance { name, map, sha256, rules: Rules::BLITZ_2025 }).expect("JSON")
        };
        for (second, is_valid) in [("t/b", true), ("t/a", false), ("t/A", false)] {
            std::fs::write(folder.path().join(LIST), format!("{}\n{}\n", line("t/a"), line(second))).expect("a file");
            let error = Benchmark::load(folder.path()).err().map(|error| error.to_string()).unwrap_or_default();
            let expected = format!(": instance {second}: expected a name that differs from all others in any case");
            assert_eq!((error.is_empty(), error.ends_with(&expected)), (is_valid, !is_valid), "{error}");
        }
    }
}
