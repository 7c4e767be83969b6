//! Plays games locally with the server's messages.

use std::ops::ControlFlow;

use thiserror::Error;

use getaway::bot::{Bot, BotError, Decision};
use getaway::game::{State, World};
use getaway::protocol::GameMessage;

pub const TEAM: &str = "local";

#[derive(Debug, Error)]
#[error("tick {tick}: {source}")]
pub struct GameError {
    /// The tick of the message that the bot could not answer.
    pub tick: u16,
    pub source: BotError,
}

/// Plays a game until it ends or `watch` breaks. `watch` receives each state except the last, with
/// the bot's decision.
///
/// # Errors
/// When the bot rejects a message, or its external planner fails.
pub fn play<B>(
    world: &World,
    bot: &mut Bot,
    mut watch: impl FnMut(&State, &Decision) -> ControlFlow<B>,
) -> Result<ControlFlow<B, State>, GameError> {
    let mut state = world.start();
    while !state.is_over() {
        let decision = bot
            .next_action(&GameMessage::of(world, &state, TEAM))
            .map_err(|source| GameError { tick: state.tick(), source })?;
        if let ControlFlow::Break(reason) = watch(&state, &decision) {
            return Ok(ControlFlow::Break(reason));
        }
        world.step_unchecked(&mut state, decision.player_move);
    }
    Ok(ControlFlow::Continue(state))
}
