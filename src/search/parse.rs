//! Parses expressions, and checks their limits.

use std::fmt;
use std::str::FromStr;

use super::expression::{Component, Expression, Policy};

/// The maximum length of an expression's text, in characters.
const TEXT_MAX: usize = 4096;

const COMPONENTS: &str = "simulate, repeat, lookahead, step, select, beam, adapt or anneal";

/// The error for a text that is not a valid expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    position: usize,
    expected: String,
    found: String,
}

impl ParseError {
    /// The position of the error, in characters from 0. If the text ends too early, this is the
    /// text's length.
    pub fn position(&self) -> usize {
        self.position
    }

    /// A description of the text that was expected at the position.
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// The word or character found instead, quoted and cut after 20 characters, or `the end`.
    pub fn found(&self) -> &str {
        &self.found
    }

    /// Two lines: the text around the position, and a caret that points to the position.
    pub fn caret(&self) -> String {
        const BEFORE: usize = 60;
        const AFTER: usize = 20;
        let start = self.position.saturating_sub(BEFORE);
        let part: String = self
            .text
            .chars()
            .skip(start)
            .take(BEFORE + AFTER)
            // Line breaks and tabs would shift the caret.
            .map(|character| if character.is_control() { ' ' } else { character })
            .collect();
        format!("{part}\n{}^", " ".repeat(self.position - start))
    }
}

impl fmt::Display for ParseError {
    /// Writes one line, in which the position counts from 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {}: expected {}, found {}", self.position + 1, self.expected, self.found)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Expression {
    type Err = ParseError;

    /// Parses the text form of an expression. `simulate` alone means `simulate(random)`.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Parser { text, characters: text.chars().collect(), position: 0 }.expression()
    }
}

struct Parser<'a> {
    text: &'a str,
    characters: Vec<char>,
    position: usize,
}

struct Token {
    start: usize,
    text: String,
}

impl Parser<'_> {
    fn expression(&mut self) -> Result<Expression, ParseError> {
        if self.characters.len() > TEXT_MAX {
            return Err(self.error(TEXT_MAX, format!("at most {TEXT_MAX} characters")));
        }
        let mut components = Vec::new();
        loop {
            let start = self.skip_spaces();
            let component = self.component()?;
            components.push(component);
            if components.len() > Expression::DEPTH_MAX {
                return Err(self.error(start, format!("at most {} components", Expression::DEPTH_MAX)));
            }
            if component.is_leaf() {
                break;
            }
        }
        for _ in 1..components.len() {
            self.symbol(')')?;
        }
        let end = self.skip_spaces();
        if end < self.characters.len() {
            return Err(self.error(end, "the end"));
        }
        Expression::new(components).map_err(|error| self.error(end, error.to_string()))
    }

    fn component(&mut self) -> Result<Component, ParseError> {
        let name = self.token(char::is_alphanumeric);
        if name.text == "simulate" {
            return self.simulate();
        }
        let arguments: fn(&mut Self) -> Result<(Component, bool), ParseError> = match name.text.as_str() {
            "repeat" => |parser| Ok((Component::Repeat(parser.count("repetitions", Expression::REPEAT_MAX)?), true)),
            "select" => |parser| Ok((Component::Select(parser.constant(Expression::C_MAX)?), true)),
            "beam" => |parser| Ok((Component::Beam(parser.count("states", Expression::WIDTH_MAX)?), true)),
            "adapt" => |parser| Ok((parser.adapt()?, false)),
            "anneal" => |parser| Ok((parser.anneal()?, false)),
            "lookahead" => |_| Ok((Component::Lookahead, false)),
            "step" => |_| Ok((Component::Step, false)),
            _ => return Err(self.error(name.start, COMPONENTS)),
        };
        self.symbol('(')?;
        let (component, has_comma) = arguments(self)?;
        if has_comma {
            self.symbol(',')?;
        }
        Ok(component)
    }

    fn simulate(&mut self) -> Result<Component, ParseError> {
        let mut policy = Policy::Random;
        let mut horizon = None;
        if self.eat('(') {
            let name = self.token(char::is_alphanumeric);
            policy = Policy::ALL
                .into_iter()
                .find(|policy| policy.name() == name.text)
                .ok_or_else(|| self.error(name.start, "a policy: random or greedy"))?;
            if self.eat(',') {
                horizon = Some(self.count("actions", Expression::HORIZON_MAX)?);
            }
            self.symbol(')')?;
        }
        Ok(Component::Simulate { policy, horizon })
    }

    fn adapt(&mut self) -> Result<Component, ParseError> {
        let levels = self.count("levels", Expression::LEVELS_MAX)?;
        self.symbol(',')?;
        let iterations = self.count("iterations", Expression::REPEAT_MAX)?;
        self.symbol(',')?;
        let alpha = self.constant(Expression::RATE_MAX)?;
        let (mut rollouts, mut prior) = (1, false);
        if self.eat(',') {
            prior = self.word("prior");
            if !prior {
                rollouts = self.count("rollouts", Expression::REPEAT_MAX)?;
                if self.eat(',') {
                    prior = self.word("prior");
                    if !prior {
                        return Err(self.error(self.position, "prior"));
                    }
                }
            }
        }
        self.symbol(')')?;
        Ok(Component::Adapt { levels, iterations, alpha, rollouts, prior })
    }

    fn anneal(&mut self) -> Result<Component, ParseError> {
        let iterations = self.count("iterations", Expression::REPEAT_MAX)?;
        self.symbol(',')?;
        let hot = self.constant(Expression::RATE_MAX)?;
        self.symbol(',')?;
        let cold = self.constant(Expression::RATE_MAX)?;
        self.symbol(')')?;
        Ok(Component::Anneal { iterations, hot, cold })
    }

    fn word(&mut self, word: &str) -> bool {
        let start = self.skip_spaces();
        let found = self.token(char::is_alphanumeric).text == word;
        if !found {
            self.position = start;
        }
        found
    }

    fn count(&mut self, unit: &str, max: u32) -> Result<u32, ParseError> {
        let number = self.token(|character| character.is_ascii_digit());
        let value = number.text.parse().ok().filter(|count| (1..=max).contains(count));
        value.ok_or_else(|| self.error(number.start, format!("a number of {unit}, 1 to {max}")))
    }

    fn constant(&mut self, most: f64) -> Result<f64, ParseError> {
        let start = self.skip_spaces();
        let mut text = String::new();
        while let Some(&character) = self.characters.get(self.position) {
            // A sign is part of a number only in the exponent.
            let is_sign = matches!(character, '+' | '-') && text.ends_with(['e', 'E']);
            if !(character.is_ascii_digit() || matches!(character, '.' | 'e' | 'E') || is_sign) {
                break;
            }
            text.push(character);
            self.position += 1;
        }
        let value = text.parse().ok().filter(|c| (0.0..=most).contains(c));
        value.ok_or_else(|| self.error(start, format!("a constant, 0 to {most}")))
    }

    fn symbol(&mut self, symbol: char) -> Result<(), ParseError> {
        if self.eat(symbol) { Ok(()) } else { Err(self.error(self.position, format!("\"{symbol}\""))) }
    }

    fn eat(&mut self, symbol: char) -> bool {
        let is_next = self.peek() == Some(symbol);
        self.position += usize::from(is_next);
        is_next
    }

    fn peek(&mut self) -> Option<char> {
        let position = self.skip_spaces();
        self.characters.get(position).copied()
    }

    fn skip_spaces(&mut self) -> usize {
        while self.characters.get(self.position).is_some_and(|character| character.is_whitespace()) {
            self.position += 1;
        }
        self.position
    }

    fn token(&mut self, is_part: impl Fn(char) -> bool) -> Token {
        let start = self.skip_spaces();
        let text: String = self.characters[start..].iter().copied().take_while(|&c| is_part(c)).collect();
        self.position += text.chars().count();
        Token { start, text }
    }

    fn error(&self, position: usize, expected: impl Into<String>) -> ParseError {
        const FOUND_MAX: usize = 20;
        let is_word = |character: &char| character.is_alphanumeric() || matches!(character, '.' | '_' | '-' | '+');
        let rest = &self.characters[position.min(self.characters.len())..];
        let length = rest.iter().take_while(|character| is_word(character)).count().clamp(1, FOUND_MAX);
        let found = match rest {
            [] => "the end".to_owned(),
            rest => format!("{:?}", rest.iter().take(length).collect::<String>()),
        };
        ParseError { text: self.text.to_owned(), position, expected: expected.into(), found }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn error(text: &str) -> ParseError {
        text.parse::<Expression>().expect_err(text)
    }

    #[test]
    fn known_algorithms_round_trip() {
        for text in [
            "simulate",
            "simulate(greedy)",
            "simulate(random, 40)",
            "step(repeat(100, simulate))",
            "step(lookahead(step(lookahead(simulate))))",
            "step(repeat(100, select(1.41, simulate(greedy))))",
            "beam(4, beam(2, simulate))",
            "adapt(3, 100, 1)",
            "repeat(2, adapt(2, 50, 0.5, 4))",
            "adapt(1, 10, 1, prior)",
            "adapt(1, 10, 1, 4, prior)",
            "step(anneal(100, 0.5, 1e-5))",
        ] {
            assert_eq!(text.parse::<Expression>().expect(text).to_string(), text);
        }
        let random: Expression = " simulate ( random ) ".parse().expect("whitespace is ignored");
        assert_eq!(random.to_string(), "simulate");
    }

    #[test]
    fn errors_have_the_position_and_what_was_expected() {
        for (text, message) in [
            (
                "",
                "character 1: expected simulate, repeat, lookahead, step, select, beam, adapt or anneal, found the end",
            ),
            (
                "stepp(simulate)",
                "character 1: expected simulate, repeat, lookahead, step, select, beam, adapt or anneal, found \"stepp\"",
            ),
            ("step simulate", "character 6: expected \"(\", found \"simulate\""),
            (
                "step(repeat(x, simulate))",
                "character 13: expected a number of repetitions, 1 to 1000000000, found \"x\"",
            ),
            ("repeat(0, simulate)", "character 8: expected a number of repetitions, 1 to 1000000000, found \"0\""),
            ("repeat(5 simulate)", "character 10: expected \",\", found \"simulate\""),
            ("select(-1, simulate)", "character 8: expected a constant, 0 to 1000000, found \"-1\""),
            ("select(1e9, simulate)", "character 8: expected a constant, 0 to 1000000, found \"1e9\""),
            ("simulate(best)", "character 10: expected a policy: random or greedy, found \"best\""),
            ("beam(0, simulate)", "character 6: expected a number of states, 1 to 10000, found \"0\""),
            ("adapt(11, 9, 1)", "character 7: expected a number of levels, 1 to 10, found \"11\""),
            ("adapt(1, 9, 1, x)", "character 16: expected a number of rollouts, 1 to 1000000000, found \"x\""),
            ("adapt(1, 9, 1, 2, x)", "character 19: expected prior, found \"x\""),
            ("anneal(9, 1)", "character 12: expected \",\", found \")\""),
            ("anneal(9, 1, 2000)", "character 14: expected a constant, 0 to 1000, found \"2000\""),
            ("step(simulate", "character 14: expected \")\", found the end"),
            ("step(simulate))", "character 15: expected the end, found \")\""),
        ] {
            assert_eq!(error(text).to_string(), message);
        }
    }

    #[test]
    fn caret_is_under_the_position() {
        assert_eq!(error("step(\trepeat(x, simulate))").caret(), "step( repeat(x, simulate))\n             ^");
        let long = format!("{}simulate]", "step(".repeat(30));
        let caret = error(&long).caret();
        let (line, mark) = caret.split_once('\n').expect("two lines");
        assert_eq!(line.chars().nth(mark.len() - 1), Some(']'));
    }

    #[test]
    fn huge_inputs_are_rejected_at_once() {
        let deep = format!("{}simulate{}", "step(".repeat(500), ")".repeat(500));
        assert!(error(&deep).to_string().contains("expected at most 32 components, found \"step\""));
        assert_eq!(error(&"step(".repeat(1_000_000)).position(), TEXT_MAX);
        assert_eq!(error(&format!("repeat({}, simulate)", "9".repeat(4000))).position(), 7);
        assert_eq!(error(&format!("select({}, simulate)", "9".repeat(4000))).position(), 7);
    }

    fn expression() -> impl Strategy<Value = Expression> {
        let policy = prop_oneof![Just(Policy::Random), Just(Policy::Greedy)];
        let simulate = (policy, proptest::option::of(1..=Expression::HORIZON_MAX))
            .prop_map(|(policy, horizon)| Component::Simulate { policy, horizon });
        let adapt = (
            1..=Expression::LEVELS_MAX,
            1..=Expression::REPEAT_MAX,
            0.0..=Expression::RATE_MAX,
            1..=Expression::REPEAT_MAX,
            any::<bool>(),
        )
            .prop_map(|(levels, iterations, alpha, rollouts, prior)| Component::Adapt {
                levels,
                iterations,
                alpha,
                rollouts,
                prior,
            });
        let anneal = (1..=Expression::REPEAT_MAX, 0.0..=Expression::RATE_MAX, 0.0..1e-3)
            .prop_map(|(iterations, hot, cold)| Component::Anneal { iterations, hot, cold });
        let leaf = prop_oneof![simulate, adapt, anneal];
        let wrapping = prop_oneof![
            (1..=Expression::REPEAT_MAX).prop_map(Component::Repeat),
            Just(Component::Lookahead),
            Just(Component::Step),
            (1..=Expression::WIDTH_MAX).prop_map(Component::Beam),
            (0.0..=Expression::C_MAX).prop_map(Component::Select),
            (0.0..1e-3).prop_map(Component::Select),
            (0_u64..1 << 62)
                .prop_map(f64::from_bits)
                .prop_filter("too large", |c| *c <= Expression::C_MAX)
                .prop_map(Component::Select),
        ];
        (proptest::collection::vec(wrapping, 0..Expression::DEPTH_MAX), leaf).prop_map(|(mut components, leaf)| {
            components.push(leaf);
            Expression::new(components).expect("within the limits")
        })
    }

    proptest! {
        #[test]
        fn every_expression_round_trips(expression in expression()) {
            prop_assert_eq!(expression.to_string().parse(), Ok(expression));
        }

        #[test]
        fn any_text_gives_an_expression_or_an_error_inside_it(
            text in prop_oneof![".*", "[a-z(), .0-9e+-]{0,80}", "(step\\(|repeat\\(|select\\(|beam\\(|adapt\\(|anneal\\(|prior|simulate|random|greedy|lookahead|[0-9.,()é ]){0,12}"]
        ) {
            match text.parse::<Expression>() {
                Ok(expression) => prop_assert_eq!(expression.to_string().parse(), Ok(expression)),
                Err(error) => {
                    prop_assert!(error.position() <= text.chars().count());
                    prop_assert_eq!(error.caret().lines().count(), 2);
                    prop_assert!(!error.expected().is_empty() && !error.found().is_empty());
                }
            }
        }

        #[test]
        fn damaged_expression_gives_an_error_inside_it(expression in expression(), at in 0_usize..400, with in any::<char>()) {
            let mut characters: Vec<char> = expression.to_string().chars().collect();
            let at = at % characters.len();
            characters[at] = with;
            let text: String = characters.iter().collect();
            if let Err(error) = text.parse::<Expression>() {
                prop_assert!(error.position() <= characters.len());
            }
        }
    }
}
