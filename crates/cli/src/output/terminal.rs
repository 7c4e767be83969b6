//! Escapes printed text, so that names and files cannot control the terminal. [`Terminal`] does not
//! escape line ends, so text from outside must first pass through [`one_line`], which does.

use std::env;
use std::io::{self, IsTerminal, StdoutLock, Write};

use anstream::AutoStream;
use anstyle::Style;
use textwrap::{Options, WordSplitter};

pub use getaway::text::{clipped, one_line};

use crate::Result;

pub type Stdout = Terminal<AutoStream<StdoutLock<'static>>>;

/// Lines are not longer than this on wider terminals.
const WIDTH_MAX: usize = 160;

/// The width of the terminal or, if standard output is not a terminal, the variable `COLUMNS`, but
/// at least 20 and at most 160 columns. Without either, lines have no limit.
pub fn width() -> Option<usize> {
    let terminal = terminal_size::terminal_size().filter(|_| io::stdout().is_terminal());
    let width = terminal.map_or_else(|| env::var("COLUMNS").ok()?.parse().ok(), |(width, _)| Some(width.0.into()));
    width.map(|width: usize| width.clamp(20, WIDTH_MAX))
}

/// Writes sentences.
pub trait Say: Write {
    /// Writes a text, escaped by [`one_line`] and wrapped to [`width`].
    fn say(&mut self, text: impl AsRef<str>) -> Result {
        let text = one_line(text.as_ref());
        let wrapped = width().map(|width| {
            let indent = &text[..text.len() - text.trim_start().len()];
            // Names and commands stay whole.
            let options = Options::new(width).word_splitter(WordSplitter::NoHyphenation).break_words(false);
            let options = options.subsequent_indent(indent);
            textwrap::fill(&text, options)
        });
        Ok(writeln!(self, "{}", wrapped.unwrap_or(text))?)
    }
}

impl<W: Write + ?Sized> Say for W {}

/// Writes `text` to standard error: on a terminal like [`Say::say`], otherwise as one line. Ignores
/// errors, for example a closed stream.
pub(crate) fn note(text: &str) {
    let mut stderr = io::stderr();
    let wrapped = stderr.is_terminal().then(|| stderr.say(text));
    let _ = wrapped.unwrap_or_else(|| Ok(writeln!(stderr, "{}", one_line(text))?));
}

pub struct Terminal<W> {
    inner: W,
    partial: Vec<u8>,
}

impl<W: Write> Terminal<W> {
    pub fn new(inner: W) -> Self {
        Self { inner, partial: Vec::new() }
    }

    pub fn paint(&mut self, style: Style, text: &str) -> io::Result<()> {
        write!(self.inner, "{style}{}{style:#}", one_line(text))
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.inner.write_all(b"\n")?;
            }
            self.inner.write_all(one_line(line).as_bytes())?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Terminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        if self.partial.is_empty() && bytes.iter().all(is_plain) {
            self.inner.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut text = std::mem::take(&mut self.partial);
        text.extend_from_slice(bytes);
        let mut left = text.len();
        for chunk in text.utf8_chunks() {
            self.write_text(chunk.valid())?;
            left -= chunk.valid().len() + chunk.invalid().len();
            match str::from_utf8(chunk.invalid()) {
                Ok(_) => {}
                Err(error) if left == 0 && error.error_len().is_none() => self.partial = chunk.invalid().to_vec(),
                Err(_) => self.write_text("\u{fffd}")?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[&[u8]]) -> String {
        let mut terminal = Terminal::new(Vec::new());
        parts.iter().for_each(|part| terminal.write_all(part).expect("written"));
        String::from_utf8(terminal.inner).expect("text")
    }

    #[test]
    fn only_line_ends_and_our_colours_are_not_escaped() {
        let hostile = "one\n\x1b]0;title\x07\x1b[2J\u{9b}31m\u{202e}gpj.\r\ttwo \u{2028}\n";
        assert_eq!(
            written(&[hostile.as_bytes()]),
            "one\n\\u001b]0;title\\u0007\\u001b[2J\\u009b31m\\u202egpj.\\r\\ttwo \\u2028\n"
        );
        let mut terminal = Terminal::new(Vec::new());
        terminal.paint(Style::new().bold(), "\x1b[2Jé").expect("written");
        assert_eq!(String::from_utf8_lossy(&terminal.inner), "\x1b[1m\\u001b[2Jé\x1b[0m");
    }

    #[test]
    fn characters_may_be_written_in_parts() {
        let text = "é\u{202e}🚗\n";
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            assert_eq!(written(&[head, tail]), "é\\u202e🚗\n");
        }
        assert_eq!(written(&[b"a\xffb\xc3(", b"\xe2\x80", b"\xae"]), "a\u{fffd}b\u{fffd}(\\u202e");
    }
}
