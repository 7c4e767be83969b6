//! Tests symbolic regression: the number of formulas, their values and the rewards of solutions.

use getaway::search::Problem;
use getaway_problems::distribution::Distribution;
use getaway_problems::regression::{Formula, LENGTH_MAX, RandomFormulas, Regression, Symbol};

use Symbol::{Add, Cos, Divide, End, Exp, Log, Multiply, One, Sin, Subtract, X};

fn formula(symbols: &[Symbol]) -> Formula {
    let any = Regression::of(|x| x);
    let mut formula = Formula::EMPTY;
    for &symbol in symbols {
        let mut actions = Vec::new();
        any.actions(&formula, &mut actions);
        assert!(actions.contains(&symbol), "{symbol:?} after {:?}", formula.symbols());
        any.apply(&mut formula, symbol);
    }
    formula
}

fn count(formula: &Formula, most: usize, counts: &mut Vec<u64>) {
    let any = Regression::of(|x| x);
    let mut actions = Vec::new();
    if !any.is_final(formula) {
        any.actions(formula, &mut actions);
    }
    for action in actions {
        let mut next = *formula;
        any.apply(&mut next, action);
        if action == End {
            counts[formula.symbols().len()] += 1;
        } else if next.symbols().len() <= most {
            count(&next, most, counts);
        }
    }
}

#[test]
fn number_of_formulas_follows_the_recurrence_of_the_grammar() {
    // Two operands, four unary and four binary functions make a(n) formulas of n symbols, where
    // a(1) = 2 and a(n) = 4 a(n-1) + 4 sum a(i) a(n-1-i), summed over i from 1 to n-2.
    let mut expected = vec![0_u64, 2];
    for length in 2..=5 {
        let pairs: u64 = (1..length - 1).map(|left| expected[left] * expected[length - 1 - left]).sum();
        expected.push(4 * expected[length - 1] + 4 * pairs);
    }
    let mut counts = vec![0; 6];
    count(&Formula::EMPTY, 5, &mut counts);
    assert_eq!(counts, expected);
    assert_eq!(expected, [0, 2, 8, 48, 320, 2304]);
}

#[test]
fn formulas_have_the_right_values() {
    for (symbols, expected) in [
        (&[X, One, Add, End][..], 1.5),
        (&[X, One, Subtract, End], -0.5),
        (&[One, X, Divide, End], 2.0),
        (&[X, Sin, X, Cos, Multiply, End], 0.5_f64.sin() * 0.5_f64.cos()),
        (&[X, Exp, Log, End], 0.5),
    ] {
        assert!((formula(symbols).value(0.5) - expected).abs() < 1e-15, "{symbols:?}");
    }
}

#[test]
fn published_cubic_is_fitted_by_its_formula() {
    // Nguyen-1 (Uy and others, 2011): x^3 + x^2 + x, as ((x + 1) x + 1) x.
    let problem = Regression::of(|x| x * x * x + x * x + x);
    let found = formula(&[X, One, Add, X, Multiply, One, Add, X, Multiply, End]);
    assert!(problem.is_final(&found) && problem.reward(&found) > 1.0 - 1e-12);
    assert!(problem.reward(&formula(&[X, End])) < 0.8);
    assert_eq!(problem.reward(&formula(&[X, Log, End])), 0.0);
}

#[test]
fn random_problems_are_solved_by_the_formula_they_were_made_from() {
    for number in 0..200 {
        let (problem, symbols) = Regression::random(number);
        let formula = formula(&symbols);
        assert!(problem.is_final(&formula) && formula.symbols().len() <= LENGTH_MAX);
        assert_eq!(problem.reward(&formula), 1.0, "{number}: {symbols:?}");
        assert_eq!(RandomFormulas.draw(number), problem);
    }
}
