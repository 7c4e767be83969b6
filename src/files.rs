//! Opens input files safely. Only regular files and symbolic links to them are opened, because a
//! pipe can block for ever and a device may have no end. A file above the size limit is refused
//! before anything is read. Data appended after the file has been opened is ignored.
//!
//! [`TextReader`] reads text as editors and shells of any system write it. [`Object`] reads a JSON
//! object.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Take};
use std::marker::PhantomData;
use std::path::Path;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};

use crate::text::clipped;

/// What to do with an output file that already exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Keep it and fail.
    #[default]
    Keep,
    /// Overwrite it.
    Overwrite,
}

/// The first bytes of a PNG picture.
pub const PNG_MAGIC: &[u8] = b"\x89PNG";
/// The first bytes of gzipped data.
pub const GZIP_MAGIC: &[u8] = b"\x1f\x8b";

/// Opens a regular file of at most `limit_bytes` for reading.
///
/// # Errors
/// If the file cannot be opened, exceeds the limit, or is not a regular file.
pub fn open(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<Take<File>> {
    check(path.as_ref(), limit_bytes)?;
    let file = File::open(path)?;
    let size_bytes = file.metadata()?.len().min(limit_bytes);
    Ok(file.take(size_bytes))
}

/// Checks that a path leads to a regular file of at most `limit_bytes`, without opening the file.
///
/// # Errors
/// If the file is missing or inaccessible, exceeds the limit, or is not a regular file.
pub fn check(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    let found = match metadata.len() {
        _ if metadata.is_dir() => "a folder".to_owned(),
        _ if !metadata.is_file() => "a device, pipe or socket".to_owned(),
        size_bytes if size_bytes > limit_bytes => format!("{size_bytes} bytes"),
        _ => return Ok(()),
    };
    Err(io::Error::other(format!("expected a regular file of at most {limit_bytes} bytes, found {found}")))
}

/// Reads a regular file of at most `limit_bytes`. Fails if [`open`] or reading the file fails.
pub fn read(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path, limit_bytes)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a text file of at most `limit_bytes` with a [`TextReader`]. Drops Ctrl-Z, the end mark of
/// DOS, at the end of the text.
///
/// # Errors
/// If the file cannot be opened or read, if [`binary_kind`] recognises its content, or if its text
/// is neither UTF-8 nor UTF-16.
pub fn read_text(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<String> {
    text(&read(path, limit_bytes)?)
}

/// Like [`read_text`], for the content of a file.
pub fn text(content: &[u8]) -> io::Result<String> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if let Some(kind) = binary_kind(content) {
        return Err(invalid(format!("expected text, found {kind}")));
    }
    let mut bytes = Vec::new();
    TextReader::new(BufReader::new(content)).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
        let line = 1 + bytes[..at].iter().filter(|&&byte| byte == b'\n').count();
        invalid(format!(
            "expected text in UTF-8 or UTF-16, found the byte 0x{:02x} in line {line}, as in Windows-1252 or Latin-1",
            bytes[at]
        ))
    })?;
    text.truncate(text.trim_end_matches('\u{1a}').len());
    Ok(text)
}

/// Recognises, by its first bytes, a kind of file that is not text in UTF-8 or UTF-16; `None` for
/// other content.
pub fn binary_kind(content: &[u8]) -> Option<&'static str> {
    let kinds: [(usize, &[u8], &str); 13] = [
        (0, PNG_MAGIC, "a PNG picture"),
        (0, b"GIF8", "a GIF picture"),
        (0, b"\xff\xd8\xff", "a JPEG picture"),
        (0, GZIP_MAGIC, "gzip data"),
        (0, b"BZh91AY", "bzip2 data"),
        (0, b"\xfd7zXZ", "xz data"),
        (0, b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (0, b"7z\xbc\xaf", "a 7z archive"),
        (0, b"PK\x03\x04", "a zip archive"),
        (257, b"ustar\0", "a tar archive"),
        (257, b"ustar  \0", "a tar archive"),
        (0, b"\xff\xfe\0\0", "UTF-32 text"),
        (0, b"\0\0\xfe\xff", "UTF-32 text"),
    ];
    let is_found = |at: usize, mark| content.get(at..).is_some_and(|rest| rest.starts_with(mark));
    kinds.into_iter().find(|&(at, mark, _)| is_found(at, mark)).map(|(.., kind)| kind)
}

/// Reads text as UTF-8 with `\n` at the end of each line. Accepts UTF-16 and the line endings
/// `\r\n` and `\r`, and removes a byte order mark. Text without a mark is UTF-16 if one of its
/// first two bytes is zero. Bytes that are not valid UTF-8 are passed on.
#[derive(Debug)]
pub struct TextReader<R> {
    input: R,
    /// Joins the two bytes of a UTF-16 code unit; `None` for UTF-8.
    unit: Option<fn([u8; 2]) -> u16>,
    has_begun: bool,
    /// The start of a UTF-16 character whose other bytes have not been read.
    rest: Vec<u8>,
    text: Vec<u8>,
    /// Number of bytes of `text` that have been passed on.
    passed: usize,
    is_after_return: bool,
}

impl<R: BufRead> TextReader<R> {
    /// Creates a reader that has read nothing yet.
    pub fn new(input: R) -> Self {
        let (rest, text) = (Vec::new(), Vec::new());
        Self { input, unit: None, has_begun: false, rest, text, passed: 0, is_after_return: false }
    }

    fn refill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.passed = 0;
        while self.text.is_empty() {
            let mut bytes = self.input.fill_buf()?;
            let length = bytes.len();
            if length == 0 {
                if !std::mem::take(&mut self.rest).is_empty() {
                    self.text.extend("\u{fffd}".bytes());
                }
                return Ok(());
            }
            if !self.has_begun {
                self.has_begun = true;
                let mark_bytes;
                (self.unit, mark_bytes) = match bytes {
                    [0xef, 0xbb, 0xbf, ..] => (None, 3),
                    [0xff, 0xfe, ..] => (Some(u16::from_le_bytes as _), 2),
                    [0xfe, 0xff, ..] => (Some(u16::from_be_bytes as _), 2),
                    [1..=0xff, 0, ..] => (Some(u16::from_le_bytes as _), 0),
                    [0, 1..=0xff, ..] => (Some(u16::from_be_bytes as _), 0),
                    _ => (None, 0),
                };
                bytes = &bytes[mark_bytes..];
            }
            match self.unit {
                None => self.text.extend_from_slice(bytes),
                Some(unit) => {
                    self.rest.extend_from_slice(bytes);
                    let mut units: Vec<u16> = self.rest.as_chunks().0.iter().copied().map(unit).collect();
                    // The second half of a surrogate pair may not have been read.
                    units.pop_if(|last| (0xd800..0xdc00).contains(last));
                    self.rest.drain(..2 * units.len());
                    self.text.extend(String::from_utf16_lossy(&units).bytes());
                }
            }
            self.input.consume(length);
            self.end_lines();
        }
        Ok(())
    }

    /// Replaces `\r\n` and `\r` by `\n`.
    fn end_lines(&mut self) {
        if self.is_after_return || self.text.contains(&b'\r') {
            self.text.retain_mut(|byte| {
                let is_second = self.is_after_return && *byte == b'\n';
                self.is_after_return = *byte == b'\r';
                if self.is_after_return {
                    *byte = b'\n';
                }
                !is_second
            });
        }
    }
}

impl<R: BufRead> BufRead for TextReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.passed == self.text.len() {
            self.refill()?;
        }
        Ok(&self.text[self.passed..])
    }

    fn consume(&mut self, amount: usize) {
        self.passed += amount;
    }
}

impl<R: BufRead> Read for TextReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.fill_buf()?.read(buffer)?;
        self.consume(length);
        Ok(length)
    }
}

/// A struct that is read from a JSON object only. Derived parsers also accept an array of the
/// fields' values.
///
/// ```
/// use getaway::files::Object;
/// use getaway::game::Rules;
///
/// let error = serde_json::from_str::<Object<Rules>>("[true]").unwrap_err();
/// assert_eq!(error.to_string(), "expected an object, found an array at line 1 column 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<T>(
    /// The struct.
    pub T,
);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData)).map(Self)
    }
}

/// Reads a field as an [`Object`], with `#[serde(deserialize_with = "getaway::files::object")]`.
///
/// # Errors
/// If the field is not an object, or not of type `T`.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Object::deserialize(deserializer).map(|Object(value)| value)
}

/// Longer texts in place of objects are clipped in errors.
const QUOTED_MAX_CHARS: usize = 200;

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    /// Quotes the text, clipped: escaping 16 MB of text for the error would take half a second.
    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        Err(E::invalid_type(Unexpected::Str(&clipped(text, QUOTED_MAX_CHARS)), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<T, A::Error> {
        Err(A::Error::custom("expected an object, found an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("file");
        fs::write(&path, "text").expect("a file");
        assert_eq!(read_text(&path, 4).expect("text"), "text");
        let error = |path: &Path, limit_bytes| read(path, limit_bytes).expect_err("an error").to_string();
        assert_eq!(error(&path, 3), "expected a regular file of at most 3 bytes, found 4 bytes");
        assert_eq!(error(dir.path(), 3), "expected a regular file of at most 3 bytes, found a folder");
        File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        assert!(error(&path, 1 << 20).ends_with(" 1048576 bytes, found 1099511627776 bytes"));
        assert_eq!(read(dir.path().join("none"), 3).expect_err("an error").kind(), io::ErrorKind::NotFound);
    }

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn text_is_read_as_any_editor_saves_it() {
        let (little, big) = (u16::to_le_bytes, u16::to_be_bytes);
        for content in [
            "a é🚗\nb\n".into(),
            "\u{feff}a é🚗\nb\n".into(),
            "a é🚗\r\nb\r\n".into(),
            "a é🚗\rb\r".into(),
            "a é🚗\r\nb\r\n\x1a".into(),
            utf16("\u{feff}a é🚗\r\nb\r\n", little),
            utf16("\u{feff}a é🚗\r\nb\r\n", big),
            utf16("a é🚗\nb\n", little),
            utf16("a é🚗\nb\n", big),
        ] {
            let content: Vec<u8> = content;
            assert_eq!(text(&content).expect("text"), "a é🚗\nb\n", "{content:02x?}");
            // Characters and line endings that span two blocks are read correctly, too.
            for block in 4..8 {
                let mut read = String::new();
                let mut reader = TextReader::new(io::BufReader::with_capacity(block, &content[..]));
                reader.read_to_string(&mut read).expect("text");
                assert_eq!(read.trim_end_matches('\x1a'), "a é🚗\nb\n", "{block}: {content:02x?}");
            }
        }
        assert_eq!(text(&utf16("\u{feff}ab", little)[..5]).expect("text"), "a\u{fffd}");
    }

    #[test]
    fn other_content_is_named() {
        let error = |content: &[u8]| text(content).expect_err("an error").to_string();
        let latin = "expected text in UTF-8 or UTF-16, found the byte 0xe9 in line 2, as in Windows-1252 or Latin-1";
        assert_eq!(error(b"a\r\ncaf\xe9\r\n"), latin);
        assert_eq!(error(b"\x89PNG\r\n\x1a\n"), "expected text, found a PNG picture");
        assert_eq!(error(b"\x1f\x8b\x08"), "expected text, found gzip data");
        assert_eq!(error(b"PK\x03\x04\xff"), "expected text, found a zip archive");
    }

    #[test]
    fn text_in_place_of_an_object_is_quoted_in_part() {
        let error = |text: &str| {
            let json = serde_json::to_string(text).expect("JSON");
            serde_json::from_str::<Object<crate::game::Rules>>(&json).expect_err("an error").to_string()
        };
        assert!(error("here").starts_with("invalid type: string \"here\", expected an object"));
        let long = error(&"é".repeat(100_000));
        assert!(long.contains("éé…éé") && long.chars().count() < 300, "{} characters", long.chars().count());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_are_refused() {
        for path in ["/dev/zero", "/dev/null", "/dev/tty"] {
            assert!(read(path, 1 << 20).is_err(), "{path}");
        }
    }
}
