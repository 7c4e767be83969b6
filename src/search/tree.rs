//! The tree of one `select`: which actions were tried where, how good they were, and what is fully explored.
//!
//! All nodes lie in one vector, the children of a node side by side. The tree never has more nodes than its limit: when it is full it
//! stops growing and goes on counting.

use super::problem::{Generator, below};

/// The most nodes in one tree, unless a search is told otherwise: about 40 MB.
pub const TREE_NODES_MAX: usize = 1 << 20;

/// The node of the state in which the search starts.
const ROOT: u32 = 0;

#[derive(Clone, Copy)]
struct Node<A> {
    /// Sum of the rewards backed up, each less the tree's first reward: adding a constant to all rewards changes nothing, to the last bit.
    sum: f64,
    visits: u32,
    /// Children are `first..first + count`; none before the node is expanded.
    first: u32,
    count: u32,
    /// Children that are not fully explored.
    open: u32,
    /// Nothing is left to see below.
    explored: bool,
    /// What leads here from the parent; the root has none.
    action: Option<A>,
}

impl<A> Node<A> {
    fn new(action: Option<A>) -> Self {
        Self { sum: 0.0, visits: 0, first: 0, count: 0, open: 0, explored: false, action }
    }
}

/// The tree, and the path through it along the actions decided so far.
#[derive(Clone)]
pub(super) struct Tree<A> {
    nodes: Vec<Node<A>>,
    nodes_max: usize,
    /// The nodes of the first actions of the path, root first: `trail[i]` is where `i` actions lead.
    trail: Vec<u32>,
    /// The first reward backed up, from which all others are measured.
    origin: Option<f64>,
    /// The lowest and highest reward seen, less the origin.
    low: f64,
    high: f64,
}

impl<A: Copy + Eq> Tree<A> {
    pub(super) fn new(nodes_max: usize) -> Self {
        Self { nodes: Vec::new(), nodes_max, trail: Vec::new(), origin: None, low: 0.0, high: 0.0 }
    }

    /// Forgets everything but the limit.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.nodes_max);
    }

    /// Goes back to the root, which exists from now on.
    pub(super) fn rewind(&mut self) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::new(None));
        }
        self.trail.clear();
        self.trail.push(ROOT);
    }

    /// Forgets the nodes of all but the first `length` actions of the path.
    #[inline]
    pub(super) fn cut(&mut self, length: usize) {
        self.trail.truncate(length + 1);
    }

    /// How many actions of the path are located: the last of them led to the node that the other methods speak of.
    pub(super) fn depth(&self) -> usize {
        self.trail.len() - 1
    }

    fn here(&self) -> &Node<A> {
        &self.nodes[*self.trail.last().expect("a trail begins at the root") as usize]
    }

    pub(super) fn is_explored(&self) -> bool {
        self.here().explored
    }

    pub(super) fn is_expanded(&self) -> bool {
        self.here().count > 0
    }

    pub(super) fn is_visited(&self) -> bool {
        self.here().visits > 0
    }

    /// Lists the legal actions of the node; false if there is no room for them.
    pub(super) fn expand(&mut self, actions: &[A]) -> bool {
        if actions.len() > self.nodes_max.min(u32::MAX as usize).saturating_sub(self.nodes.len()) {
            return false;
        }
        let first = self.nodes.len() as u32;
        self.nodes.extend(actions.iter().map(|&action| Node::new(Some(action))));
        let here = *self.trail.last().expect("a trail begins at the root");
        let node = &mut self.nodes[here as usize];
        node.first = first;
        node.count = actions.len() as u32;
        node.open = node.count;
        true
    }

    /// Follows `action`; false if the node does not list it.
    pub(super) fn follow(&mut self, action: A) -> bool {
        let child = self.child(self.here(), action);
        self.trail.extend(child);
        child.is_some()
    }

    fn child(&self, node: &Node<A>, action: A) -> Option<u32> {
        (node.first..node.first + node.count).find(|&child| self.nodes[child as usize].action == Some(action))
    }

    /// Chooses a child that is not fully explored, and goes there: a random one of those never visited; if there are none, the highest
    /// mean + C sqrt(ln n / n_k), with rewards scaled to 0..1 by the lowest and highest seen (UCB1: Auer, Cesa-Bianchi and Fischer, *Finite-time
    /// Analysis of the Multiarmed Bandit Problem*, 2002, figure 1, where C is sqrt(2)). Ties are broken at random.
    ///
    /// The node must be expanded and not fully explored.
    pub(super) fn descend(&mut self, c: f64, random: &mut Generator) -> A {
        let node = self.here();
        let first = node.first as usize;
        let children = &self.nodes[first..first + node.count as usize];
        let unvisited = || (0..children.len()).filter(|&k| children[k].visits == 0 && !children[k].explored);
        let chosen = match unvisited().count() {
            0 => self.best_child(node, children, c, random),
            count => unvisited().nth(below(random, count)).expect("an index below the count"),
        };
        let action = children[chosen].action.expect("a child has an action");
        self.trail.push((first + chosen) as u32);
        action
    }

    fn best_child(&self, node: &Node<A>, children: &[Node<A>], c: f64, random: &mut Generator) -> usize {
        // Not the standard library's logarithm, whose last bit depends on the platform; a square root is exact everywhere.
        let log_visits = libm::log(f64::from(node.visits.max(1)));
        let spread = self.high - self.low;
        let scale = if spread > 0.0 { 1.0 / spread } else { 0.0 };
        let (mut best, mut best_value, mut ties) = (0, f64::NEG_INFINITY, 0);
        for (index, child) in children.iter().enumerate().filter(|(_, child)| !child.explored) {
            let visits = f64::from(child.visits);
            let value = (child.sum / visits - self.low) * scale + c * (log_visits / visits).sqrt();
            if value > best_value {
                (best, best_value, ties) = (index, value, 1);
            } else if value == best_value {
                ties += 1;
                if below(random, ties) == 0 {
                    best = index;
                }
            }
        }
        best
    }

    /// Adds `reward` to every node of the trail, back to the root.
    pub(super) fn back_up(&mut self, reward: f64) {
        let reward = reward - *self.origin.get_or_insert(reward);
        self.low = self.low.min(reward);
        self.high = self.high.max(reward);
        for &index in &self.trail {
            let node = &mut self.nodes[index as usize];
            node.visits = node.visits.saturating_add(1);
            node.sum += reward;
        }
    }

    /// Notes that nothing is left to see below the node, and so perhaps below those above it.
    pub(super) fn close(&mut self) {
        for (depth, &index) in self.trail.iter().enumerate().rev() {
            let node = &mut self.nodes[index as usize];
            if depth < self.trail.len() - 1 {
                node.open -= 1;
                if node.open > 0 {
                    return;
                }
            }
            node.explored = true;
        }
    }

    /// Makes the successor by `action` the new root, and keeps its part of the tree alone.
    pub(super) fn advance(&mut self, action: A) {
        let child = self.nodes.first().and_then(|root| self.child(root, action));
        let Some(child) = child else {
            return self.clear();
        };
        let mut root = self.nodes[child as usize];
        root.action = None;
        // Breadth first: a node is copied, then its children behind all that were copied before.
        let mut kept = vec![root];
        let mut next = 0;
        while next < kept.len() {
            let Node { first, count, .. } = kept[next];
            kept[next].first = kept.len() as u32;
            kept.extend_from_slice(&self.nodes[first as usize..(first + count) as usize]);
            next += 1;
        }
        self.nodes = kept;
        self.trail.clear();
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    fn tree(nodes_max: usize) -> Tree<u8> {
        let mut tree = Tree::new(nodes_max);
        tree.rewind();
        tree
    }

    #[test]
    fn every_child_is_visited_before_any_twice_then_the_better_more_often() {
        let mut tree = tree(100);
        let mut random = Generator::seed_from_u64(1);
        assert!(tree.expand(&[0, 1, 2]));
        let mut counts = [0_u32; 3];
        for visit in 0..3000 {
            let action = tree.descend(0.5, &mut random);
            counts[usize::from(action)] += 1;
            assert!(visit != 2 || counts == [1, 1, 1]);
            tree.back_up(1000.0 * f64::from(action));
            tree.cut(0);
        }
        assert!(counts[2] > 2900 && counts[1] > counts[0] && counts[0] >= 2, "{counts:?}");
    }

    #[test]
    fn a_tree_whose_children_are_closed_is_closed() {
        let mut tree = tree(100);
        let mut random = Generator::seed_from_u64(1);
        tree.expand(&[0, 1]);
        for visit in 0..2 {
            assert!(!tree.is_explored());
            tree.descend(1.0, &mut random);
            assert!(!tree.is_visited(), "visit {visit} went to an explored child");
            tree.back_up(0.0);
            tree.close();
            tree.cut(0);
        }
        assert!(tree.is_explored());
    }

    #[test]
    fn a_full_tree_stops_growing() {
        let mut tree = tree(4);
        assert!(!tree.expand(&[0, 1, 2, 3]));
        assert!(tree.expand(&[0, 1, 2]));
        assert!(tree.follow(1) && !tree.expand(&[0]));
        assert_eq!(tree.len(), 4);
    }

    #[test]
    fn advancing_keeps_exactly_what_lies_below() {
        let mut tree = tree(100);
        tree.expand(&[0, 1]);
        assert!(tree.follow(1));
        tree.expand(&[5, 6]);
        assert!(tree.follow(6));
        tree.expand(&[7]);
        tree.back_up(3.0);
        tree.advance(1);
        tree.rewind();
        assert_eq!(tree.len(), 4);
        assert!(tree.follow(6) && tree.is_visited() && tree.follow(7) && !tree.is_visited());
        tree.advance(9);
        assert_eq!(tree.len(), 0);
    }
}
