//! Text in columns.

use spikelet::terminal::escaped;

/// Rows of cells, each column as wide as its widest cell, two spaces between.
#[derive(Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<usize>,
    has_head: bool,
}

impl Table {
    /// A table whose first row is `head`.
    pub fn new(head: &[&str]) -> Self {
        Self {
            rows: vec![head.iter().map(|cell| (*cell).to_string()).collect()],
            right: vec![],
            has_head: true,
        }
    }

    /// A table without a head.
    pub fn without_head() -> Self {
        Self::default()
    }

    /// Whether the first line is the head.
    pub fn has_head(&self) -> bool {
        self.has_head
    }

    /// Aligns these columns to the right: numbers.
    pub fn right(mut self, columns: &[usize]) -> Self {
        self.right = columns.to_vec();
        self
    }

    /// Adds a row. Names in it may be from files.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| escaped(&cell).into_owned());
        self.rows.push(cells.collect());
    }

    /// One line for each row, without trailing spaces.
    pub fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |k: usize| {
            self.rows
                .iter()
                .filter_map(|row| row.get(k))
                .map(|c| c.chars().count())
                .max()
        };
        let widths: Vec<usize> = (0..columns).map(|k| width(k).unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(k, (cell, &width))| {
                    if self.right.contains(&k) {
                        format!("{cell:>width$}")
                    } else {
                        format!("{cell:<width$}")
                    }
                });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_the_alphabet() {
        let mut table = Table::new(&["name", "ms"]).right(&[1]);
        table.row(["τ".to_string(), "1.25".to_string()]);
        table.row(["forward".to_string(), "10".to_string()]);
        assert_eq!(
            table.lines(),
            ["name       ms", "τ        1.25", "forward    10"]
        );
    }
}
