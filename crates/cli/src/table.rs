//! Prints tables.

use std::io::Write;

use super::CliError;

/// Writes rows with columns as wide as necessary; the columns in `left_aligned` are left-aligned,
/// all others right-aligned. Rows may have different lengths.
pub(super) fn write_table(rows: &[Vec<String>], left_aligned: &[usize], out: &mut impl Write) -> Result<(), CliError> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column| rows.iter().filter_map(|row| row.get(column).map(|cell: &String| cell.chars().count())).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in rows {
        let cell = |(column, cell): (usize, &String)| match (left_aligned.contains(&column), widths[column]) {
            (true, _) if column + 1 == row.len() => cell.clone(),
            (true, width) => format!("{cell:<width$}"),
            (false, width) => format!("{cell:>width$}"),
        };
        writeln!(out, "{}", row.iter().enumerate().map(cell).collect::<Vec<String>>().join("  "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let mut text = Vec::new();
        write_table(&[row(["é", "22"]), row(["name", "1"])], &[0], &mut text).expect("a table");
        assert_eq!(String::from_utf8_lossy(&text), "é     22\nname   1\n");
    }
}
