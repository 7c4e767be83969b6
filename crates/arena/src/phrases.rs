//! Counts and numbers as text.

use getaway_runs::stats::WinDrawLoss;

/// Smaller p-values are shown as `p < 0.0001`.
const P_VALUE_MIN: f64 = 1e-4;

pub(super) fn wins_ties_losses(counts: WinDrawLoss) -> String {
    let (wins, ties) = (counted(counts.wins, "win", "wins"), counted(counts.ties, "tie", "ties"));
    format!("{wins}, {ties} and {}", counted(counts.losses, "loss", "losses"))
}

/// `1 loss`, `2 losses`.
pub(super) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

pub(super) fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

/// Formats a p-value: as `p < 0.0001` if it is smaller than that, with four decimals below 0.1
/// (`p = 0.0123`), and otherwise with two (`p = 0.35`).
pub fn p_value(p_value: f64) -> String {
    match p_value {
        p if p < P_VALUE_MIN => format!("p < {P_VALUE_MIN}"),
        p if p < 0.1 => format!("p = {p:.4}"),
        p => format!("p = {p:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_have_significant_digits_only() {
        assert_eq!(
            [1.0, 0.35, 0.0312, 0.00021, 1e-9].map(p_value),
            ["p = 1.00", "p = 0.35", "p = 0.0312", "p = 0.0002", "p < 0.0001"]
        );
    }
}
