//! Published mean scores of Morpion Solitaire, and sample statistics to compare with them.

/// The published mean and its standard error: at least half a unit of the mean's last digit.
pub fn published_mean(variant: &str, expression: &str) -> Option<(f64, f64)> {
    let level = ["simulate", "step(lookahead(simulate))", "step(lookahead(step(lookahead(simulate))))"]
        .iter()
        .position(|&published| published == expression)?;
    let figures = match variant {
        "5D" => [(42.93, 0.05), (61.0, 0.1), (66.6, 0.3)],
        "5T" => [(53.6, 0.1), (84.6, 0.3), (99.9, 0.05)],
        "4D" => [(24.06, 0.02), (30.99, 0.03), (33.95, 0.1)],
        "4T" => [(37.19, 0.02), (53.2, 0.2), (59.9, 0.05)],
        _ => return None,
    };
    Some(figures[level])
}

#[derive(Default)]
pub struct Sample {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Sample {
    /// Adds a score by Welford's method (1962).
    pub fn add(&mut self, score: f64) {
        self.count += 1.0;
        let difference = score - self.mean;
        self.mean += difference / self.count;
        self.squares += difference * (score - self.mean);
    }

    pub fn mean(&self) -> f64 {
        self.mean
    }

    pub fn standard_error(&self) -> f64 {
        (self.squares / (self.count - 1.0) / self.count).sqrt()
    }
}
