use std::io::{self, Write};

use clap::Subcommand;

use getaway::files::TextReader;

use crate::output::Terminal;
use crate::{Invocation, Result};

mod analyse;
mod benchmark;
mod bridge;
mod dataset;
mod ladder;
pub(crate) mod ladder_settings;
mod mapgen;
mod maps;
mod package;
mod play;
mod probe;
mod replay;
mod rules;
mod series;
mod serve;
mod simulate;
mod solve;
mod verify;
mod view;

#[derive(Subcommand)]
pub(crate) enum Command {
    Analyse(analyse::AnalyseArgs),
    Battle(series::BattleArgs),
    Benchmark(benchmark::BenchmarkArgs),
    Bridge(bridge::BridgeArgs),
    Dataset(dataset::DatasetArgs),
    Eval(series::EvalArgs),
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
    Tournament(series::TournamentArgs),
    Verify(verify::VerifyArgs),
    View(view::ViewArgs),
}

impl Command {
    pub fn run(&self, invocation: &Invocation<'_>, out: &mut Terminal<impl Write>) -> Result {
        match self {
            Self::Analyse(args) => analyse::run(args, out),
            Self::Battle(args) => series::battle(args, invocation, out),
            Self::Benchmark(args) => benchmark::run(args, out),
            Self::Bridge(args) => bridge::run(args, out),
            Self::Dataset(args) => dataset::run(args, invocation, out),
            Self::Eval(args) => series::eval(args, invocation, out),
            Self::Ladder(args) => ladder::run(args, invocation, out),
            Self::Maps(args) => maps::run(args, out),
            Self::Mapgen(args) => mapgen::run(args, out),
            Self::Package(args) => package::run(args, out),
            Self::Play(args) => play::run(args, invocation.host, out),
            Self::Probe(args) => probe::run(args, out),
            Self::Replay(args) => replay::run(args, out),
            Self::Rules(args) => rules::run(args, out),
            Self::Serve(args) => serve::run(args, out),
            Self::Simulate(args) => simulate::run(args, &mut TextReader::new(io::stdin().lock()), out),
            Self::Solve(args) => solve::run(args, out),
            Self::Tournament(args) => series::tournament(args, invocation, out),
            Self::Verify(args) => verify::run(args, out),
            Self::View(args) => view::run(args, invocation.host, out),
        }
    }
}
