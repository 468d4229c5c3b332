//! Threads that sort, fill maps and format text.
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::thread;

enum Node {
    Leaf(String),
    Fork(Box<Node>, Box<Node>),
}

fn tree(depth: u32, seed: u64) -> Node {
    if depth == 0 {
        return Node::Leaf(format!("item {:05}", seed * 7919 % 20000));
    }
    Node::Fork(
        Box::new(tree(depth - 1, seed * 2)),
        Box::new(tree(depth - 1, seed * 2 + 1)),
    )
}

fn visit(node: &Node, see: &mut dyn FnMut(&str)) {
    match node {
        Node::Leaf(name) => see(name),
        Node::Fork(left, right) => {
            visit(left, see);
            visit(right, see);
        }
    }
}

fn round(seed: u64) -> u64 {
    let mut count: HashMap<String, u64> = HashMap::new();
    let mut names = Vec::new();
    visit(&tree(9, seed), &mut |name| {
        *count.entry(name.to_uppercase()).or_insert(0) += 1;
        names.push(name.to_string());
    });
    names.sort_by(|a, b| b.chars().rev().cmp(a.chars().rev()));
    let ordered: BTreeMap<_, _> = count.iter().collect();
    let mut text = String::new();
    for (name, nr) in &ordered {
        write!(text, "{name}={nr:.2};", nr = **nr as f64 / 3.0).unwrap();
    }
    text.len() as u64 + names.len() as u64
}

fn main() {
    let workers: Vec<_> = (1..3)
        .map(|worker| {
            thread::spawn(move || {
                let mut seed: u64 = worker;
                loop {
                    seed = (seed + round(seed)) % 1000;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
}
