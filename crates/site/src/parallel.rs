//! The same for each of many things, on all processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Returns the results of a function for each item, in the order of the items.
pub(crate) fn each_in_parallel<T: Sync, R: Send>(items: &[T], each: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let (done, next, each) = (done.clone(), &next, &each);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { return };
                    // The other end lives until all threads are done.
                    drop(done.send((at, each(item))));
                }
            });
        }
    });
    drop(done);
    let mut results: Vec<(usize, R)> = results.iter().collect();
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::each_in_parallel;

    #[test]
    fn results_are_in_the_order_of_the_items_however_long_each_takes() {
        let items: Vec<u64> = (0..40).collect();
        let results = each_in_parallel(&items, |item| {
            std::thread::sleep(std::time::Duration::from_millis(item % 3));
            item * 2
        });
        assert_eq!(results, (0..80).step_by(2).collect::<Vec<u64>>());
        assert!(each_in_parallel(&[] as &[u64], |item| *item).is_empty());
    }
}
