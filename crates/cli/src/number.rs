//! Numbers on the command line.

use std::ops::RangeInclusive;

/// Any whole number that fits.
pub(super) const ANY: RangeInclusive<u64> = 0..=u64::MAX;

/// Reads a whole number of this range.
pub(super) fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse::<u64>().ok().filter(|number| range.contains(number));
        number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            let most = if most == ANY.end() { "2^64 - 1".to_owned() } else { most.to_string() };
            format!("expected a whole number from {least} to {most}")
        })
    }
}

/// Reads any number.
pub(super) fn any(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| "expected a number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_their_range_are_refused_in_words() {
        let hundred = whole::<u8>(1..=100);
        assert_eq!((hundred("1"), hundred("100")), (Ok(1), Ok(100)));
        for text in ["0", "101", "-1", "1.5", "one", ""] {
            assert_eq!(hundred(text), Err("expected a whole number from 1 to 100".to_owned()), "{text:?}");
        }
        assert_eq!(whole::<u64>(ANY)("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(any("nan"), Err("expected a number".to_owned()));
    }
}
