//! The component `beam`: Monte Carlo beam search (Cazenave 2012).

use super::problem::Problem;
use super::run::{Run, Stop};

struct Kept<S, A> {
    state: S,
    path: Vec<A>,
    best: Option<(f64, Vec<A>)>,
}

impl<P: Problem> Run<'_, P> {
    /// At each depth, keeps at most `width` successors: those with the best known sequences. See
    /// `docs/search.md`.
    pub(super) fn beam(&mut self, component: usize, state: &P::State, width: usize) -> Result<(), Stop> {
        let start = self.search.path.len();
        let mut beam = vec![Kept { state: state.clone(), path: self.search.path.clone(), best: None }];
        let mut best: Option<(f64, Vec<P::Action>)> = None;
        let mut actions = Vec::new();
        while !beam.is_empty() {
            let mut successors = Vec::new();
            for kept in &beam {
                actions.clear();
                self.problem.actions(&kept.state, &mut actions);
                for &action in &actions {
                    self.truncate_path(start);
                    self.search.path.extend_from_slice(&kept.path[start..]);
                    let mut state = kept.state.clone();
                    self.apply(&mut state, action)?;
                    let path = self.search.path.clone();
                    self.search.records[component].reward = None;
                    self.invoke(component + 1, &state)?;
                    let record = &self.search.records[component];
                    let inherited =
                        kept.best.as_ref().filter(|(_, actions)| actions.get(path.len() - 1) == Some(&action));
                    let found = match (record.reward, inherited) {
                        (Some(reward), inherited) if inherited.is_none_or(|&(known, _)| reward > known) => {
                            (reward, record.actions.clone())
                        }
                        (_, Some(inherited)) => inherited.clone(),
                        _ => continue,
                    };
                    if best.as_ref().is_none_or(|(reward, _)| found.0 > *reward) {
                        best = Some(found.clone());
                    }
                    let is_inherited = inherited.is_some_and(|(reward, _)| *reward == found.0);
                    successors.push((is_inherited, Kept { state, path, best: Some(found) }));
                }
            }
            let reward = |kept: &Kept<_, _>| kept.best.as_ref().map_or(f64::NEG_INFINITY, |(reward, _)| *reward);
            successors.sort_by(|(left_inherited, left), (right_inherited, right)| {
                reward(right).total_cmp(&reward(left)).then(right_inherited.cmp(left_inherited))
            });
            successors.truncate(width);
            beam = successors.into_iter().map(|(_, kept)| kept).collect();
            beam.retain(|kept| !self.problem.is_final(&kept.state));
        }
        self.truncate_path(start);
        let record = &mut self.search.records[component];
        record.reward = best.as_ref().map(|(reward, _)| *reward);
        if let Some((_, actions)) = best {
            record.actions = actions;
        }
        Ok(())
    }
}
