use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::common::wait_until;
use crate::program::{command, error_line, fails, getaway, succeeds};

const ANSWER: &str = r#"while read -r m; do t=${m#*\"tick\":}; t=${t%%,*}; PAUSE echo "{\"type\":\"COMMAND\",\"tick\":$t,\"actions\":[]}"; done"#;

/// Enough time for every answer, however busy the machine is.
const PATIENT: [&str; 2] = ["--tick-ms", "60000"];

fn stays(pause: &str) -> String {
    format!("pipe:{}", ANSWER.replace("PAUSE", pause))
}

fn external(bots: &[&str], more: &[&str]) -> Vec<Value> {
    let planners: Vec<&str> = bots.iter().flat_map(|bot| ["--planner", *bot]).collect();
    let defaults = [["--samples", "1"], ["--threads", "4"]];
    let defaults: Vec<&str> = defaults.iter().filter(|[name, _]| !more.contains(name)).flatten().copied().collect();
    let args = [&["eval", "--map", "snail", "--json", "--allow-failures"], &defaults[..], &planners[..], more].concat();
    let report: Value = serde_json::from_str(&succeeds(&args)).unwrap();
    report["external"].as_array().unwrap().clone()
}

fn count(bot: &Value, what: &str) -> u64 {
    bot[what].as_u64().unwrap()
}

#[test]
fn kinds_of_failure_are_distinguished() {
    let dir = tempfile::tempdir().unwrap();
    let late = stays("case $t in [1-5]0) sleep 1.2 ;; esac;");
    let marked = stays("printf '\\357\\273\\277';");
    let bots = [
        "pipe:read -r x; echo oops >&2; exit 3",
        "pipe:read -r x; sleep 1000",
        "pipe:while read -r x; do echo hello; done",
        "pipe:while read -r x; do echo '{}'; done",
        "exec:echo nowhere; exit 4",
        "pipe:read -r x; exit 0",
        marked.as_str(),
    ];
    let mut found = external(
        &bots,
        &["--tick-ms", "200", "--threads", "7", "--logs", dir.path().to_str().unwrap(), "--bot-start-ms", "2000"],
    );
    found.extend(external(&[&late], &["--tick-ms", "1000"]));
    let kinds = ["crashed", "silent", "garbage"];
    let expected = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]];
    for (bot, expected) in found.iter().zip(expected) {
        assert_eq!(kinds.map(|kind| count(bot, kind)), expected, "{bot}");
    }
    let failure = |index: usize| found[index]["failures"][0].as_str().unwrap();
    assert_eq!(failure(0), "crashed on snail, sample 1, tick 1: exit code 3: oops");
    let silent = "fell silent on snail, sample 1, tick 20: no command for 20 ticks: no message ";
    assert!(failure(1).starts_with(silent) && failure(1).ends_with(" (--bot-start-ms)"), "{}", failure(1));
    let garbage = "found hello: expected a COMMAND; print other text to standard error";
    assert!(failure(2).starts_with("sent garbage on snail, sample 1, tick 1: invalid JSON"), "{}", failure(2));
    assert!(failure(2).ends_with(garbage), "{}", failure(2));
    assert!(failure(3).ends_with(" at tick 1: an object without a type: expected a COMMAND"), "{}", failure(3));
    assert_eq!(
        (failure(5), count(&found[5], "disconnected")),
        ("disconnected on snail, sample 1, tick 1: exit code 0", 1)
    );
    let crashed = "crashed on snail, sample 1, tick 1: exit code 4 before it connected to ws://127.0.0.1:";
    assert!(failure(4).starts_with(crashed), "{}", failure(4));
    assert!(failure(4).ends_with(", the address in SERVER_URL: nowhere"), "{}", failure(4));
    // The bot answers five ticks late. A busy machine may delay other answers.
    let (late, missed, commands) =
        (count(&found[7], "late_commands"), count(&found[7], "missed_ticks"), count(&found[7], "commands"));
    assert!(late >= 5 && missed >= late && commands > 0, "{}", found[7]);
    let logs = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    let is_first = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("1-");
    let [path] = &logs.filter(is_first).collect::<Vec<PathBuf>>()[..] else { panic!("one log of the first bot") };
    assert!(path.to_string_lossy().ends_with("-snail-1.log"), "{path:?}");
    let log = fs::read_to_string(path).unwrap();
    assert_eq!(log, "{\"getaway\":\"log\",\"version\":1}\noops\n");
}

/// The reason that the author of a bot needs, for each way to misunderstand the protocol.
#[test]
fn failures_name_the_known_reason() {
    let answers = |answer: &str| {
        format!(
            r#"pipe:while read -r m; do t=${{m#*\"tick\":}}; t=${{t%%,*}}; echo "{answer}"; done; echo traceback >&2"#
        )
    };
    let printf = |text: &str| format!("pipe:while read -r m; do printf '{text}'; done");
    let python = |code: &str| format!("exec:exec python3 -c '{}'", code.replace('\'', "'\\''"));
    let client = |request: &str| {
        python(&format!(
            "import os,socket,sys\nhost,port=os.environ['SERVER_URL'][5:].split(':')\ns=socket.create_connection((host,int(port)))\n{request}\nsys.exit(3)"
        ))
    };
    let handshake = |origin: &str| {
        client(&format!(
            "s.sendall((f'GET / HTTP/1.1\\r\\nHost: {{host}}:{{port}}\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n{origin}\\r\\n').encode()+b'\\x81\\x80aaaa')\ns.recv(999)"
        ))
    };
    let cases = [
        (
            answers(r#"{\"type\":\"COMMAND\",\"tick\":$t,\"actions\":{}}"#),
            "expected an array of actions, found an object",
        ),
        (answers(r#"{\"type\":\"COMMAND\",\"tick\":$t}"#), "actions: expected an array of actions, found nothing"),
        (
            answers(r#"{\"type\":\"COMMAND\",\"actions\":[]}"#),
            "tick: expected a whole number, 0 to 2^32 - 1, found nothing",
        ),
        (
            answers(r#"{\"type\":\"COMMAND\",\"tick\":\"$t\",\"actions\":[]}"#),
            r#"tick: expected a whole number, 0 to 2^32 - 1, found "1""#,
        ),
        (answers("Playing tick $t"), "found Playing tick 1: expected a COMMAND; print other text to standard error"),
        (answers(r#"{\"type\":\"MOVE\"}"#), r#"a frame of type "MOVE": expected a COMMAND"#),
        (answers("7"), "a number: expected a COMMAND"),
        (client("import time; time.sleep(99)"), "s after its start: expected at most 3s (--bot-start-ms)"),
        (python("import time; time.sleep(99)"), ", the address in SERVER_URL, "),
        (printf(r#"{\n  "type": "COMMAND"\n}\n"#), "found {: expected a COMMAND; write each message on one line"),
        (printf(r#"{"type":"COMMAND","tick":1,"actions":[]}"#), " bytes without a line end: end each command with one"),
        (printf(r"{\0}\0\n\0"), "a line with a zero byte, as in UTF-16: expected UTF-8"),
    ];
    let handshakes = [
        // The refusal reaches the bot, too.
        (
            handshake("Origin: https://evil.example\\r\\n").replace("s.recv(999)", "sys.exit(str(s.recv(999)))"),
            "403 Forbidden",
        ),
        (
            handshake("Origin: https://evil.example\\r\\n"),
            r#"the Origin header is "https://evil.example": expected none"#,
        ),
        // The first message arrives with the handshake, and is not lost.
        (handshake("Origin: http://localhost/\\r\\n"), "its first message is not REGISTER"),
    ];
    let too_late = [
        ("pipe:sleep 6; echo hello; sleep 99".to_owned(), "its first message came "),
        ("pipe:sleep 6; echo wrong >&2; exit 3".to_owned(), ": exit code 3: wrong"),
    ];
    // Python may start late on a busy machine. The bots of the last series act within seconds after
    // their time limit, so no other bots play at the same time.
    for (cases, start_ms) in [(&cases[..], "3000"), (&handshakes, "600000"), (&too_late, "3000")] {
        let bots: Vec<String> = cases.iter().enumerate().map(|(index, (bot, _))| format!("b{index}={bot}")).collect();
        let bots: Vec<&str> = bots.iter().map(String::as_str).collect();
        let found = external(&bots, &["--bot-start-ms", start_ms, "--threads", "12"]);
        for (found, (bot, reason)) in found.iter().zip(cases) {
            let failure = found["failures"][0].as_str().unwrap_or_default();
            assert!(failure.contains(reason), "{bot}: expected {reason}, found {found}");
            assert!(!failure.contains("traceback"), "{failure}");
        }
    }
}

#[test]
fn invalid_actions_are_named_once_wherever_a_bot_plays() {
    const ACTIONS: &str = r#"["MOVE_UP",{"type":"LEFT"},{"type":"MOVE_TO"},{"position":[1,2],"type":"MOVE_TO"},null]"#;
    let expected = [
        r#""MOVE_UP" at tick 1: expected {"type": T}, where T is MOVE_LEFT, MOVE_RIGHT, MOVE_UP, MOVE_DOWN or MOVE_TO"#,
        r#"{"type":"MOVE_TO"} at tick 1: expected {"type": "MOVE_TO", "position": {"x": number, "y": number}}"#,
    ];
    let is_named = |text: &str| expected.iter().all(|words| text.matches(words).count() == 1);
    let bot = stays("").replace("\\\"actions\\\":[]", &format!("\\\"actions\\\":{}", ACTIONS.replace('"', "\\\"")));
    let dir = tempfile::tempdir().unwrap();
    let (saved, map) = (dir.path().join("game.jsonl"), dir.path().join("corridor.txt"));
    fs::write(&map, "#####\n#P.S#\n#####\n").unwrap();
    let (saved, map) = (saved.to_str().unwrap(), map.to_str().unwrap());
    let played = succeeds(&[&["play", map, "--planner", &bot, "--save", saved], &PATIENT[..]].concat());
    assert!(is_named(&played), "{played}");
    let recording = fs::read_to_string(saved).unwrap();
    assert!(recording.lines().all(|line| line.contains(&format!("\"actions\":{ACTIONS}"))), "{recording}");
    succeeds(&["replay", saved]);
    let note = succeeds(&["analyse", saved]);
    assert!(is_named(&note), "{note}");
    let analysis: Value = serde_json::from_str(&succeeds(&["analyse", saved, "--json"])).unwrap();
    assert_eq!(analysis["commands"]["mistakes"][0]["example"], "\"MOVE_UP\"");
    let evaluated = succeeds(&[&["eval", "--map", map, "--samples", "2", "--planner", &bot], &PATIENT[..]].concat());
    assert!(is_named(&evaluated), "{evaluated}");
    let (mut server, url) = serve();
    let output = getaway(&["bridge", "--url", &url, "--", bot.trim_start_matches("pipe:")]);
    let bridged = String::from_utf8(output.stderr).unwrap();
    assert!(is_named(&bridged), "{bridged}");
    let mut served = String::new();
    std::io::Read::read_to_string(&mut server.1, &mut served).unwrap();
    server.0.wait().unwrap();
    for what in [
        r#"ignored the invalid action "MOVE_UP": expected "#,
        r#"ignored the invalid MOVE_TO action {"type":"MOVE_TO"}: "#,
    ] {
        assert_eq!(served.matches(what).count(), 1, "{served}");
    }
}

#[test]
fn late_start_is_named_although_the_game_continues() {
    let late = stays("").replacen("pipe:", "pipe:sleep 5; ", 1);
    let played = succeeds(&["play", "snail", "--planner", &late, "--bot-start-ms", "100", "--tick-ms", "2000"]);
    assert!(
        played.contains("1 late start, ") && played.contains("expected at most 100ms (--bot-start-ms)"),
        "{played}"
    );
}

#[test]
fn failed_game_loses_to_an_equal_score_without_failure() {
    // Neither bot moves, so their scores are equal, but `broken` fails.
    let (bot, broken) = (format!("stays={}", stays("")), "broken=pipe:exit 1");
    let args = [&["battle", &bot, broken, "--map", "snail", "--samples", "2", "--restart"], &PATIENT[..]].concat();
    let output = getaway(&args);
    let text = String::from_utf8_lossy(&output.stdout);
    let (brief, first) = ("broken crashed in 2 of 2 games", "crashed on snail, sample 1, tick 1: exit code 1");
    let expected = format!("{brief}; first: {first}. So the games do not show how stays and broken compare.");
    assert_eq!(text.lines().last(), Some(expected.as_str()), "{text}");
    assert_eq!(text.matches(first).count(), 1, "{text}");
    assert_eq!(
        (output.status.code(), error_line(&output)),
        (Some(1), format!("{brief} (--allow-failures accepts this)"))
    );
    let report: Value =
        serde_json::from_str(&succeeds(&[&args[..], &["--json", "--allow-failures"]].concat())).unwrap();
    assert_eq!(
        (&report["overall"]["wins"], &report["overall"]["losses"]),
        (&1.into(), &0.into()),
        "equal games count once"
    );
    assert_eq!((&report["verdict"]["outcome"], &report["sentence"]), (&"failed".into(), &expected.into()));
}

#[test]
#[cfg(target_os = "linux")]
fn bot_that_exceeds_a_limit_fails_and_costs_are_measured() {
    // From tick 2, the bot holds about 40 MB. Before each answer, it counts to 3,000.
    let heavy = stays(
        "[ $t != 2 ] || x=$(head -c 40000000 /dev/zero | tr '\\0' a); i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done;",
    );
    let heavy = format!("heavy={heavy}");
    let found = external(&[&heavy], &[&PATIENT[..], &["--bot-memory-mb", "20"]].concat());
    let failure = found[0]["failures"][0].as_str().unwrap();
    assert!(failure.contains(" MiB of memory, expected at most 20"), "{failure}");
    let found = external(&[&heavy], &[&PATIENT[..], &["--bot-cpu-ms", "30"]].concat());
    assert_eq!(count(&found[0], "over_limit"), 1, "{}", found[0]);
    assert!(found[0]["trouble"].as_str().unwrap().starts_with("heavy exceeded a limit in 1 of 1 game"), "{}", found[0]);
    let args = [&["eval", "--map", "snail", "--samples", "1", "--planner", &heavy, "--json"], &PATIENT[..]].concat();
    let report: Value = serde_json::from_str(&succeeds(&args)).unwrap();
    let cost = &report["entrants"][0]["cost"];
    assert!(cost["cpu_ms_mean"].as_f64().unwrap() >= 30.0 && cost["memory_mb_max"].as_u64().unwrap() >= 30, "{cost}");
}

#[test]
fn shell_walker_plays_and_one_process_serves_all_games() {
    let found =
        external(&["pipe:sh examples/bots/walker.sh"], &[&["--samples", "3", "--threads", "1"], &PATIENT[..]].concat());
    assert_eq!((count(&found[0], "games"), count(&found[0], "missed_ticks")), (3, 0), "{}", found[0]);
    let starts = |more: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let bot = stays("").replace("pipe:", "pipe:echo start >&2; ");
        external(
            &[&bot],
            &[&["--samples", "3", "--threads", "1", "--logs", dir.path().to_str().unwrap()], &PATIENT[..], more]
                .concat(),
        );
        fs::read_dir(dir.path()).unwrap().count()
    };
    assert_eq!((starts(&[]), starts(&["--restart"])), (1, 3));
}

#[test]
fn bot_that_is_still_busy_with_a_game_plays_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let map = dir.path().join("corridor.txt");
    // The shark catches the bot before the bot counts as silent.
    fs::write(&map, "#####\n#P.S#\n#####\n").unwrap();
    let bot = r#"pipe:read -r m; echo '{"type":"COMMAND","tick":1,"actions":[]}'; while read -r m; do :; done"#;
    let games = ["--map", map.to_str().unwrap(), "--samples", "3", "--threads", "1"];
    let args = [&["eval", "--planner", bot, "--json", "--allow-failures"], &games[..]].concat();
    let report: Value = serde_json::from_str(&succeeds(&args)).unwrap();
    let bot = &report["external"][0];
    assert_eq!(["games", "commands", "silent"].map(|what| count(bot, what)), [3, 3, 0], "{bot}");
}

#[test]
fn one_game_of_a_bot_can_be_played_recorded_and_shown() {
    let dir = tempfile::tempdir().unwrap();
    let (saved, page, logs) = (dir.path().join("game.jsonl"), dir.path().join("game.html"), dir.path().join("logs"));
    let (saved, page, logs) = (saved.to_str().unwrap(), page.to_str().unwrap(), logs.to_str().unwrap());
    let bot = stays("");
    let planner = [&["--planner", &bot], &PATIENT[..]].concat();
    let text = succeeds(&[&["play", "snail", "--save", saved, "--json"], &planner[..]].concat());
    let report: Value = serde_json::from_str(&text).unwrap();
    let last_tick = report["final_tick"].as_u64().unwrap();
    assert_eq!(
        (count(&report["external"], "commands"), count(&report["external"], "missed_ticks")),
        (last_tick - 1, 0)
    );
    // The recording names the entrant. Like a recording of the server, it has the tick time, and
    // the time and actions of each command.
    let recording = fs::read_to_string(saved).unwrap();
    let first: Value = serde_json::from_str(recording.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["game"]["planner"], &first["game"]["tick_ms"]),
        (&bot.clone().into(), &60_000.0.into()),
        "{first}"
    );
    assert!(first["wire"]["command"]["ms"].is_number(), "{first}");
    succeeds(&["replay", saved]);
    succeeds(&[&["view", "snail", "--html", page], &planner[..]].concat());
    assert!(fs::read_to_string(page).unwrap().contains("<html"));

    let output = getaway(&["play", "snail", "--planner", "pipe:read -r x; echo oops >&2; exit 3", "--logs", logs]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(error_line(&output), "the bot crashed at tick 1: exit code 3: oops");
    assert!(String::from_utf8_lossy(&output.stdout).contains("0 commands, "), "the game was played without the bot");
    let log = dir.path().join("logs/bot.log");
    assert_eq!(fs::read_to_string(&log).unwrap(), "{\"getaway\":\"log\",\"version\":1}\noops\n");
    fs::write(&log, "mine").unwrap();
    let refused = fails(&["play", "snail", "--planner", "pipe:echo oops >&2", "--logs", logs]);
    let expected = r#"line 1: expected {"getaway":"log","version":1,...}, found mine; the file was not overwritten"#;
    assert_eq!(refused, format!("external bots: {}, {expected}", log.display()));
    assert_eq!(fs::read_to_string(&log).unwrap(), "mine");
    let refused = fails(&["play", "snail", "--planner", "pipe:true", "--logs", saved]);
    assert_eq!(
        refused,
        format!("invalid value '{saved}' for '--logs <DIR>': expected a folder, found a file (try --help)")
    );
}

fn sleepers(seconds: u32) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| *line == format!("sleep\0{seconds}\0")).count()
}

#[test]
#[cfg(target_os = "linux")]
fn no_process_is_left_after_the_end_or_a_kill_or_an_interrupt() {
    // Each bot starts `sleep` in its own session and in a new one. The number of seconds identifies
    // the processes of a run, even while another run of this test is in progress.
    let unique = |number: u32| 10_000_000 * number + std::process::id();
    let bot = |seconds: u32| format!("pipe:sleep {seconds} & (setsid sleep {seconds} &); sleep {seconds}");
    let ended = || {
        let seconds = unique(1);
        external(&[&format!("pipe:sleep {seconds} & (setsid sleep {seconds} &); exit 1")], &["--samples", "2"]);
        wait_until("no process is left after the end", || sleepers(seconds) == 0);
    };
    let killed_by = |signal: &str, seconds: u32| {
        let planner = bot(seconds);
        let args = ["eval", "--map", "snail", "--samples", "100", "--planner", &planner, "--threads", "2"];
        let mut command = command(&args);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        wait_until("the bots have started", || sleepers(seconds) >= 6);
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap();
        wait_until("no process is left after a kill", || sleepers(seconds) == 0);
    };
    std::thread::scope(|scope| {
        scope.spawn(ended);
        for (signal, seconds) in [("-KILL", unique(2)), ("-INT", unique(3)), ("-TERM", unique(4))] {
            scope.spawn(move || killed_by(signal, seconds));
        }
    });
}

/// Starts a server. Returns it with the rest of its notes, and its address.
fn serve() -> ((std::process::Child, impl std::io::Read), String) {
    let options = ["serve", "snail", "--port", "0", "--games", "1", "--json"];
    let mut server = command(&[&options[..], &PATIENT].concat());
    let mut server = server.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut notes = std::io::BufReader::new(server.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut notes, &mut line).unwrap();
    let url = line.split_whitespace().find(|word| word.starts_with("ws://")).unwrap();
    ((server, notes), url.to_owned())
}

#[test]
fn log_of_a_bridged_bot_cannot_control_the_terminal() {
    let ((mut server, _notes), url) = serve();
    let bot = r"printf '\033[2Jone\n\342\200\256two' >&2; read -r x; exit 3";
    let output = getaway(&["bridge", "--url", &url, "--", bot]);
    server.kill().unwrap();
    server.wait().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let error = "error: the bot ended before the game did (exit code 3) after 1 state\n";
    assert_eq!(stderr, format!("\\u001b[2Jone\n\\u202etwo{error}"));
}

#[test]
fn bridge_names_a_line_that_is_too_long() {
    let ((mut server, _notes), url) = serve();
    let bot = "read -r x; head -c 100000 /dev/zero | tr '\\0' a; sleep 60";
    let output = getaway(&["bridge", "--url", &url, "--", bot]);
    server.kill().unwrap();
    server.wait().unwrap();
    let expected = "the bot ended before the game did (a line of more than 65536 bytes) after 1 state";
    assert_eq!((output.status.code(), error_line(&output).as_str()), (Some(1), expected));
}

#[test]
fn bridge_connects_a_bot_to_a_server() {
    let ((server, _notes), url) = serve();
    let text = succeeds(&["bridge", "--url", &url, "--team", "walkers", "--", "sh", "examples/bots/walker.sh"]);
    let output = server.wait_with_output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&result["team"], &result["missed_ticks"]), (&"walkers".into(), &0.into()), "{result}");
    let states = result["commands"].as_u64().unwrap();
    assert_eq!(text, format!("the server closed the connection after {states} states and {states} commands\n"));
}
