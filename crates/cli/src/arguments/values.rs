use std::ops::RangeInclusive;

use getaway::search::fold_seed;

/// Maximum of most time limits and of pauses. A larger value is probably a typo.
pub(crate) const HOUR_MS: u64 = 3_600_000;
pub const ANY: RangeInclusive<u64> = 0..=u64::MAX;

pub fn integer<T: TryFrom<u64>>(
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

/// Parses a seed of up to 128 bits.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map(fold_seed).map_err(|_| "expected a whole number from 0 to 2^128 - 1".to_owned())
}

pub fn float(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| "expected a number".to_owned())
}

pub fn parse_size(text: &str) -> Result<(i32, i32), String> {
    let size = text.split_once('x').and_then(|(width, height)| width.parse().ok().zip(height.parse().ok()));
    size.ok_or_else(|| "expected WxH, for example 21x17".to_owned())
}

pub fn parse_permille(text: &str) -> Result<u32, String> {
    let share: Option<f64> = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.map(|share| (share * 1000.0).round() as u32).ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// Accepts `http` and `https` addresses, and paths without a colon, which excludes other schemes
/// such as `javascript:`. Fragments are invalid.
pub(crate) fn page_address(text: &str) -> Result<String, String> {
    let is_page = text.starts_with("https://") || text.starts_with("http://") || !text.contains(':');
    if is_page && !text.is_empty() && !text.contains(['#', '\n']) {
        Ok(text.to_owned())
    } else {
        Err("expected an address such as https://example.org/playground/index.html".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_rejected_with_the_range() {
        let hundred = integer::<u8>(1..=100);
        assert_eq!((hundred("1"), hundred("100")), (Ok(1), Ok(100)));
        for text in ["0", "101", "-1", "1.5", "one", ""] {
            assert_eq!(hundred(text), Err("expected a whole number from 1 to 100".to_owned()), "{text:?}");
        }
        assert_eq!((seed("7"), seed("18446744073709551615")), (Ok(7), Ok(u64::MAX)));
        let large = ["18446744073709551616", "340282366920938463463374607431768211455"].map(|text| seed(text).unwrap());
        assert!(large[0] != large[1] && !large.contains(&0), "{large:?}");
        assert!(seed("340282366920938463463374607431768211456").is_err() && seed("-1").is_err());
        assert_eq!(integer::<u64>(ANY)("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(float("nan"), Err("expected a number".to_owned()));
    }
}
