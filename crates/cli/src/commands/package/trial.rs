//! Plays a game with a packaged bot on a local server that acts like the competition's.

use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::sleep;
use std::time::{Duration, Instant};

use getaway::map::Map;
use getaway_arena::{LATE_SHARE, Program, ProgramEnd, STARTUP_TIME};
use getaway_server::{Event, GameResult, Server, ServerOptions};

use super::contents::{PROGRAM, REQUIREMENTS};
use super::python::show_log;
use crate::interrupt::check_interrupt;
use crate::output::{ending, shell_quoted};
use crate::{Result, invalid};

/// The port of the competition's server.
pub const PORT: u16 = 8765;
const HOST: &str = "127.0.0.1";
const TOKEN: &str = "token-of-the-test";
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time for the server to process the last messages of a program that has exited.
const SETTLE_TIME: Duration = Duration::from_millis(500);
const EXIT_TIME: Duration = Duration::from_secs(3);
const MEMORY_MB_MAX: u64 = 1000;
const NOTES_MAX: usize = 10;

#[derive(Debug, Default)]
pub struct Trial {
    has_token: Option<bool>,
    result: Option<GameResult>,
    /// The game in one line; empty if no game was played to its end.
    pub summary: String,
    pub notes: Vec<String>,
    pub problems: Vec<String>,
}

/// Starts a server for one game on this map at `port`; 0 picks a free port.
pub fn serve(map: Map, port: u16) -> Result<Server> {
    let options = ServerOptions { games: Some(1), ..ServerOptions::with_maps(vec![map]) };
    Server::start(HOST, port, options)
        .map_err(|error| invalid!("{error}: the test needs a free port (try --port 0 if the bot reads SERVER_URL)"))
}

/// Plays the server's game with the bot in `folder`.
pub fn play(folder: &Path, python: &Path, server: &Server, stop: &AtomicBool) -> Result<Trial> {
    let address = server.address();
    let mut variables = clean_environment();
    variables.push(("TOKEN".to_owned(), TOKEN.to_owned()));
    if address.port() != PORT {
        variables.push(("SERVER_URL".to_owned(), format!("ws://{address}")));
    }
    let variables: Vec<(&str, String)> = variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let mut program = Program::start(&command(folder, python), &variables)
        .map_err(|error| invalid!("cannot start the bot: {error}"))?;
    let mut trial = watch(server, &mut program, stop);
    let end = Instant::now() + EXIT_TIME;
    while trial.result.is_some() && program.status().is_none() && Instant::now() < end {
        sleep(POLL_INTERVAL);
    }
    check_interrupt(stop, "interrupted during the game")?;
    let has_ended = program.status().map(|status| status.success());
    let end = program.end();
    trial.judge(has_ended, &end, &address.to_string());
    Ok(trial)
}

/// Watches the game until the server stops or `stop` is set. If no game begins, returns
/// [`STARTUP_TIME`] after the program's start, or [`SETTLE_TIME`] after its exit.
fn watch(server: &Server, program: &mut Program, stop: &AtomicBool) -> Trial {
    let (mut trial, start, mut exit) = (Trial::default(), Instant::now(), None::<Instant>);
    while !stop.load(Ordering::Relaxed) {
        match server.events().recv_timeout(POLL_INTERVAL) {
            Ok(event) => trial.add(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if program.status().is_some() {
            exit.get_or_insert_with(Instant::now);
        }
        let is_late = start.elapsed() > STARTUP_TIME || exit.is_some_and(|exit| exit.elapsed() > SETTLE_TIME);
        if is_late && trial.has_token.is_none() {
            break;
        }
    }
    trial
}

fn command(folder: &Path, python: &Path) -> String {
    let [folder, python] = [folder, python].map(|path| path.display().to_string());
    if cfg!(windows) {
        return format!("cd /d \"{folder}\" && \"{python}\" {PROGRAM}");
    }
    format!("cd {} && exec {} {PROGRAM}", shell_quoted(&folder), shell_quoted(&python))
}

/// Returns changes that reduce the environment to a minimal `PATH` or, on Windows, to the variables
/// that the system needs. An empty value removes a variable.
fn clean_environment() -> Vec<(String, String)> {
    let is_needed = |name: &str| cfg!(windows) && ["PATH", "SYSTEMROOT", "COMSPEC", "TEMP", "TMP"].contains(&name);
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut variables: Vec<(String, String)> =
        names.filter(|name| !is_needed(&name.to_uppercase())).map(|name| (name, String::new())).collect();
    if cfg!(unix) {
        variables.push(("PATH".to_owned(), "/usr/bin:/bin".to_owned()));
    }
    variables
}

impl Trial {
    fn add(&mut self, event: Event) {
        match event {
            Event::Start { has_token, .. } => self.has_token = Some(has_token),
            Event::Note { text, .. } | Event::ClientNote { text } => self.add_note(text),
            Event::Refused { reason, remedy } => self.add_note(format!("{reason}; {remedy}")),
            Event::End(result) => self.result = Some(*result),
        }
    }

    fn add_note(&mut self, text: String) {
        if self.notes.len() < NOTES_MAX {
            self.notes.push(text);
        }
    }

    /// `has_ended` is `None` while the program runs, otherwise true if its exit code was 0.
    fn judge(&mut self, has_ended: Option<bool>, end: &ProgramEnd, address: &str) {
        if self.has_token == Some(false) {
            self.problems.push(format!(
                "{PROGRAM} registers without a token: expected {{\"type\": \"REGISTER\", \"token\": TOKEN}} with the value of the environment variable TOKEN"
            ));
        }
        let problem = match (self.result.take(), self.has_token, has_ended) {
            (Some(result), ..) => self.judge_game(&result, has_ended, end),
            (None, Some(_), _) => Some(format!("{PROGRAM}: the game did not end: {}", end.words)),
            (None, None, Some(_)) => {
                let hint = module_hint(&end.log);
                Some(format!("{PROGRAM} ended before it registered at ws://{address}: {}{hint}", end.words))
            }
            (None, None, None) => Some(format!("{PROGRAM} did not register at ws://{address} within {STARTUP_TIME:?}")),
        };
        if let Some(problem) = problem {
            self.problems.push(problem);
            show_log(&end.log);
        }
    }

    /// Returns a problem that the bot's log may explain: that the bot disconnected during the game.
    fn judge_game(&mut self, result: &GameResult, has_ended: Option<bool>, end: &ProgramEnd) -> Option<String> {
        let GameResult { map, score, tick, commands, missed_ticks, invalid_commands, invalid_actions, seconds, .. } =
            result;
        let memory_mb = end.cost.memory_kib >> 10;
        let cost = if memory_mb > 0 {
            format!(", {memory_mb} MiB, {} ms of processor time", end.cost.cpu_ms)
        } else {
            String::new()
        };
        self.summary = format!("{map}: score {score}, {}, {seconds:.1} s{cost}", ending(result.end, *tick));
        if let Some(disconnect) = &result.disconnect {
            let verb = if has_ended == Some(false) { "crashed" } else { "left the game" };
            let hint = module_hint(&end.log);
            return Some(format!("{PROGRAM} {verb} at tick {}: {}{hint}", disconnect.tick, end.words));
        }
        let ticks = commands + missed_ticks;
        if *commands == 0 {
            self.problems.push(format!(
                "{PROGRAM} sent no command in time: expected {{\"type\": \"COMMAND\", \"tick\": TICK, \"actions\": [...]}} within 100 ms of each state"
            ));
        } else if f64::from(*missed_ticks) >= LATE_SHARE * f64::from(ticks) && *missed_ticks > 0 {
            self.problems.push(format!(
                "{PROGRAM} is too slow: {missed_ticks} of {ticks} ticks without a command within 100 ms"
            ));
        } else if *missed_ticks > 0 {
            self.notes.push(format!("{missed_ticks} of {ticks} ticks without a command within 100 ms"));
        }
        let notes = [
            (*invalid_commands > 0).then(|| format!("{invalid_commands} commands that the server could not read")),
            (*invalid_actions > 0)
                .then(|| format!("{invalid_actions} commands with invalid actions, which the server ignores")),
            (memory_mb > MEMORY_MB_MAX).then(|| format!("{memory_mb} MiB of memory: expected at most {MEMORY_MB_MAX}")),
            match has_ended {
                Some(true) => None,
                Some(false) => Some(format!("{PROGRAM} ended with an error after the game: {}", end.words)),
                None => Some(format!("{PROGRAM} was still running {EXIT_TIME:?} after the game")),
            },
        ];
        self.notes.extend(notes.into_iter().flatten());
        None
    }
}

/// Suggests a further requirement if the log says that a module was not found.
fn module_hint(log: &str) -> String {
    let module = log.lines().rev().find_map(|line| {
        let (_, rest) = line.split_once("No module named '")?;
        rest.split(['\'', '.']).next()
    });
    module.map_or_else(String::new, |module| format!("; if {module} is a package, add it to {REQUIREMENTS}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bot_that_is_refused_again_and_again_gives_few_notes() {
        let mut trial = Trial::default();
        for _ in 0..100 * NOTES_MAX {
            trial.add(Event::Refused { reason: "a reason".to_owned(), remedy: "a remedy".to_owned() });
        }
        assert_eq!(trial.notes, vec!["a reason; a remedy"; NOTES_MAX]);
    }
}
