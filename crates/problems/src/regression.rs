//! Symbolic regression: build a postfix formula symbol by symbol to fit given points.
//!
//! A formula has at most ten symbols and leaves one value on the stack. The reward is 1 / (1 + e),
//! or 0 if e is not finite, where e is the mean absolute error over twenty points (Maes, Lupien
//! St-Pierre and Ernst, *Monte Carlo Search Algorithm Discovery for One Player Games*, section
//! IV-B).

use getaway::search::{Problem, Random};

use crate::distribution::Distribution;

pub const LENGTH_MAX: usize = 10;
pub const POINTS: usize = 20;
const SYMBOLS: [Symbol; 10] = [
    Symbol::X,
    Symbol::One,
    Symbol::Sin,
    Symbol::Cos,
    Symbol::Exp,
    Symbol::Log,
    Symbol::Add,
    Symbol::Subtract,
    Symbol::Multiply,
    Symbol::Divide,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    X,
    One,
    Sin,
    Cos,
    Exp,
    Log,
    Add,
    /// Subtracts the top of the stack from the value below it.
    Subtract,
    Multiply,
    /// Divides the value below the top of the stack by the top.
    Divide,
    End,
}

impl Symbol {
    const fn operands(self) -> usize {
        match self {
            Self::X | Self::One => 0,
            Self::Sin | Self::Cos | Self::Exp | Self::Log | Self::End => 1,
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide => 2,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    symbols: [Symbol; LENGTH_MAX],
    length: u8,
    stack: u8,
    has_ended: bool,
}

impl Formula {
    pub const EMPTY: Self = Self { symbols: [Symbol::End; LENGTH_MAX], length: 0, stack: 0, has_ended: false };

    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols[..usize::from(self.length)]
    }

    fn allows(&self, symbol: Symbol) -> bool {
        let (length, stack) = (usize::from(self.length), usize::from(self.stack));
        if symbol == Symbol::End {
            return stack == 1;
        }
        // Enough symbols must remain for the binary functions that reduce the stack to one value.
        let after = (stack + 1).saturating_sub(symbol.operands());
        stack >= symbol.operands() && length < LENGTH_MAX && length + after <= LENGTH_MAX
    }

    fn push(&mut self, symbol: Symbol) {
        if symbol == Symbol::End {
            self.has_ended = true;
            return;
        }
        self.symbols[usize::from(self.length)] = symbol;
        self.length += 1;
        self.stack = self.stack + 1 - symbol.operands() as u8;
    }

    fn is_complete(&self) -> bool {
        self.has_ended || usize::from(self.length) == LENGTH_MAX
    }

    pub fn value(&self, x: f64) -> f64 {
        let mut stack = [0.0; LENGTH_MAX];
        let mut top = 0;
        for &symbol in self.symbols() {
            top -= symbol.operands();
            // Uses libm, because the last bits of the standard library's results vary by platform.
            stack[top] = match symbol {
                Symbol::X => x,
                Symbol::One => 1.0,
                Symbol::Sin => libm::sin(stack[top]),
                Symbol::Cos => libm::cos(stack[top]),
                Symbol::Exp => libm::exp(stack[top]),
                Symbol::Log => libm::log(stack[top]),
                Symbol::Add => stack[top] + stack[top + 1],
                Symbol::Subtract => stack[top] - stack[top + 1],
                Symbol::Multiply => stack[top] * stack[top + 1],
                Symbol::Divide => stack[top] / stack[top + 1],
                Symbol::End => unreachable!("the end is not stored"),
            };
            top += 1;
        }
        stack[0]
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Regression {
    points: [(f64, f64); POINTS],
}

impl Regression {
    /// The problem of finding `target` from its values at 20 points, evenly spaced from -1 to 1.
    pub fn of(target: impl Fn(f64) -> f64) -> Self {
        let x = |index: usize| 2.0 * index as f64 / (POINTS - 1) as f64 - 1.0;
        Self { points: std::array::from_fn(|index| (x(index), target(x(index)))) }
    }

    /// A random problem, and a formula that solves it. The values at the points are within ±100 and
    /// not all equal.
    pub fn random(seed: u64) -> (Self, Vec<Symbol>) {
        let mut random = Random::from_seed(seed);
        let any = Self::of(|x| x);
        loop {
            let mut formula = Formula::EMPTY;
            let mut actions = Vec::new();
            let mut played = Vec::new();
            while !any.is_final(&formula) {
                let symbol = any.random(&formula, &mut actions, &mut random);
                any.apply(&mut formula, symbol);
                played.push(symbol);
            }
            let problem = Self::of(|x| formula.value(x));
            let varies = problem.points.iter().any(|point| point.1 != problem.points[0].1);
            if varies && problem.points.iter().all(|point| point.1.abs() <= 100.0) {
                return (problem, played);
            }
        }
    }
}

impl Problem for Regression {
    type State = Formula;
    type Action = Symbol;

    fn actions(&self, formula: &Formula, actions: &mut Vec<Symbol>) {
        actions.extend(SYMBOLS.into_iter().chain([Symbol::End]).filter(|&symbol| formula.allows(symbol)));
    }

    fn apply(&self, formula: &mut Formula, symbol: Symbol) {
        formula.push(symbol);
    }

    fn is_final(&self, formula: &Formula) -> bool {
        formula.is_complete()
    }

    fn reward(&self, formula: &Formula) -> f64 {
        let error: f64 = self.points.iter().map(|&(x, y)| (formula.value(x) - y).abs()).sum::<f64>() / POINTS as f64;
        if error.is_finite() { 1.0 / (1.0 + error) } else { 0.0 }
    }

    fn best_possible(&self) -> f64 {
        1.0
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RandomFormulas;

impl Distribution for RandomFormulas {
    type Problem = Regression;

    fn draw(&self, number: u64) -> Regression {
        Regression::random(number).0
    }

    fn start(&self, _: &Regression) -> Formula {
        Formula::EMPTY
    }

    fn scale(&self) -> f64 {
        1.0
    }
}
