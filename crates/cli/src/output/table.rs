use std::io::Write;
use std::iter;

use super::{one_line, width};
use crate::Result;

/// Writes a table. Each cell has the heading of its column; `<` before a heading aligns the column to
/// the left. If the lines are too wide, further columns follow in tables of their own, which repeat
/// the first columns, up to the first one that is aligned to the left.
pub fn write_table<Heading: AsRef<str>>(
    rows: impl IntoIterator<Item = Vec<(Heading, String)>>,
    out: &mut impl Write,
) -> Result {
    write_table_within(width().unwrap_or(usize::MAX), rows, out)
}

fn write_table_within<Heading: AsRef<str>>(
    limit: usize,
    rows: impl IntoIterator<Item = Vec<(Heading, String)>>,
    out: &mut impl Write,
) -> Result {
    let rows: Vec<Vec<(Heading, String)>> = rows.into_iter().collect();
    let headings: Vec<&str> =
        rows.iter().max_by_key(|row| row.len()).into_iter().flatten().map(|(heading, _)| heading.as_ref()).collect();
    let is_left: Vec<bool> = headings.iter().map(|heading| heading.starts_with('<')).collect();
    let lines = rows.iter().map(|row| row.iter().map(|(_, cell)| one_line(cell)).collect());
    let head = headings.iter().map(|heading| heading.trim_start_matches('<').to_owned()).collect();
    let lines: Vec<Vec<String>> = iter::once(head).chain(lines).collect();
    let cells = |column| lines.iter().filter_map(move |line| line.get(column));
    let widths: Vec<usize> =
        (0..headings.len()).map(|column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
    let names = is_left.iter().position(|&is_left| is_left).map_or(0, |column| column + 1);
    let mut start = names;
    while start < headings.len() {
        let mut used: usize = widths[..names].iter().map(|width| width + 2).sum();
        let fits = |width: &&usize| {
            used += *width + 2;
            used <= limit.saturating_add(2)
        };
        let end = start + widths[start..].iter().take_while(fits).count().max(1);
        if start > names {
            writeln!(out)?;
        }
        for line in &lines {
            let cell = |column: usize| {
                let (cell, width) = (line.get(column)?, widths[column]);
                Some(if is_left[column] { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
            };
            let cells: Vec<String> = (0..names).chain(start..end).filter_map(cell).collect();
            writeln!(out, "{}", cells.join("  ").trim_end())?;
        }
        start = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(limit: usize) -> String {
        let row = |name: &str, one: u32| {
            vec![("", "1".to_owned()), ("<é", name.to_owned()), ("22", one.to_string()), ("THREE", "3".to_owned())]
        };
        let mut text = Vec::new();
        write_table_within(limit, [row("name", 1), row("b", 333)], &mut text).expect("a table");
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn tables_are_aligned_and_split_to_fit() {
        let whole = "   é      22  THREE\n1  name    1      3\n1  b     333      3\n";
        assert_eq!(table(19), whole);
        let parts = "   é      22\n1  name    1\n1  b     333\n\n   é     THREE\n1  name      3\n1  b         3\n";
        assert_eq!(table(18), parts);
        assert_eq!(table(1), parts);
    }
}
