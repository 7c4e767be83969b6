//! `getaway view`, as a user meets it: files to send to somebody, the page on a port, and one clear line for bad input.

mod program;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use getaway::recording::RecordingReader;

const GAME: &str = "games/cul-de-sacs-stroll-until-caught.jsonl.gz";
/// Its last tick.
const LAST: u32 = 108;

/// The standard output of `getaway view` where it must go well.
fn fine(args: &[&str]) -> String {
    program::fine(&[&["view"], args].concat())
}

/// The error line of `getaway view` where it must fail.
fn refused(args: &[&str]) -> String {
    program::refused(&[&["view"], args].concat())
}

fn decode_png(path: &Path) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(BufReader::new(std::fs::File::open(path).unwrap())).read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut samples).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    (info.width, info.height, samples)
}

#[test]
fn a_picture_shows_the_player_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let ticks: Vec<_> = RecordingReader::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(GAME))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (tick, dark) in [(1, false), (50, true), (100, false)] {
        let path = folder.path().join(format!("{tick}.png"));
        let (file, number) = (path.to_str().unwrap(), tick.to_string());
        let mut args = vec![GAME, "--png", file, "--tick", &number, "--layers", ""];
        args.extend(dark.then_some("--dark"));
        assert_eq!(fine(&args), format!("{file}\n"));
        let (width, height, samples) = decode_png(&path);
        let message = &ticks[tick - 1].game_message;
        let tile = width / message.map.width as u32;
        assert!(tile >= 16 && height > tile * message.map.height as u32, "a map and words below it");
        let at = message.your_character.position;
        // The middle of the car's roof.
        let (x, y) = (at.x as u32 * tile + tile / 2, at.y as u32 * tile + tile / 2);
        let pixel = &samples[(3 * (y * width + x)) as usize..][..3];
        assert_eq!(pixel, [0xf0, 0xe4, 0x42], "tick {tick}, {at}");
    }
}

#[test]
fn a_moving_picture_has_the_frames_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    // Twenty frames a second, ten ticks a second at speed 1.
    for (from, to, speed, frames) in [(10, 20, "1", 21), (10, 20, "2", 11), (10, 20, "8", 4), (LAST, LAST, "1", 1)] {
        let path = folder.path().join(format!("{from}-{speed}.gif"));
        let (from, to) = (from.to_string(), to.to_string());
        fine(&[GAME, "--gif", path.to_str().unwrap(), "--from", &from, "--to", &to, "--speed", speed]);
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::Indexed);
        let mut decoder = options.read_info(std::fs::File::open(&path).unwrap()).unwrap();
        let (width, height) = (decoder.width(), decoder.height());
        let mut count = 0;
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            let whole = (0, 0, width, height);
            assert!(count > 0 || (frame.left, frame.top, frame.width, frame.height) == whole);
            count += 1;
        }
        assert_eq!(count, frames, "{from} to {to} at {speed}");
    }
}

#[test]
fn a_page_holds_the_game_and_nothing_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.html");
    fine(&[GAME, "--html", path.to_str().unwrap()]);
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.contains("\"title\":\"cul-de-sacs-stroll-until-caught\"") && page.contains("\"ending\":\"caught\""));
    assert!(page.contains("connect-src 'none'") && page.contains("default-src 'none'"));
    for elsewhere in [" src=", "@import", "import(", "eval("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert!(page.len() < 200_000, "{} bytes", page.len());
    // A map is played first, by whom one likes.
    let path = folder.path().join("map.html");
    fine(&["corner-shop", "--planner", "random", "--seed", "3", "--html", path.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"subtitle\":\"random\""));
}

#[test]
fn bad_input_is_one_line_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (taken, new, broken) = (path("taken"), path("new"), path("broken.jsonl"));
    std::fs::write(&taken, "mine").unwrap();
    std::fs::write(&broken, "{}\n{}\n").unwrap();
    let missing = path("missing.jsonl");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for (args, expected) in [
        (vec!["atlantis"], "no map named atlantis"),
        (vec![missing.as_str()], "missing.jsonl: cannot be read"),
        (vec![&broken], "broken.jsonl, line 1: "),
        (vec![GAME, "--html", &taken], "exists already and is not overwritten"),
        (vec![GAME, "--png", &taken, "--tick", "1"], "exists already and is not overwritten"),
        (vec![GAME, "--gif", &taken], "exists already and is not overwritten"),
        (vec![GAME, "--png", &new, "--tick", "0"], "tick 0: not in this game, expected 1 to 108"),
        (vec![GAME, "--png", &new, "--tick", "109"], "tick 109: not in this game, expected 1 to 108"),
        (vec![GAME, "--png", &new], "--tick <N>"),
        (vec![GAME, "--gif", &new, "--from", "9", "--to", "8"], "from tick 9 to tick 8"),
        (vec![GAME, "--gif", &new, "--speed", "0"], "expected a number from 0.1 to 100"),
        (vec![GAME, "--png", &new, "--tick", "1", "--layers", "plan,fog"], "no layer named fog"),
        (vec![GAME, "--html", &new, "--png", &new, "--tick", "1"], "cannot be used with"),
        (vec!["corner-shop", "--planner", "clairvoyant", "--html", &new], "no planner named clairvoyant"),
        (vec![GAME, "--html", "/no/such/folder/a.html"], "cannot be written"),
        (vec![GAME, "--port", &port], "cannot be listened on"),
    ] {
        let error = refused(&args);
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
    assert!(!Path::new(&new).exists(), "what fails leaves nothing behind");
}

/// A request, and the whole answer.
fn get(address: &str, path: &str, host: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn the_page_is_on_a_port_of_this_machine() {
    for subject in [GAME, "corner-shop"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_getaway"));
        command.args(["view", subject, "--port", "0"]).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap().to_owned();
        let answers = ["/", "/film/0/0", "/etc/passwd"].map(|path| get(&address, path, &address));
        let foreign = ["/", "/film/0/0"].map(|path| get(&address, path, "evil.example"));
        child.kill().unwrap();
        child.wait().unwrap();
        let [page, film, other] = answers.map(|answer| String::from_utf8_lossy(&answer).into_owned());
        assert!(
            page.starts_with("HTTP/1.1 200") && page.contains("content-security-policy: default-src 'none'"),
            "{page}"
        );
        let status = if subject == GAME { "HTTP/1.1 204" } else { "HTTP/1.1 200" };
        assert!(film.starts_with(status), "{film}");
        assert!(other.starts_with("HTTP/1.1 404"), "{other}");
        assert!(foreign.iter().all(|answer| answer.starts_with(b"HTTP/1.1 403")), "other names may not ask");
    }
}
