use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;

use crate::program;
use getaway::recording::RecordingReader;

const GAME: &str = "games/cul-de-sacs-stroll-until-caught.jsonl.gz";
const LAST: u32 = 108;

fn succeeds(args: &[&str]) -> String {
    program::succeeds(&[&["view"], args].concat())
}

fn fails(args: &[&str]) -> String {
    program::fails(&[&["view"], args].concat())
}

fn decode_png(path: &Path) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(BufReader::new(std::fs::File::open(path).unwrap())).read_info().unwrap();
    let mut samples = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut samples).unwrap();
    assert_eq!(info.color_type, png::ColorType::Rgb);
    (info.width, info.height, samples)
}

#[test]
fn image_shows_the_player_at_its_position() {
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
        assert_eq!(succeeds(&args), format!("{file}\n"));
        let (width, height, samples) = decode_png(&path);
        let message = &ticks[tick - 1].game_message;
        let tile = width / message.map.width as u32;
        assert!(tile >= 16 && height > tile * message.map.height as u32, "a map with a caption below it");
        let at = message.your_character.position;
        let (x, y) = (at.x as u32 * tile + tile / 2, at.y as u32 * tile + tile / 2);
        let pixel = &samples[(3 * (y * width + x)) as usize..][..3];
        assert_eq!(pixel, [0xf0, 0xe4, 0x42], "tick {tick}, {at}");
    }
}

#[test]
fn gif_has_the_requested_frames() {
    let folder = tempfile::tempdir().unwrap();
    // Animations have 20 frames per second, and show 10 ticks per second at speed 1.
    for (from, to, speed, frames) in [(10, 20, "1", 21), (10, 20, "2", 11), (10, 20, "8", 4), (LAST, LAST, "1", 1)] {
        let path = folder.path().join(format!("{from}-{speed}.gif"));
        let (from, to) = (from.to_string(), to.to_string());
        succeeds(&[GAME, "--gif", path.to_str().unwrap(), "--from", &from, "--to", &to, "--speed", speed]);
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
fn page_contains_the_game_and_loads_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("game.html");
    succeeds(&[GAME, "--html", path.to_str().unwrap()]);
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.contains("\"title\":\"cul-de-sacs\"") && page.contains("\"status\":\"caught\""));
    assert!(page.contains("connect-src 'none'") && page.contains("default-src 'none'"));
    for elsewhere in [" src=", "@import", "import(", "eval("] {
        assert!(!page.contains(elsewhere), "{elsewhere}");
    }
    assert!(page.len() < 200_000, "{} bytes", page.len());
    let path = folder.path().join("map.html");
    succeeds(&["corner-shop", "--planner", "random", "--seed", "3", "--html", path.to_str().unwrap()]);
    assert!(std::fs::read_to_string(&path).unwrap().contains("\"subtitle\":\"random\""));
}

#[test]
fn invalid_input_gives_one_line_and_nothing_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (taken, new, broken) = (path("taken"), path("new"), path("broken.jsonl"));
    std::fs::write(&taken, "mine").unwrap();
    std::fs::write(&broken, "{}\n{}\n").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    for (args, expected) in [
        (vec![broken.as_str()], "broken.jsonl, line 1: "),
        (vec![GAME, "--html", &taken], "already exists (use --force to overwrite it)"),
        (vec![GAME, "--png", &taken, "--tick", "1"], "already exists (use --force to overwrite it)"),
        (vec![GAME, "--gif", &taken], "already exists (use --force to overwrite it)"),
        (vec![GAME, "--html", &new, "--png", &new, "--tick", "1"], "cannot be used with"),
        (vec!["corner-shop", "--planner", "clairvoyant", "--html", &new], "no planner named clairvoyant"),
        (vec![GAME, "--html", "/no/such/folder/a.html"], "cannot write /no/such"),
        (vec![GAME, "--port", &port], "(try --port 0)"),
    ] {
        let error = fails(&args);
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    assert_eq!(std::fs::read_to_string(&taken).unwrap(), "mine");
    assert!(!Path::new(&new).exists(), "nothing is left behind after a failure");
    succeeds(&[GAME, "--png", &taken, "--tick", "1", "--force"]);
    assert!(std::fs::read(&taken).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary files");
}

fn ask(address: &str, request: &str, host: &str) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    let headers = format!("Host: {host}\r\nOrigin: http://{host}\r\nContent-Length: 0\r\nConnection: close");
    write!(stream, "{request} HTTP/1.1\r\n{headers}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

#[test]
fn page_is_served_on_a_local_port() {
    for subject in [&[][..], &[GAME], &["corner-shop"]] {
        let mut command = program::command(&[&["view", "--port", "0"], subject].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap().to_owned();
        let answers =
            ["GET /", "POST /engine/start", "GET /etc/passwd"].map(|request| ask(&address, request, &address));
        let foreign = ["GET /", "POST /engine/start"].map(|request| ask(&address, request, "evil.example"));
        child.kill().unwrap();
        child.wait().unwrap();
        let [page, start, other] = answers.map(|answer| String::from_utf8_lossy(&answer).into_owned());
        assert!(
            page.starts_with("HTTP/1.1 200") && page.contains("content-security-policy: default-src 'none'"),
            "{page}"
        );
        assert!(start.starts_with("HTTP/1.1 200") && start.contains("\"planners\""), "{start}");
        assert!(other.starts_with("HTTP/1.1 404"), "{other}");
        assert!(foreign.iter().all(|answer| answer.starts_with(b"HTTP/1.1 403")), "other host names are rejected");
    }
}
