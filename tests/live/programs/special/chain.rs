// chain SECONDS: runs the main thread and another one, each in a chain of three functions.
use std::time::{Duration, Instant};

// Hides the value from the optimizer; the library's own black_box needs Rust 1.66.
fn black_box<T>(value: T) -> T {
    let kept = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    kept
}

#[inline(never)]
fn hot() {
    for turn in 0..20000u64 {
        black_box(turn);
    }
}

#[inline(never)]
fn inner(end: Instant) {
    while Instant::now() < end {
        hot();
    }
    black_box(());
}

#[inline(never)]
fn outer(end: Instant) {
    let room = [0u8; 300];
    black_box(&room);
    inner(end);
    black_box(&room);
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let thread = std::thread::spawn(move || outer(end));
    outer(end);
    thread.join().unwrap();
}
