//! Escapes printed text, so that names and files cannot control the terminal. [`Terminal`] does not
//! escape line ends, so text from outside must first pass through [`one_line`], which does.

use std::io::{self, StdoutLock, Write};

use anstream::AutoStream;
use anstyle::Style;

pub use getaway::text::one_line;

pub type Stdout = Terminal<AutoStream<StdoutLock<'static>>>;

/// Writes `text` to standard error as one line. Ignores errors, for example a closed stream.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", one_line(text));
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
