//! The search tree of one `select`. A full tree stops growing, but still updates its statistics.

use super::problem::Random;

/// Default maximum number of nodes per tree. They take 34 MB if an action has one or two bytes.
pub(super) const TREE_NODES_MAX: usize = 1 << 20;

const ROOT: u32 = 0;

#[derive(Clone, Copy)]
struct Node<A> {
    /// The sum of the rewards, each minus the tree's first reward, so that a common offset cancels.
    sum: f64,
    visits: u32,
    /// The index of the first of the node's `count` adjacent children.
    first: u32,
    count: u32,
    open: u32,
    explored: bool,
    action: Option<A>,
}

impl<A> Node<A> {
    fn new(action: Option<A>) -> Self {
        Self { sum: 0.0, visits: 0, first: 0, count: 0, open: 0, explored: false, action }
    }
}

#[derive(Clone)]
pub(super) struct Tree<A> {
    nodes: Vec<Node<A>>,
    nodes_max: usize,
    /// The nodes from the root to the current node: `path[i]` is the node after `i` actions.
    path: Vec<u32>,
    reward_origin: Option<f64>,
    reward_min: f64,
    reward_max: f64,
}

impl<A: Copy + Eq> Tree<A> {
    pub(super) fn new(nodes_max: usize) -> Self {
        Self { nodes: Vec::new(), nodes_max, path: Vec::new(), reward_origin: None, reward_min: 0.0, reward_max: 0.0 }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.nodes_max);
    }

    pub(super) fn reset_path(&mut self) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::new(None));
        }
        self.path.clear();
        self.path.push(ROOT);
    }

    #[inline]
    pub(super) fn truncate_path(&mut self, length: usize) {
        self.path.truncate(length + 1);
    }

    /// The number of actions from the root to the current node.
    pub(super) fn depth(&self) -> usize {
        self.path.len() - 1
    }

    fn current(&self) -> &Node<A> {
        &self.nodes[*self.path.last().expect("a path begins at the root") as usize]
    }

    pub(super) fn is_explored(&self) -> bool {
        self.current().explored
    }

    pub(super) fn is_expanded(&self) -> bool {
        self.current().count > 0
    }

    pub(super) fn is_visited(&self) -> bool {
        self.current().visits > 0
    }

    pub(super) fn expand(&mut self, actions: &[A]) -> bool {
        if actions.len() > self.nodes_max.min(u32::MAX as usize).saturating_sub(self.nodes.len()) {
            return false;
        }
        let first = self.nodes.len() as u32;
        self.nodes.extend(actions.iter().map(|&action| Node::new(Some(action))));
        let current = *self.path.last().expect("a path begins at the root");
        let node = &mut self.nodes[current as usize];
        node.first = first;
        node.count = actions.len() as u32;
        node.open = node.count;
        true
    }

    pub(super) fn follow(&mut self, action: A) -> bool {
        let child = self.child(self.current(), action);
        self.path.extend(child);
        child.is_some()
    }

    fn child(&self, node: &Node<A>, action: A) -> Option<u32> {
        (node.first..node.first + node.count).find(|&child| self.nodes[child as usize].action == Some(action))
    }

    /// Moves to a random unvisited child or, if all children are visited, to the child with the
    /// highest mean + C sqrt(ln n / n_k), and returns its action. The node has n visits, and the
    /// child n_k. Skips explored children; at least one child must be unexplored. Scales rewards to
    /// 0..1 by the range seen in the tree, and breaks ties at random. This is UCB1 (Auer,
    /// Cesa-Bianchi and Fischer 2002, figure 1), where C is sqrt(2).
    pub(super) fn descend(&mut self, c: f64, random: &mut Random) -> A {
        let node = self.current();
        let first = node.first as usize;
        let children = &self.nodes[first..first + node.count as usize];
        let unvisited = || (0..children.len()).filter(|&k| children[k].visits == 0 && !children[k].explored);
        let chosen = match unvisited().count() {
            0 => self.best_child(node, children, c, random),
            count => unvisited().nth(random.below(count)).expect("an index below the count"),
        };
        let action = children[chosen].action.expect("a child has an action");
        self.path.push((first + chosen) as u32);
        action
    }

    fn best_child(&self, node: &Node<A>, children: &[Node<A>], c: f64, random: &mut Random) -> usize {
        // Not `f64::ln`, because its last bit can differ between platforms.
        let log_visits = libm::log(f64::from(node.visits.max(1)));
        let spread = self.reward_max - self.reward_min;
        let scale = if spread > 0.0 { 1.0 / spread } else { 0.0 };
        let (mut best, mut best_value, mut ties) = (0, f64::NEG_INFINITY, 0);
        for (index, child) in children.iter().enumerate().filter(|(_, child)| !child.explored) {
            let visits = f64::from(child.visits);
            let value = (child.sum / visits - self.reward_min) * scale + c * (log_visits / visits).sqrt();
            if value > best_value {
                (best, best_value, ties) = (index, value, 1);
            } else if value == best_value {
                ties += 1;
                if random.below(ties) == 0 {
                    best = index;
                }
            }
        }
        best
    }

    pub(super) fn back_up(&mut self, reward: f64) {
        let reward = reward - *self.reward_origin.get_or_insert(reward);
        self.reward_min = self.reward_min.min(reward);
        self.reward_max = self.reward_max.max(reward);
        for &index in &self.path {
            let node = &mut self.nodes[index as usize];
            node.visits = node.visits.saturating_add(1);
            node.sum += reward;
        }
    }

    pub(super) fn mark_explored(&mut self) {
        for (depth, &index) in self.path.iter().enumerate().rev() {
            let node = &mut self.nodes[index as usize];
            if depth < self.path.len() - 1 {
                node.open -= 1;
                if node.open > 0 {
                    return;
                }
            }
            node.explored = true;
        }
    }

    pub(super) fn advance(&mut self, action: A) {
        let child = self.nodes.first().and_then(|root| self.child(root, action));
        let Some(child) = child else {
            return self.clear();
        };
        let mut root = self.nodes[child as usize];
        root.action = None;
        // Copies the subtree breadth-first: a node's children come after all nodes copied so far.
        let mut kept = vec![root];
        let mut next = 0;
        while next < kept.len() {
            let Node { first, count, .. } = kept[next];
            kept[next].first = kept.len() as u32;
            kept.extend_from_slice(&self.nodes[first as usize..(first + count) as usize]);
            next += 1;
        }
        self.nodes = kept;
        self.path.clear();
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn tree(nodes_max: usize) -> Tree<u8> {
        let mut tree = Tree::new(nodes_max);
        tree.reset_path();
        tree
    }

    #[test]
    fn every_child_is_visited_once_before_the_best_is_preferred() {
        let mut tree = tree(100);
        let mut random = Random::from_seed(1);
        assert!(tree.expand(&[0, 1, 2]));
        let mut counts = [0_u32; 3];
        for visit in 0..3000 {
            let action = tree.descend(0.5, &mut random);
            counts[usize::from(action)] += 1;
            assert!(visit != 2 || counts == [1, 1, 1]);
            tree.back_up(1000.0 * f64::from(action));
            tree.truncate_path(0);
        }
        assert!(counts[2] > 2900 && counts[1] > counts[0] && counts[0] >= 2, "{counts:?}");
    }

    #[test]
    fn node_is_explored_when_all_children_are() {
        let mut tree = tree(100);
        let mut random = Random::from_seed(1);
        tree.expand(&[0, 1]);
        for visit in 0..2 {
            assert!(!tree.is_explored());
            tree.descend(1.0, &mut random);
            assert!(!tree.is_visited(), "visit {visit} descended to an explored child");
            tree.back_up(0.0);
            tree.mark_explored();
            tree.truncate_path(0);
        }
        assert!(tree.is_explored());
    }

    #[test]
    fn full_tree_stops_growing() {
        let mut tree = tree(4);
        assert!(!tree.expand(&[0, 1, 2, 3]));
        assert!(tree.expand(&[0, 1, 2]));
        assert!(tree.follow(1) && !tree.expand(&[0]));
        assert_eq!(tree.len(), 4);
    }

    #[test]
    fn advancing_keeps_exactly_the_subtree() {
        let mut tree = tree(100);
        tree.expand(&[0, 1]);
        assert!(tree.follow(1));
        tree.expand(&[5, 6]);
        assert!(tree.follow(6));
        tree.expand(&[7]);
        tree.back_up(3.0);
        tree.advance(1);
        tree.reset_path();
        assert_eq!(tree.len(), 4);
        assert!(tree.follow(6) && tree.is_visited() && tree.follow(7) && !tree.is_visited());
        tree.advance(9);
        assert_eq!(tree.len(), 0);
    }
}
