use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::arguments::{MapArgs, integer};
use crate::error::{at, unreadable};
use crate::interrupt::{check_interrupt, stop_on_interrupt};
use crate::output::{OutputArgs, Say, count, note};
use crate::{Result, failed, invalid};
use contents::Contents;
use python::Python;
use trial::Trial;

mod contents;
mod python;
mod trial;

/// Package a Python bot as a zip for the competition, and test it under server-like conditions
///
/// The folder must contain application.py and requirements.txt. The test unpacks the zip, installs
/// the requirements into an empty environment, and plays a game. On Unix, the bot gets only the
/// environment variables TOKEN, PATH (minimal) and, on a port other than 8765, SERVER_URL. The
/// zip is written only if the test finds no problem.
#[derive(Args)]
pub(crate) struct PackageArgs {
    /// Folder of the bot
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Zip to write [default: the folder's name with .zip]
    #[arg(long, value_name = "FILE.zip")]
    output: Option<PathBuf>,
    /// Map of the game, by name or path
    #[arg(long, value_name = "MAP", default_value = "stadium")]
    map: String,
    #[command(flatten)]
    maps: MapArgs,
    /// Python interpreter for the test [default: the oldest found, 3.10 or later]
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Port of the test's server; 0 picks a free port. If the port differs from
    /// the competition's, the bot finds the address in the environment
    /// variable SERVER_URL
    #[arg(long, default_value_t = trial::PORT, value_name = "PORT", value_parser = integer::<u16>(0..=u16::MAX.into()))]
    port: u16,
    #[command(flatten)]
    files: OutputArgs,
}

pub(crate) fn run(args: &PackageArgs, out: &mut impl Write) -> Result {
    let folder = fs::canonicalize(&args.folder).map_err(|error| unreadable(&args.folder, &error))?;
    if !folder.is_dir() {
        return Err(at(&args.folder, "expected the folder of the bot, found a file"));
    }
    let contents = Contents::read(&folder)?;
    let map = args.maps.find(&args.map)?;
    let default = || PathBuf::from(format!("{}.zip", folder.file_name().unwrap_or_default().to_string_lossy()));
    let output = args.files.file(args.output.clone().unwrap_or_else(default))?;
    let name = args.folder.display();
    let refuse = |problems: Vec<String>| failed!("{name}: {}", problems.join("; "));

    let problems = contents.problems(&folder);
    if !problems.is_empty() {
        return Err(refuse(problems));
    }
    // Fails now, and not after the installation, if the port is in use.
    let server = trial::serve(map, args.port)?;
    let left_out = match contents.left_out.join(", ") {
        names if names.is_empty() => names,
        names => format!("; left out: {names}"),
    };
    out.say(format!("{}{left_out}", count(contents.names.len(), "file")))?;
    for (name, file) in &contents.links {
        note(&format!("{name} is a link: the zip contains a copy of {}", file.display()));
    }
    let python = Python::find(args.python.as_deref())?;
    out.say(python.words())?;
    out.flush()?;
    let scratch = tempfile::tempdir().map_err(|error| invalid!("no temporary folder: {error}"))?;
    let [zip, bot, environment] = ["bot.zip", "bot", "environment"].map(|name| scratch.path().join(name));
    let problems = python.zip(&folder, &contents.names, &zip)?;
    if !problems.is_empty() {
        return Err(refuse(problems));
    }
    let stop = stop_on_interrupt()?;
    python.unzip(&zip, &bot)?;
    let installed = python.install(&environment, &bot);
    check_interrupt(&stop, "interrupted during the installation")?;
    let interpreter = installed?.map_err(|problem| refuse(vec![problem]))?;
    writeln!(out, "installed into an empty environment")?;
    out.flush()?;
    let Trial { summary, notes, problems, .. } = trial::play(&bot, &interpreter, &server, &stop)?;
    notes.iter().for_each(|text| note(text));
    if !summary.is_empty() {
        out.say(summary)?;
    }
    if !problems.is_empty() {
        return Err(refuse(problems));
    }
    let bytes = fs::read(&zip).map_err(|error| unreadable(&zip, &error))?;
    output.write(&bytes)?;
    out.say(format!("{}: {} bytes, ready to upload", output.path().display(), bytes.len()))
}
