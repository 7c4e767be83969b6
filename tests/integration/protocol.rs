//! Guarantees: the server's messages are read, and written back as the same JSON. Extra fields,
//! unknown names and missing optional fields are accepted. Text that is not a valid message gives a
//! one-line error.

use getaway::game::{Action, Direction, Layout, Position, Rules, Spawn, Style, Tile, World};
use getaway::protocol::{ClientFrame, Command, GameMessage, MAX_JSON_DEPTH, MessageWriter, Name, Register};
use serde_json::{Value, json};

fn layout() -> Layout {
    Layout::parse("#####\n#P.B#\n#~#S#\n##.##").unwrap()
}

fn message() -> Value {
    let world = World::new(&layout(), &Rules::BLITZ_2025).unwrap();
    serde_json::to_value(GameMessage::of(&world, &world.start(), "team")).unwrap()
}

fn parse(message: &Value) -> Result<GameMessage, String> {
    GameMessage::parse(message.to_string()).map_err(|error| error.to_string())
}

fn with(pointer: &str, value: Value) -> Value {
    let mut message = message();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = message.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(object), Value::Null) => drop(object.remove(key)),
        (Value::Object(object), value) => drop(object.insert(key.to_owned(), value)),
        (Value::Array(array), value) => array[key.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer} names no field"),
    }
    message
}

#[test]
fn state_is_serialised_as_by_the_server() {
    let world = World::new(&layout(), &Rules::BLITZ_2025).unwrap();
    let expected = concat!(
        r#"{"type":"STATE","tick":1,"currentTickNumber":1,"lastTickErrors":[],"constants":{},"#,
        r#""map":{"width":5,"height":4,"tiles":[["WALL","WALL","WALL","WALL"],["WALL","EMPTY","EMPTY","WALL"],"#,
        r#"["WALL","EMPTY","WALL","EMPTY"],["WALL","EMPTY","EMPTY","WALL"],["WALL","WALL","WALL","WALL"]]},"#,
        r#""threats":[{"position":{"x":3,"y":1},"direction":"up","personality":"lazy","style":"bull"},"#,
        r#"{"position":{"x":3,"y":2},"direction":"up","personality":"lazy","style":"shark"}],"#,
        r#""yourCharacter":{"id":"1","teamId":"team","position":{"x":1,"y":1},"alive":true,"spawnPoint":{"x":1,"y":1},"#,
        r#""distances":[[null,null,null,null],[null,0,1,null],[null,1,null,null],[null,2,3,null],[null,null,null,null]]}}"#,
    );
    let message = GameMessage::of(&world, &world.start(), "team");
    assert_eq!(serde_json::to_string(&message).unwrap(), expected);
    assert_eq!(MessageWriter::new(&world, "team").write(&world.start()), expected);
    assert_eq!(GameMessage::parse(expected).unwrap(), message);
}

#[test]
fn writer_matches_messages_throughout_a_game() {
    let world = World::new(&layout(), &Rules::BLITZ_2025).unwrap();
    let writer = MessageWriter::new(&world, "a \"team\"");
    let mut state = world.start();
    while !state.is_over() {
        let message = GameMessage::of(&world, &state, "a \"team\"");
        assert_eq!(writer.write(&state), serde_json::to_string(&message).unwrap());
        world.step_command(&mut state, &[]).unwrap();
    }
}

#[test]
fn optional_fields_may_be_missing_or_unusual() {
    let fields = [
        "/type",
        "/currentTickNumber",
        "/lastTickErrors",
        "/constants",
        "/threats/0/personality",
        "/yourCharacter/id",
        "/yourCharacter/teamId",
        "/yourCharacter/alive",
        "/yourCharacter/spawnPoint",
        "/yourCharacter/distances",
    ];
    for field in fields {
        let without = with(field, Value::Null);
        let message = parse(&without).unwrap_or_else(|error| panic!("without {field}: {error}"));
        assert_eq!(serde_json::to_value(&message).unwrap(), without, "without {field}");
    }
    for (field, value) in [
        ("/type", json!(7)),
        ("/currentTickNumber", json!("one")),
        ("/lastTickErrors", json!(["too late"])),
        ("/constants", json!({"speed": {"max": [1.5]}})),
        ("/yourCharacter/id", json!(1)),
    ] {
        let message = parse(&with(field, value.clone())).unwrap_or_else(|error| panic!("{field}: {error}"));
        assert_eq!(serde_json::to_value(&message).unwrap().pointer(field), Some(&value));
    }
    for field in ["/new", "/map/new", "/threats/1/new", "/yourCharacter/new", "/yourCharacter/position/z"] {
        assert_eq!(parse(&with(field, json!({"deep": [[1]]}))), parse(&message()), "with {field}");
    }
}

#[test]
fn unknown_identifiers_pass_through() {
    for (field, word) in [("style", "ghost"), ("direction", "north"), ("personality", "furious")] {
        let changed = with(&format!("/threats/0/{field}"), json!(word));
        let message = parse(&changed).unwrap();
        assert_eq!(serde_json::to_value(&message).unwrap(), changed);
    }
    let message = parse(&with("/threats/0/style", json!("ghost"))).unwrap();
    assert_eq!(message.threats[0].style, Name::Other("ghost".to_owned()));
    assert_eq!(message.unknown_threats().map(|(index, _)| index).collect::<Vec<_>>(), [0]);
    assert_eq!(
        message.known_threats().map(|(index, style, _)| (index, style)).collect::<Vec<_>>(),
        [(1, Style::Shark)]
    );
    let layout = message.layout().unwrap();
    assert_eq!(layout.threats, [Spawn { style: Style::Shark, position: Position::new(3, 2) }]);
}

#[test]
fn integers_may_be_written_as_floats() {
    let mut floats = with("/tick", json!(1.0));
    floats["yourCharacter"]["position"] = json!({"x": 1.0, "y": 1.0});
    floats["threats"][0]["position"]["x"] = json!(3.0);
    floats["map"]["width"] = json!(5.0);
    assert_eq!(parse(&floats), parse(&message()));
}

#[test]
fn invalid_message_gives_one_error_with_the_path() {
    for (pointer, value, expected) in [
        ("/tick", Value::Null, "missing field `tick`"),
        ("/tick", json!(-1), "tick: invalid value: integer `-1`, expected a whole number in range"),
        ("/tick", json!(1.5), "tick: invalid value: floating point `1.5`, expected a whole number in range"),
        ("/tick", json!("1"), "tick: invalid type: string \"1\", expected a whole number in range"),
        ("/map", Value::Null, "missing field `map`"),
        (
            "/map/tiles/2/1",
            json!("LAVA"),
            "map.tiles[2][1]: invalid value: string \"LAVA\", expected \"WALL\" or \"EMPTY\"",
        ),
        ("/map/tiles/2", json!(["WALL"]), "map.tiles[2]: expected 4 rows as in the first column, found 1"),
        ("/map/tiles", json!([]), "map.tiles: expected at least one tile, found none"),
        ("/map/tiles", json!([[], []]), "map.tiles: expected at least one tile, found none"),
        ("/map/width", json!(6), "map.width: expected 5, found 6"),
        ("/map/height", json!(-4), "map.height: expected 4, found -4"),
        ("/threats/1/position/x", json!(2.5), "threats[1].position.x: invalid value: floating point `2.5`"),
        ("/threats/1/position/y", json!(1e300), "threats[1].position.y: invalid value: floating point `1e+300`"),
        ("/threats/1/position", Value::Null, "threats[1]: missing field `position`"),
        ("/threats/0/style", json!(3), "threats[0].style: invalid type: integer `3`, expected the name of a style"),
        ("/threats", json!({}), "threats: invalid type: map, expected an array of threats"),
        ("/yourCharacter/position", json!("here"), "yourCharacter.position: invalid type: string \"here\""),
        ("/yourCharacter/distances/1/1", json!(-1), "yourCharacter.distances[1][1]: invalid value: integer `-1`"),
        ("/yourCharacter/distances", json!([[0]]), "yourCharacter.distances.length: expected 5, found 1"),
        ("/yourCharacter/alive", json!("yes"), "yourCharacter.alive: invalid type: string \"yes\", expected a boolean"),
    ] {
        let error = parse(&with(pointer, value.clone())).expect_err(pointer);
        assert!(error.starts_with(expected) && !error.contains('\n'), "{pointer} = {value}: {error}");
    }
    for (frame, expected) in [
        ("", "invalid JSON at column 0: EOF while parsing a value"),
        ("{", "invalid JSON at column 1: EOF while parsing an object"),
        ("nonsense", "invalid JSON at column 2: expected ident"),
        ("3", "invalid type: integer `3`, expected an object"),
    ] {
        let error = GameMessage::parse(frame).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{frame}: {error}");
    }
    let error = GameMessage::parse(format!("{}x", message())).unwrap_err().to_string();
    assert!(error.starts_with("invalid JSON at column "), "{error}");
    assert!(GameMessage::parse(b"{\"type\": \"\xff\"}").unwrap_err().to_string().contains("invalid UTF-8 at byte 10"));
}

#[test]
fn message_size_is_limited() {
    let column = vec!["WALL"; 1];
    for (columns, is_accepted) in [(GameMessage::MAX_SIDE, true), (GameMessage::MAX_SIDE + 1, false)] {
        let mut message = with("/yourCharacter/distances", Value::Null);
        message["map"] = json!({"width": columns, "height": 1, "tiles": vec![&column; columns]});
        assert_eq!(parse(&message).is_ok(), is_accepted, "{columns} columns");
        message["map"] = json!({"width": 1, "height": columns, "tiles": [vec!["WALL"; columns]]});
        assert_eq!(parse(&message).is_ok(), is_accepted, "{columns} rows");
    }
    let threat = message()["threats"][0].clone();
    for (threats, is_accepted) in [(GameMessage::MAX_THREATS, true), (GameMessage::MAX_THREATS + 1, false)] {
        assert_eq!(parse(&with("/threats", json!(vec![&threat; threats]))).is_ok(), is_accepted, "{threats} threats");
    }
    let mut frame = message().to_string().into_bytes();
    frame.resize(GameMessage::MAX_BYTES, b' ');
    assert!(GameMessage::parse(&frame).is_ok());
    frame.push(b' ');
    let expected =
        format!("message too long: {} bytes, expected at most {}", GameMessage::MAX_BYTES + 1, GameMessage::MAX_BYTES);
    assert_eq!(GameMessage::parse(&frame).unwrap_err().to_string(), expected);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(
        GameMessage::parse(message().to_string().replace("{}", &deep)).is_err(),
        "the nesting of values that are kept is limited"
    );
    assert!(GameMessage::parse(message().to_string().replace("\"type\"", &format!("\"new\":{deep},\"type\""))).is_ok());
}

#[test]
fn layout_can_be_derived_from_the_first_message() {
    let message = parse(&message()).unwrap();
    let mut expected = layout();
    expected.tiles.iter_mut().filter(|tile| **tile == Tile::SeeThrough).for_each(|tile| *tile = Tile::Open);
    assert_eq!(message.layout().unwrap(), expected);
    for (pointer, expected) in [
        ("/yourCharacter/position", "yourCharacter.position: expected an EMPTY tile, found (0, 9)"),
        ("/threats/1/position", "threats[1].position: expected an EMPTY tile, found (0, 9)"),
    ] {
        let message = parse(&with(pointer, json!({"x": 0, "y": 9}))).unwrap();
        assert_eq!(message.layout().unwrap_err().to_string(), expected);
    }
}

#[test]
fn client_frames_match_those_of_the_starter_kits() {
    let json = |value: &Register| serde_json::to_string(value).unwrap();
    let (token, team_name) = (Some("secret".to_owned()), Some("name".to_owned()));
    let named = Register { token: None, team_name: team_name.clone() };
    assert_eq!(json(&named), r#"{"type":"REGISTER","teamName":"name"}"#);
    assert_eq!(json(&Register { token: Some(String::new()), team_name: team_name.clone() }), json(&named));
    assert_eq!(json(&Register { token, team_name }), r#"{"type":"REGISTER","token":"secret"}"#);
    let command = Command { tick: 3, actions: vec![Action::Move(Direction::Up), Action::MoveTo { x: 1.0, y: 2.5 }] };
    assert_eq!(
        serde_json::to_string(&command).unwrap(),
        r#"{"type":"COMMAND","tick":3,"actions":[{"type":"MOVE_UP"},{"type":"MOVE_TO","position":{"x":1,"y":2.5}}]}"#
    );
    match ClientFrame::parse(serde_json::to_string(&command).unwrap()).unwrap() {
        ClientFrame::Command(read) => assert_eq!(read, command),
        other => panic!("{other:?}"),
    }
}

#[test]
fn any_json_is_a_frame() {
    let kind = |frame: &str| match ClientFrame::parse(frame) {
        Ok(ClientFrame::Register(register)) => format!("register {:?} {:?}", register.token, register.team_name),
        Ok(ClientFrame::Viewer) => "viewer".to_owned(),
        Ok(ClientFrame::Command(command)) => format!("tick {}, {} actions", command.tick, command.actions.len()),
        Ok(ClientFrame::InvalidCommand(error)) => error.to_string(),
        Ok(ClientFrame::Unknown(what)) => what,
        Err(error) => format!("error: {error}"),
    };
    for (frame, expected) in [
        (r#"{"type":"REGISTER","token":"t","teamName":"n"}"#, r#"register Some("t") Some("n")"#),
        (r#"{"type":"REGISTER","teamName":3}"#, "register None None"),
        (r#"{"type":"VIEWER","more":{}}"#, "viewer"),
        (r#"{"type":"COMMAND","tick":7,"actions":[]}"#, "tick 7, 0 actions"),
        (r#"{"type":"COMMAND","tick":7.0,"actions":[{},3]}"#, "tick 7, 2 actions"),
        (r#"{"type":"COMMAND","tick":7}"#, "actions: expected an array of actions, found nothing"),
        (r#"{"type":"COMMAND","tick":7,"actions":{}}"#, "actions: expected an array of actions, found an object"),
        (r#"{"type":"COMMAND","actions":[]}"#, "tick: expected a whole number, 0 to 2^32 - 1, found nothing"),
        (r#"{"type":"COMMAND","tick":-1,"actions":[]}"#, "tick: expected a whole number, 0 to 2^32 - 1, found -1"),
        (r#"{"type":"COMMAND","tick":1.5,"actions":[]}"#, "tick: expected a whole number, 0 to 2^32 - 1, found 1.5"),
        (r#"{"type":"COMMAND","tick":"1","actions":[]}"#, "tick: expected a whole number, 0 to 2^32 - 1, found \"1\""),
        (r#"{"type":"DANCE"}"#, r#"a frame of type "DANCE""#),
        (r#"{"type":7}"#, "a frame of type 7"),
        ("{}", "an object without a type"),
        ("3", "a number"),
        ("[]", "an array"),
        ("null", "null"),
        ("{", "error: invalid JSON at column 1: EOF while parsing an object"),
        ("", "error: invalid JSON at column 0: EOF while parsing a value"),
    ] {
        assert_eq!(kind(frame), expected, "{frame}");
    }
    let long = format!("{}{{}}", " ".repeat(ClientFrame::MAX_BYTES - 2));
    assert_eq!(kind(&long), "an object without a type");
    assert_eq!(kind(&format!(" {long}")), "error: message too long: 65537 bytes, expected at most 65536");
    let deep = kind(&"[".repeat(10_000));
    assert!(deep.contains("recursion limit exceeded") && deep.len() < 1000, "{deep}");
}

#[test]
fn nesting_limit_is_exact() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    for (more, is_accepted) in [(0, true), (1, false)] {
        let depth = MAX_JSON_DEPTH + more;
        assert_eq!(ClientFrame::parse(nested(depth)).is_ok(), is_accepted, "a frame of {depth} levels");
        let depth = GameMessage::MAX_VERBATIM_DEPTH + more;
        for field in ["/constants", "/yourCharacter/teamId"] {
            let message = with(field, serde_json::from_str(&nested(depth)).unwrap());
            assert_eq!(parse(&message).is_ok(), is_accepted, "{field} of {depth} levels");
        }
    }
}

#[test]
fn unknown_fields_may_be_nested_at_any_depth() {
    let message = message().to_string();
    for depth in [128, 990, 100_000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        let deep = format!("{{\"new\":{open}{close},{}", &message[1..]);
        assert_eq!(GameMessage::parse(deep).unwrap(), GameMessage::parse(&message).unwrap());
        assert!(GameMessage::parse(format!("{{\"new\":{open},{}", &message[1..])).is_err());
    }
}

#[test]
fn error_about_a_long_string_is_short() {
    let error = GameMessage::parse(format!("{{\"tick\":\"{}\"}}", "é".repeat(30_000))).unwrap_err();
    let text = error.to_string();
    assert!(text.chars().count() < 400, "{} characters", text.chars().count());
    assert!(text.contains("invalid type: string") && text.contains("expected") && text.contains('…'), "{text}");
}
