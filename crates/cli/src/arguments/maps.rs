use std::path::{Path, PathBuf};

use clap::Args;
use getaway::game::{Rules, World};
use getaway::map::{Map, MapEntry, MapLibrary};

use crate::output::shell_quoted;
use crate::{Result, invalid};

#[derive(Args, Clone, Debug)]
pub struct MapArgs {
    /// Search this folder for maps before the bundled ones; repeatable
    #[arg(long = "maps", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
}

impl MapArgs {
    /// Returns [`MapLibrary::with_bundled`] for the folders of `--maps`. Fails if a folder has no
    /// maps or cannot be listed.
    pub fn library(&self) -> Result<MapLibrary> {
        self.check()?;
        Ok(MapLibrary::with_bundled(&self.dirs))
    }

    /// Returns the maps with these names or paths. If `names` is empty, returns the maps of every
    /// `--maps DIR`, or those of [`MapLibrary::with_bundled`] if the option is not given.
    pub fn load(&self, names: &[String]) -> Result<Vec<Map>> {
        let library = self.library()?;
        if !names.is_empty() {
            return Ok(names.iter().map(|name| library.find(name)).collect::<Result<_, _>>()?);
        }
        let library = if self.dirs.is_empty() { library } else { MapLibrary::new(&self.dirs) };
        Ok(library.list()?.iter().map(MapEntry::load).collect::<Result<_, _>>()?)
    }

    pub fn find(&self, name_or_path: &str) -> Result<Map> {
        Ok(self.library()?.find(name_or_path)?)
    }

    /// Fails if a folder has no maps or cannot be listed. If the folder has no maps, but its
    /// subfolder `maps` or its parent has some, the error says so.
    fn check(&self) -> Result {
        let has_maps = |dir: &Path| MapLibrary::new([dir]).list().map(|entries| !entries.is_empty());
        for dir in &self.dirs {
            if has_maps(dir)? {
                continue;
            }
            let near = [Some(dir.join("maps")), dir.parent().map(Path::to_path_buf)].into_iter().flatten();
            let advice = match near.into_iter().find(|near| matches!(has_maps(near), Ok(true))) {
                Some(near) => format!("; there are maps in {}", near.display()),
                None => String::new(),
            };
            return Err(invalid!(
                "no maps in {}: expected a folder with one subfolder or text file per map{advice}",
                dir.display()
            ));
        }
        Ok(())
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct SeriesMapArgs {
    /// Map, by name or path; repeatable [default: all maps of every
    /// --maps DIR, or the bundled maps]
    #[arg(long = "map", value_name = "MAP")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub library: MapArgs,
}

impl SeriesMapArgs {
    pub fn load(&self) -> Result<Vec<Map>> {
        self.library.load(&self.names)
    }
}

/// Maps given without `--map`. They are parsed only so that the error can suggest `--map`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PositionalMaps {
    #[arg(hide = true, value_name = "MAP")]
    positional: Vec<String>,
}

impl PositionalMaps {
    /// Fails if there are positional maps.
    pub fn refuse(&self) -> Result {
        if self.positional.is_empty() {
            return Ok(());
        }
        let options: Vec<String> = self.positional.iter().map(|map| format!("--map {}", shell_quoted(map))).collect();
        Err(invalid!("{}: maps are given as {}", self.positional.join(" "), options.join(" ")))
    }
}

pub(crate) fn world_of(map: &Map, rules: &Rules) -> Result<World> {
    World::new(&map.layout, rules).map_err(|error| invalid!("{}: {error}", map.name))
}
