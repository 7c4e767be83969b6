use std::io::{self, Write};

use clap::Subcommand;

use getaway::files::TextReader;

use crate::output::Terminal;
use crate::{CliError, Invocation};

mod analyse;
mod battle;
mod benchmark;
mod bridge;
mod dataset;
mod eval;
mod ladder;
pub(crate) mod ladder_settings;
mod mapgen;
mod maps;
mod package;
mod play;
mod probe;
mod replay;
mod rules;
mod serve;
mod simulate;
mod solve;
mod tournament;
mod verify;
mod view;

#[derive(Subcommand)]
pub(crate) enum Command {
    Analyse(analyse::AnalyseArgs),
    Battle(battle::BattleArgs),
    Benchmark(benchmark::BenchmarkArgs),
    Bridge(bridge::BridgeArgs),
    Dataset(dataset::DatasetArgs),
    Eval(eval::EvalArgs),
    Ladder(ladder::LadderArgs),
    Maps(maps::MapsArgs),
    Mapgen(mapgen::MapgenArgs),
    Package(package::PackageArgs),
    Play(play::PlayArgs),
    Probe(probe::ProbeArgs),
    Replay(replay::ReplayArgs),
    Rules(rules::RulesCommandArgs),
    Serve(serve::ServeArgs),
    Simulate(simulate::SimulateArgs),
    Solve(solve::SolveArgs),
    Tournament(tournament::TournamentArgs),
    Verify(verify::VerifyArgs),
    View(view::ViewArgs),
}

impl Command {
    pub fn run(&self, invocation: &Invocation<'_>, out: &mut Terminal<impl Write>) -> Result<(), CliError> {
        let host = invocation.host;
        match self {
            Self::Analyse(args) => analyse::run(args, out),
            Self::Battle(args) => battle::run(args, invocation, out),
            Self::Benchmark(args) => benchmark::run(args, out),
            Self::Bridge(args) => bridge::run(args, out),
            Self::Dataset(args) => dataset::run(args, invocation, out),
            Self::Eval(args) => eval::run(args, invocation, out),
            Self::Ladder(args) => ladder::run(args, invocation, out),
            Self::Maps(args) => maps::run(args, out),
            Self::Mapgen(args) => mapgen::run(args, out),
            Self::Package(args) => package::run(args, out),
            Self::Play(args) => play::run(args, host, out),
            Self::Probe(args) => probe::run(args, out),
            Self::Replay(args) => replay::run(args, out),
            Self::Rules(args) => rules::run(args, out),
            Self::Serve(args) => serve::run(args, out),
            Self::Simulate(args) => simulate::run(args, &mut TextReader::new(io::stdin().lock()), out),
            Self::Solve(args) => solve::run(args, out),
            Self::Tournament(args) => tournament::run(args, invocation, out),
            Self::Verify(args) => verify::run(args, out),
            Self::View(args) => view::run(args, host, out),
        }
    }
}
