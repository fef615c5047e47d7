//! A trial that several processes carry out together: the clients each drives, and what each finds.

use crate::JobError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The clients of a trial that one process drives, of all there are. Keys, seeds and the answer depend on the whole alone: not on how many
/// processes there are, nor on which of them drives which client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The number of its first client, over the whole.
    pub first: u32,
    /// The number of its clients.
    pub clients: u32,
    /// The number of clients of the whole.
    pub of_clients: u32,
    /// Its own number, from 0.
    pub number: u32,
    /// The number of shares.
    pub of: u32,
}

impl Share {
    /// Returns the share of a process that carries a trial out alone.
    pub const fn whole(clients: u32) -> Share {
        Share { first: 0, clients, of_clients: clients, number: 0, of: 1 }
    }

    /// Splits clients up among workers, as evenly as can be; at most one share per client, and at least one share.
    pub fn split(clients: u32, workers: u32) -> Vec<Share> {
        let of = workers.clamp(1, clients.max(1));
        let cut = |at: u32| (u64::from(at) * u64::from(clients) / u64::from(of)) as u32;
        (0..of)
            .map(|number| {
                let first = cut(number);
                Share { first, clients: cut(number + 1) - first, of_clients: clients, number, of }
            })
            .collect()
    }

    /// Returns the numbers of its clients.
    pub const fn range(&self) -> Range<u32> {
        self.first..self.first + self.clients
    }

    /// Returns whether there is no other.
    pub const fn is_whole(&self) -> bool {
        self.of <= 1
    }

    /// Returns whether it does what is done once for all: what is asked of the store as a whole.
    pub const fn is_first(&self) -> bool {
        self.number == 0
    }

    /// Returns its part of something of which each client has as much, 0 to 1.
    pub fn fraction(&self) -> f64 {
        if self.is_whole() { 1.0 } else { f64::from(self.clients) / f64::from(self.of_clients.max(1)) }
    }

    /// Returns its part of a number that is split in proportion to clients: the parts of all shares add up to it.
    pub fn part_of(&self, all: u64) -> u64 {
        if self.is_whole() {
            return all;
        }
        let cut = |at: u32| (u128::from(all) * u128::from(at) / u128::from(self.of_clients.max(1))) as u64;
        cut(self.first + self.clients) - cut(self.first)
    }
}

/// What one share of a trial has found, or tells the others: plain data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SharePart(serde_json::Value);

impl SharePart {
    /// Makes a part of what was found.
    ///
    /// # Errors
    /// When it cannot be put down as JSON.
    pub fn of(found: &impl Serialize) -> Result<SharePart, JobError> {
        serde_json::to_value(found)
            .map(SharePart)
            .map_err(|error| JobError(format!("what was found cannot be sent: {error}")))
    }

    /// Returns whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    /// Returns what was found.
    ///
    /// # Errors
    /// When it is not what this job finds: kvtrial is of another version there.
    pub fn found<T: DeserializeOwned>(self) -> Result<T, JobError> {
        serde_json::from_value(self.0)
            .map_err(|error| JobError(format!("what a worker has found is not what this job finds: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn every_client_is_in_one_share_and_shares_differ_by_one_at_most() {
        for (clients, workers, expected) in [(8, 3, &[2, 3, 3][..]), (1, 1, &[1]), (2, 5, &[1, 1]), (9, 3, &[3, 3, 3])]
        {
            let shares = Share::split(clients, workers);
            assert_eq!(shares.iter().map(|share| share.clients).collect::<Vec<_>>(), expected);
            assert_eq!(shares.iter().flat_map(Share::range).collect::<Vec<_>>(), (0..clients).collect::<Vec<_>>());
            assert!(shares.iter().zip(0..).all(|(share, number)| share.number == number));
            assert!(shares.iter().all(|share| share.of as usize == shares.len() && share.of_clients == clients));
            assert_eq!(shares.iter().map(|share| share.part_of(1_000_003)).sum::<u64>(), 1_000_003);
        }
        assert_eq!(Share::split(7, 1), [Share::whole(7)]);
    }
}
