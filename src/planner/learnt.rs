//! `model:FILE`: chooses moves with a small neural network. Scripts in `examples/python` train such
//! networks.
//!
//! The network scores one action at a time. Its inputs are the
//! [features](crate::batch::Shape::FEATURES_ACTION) of the action, their mean and maximum over all
//! open actions, and the [header](crate::batch::Shape::FEATURES_HEADER), scaled to at most 1.
//! Hidden layers use rectified linear units. Sums have a fixed order, so the scores are the same on
//! every machine.

use std::sync::Arc;

use serde::Deserialize;

use super::{Budget, Choice, Planner, PlannerError, PlannerFactory, PlannerHost, Source};
use crate::batch::{Batch, Shape};
use crate::files::{self, Object};
use crate::game::{Move, State, World};

/// The prefix of the planner name `model:FILE`.
pub const MODEL_PREFIX: &str = "model:";
const FORMAT: &str = "getaway-model 1";
const FILE_MAX_BYTES: u64 = 4 << 20;
const INPUTS: usize = 3 * Shape::FEATURES_ACTION + Shape::FEATURES_HEADER;
/// The scale of each feature of an action. A feature is limited to its scale, then divided by it.
const ACTION_SCALES: [f32; Shape::FEATURES_ACTION] = {
    let mut scales = [16.0; Shape::FEATURES_ACTION];
    [scales[1], scales[3], scales[4], scales[5], scales[6]] = [64.0, 4.0, 32.0, 256.0, 4.0];
    scales
};
/// The scale of each feature of the header.
const HEADER_SCALES: [f32; Shape::FEATURES_HEADER] = [2001.0, 5.0, 5.0];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Network {
    format: String,
    layers: Vec<Object<Layer>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    /// Indexed as `weights[output][input]`.
    weights: Vec<Vec<f32>>,
    biases: Vec<f32>,
}

impl Network {
    fn parse(text: &[u8]) -> Result<Self, String> {
        let Object::<Self>(network) = serde_json::from_slice(text).map_err(|why| format!("expected a model: {why}"))?;
        if network.format != FORMAT {
            return Err(format!("expected the format {FORMAT:?}, found {:?}", network.format));
        }
        if network.layers.is_empty() {
            return Err("expected at least one layer, found none".to_owned());
        }
        let mut inputs = INPUTS;
        for (index, Object(Layer { weights, biases })) in network.layers.iter().enumerate() {
            let found = weights.iter().map(Vec::len).find(|&found| found != inputs);
            if let Some(found) = found {
                return Err(format!("layer {index}: expected {inputs} weights per output, found {found}"));
            }
            if biases.len() != weights.len() {
                let expected = weights.len();
                return Err(format!("layer {index}: expected {expected} biases, found {}", biases.len()));
            }
            inputs = weights.len();
        }
        if inputs != 1 {
            return Err(format!("expected one output of the last layer, found {inputs}"));
        }
        Ok(network)
    }

    fn score(&self, inputs: &[f32; INPUTS]) -> f32 {
        let mut values = inputs.to_vec();
        for (index, Object(layer)) in self.layers.iter().enumerate() {
            let outputs = layer.weights.iter().zip(&layer.biases).map(|(weights, bias)| {
                let sum = weights.iter().zip(&values).fold(*bias, |sum, (weight, value)| sum + weight * value);
                if index + 1 < self.layers.len() { sum.max(0.0) } else { sum }
            });
            values = outputs.collect();
        }
        values[0]
    }
}

/// Returns the network's inputs for each action, or `None` for a blocked action.
fn inputs(features: &[i16; Shape::FEATURES]) -> [Option<[f32; INPUTS]>; Move::ALL.len()] {
    let scaled = |value: i16, scale: f32| f32::from(value).min(scale) / scale;
    let (header, actions) = features.split_at(Shape::FEATURES_HEADER);
    let rows = actions.chunks_exact(Shape::FEATURES_ACTION).map(|row| {
        (row[0] >= 0).then(|| {
            std::array::from_fn::<_, { Shape::FEATURES_ACTION }, _>(|index| scaled(row[index], ACTION_SCALES[index]))
        })
    });
    let rows: Vec<Option<[f32; Shape::FEATURES_ACTION]>> = rows.collect();
    let open: Vec<&[f32; Shape::FEATURES_ACTION]> = rows.iter().flatten().collect();
    let mean = |index: usize| open.iter().map(|row| row[index]).sum::<f32>() / open.len() as f32;
    let most = |index: usize| open.iter().map(|row| row[index]).fold(0.0, f32::max);
    std::array::from_fn(|action| {
        let row = rows[action]?;
        Some(std::array::from_fn(|index| match (index / Shape::FEATURES_ACTION, index % Shape::FEATURES_ACTION) {
            (0, feature) => row[feature],
            (1, feature) => mean(feature),
            (2, feature) => most(feature),
            (_, number) => scaled(header[number], HEADER_SCALES[number]),
        }))
    })
}

#[derive(Debug)]
struct LearntPlanner {
    model: Arc<Model>,
    /// A batch of one game, in the world of the last decision.
    observed: Option<Batch>,
}

impl LearntPlanner {
    fn features(&mut self, world: &World, state: &State) -> [i16; Shape::FEATURES] {
        let is_same = |known: &World| known.layout() == world.layout() && known.rules() == world.rules();
        let known = self.observed.take().filter(|batch| is_same(batch.world(0)));
        let batch = known.unwrap_or_else(|| Batch::new(vec![Arc::new(world.clone())], vec![0]));
        let batch = self.observed.insert(batch);
        batch.set_state(0, state.clone());
        let mut features = [0; Shape::FEATURES];
        batch.part(0..1).write_features(&mut features);
        features
    }
}

impl Planner for LearntPlanner {
    fn decide(&mut self, world: &World, state: &State, _: Budget) -> Result<Choice, PlannerError> {
        let inputs = inputs(&self.features(world, state));
        let scores = Move::ALL
            .into_iter()
            .zip(inputs)
            .filter_map(|(player_move, inputs)| inputs.map(|inputs| (player_move, self.model.network.score(&inputs))));
        // Of several equal scores, the first wins, as in NumPy's `argmax`.
        let best = scores.reduce(|best, next| if next.1 > best.1 { next } else { best });
        let player_move = best.map_or(Move::Stay, |(player_move, _)| player_move);
        let simulated_ticks = if world.threats_move(state) { world.legal_moves(state).count() as u64 } else { 0 };
        Ok(Choice { player_move, source: Source::Fallback, planned_tick: None, simulated_ticks })
    }
}

/// A neural network that chooses moves. `docs/learning.md` describes the file format.
#[derive(Debug)]
pub struct Model {
    network: Network,
}

impl Model {
    /// Loads the model of a planner named `model:FILE`. Returns `None` for any other name.
    ///
    /// # Errors
    /// If the file cannot be read or does not contain a valid model.
    pub fn find(name: &str) -> Option<Result<Arc<Self>, PlannerError>> {
        let path = name.strip_prefix(MODEL_PREFIX)?;
        let read = || {
            let text =
                files::read_text(path, FILE_MAX_BYTES).map_err(|error| format!("cannot read the model: {error}"))?;
            Network::parse(text.as_bytes())
        };
        Some(read().map(|network| Arc::new(Self { network })).map_err(PlannerError::new))
    }
}

impl PlannerFactory for Model {
    fn build(self: Arc<Self>, _seed: u64) -> Box<dyn Planner> {
        Box::new(LearntPlanner { model: self, observed: None })
    }
}

/// A host that finds only planners named `model:FILE`.
#[derive(Clone, Copy, Debug)]
pub struct ModelHost;

impl PlannerHost for ModelHost {
    fn find(&self, name: &str) -> Result<Arc<dyn PlannerFactory>, PlannerError> {
        match Model::find(name) {
            Some(found) => Ok(found?),
            None => Err(PlannerError::new("a planner in Python, MODULE:NAME, needs the command of the Python package")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Layout, Rules};
    use crate::planner::PlannerSpec;

    /// A model whose score is the sum of an action's first two scaled features and a constant.
    fn text() -> String {
        let mut weights = [0.0; INPUTS];
        (weights[0], weights[1]) = (1.0, 1.0);
        format!(r#"{{"format": "{FORMAT}", "layers": [{{"weights": [{weights:?}], "biases": [0.5]}}]}}"#)
    }

    #[test]
    fn model_file_plays_as_its_scores_say() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.json");
        std::fs::write(&path, text()).expect("a file");
        let name = format!("{MODEL_PREFIX}{}", path.display());
        let spec = PlannerSpec::find(&name, Some(&ModelHost)).expect("a model");
        let layout = Layout::parse("B.P......").expect("a drawing");
        let world = World::new(&layout, &Rules::BLITZ_2025).expect("a map");
        let choice = spec.build(0).decide(&world, &world.start(), Budget::UNLIMITED).expect("a move");
        assert_eq!(choice.player_move, Move::Right);
        assert_eq!(spec.to_string(), name);
        assert!(PlannerSpec::find(&name, None).is_err(), "without a host, no file is read");
    }

    #[test]
    fn path_of_a_model_may_look_like_a_parameter_or_an_expression() {
        for name in ["model:7.json", "model:run (2).json"] {
            let error = PlannerSpec::find(name, Some(&ModelHost)).expect_err("no such file").to_string();
            assert!(error.starts_with(&format!("{name}: cannot read the model: ")), "{error}");
        }
    }

    #[test]
    fn invalid_models_give_one_sentence() {
        let error = |text: &str| Network::parse(text.as_bytes()).expect_err("an error");
        assert_eq!(
            error(&text().replace("model 1", "model 9")),
            r#"expected the format "getaway-model 1", found "getaway-model 9""#
        );
        assert_eq!(error(&text().replace("[1.0, 1.0", "[1.0")), "layer 0: expected 42 weights per output, found 41");
        assert_eq!(error(&text().replace("[0.5]", "[]")), "layer 0: expected 1 biases, found 0");
        assert!(error("{}").starts_with("expected a model: missing field"));
        assert_eq!(
            error(&format!(r#"{{"format": "{FORMAT}", "layers": []}}"#)),
            "expected at least one layer, found none"
        );
    }
}
