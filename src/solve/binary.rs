//! Values in the binary format postcard.

use std::fmt;
use std::io::{self, Read, Write};
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Maximum length of a string in a saved solver, in bytes. Its strings are the moves of lines.
const STRING_BYTES_MAX: usize = 4096;
const SHORT_LIST_ITEMS_MAX: usize = 1 << 17;

pub(super) fn invalid(found: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("expected the search of this map, found {found}"))
}

pub(super) fn write_value(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    postcard::to_io(value, out).map(drop).map_err(io::Error::other)
}

pub(super) fn read_value<T: DeserializeOwned>(input: &mut dyn Read) -> io::Result<T> {
    let mut strings = [0; STRING_BYTES_MAX];
    let value = postcard::from_io((input, &mut strings));
    value.map(|(value, _)| value).map_err(|error| invalid(&format!("invalid data: {error}")))
}

/// Reads a list of values that take far more memory than bytes of a file. Fails if it is longer
/// than any search needs, before it fills the memory.
pub(super) fn short_list<'de, T: Deserialize<'de>, D: Deserializer<'de>>(input: D) -> Result<Vec<T>, D::Error> {
    struct ShortList<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for ShortList<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {SHORT_LIST_ITEMS_MAX} items")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let items = std::iter::from_fn(|| items.next_element().transpose());
            let list: Vec<T> = items.take(SHORT_LIST_ITEMS_MAX + 1).collect::<Result<_, _>>()?;
            if list.len() <= SHORT_LIST_ITEMS_MAX { Ok(list) } else { Err(A::Error::invalid_length(list.len(), &self)) }
        }
    }

    input.deserialize_seq(ShortList(PhantomData))
}
