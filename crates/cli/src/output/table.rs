use std::io::Write;

use super::one_line;
use crate::CliError;

pub fn write_table<Heading: Into<String>>(
    headings: impl IntoIterator<Item = Heading>,
    left_aligned: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let headings = headings.into_iter().map(Into::into).collect();
    let rows = [headings].into_iter().chain(rows).map(|row| row.iter().map(|cell| one_line(cell)).collect());
    let rows: Vec<Vec<String>> = rows.collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column| rows.iter().filter_map(|row| row.get(column).map(|cell: &String| cell.chars().count())).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for row in &rows {
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
        let mut text = Vec::new();
        write_table(["é", "22"], &[0], [vec!["name".to_owned(), "1".to_owned()]], &mut text).expect("a table");
        assert_eq!(String::from_utf8_lossy(&text), "é     22\nname   1\n");
    }
}
