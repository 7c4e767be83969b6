//! A grammar of Monte Carlo searches for one-player problems; knows nothing of this game.
