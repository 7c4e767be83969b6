//! Nested search of SameGame that advances 32 rollouts at a time.
//!
//! Here, a *lane* plays one rollout after another, and 32 lanes advance together. A `Vector` has 16
//! bits per lane. Searches of lower levels also advance together, so that few lanes are idle.
//!
//! Every rollout has its own generator. Its seed derives from the search's seed and from the steps
//! and actions that lead to the rollout, so the order of the rollouts does not affect the result.
//! The tests check that a plain recursive search with the same generators gives the same result.

#![allow(clippy::needless_range_loop, reason = "loops over the lanes of many vectors become vector instructions")]

use getaway::search::{Policy, Problem};

use super::{Board, DIGITS, EMPTY_BONUS, Group, SIZE, SameGame};
use crate::nested::Memory;

const LANES: usize = 32;

/// Maximum number of searches that advance together.
const SEARCHES: usize = 256;

type Vector = [u16; LANES];

const ZERO: Vector = [0; LANES];

/// A colour number that no cell has, for rollouts without a tabu colour.
const NO_COLOUR: u16 = (1 << DIGITS) - 1;

/// Marks a lane without a move: its game is over, its group may be incomplete, or the drawn cell is
/// not the first cell of its group.
const REJECTED: u16 = u16::MAX;

/// The random number generator of a rollout: a hash (after Wellons, *Hash Prospector*, 2018) of a
/// counter that advances by an odd step. The period is 2^32.
#[derive(Clone, Copy, Debug)]
struct LaneRandom {
    state: u32,
    step: u32,
}

impl LaneRandom {
    fn from_key(key: u64) -> Self {
        Self { state: key as u32, step: (key >> 32) as u32 | 1 }
    }
}

/// The generator's next state, and a random index that is less than `count` (0 if `count` is 0).
/// The relative error of an index's probability is at most `count / 2^16`.
#[inline]
fn below(state: u32, step: u32, count: u16) -> (u32, u16) {
    let state = state.wrapping_add(step);
    let mut hash = state;
    hash = (hash ^ hash >> 16).wrapping_mul(0x21f0_aaad);
    hash = (hash ^ hash >> 15).wrapping_mul(0x735a_2d97);
    (state, (((hash >> 16) * u32::from(count)) >> 16) as u16)
}

fn child_key(key: u64, step: usize, index: usize) -> u64 {
    let mut hash = key ^ ((step as u64) << 32 | index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

type Cell = (u8, u8);

fn first_cell(group: Group) -> Cell {
    let (column, row) = group.cells.nth(0);
    (column as u8, row as u8)
}

fn remove_at(board: &mut Board, (column, row): Cell) {
    board.remove(board.group(usize::from(column), usize::from(row)));
}

#[derive(Clone, Copy)]
struct Start {
    board: Board,
    key: u64,
    /// If set, the rollout's moves are needed only if its final score is higher than this.
    beat: Option<u32>,
}

#[derive(Clone, Default)]
struct MoveLine {
    points: u32,
    cells: Vec<Cell>,
}

#[repr(C, align(64))]
struct Lanes {
    /// The bits of the cells' colour numbers, by bit and column, as in [`Board`].
    digits: [[Vector; SIZE]; DIGITS],
    corners: [Vector; SIZE],
    any_corner: Vector,
    /// Each bit of the tabu colour's number, copied to all bits of the lane.
    tabu: [Vector; DIGITS],
    points: Vector,
    column: Vector,
    /// For each lane, the bit of the drawn cell's row, or 0 if the lane's game is over.
    row: Vector,
    /// Each bit of the drawn cell's colour number, copied to all bits of the lane.
    colour: [Vector; DIGITS],
    /// The cells found so far of the drawn cell's group. The first and last columns are padding.
    found: [Vector; SIZE + 2],
    /// For each lane, all ones if its group may be incomplete, otherwise 0.
    is_growing: Vector,
    gone: [Vector; SIZE],
    states: [u32; LANES],
    steps: [u32; LANES],
}

impl Lanes {
    const EMPTY: Self = Self {
        digits: [[ZERO; SIZE]; DIGITS],
        corners: [ZERO; SIZE],
        any_corner: ZERO,
        tabu: [ZERO; DIGITS],
        points: ZERO,
        column: ZERO,
        row: ZERO,
        colour: [ZERO; DIGITS],
        found: [ZERO; SIZE + 2],
        is_growing: ZERO,
        gone: [ZERO; SIZE],
        states: [0; LANES],
        steps: [0; LANES],
    };

    fn load(&mut self, lane: usize, start: &Start, policy: Policy) {
        let Start { board, key, .. } = start;
        for column in 0..SIZE {
            for digit in 0..DIGITS {
                self.digits[digit][column][lane] = board.digits[digit].0[column];
            }
            self.corners[column][lane] = board.corners.0[column];
        }
        let number = match policy {
            Policy::Random => NO_COLOUR,
            Policy::Greedy => u16::from(board.most_frequent()) + 1,
        };
        for digit in 0..DIGITS {
            self.tabu[digit][lane] = (number >> digit & 1).wrapping_neg();
        }
        // The maximum score, for removing a full board in one move, fits into 16 bits.
        const { assert!((SIZE * SIZE - 2).pow(2) + EMPTY_BONUS as usize <= u16::MAX as usize) };
        self.points[lane] = board.points as u16;
        let LaneRandom { state, step } = LaneRandom::from_key(*key);
        (self.states[lane], self.steps[lane]) = (state, step);
    }

    fn over(&self) -> u32 {
        let mut over = 0;
        for lane in 0..LANES {
            over |= u32::from(self.any_corner[lane] == 0) << lane;
        }
        over
    }

    /// Advances all lanes. Returns each lane's move (the column of the drawn cell in the high byte,
    /// the row in the low byte), or [`REJECTED`].
    fn play(&mut self) -> Vector {
        self.draw();
        self.grow_groups();
        let played = self.accept();
        self.remove();
        self.find_corners();
        played
    }

    /// Draws a corner in each lane that has one, unless the group of the lane's last drawn corner
    /// may be incomplete. Corners of the tabu colour are drawn only if there are no others.
    #[inline]
    fn draw(&mut self) {
        let Self { digits, corners, tabu, is_growing, states, steps, .. } = self;
        let mut eligible = [ZERO; SIZE];
        let mut others = ZERO;
        for column in 0..SIZE {
            for lane in 0..LANES {
                let differs = digits[0][column][lane] ^ tabu[0][lane]
                    | digits[1][column][lane] ^ tabu[1][lane]
                    | digits[2][column][lane] ^ tabu[2][lane];
                let other = corners[column][lane] & differs;
                eligible[column][lane] = other;
                others[lane] |= other;
            }
        }
        let mut count = ZERO;
        for column in 0..SIZE {
            for lane in 0..LANES {
                eligible[column][lane] |= corners[column][lane] & mask(others[lane] == 0);
                count[lane] += eligible[column][lane].count_ones() as u16;
            }
        }
        let mut index = ZERO;
        for lane in 0..LANES {
            // A lane whose group may be incomplete does not advance its generator.
            let step = steps[lane] & u32::from(is_growing[lane] == 0).wrapping_neg();
            (states[lane], index[lane]) = below(states[lane], step, count[lane]);
        }
        // After the cell is found, the index wraps around, so it exceeds all later counts.
        let (mut at, mut set, mut within) = (ZERO, ZERO, ZERO);
        let mut numbers = [ZERO; DIGITS];
        for column in 0..SIZE {
            for lane in 0..LANES {
                let count = eligible[column][lane].count_ones() as u16;
                let is_here = mask(index[lane] < count);
                at[lane] |= column as u16 & is_here;
                set[lane] |= eligible[column][lane] & is_here;
                within[lane] |= index[lane] & is_here;
                numbers[0][lane] |= digits[0][column][lane] & is_here;
                numbers[1][lane] |= digits[1][column][lane] & is_here;
                numbers[2][lane] |= digits[2][column][lane] & is_here;
                index[lane] = index[lane].wrapping_sub(count);
            }
        }
        loop {
            let mut left = 0;
            for lane in 0..LANES {
                let lowest = set[lane] & set[lane].wrapping_neg();
                set[lane] ^= lowest & mask(within[lane] != 0);
                within[lane] = within[lane].saturating_sub(1);
                left |= within[lane];
            }
            if left == 0 {
                break;
            }
        }
        let Self { column, row, colour, .. } = self;
        for lane in 0..LANES {
            let drawn = set[lane] & set[lane].wrapping_neg();
            let choose = |old: u16, new: u16| old & is_growing[lane] | new & !is_growing[lane];
            column[lane] = choose(column[lane], at[lane]);
            row[lane] = choose(row[lane], drawn);
            for digit in 0..DIGITS {
                colour[digit][lane] = choose(colour[digit][lane], mask(numbers[digit][lane] & drawn != 0));
            }
        }
    }

    #[inline]
    fn grow_groups(&mut self) {
        let Self { digits, column: at, row, colour, found, is_growing, .. } = self;
        let mut same = [ZERO; SIZE];
        for column in 0..SIZE {
            for lane in 0..LANES {
                let differs = digits[0][column][lane] ^ colour[0][lane]
                    | digits[1][column][lane] ^ colour[1][lane]
                    | digits[2][column][lane] ^ colour[2][lane];
                same[column][lane] = !differs;
                let first = row[lane] & mask(at[lane] == column as u16);
                found[column + 1][lane] = found[column + 1][lane] & is_growing[lane] | first;
            }
        }
        // Most groups are complete after a pass in each direction. A third pass checks this.
        let mut added = ZERO;
        (0..SIZE).for_each(|column| grow(column, &same, found, &mut added));
        (0..SIZE).rev().for_each(|column| grow(column, &same, found, &mut added));
        added = ZERO;
        (0..SIZE).for_each(|column| grow(column, &same, found, &mut added));
        for lane in 0..LANES {
            is_growing[lane] = mask(added[lane] != 0);
        }
    }

    /// In each lane, marks the group as gone if it is complete and its first cell is the drawn
    /// cell. Returns each lane's move, or [`REJECTED`].
    #[inline]
    fn accept(&mut self) -> Vector {
        let Self { column: at, row, found, is_growing, gone, .. } = self;
        let mut is_refused = *is_growing;
        for column in 0..SIZE {
            for lane in 0..LANES {
                let before =
                    mask(at[lane] > column as u16) | row[lane].wrapping_sub(1) & mask(at[lane] == column as u16);
                is_refused[lane] |= mask(found[column + 1][lane] & before != 0);
            }
        }
        for column in 0..SIZE {
            for lane in 0..LANES {
                gone[column][lane] = found[column + 1][lane] & !is_refused[lane];
            }
        }
        let mut played = ZERO;
        for lane in 0..LANES {
            let cell = at[lane] << 8 | row[lane].wrapping_sub(1).count_ones() as u16;
            played[lane] = cell | REJECTED & (is_refused[lane] | mask(row[lane] == 0));
        }
        played
    }

    #[inline]
    fn remove(&mut self) {
        let Self { digits: [low, middle, high], points, gone, .. } = self;
        let mut blocks = ZERO;
        for cells in &*gone {
            for lane in 0..LANES {
                blocks[lane] += cells[lane].count_ones() as u16;
            }
        }
        loop {
            let mut left = ZERO;
            for column in 0..SIZE {
                for lane in 0..LANES {
                    let cells = gone[column][lane];
                    let first = cells & cells.wrapping_neg();
                    let gap = cells & !cells.wrapping_add(first);
                    let rows = gap.count_ones();
                    let below = first.wrapping_sub(1);
                    let fall = |digit: u16| digit & below | digit.wrapping_shr(rows) & !below;
                    low[column][lane] = fall(low[column][lane]);
                    middle[column][lane] = fall(middle[column][lane]);
                    high[column][lane] = fall(high[column][lane]);
                    let rest = (cells ^ gap).wrapping_shr(rows);
                    gone[column][lane] = rest;
                    left[lane] |= rest;
                }
            }
            if is_zero(&left) {
                break;
            }
        }
        // Closes the first empty column of each lane's board until no gap is left.
        loop {
            let mut moves = ZERO;
            let mut open = ZERO;
            let mut before = [u16::MAX; LANES];
            for column in 0..SIZE {
                let next = |columns: &[Vector; SIZE]| if column + 1 < SIZE { columns[column + 1] } else { ZERO };
                let (next_low, next_middle, next_high) = (next(low), next(middle), next(high));
                for lane in 0..LANES {
                    let occupied = low[column][lane] | middle[column][lane] | high[column][lane];
                    moves[lane] |= mask(occupied == 0);
                    let close = |digit: u16, next: u16| digit & !moves[lane] | next & moves[lane];
                    low[column][lane] = close(low[column][lane], next_low[lane]);
                    middle[column][lane] = close(middle[column][lane], next_middle[lane]);
                    high[column][lane] = close(high[column][lane], next_high[lane]);
                    let occupied = low[column][lane] | middle[column][lane] | high[column][lane];
                    open[lane] |= occupied & mask(before[lane] == 0);
                    before[lane] = occupied;
                }
            }
            if is_zero(&open) {
                break;
            }
        }
        for lane in 0..LANES {
            let sum = blocks[lane].wrapping_sub(2);
            let gained = sum
                .wrapping_mul(sum)
                .wrapping_add(EMPTY_BONUS as u16 & mask(low[0][lane] | middle[0][lane] | high[0][lane] == 0));
            points[lane] += gained & mask(blocks[lane] != 0);
        }
    }

    #[inline]
    fn find_corners(&mut self) {
        let Self { digits: [low, middle, high], corners, any_corner, .. } = self;
        let mut like_left = ZERO;
        let mut any = ZERO;
        for column in 0..SIZE {
            let next = |digit: &[Vector; SIZE]| if column + 1 < SIZE { digit[column + 1] } else { ZERO };
            let (next_low, next_middle, next_high) = (next(low), next(middle), next(high));
            for lane in 0..LANES {
                let (low, middle, high) = (low[column][lane], middle[column][lane], high[column][lane]);
                let occupied = low | middle | high;
                let like_above = occupied & !(low ^ low >> 1 | middle ^ middle >> 1 | high ^ high >> 1);
                let unlike_right = low ^ next_low[lane] | middle ^ next_middle[lane] | high ^ next_high[lane];
                let like_right = occupied & !unlike_right;
                corners[column][lane] = (like_above | like_right) & !(like_above << 1) & !like_left[lane];
                any[lane] |= corners[column][lane];
                like_left[lane] = like_right;
            }
        }
        *any_corner = any;
    }
}

#[inline]
fn grow(column: usize, same: &[Vector; SIZE], found: &mut [Vector; SIZE + 2], added: &mut Vector) {
    for lane in 0..LANES {
        let same = same[column][lane];
        let before = found[column + 1][lane];
        let beside = found[column][lane] | found[column + 2][lane];
        let grown = (before | before << 1 | before >> 1 | beside) & same;
        found[column + 1][lane] = grown;
        added[lane] |= before ^ grown;
    }
}

#[inline]
fn mask(is_set: bool) -> u16 {
    u16::from(is_set).wrapping_neg()
}

#[inline]
fn is_zero(vector: &Vector) -> bool {
    vector.iter().fold(0, |any, &bits| any | bits) == 0
}

struct Nested<'a> {
    game: &'a SameGame,
    policy: Policy,
    memory: Memory,
    lanes: Box<Lanes>,
    history: Vec<Vector>,
}

struct Progress {
    start: Start,
    board: Board,
    played: Vec<Cell>,
    /// The best score so far, and the moves from the current board that reach it, last move first.
    best: Option<(u32, Vec<Cell>)>,
}

impl Nested<'_> {
    /// Runs one search of `level` from each start. Level 0 is a rollout.
    fn search_all(&mut self, level: usize, starts: &[Start]) -> Vec<MoveLine> {
        if level == 0 { self.play_all(starts) } else { self.search_chunks(level, starts) }
    }

    fn search_chunks(&mut self, level: usize, starts: &[Start]) -> Vec<MoveLine> {
        starts.chunks(SEARCHES).flat_map(|chunk| self.search_together(level, chunk)).collect()
    }

    fn search_together(&mut self, level: usize, starts: &[Start]) -> Vec<MoveLine> {
        let begin = |&start: &Start| Progress { start, board: start.board, played: Vec::new(), best: None };
        let mut searches: Vec<Progress> = starts.iter().map(begin).collect();
        let mut actions = Vec::new();
        let mut next = Vec::new();
        let mut origins = Vec::new();
        for step in 0.. {
            next.clear();
            origins.clear();
            for (index, search) in searches.iter_mut().enumerate().filter(|(_, search)| !search.board.is_over()) {
                if self.memory == Memory::None {
                    search.best = None;
                }
                let beat = search.best.as_ref().map(|&(points, _)| points);
                actions.clear();
                self.game.actions(&search.board, &mut actions);
                for (number, &group) in actions.iter().enumerate() {
                    let mut board = search.board;
                    board.remove(group);
                    next.push(Start { board, key: child_key(search.start.key, step, number), beat });
                    origins.push((index, first_cell(group)));
                }
            }
            if next.is_empty() {
                break;
            }
            let lines = self.search_all(level - 1, &next);
            for (line, &(index, first)) in lines.into_iter().zip(&origins) {
                let best = &mut searches[index].best;
                if best.as_ref().is_none_or(|&(points, _)| line.points > points) {
                    let mut cells = line.cells;
                    cells.reverse();
                    cells.push(first);
                    *best = Some((line.points, cells));
                }
            }
            for search in searches.iter_mut().filter(|search| !search.board.is_over()) {
                let (_, cells) = search.best.as_mut().expect("a board that is not over has moves");
                let cell = cells.pop().expect("the best line goes on to the end");
                remove_at(&mut search.board, cell);
                search.played.push(cell);
            }
        }
        let line = |search: Progress| MoveLine { points: search.board.points(), cells: search.played };
        searches.into_iter().map(line).collect()
    }

    fn play_all(&mut self, starts: &[Start]) -> Vec<MoveLine> {
        let mut lines = vec![MoveLine::default(); starts.len()];
        let mut rollouts: [Option<(usize, usize)>; LANES] = [None; LANES];
        let mut waiting = 0;
        *self.lanes = Lanes::EMPTY;
        self.history.clear();
        loop {
            let mut over = self.lanes.over();
            while over != 0 {
                let lane = over.trailing_zeros() as usize;
                if let Some((rollout, began)) = rollouts[lane].take() {
                    let points = u32::from(self.lanes.points[lane]);
                    lines[rollout].points = points;
                    if starts[rollout].beat.is_none_or(|beat| points > beat) {
                        let cells = self.history[began..].iter().map(|played| played[lane]);
                        let cells = cells.filter(|&cell| cell != REJECTED);
                        lines[rollout].cells.extend(cells.map(|cell| ((cell >> 8) as u8, cell as u8)));
                    }
                }
                if waiting < starts.len() {
                    self.lanes.load(lane, &starts[waiting], self.policy);
                    rollouts[lane] = Some((waiting, self.history.len()));
                    waiting += 1;
                    // If the game was over at the start, the loop visits this lane again.
                    if !starts[waiting - 1].board.is_over() {
                        over &= over - 1;
                    }
                } else {
                    over &= over - 1;
                }
            }
            if rollouts.iter().all(Option::is_none) {
                return lines;
            }
            self.history.push(self.lanes.play());
        }
    }
}

/// The score of one nested search with rollouts of `policy`. The search is the same as in
/// [`nested`](crate::nested::nested), but with other random numbers. Panics if the game is
/// selective and the policy is `random`, because random rollouts in lanes ignore selectivity.
pub fn nested(game: &SameGame, level: usize, policy: Policy, memory: Memory, seed: u64) -> u32 {
    assert!(!game.is_selective || policy == Policy::Greedy, "random rollouts of a selective game are not supported");
    let mut nested = Nested { game, policy, memory, lanes: Box::new(Lanes::EMPTY), history: Vec::new() };
    let start = Start { board: *game.start(), key: child_key(seed, 0, 0), beat: None };
    nested.search_all(level, &[start])[0].points
}

#[cfg(test)]
mod tests {
    use super::*;
    use getaway::search::Random;

    fn rollout(start: &Start, policy: Policy) -> MoveLine {
        let Start { mut board, key, .. } = *start;
        let LaneRandom { mut state, step } = LaneRandom::from_key(key);
        let tabu = board.most_frequent();
        let mut cells = Vec::new();
        while !board.is_over() {
            let others = match policy {
                Policy::Random => board.corners,
                Policy::Greedy => board.corners.without(board.cells_of(tabu)),
            };
            let eligible = if others.is_empty() { board.corners } else { others };
            let index;
            (state, index) = below(state, step, eligible.len() as u16);
            let (column, row) = eligible.nth(usize::from(index));
            let cell = (column as u8, row as u8);
            if first_cell(board.group(column, row)) == cell {
                remove_at(&mut board, cell);
                cells.push(cell);
            }
        }
        MoveLine { points: board.points(), cells }
    }

    fn literal(game: &SameGame, start: Start, level: usize, policy: Policy, memory: Memory) -> MoveLine {
        if level == 0 {
            return rollout(&start, policy);
        }
        let mut board = start.board;
        let mut played = Vec::new();
        let mut best: Option<MoveLine> = None;
        while !board.is_over() {
            if memory == Memory::None {
                best = None;
            }
            let step = played.len();
            let mut actions = Vec::new();
            game.actions(&board, &mut actions);
            for (index, &group) in actions.iter().enumerate() {
                let mut successor = board;
                successor.remove(group);
                let next = Start { board: successor, key: child_key(start.key, step, index), beat: None };
                let line = literal(game, next, level - 1, policy, memory);
                if best.as_ref().is_none_or(|best| line.points > best.points) {
                    let cells = [&played[..], &[first_cell(group)], &line.cells].concat();
                    best = Some(MoveLine { points: line.points, cells });
                }
            }
            let cell = best.as_ref().expect("an action").cells[step];
            remove_at(&mut board, cell);
            played.push(cell);
        }
        MoveLine { points: board.points(), cells: played }
    }

    fn board(seed: u64, size: usize, colours: usize) -> Board {
        let mut random = Random::from_seed(seed);
        let mut cells = [[None; SIZE]; SIZE];
        for row in cells.iter_mut().skip(SIZE - size) {
            row.iter_mut().take(size).for_each(|cell| *cell = Some(random.below(colours) as u8));
        }
        let mut board = Board::new(&cells);
        for _ in 0..random.below(size * size / 4) {
            if !board.is_over() {
                board.remove(board.draw(board.corners, &mut random));
            }
        }
        board
    }

    fn assert_equal(found: &MoveLine, expected: &MoveLine) {
        assert_eq!((found.points, &found.cells), (expected.points, &expected.cells));
    }

    #[test]
    fn rollouts_in_lanes_equal_single_ones() {
        for policy in Policy::ALL {
            let start = |number: u64| {
                let (size, colours) = [(SIZE, 5), (SIZE, 5), (SIZE, 2), (7, 3), (2, 2)][number as usize % 5];
                Start { board: board(number, size, colours), key: child_key(number, 1, 2), beat: None }
            };
            let starts: Vec<Start> = (0..500).map(start).collect();
            let game = SameGame::new(starts[0].board);
            let lanes = Box::new(Lanes::EMPTY);
            let mut nested = Nested { game: &game, policy, memory: Memory::BestSequence, lanes, history: Vec::new() };
            let found = nested.play_all(&starts);
            for (found, start) in found.iter().zip(&starts) {
                assert_equal(found, &rollout(start, policy));
            }
            let limited: Vec<Start> = starts.iter().map(|&start| Start { beat: Some(300), ..start }).collect();
            for (found, expected) in nested.play_all(&limited).iter().zip(&found) {
                assert_eq!(found.points, expected.points);
                assert!(if found.points > 300 { found.cells == expected.cells } else { found.cells.is_empty() });
            }
            assert!(found.iter().any(|line| line.points > 300) && found.iter().any(|line| line.points <= 300));
        }
    }

    #[test]
    fn searches_together_equal_literal_ones() {
        for (seed, (level, size, colours, is_selective)) in
            (0..).zip([(1, SIZE, 5, false), (1, SIZE, 5, true), (2, 7, 3, false), (2, 6, 4, true), (3, 4, 3, false)])
        {
            let game = SameGame::new(board(seed, size, colours));
            let game = if is_selective { game.selective() } else { game };
            for memory in [Memory::None, Memory::BestSequence] {
                let lanes = Box::new(Lanes::EMPTY);
                let policy = Policy::Greedy;
                let mut nested = Nested { game: &game, policy, memory, lanes, history: Vec::new() };
                let starts: Vec<Start> =
                    (0..5).map(|key| Start { board: *game.start(), key: child_key(key, 0, 0), beat: None }).collect();
                for (found, &start) in nested.search_all(level, &starts).iter().zip(&starts) {
                    assert_equal(found, &literal(&game, start, level, policy, memory));
                }
            }
        }
    }

    #[test]
    fn lanes_draw_every_index_equally_often() {
        let mut counts = [0_u32; 7];
        for key in 0..1000 {
            let LaneRandom { mut state, step } = LaneRandom::from_key(child_key(key, 0, 0));
            for _ in 0..70 {
                let index;
                (state, index) = below(state, step, 7);
                counts[usize::from(index)] += 1;
            }
        }
        // Each count has mean 10,000 and standard deviation 93.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
    }
}
