//! What came of one crash, gathered client by client.

use study::{ClientSurvival, CrashFindings, LOST_AGES_S};

/// Examples kept of each crash.
const MOST_EXAMPLES: usize = 5;

/// Gathers what is found.
#[derive(Debug, Default)]
pub struct Findings {
    found: CrashFindings,
}

impl Findings {
    /// Returns the findings.
    pub fn done(self) -> CrashFindings {
        self.found
    }

    pub(crate) fn torn(&mut self, key: &str, words: &str) {
        self.found.torn += 1;
        self.example(format!("{key}: torn: {words}"));
    }

    pub(crate) fn invented(&mut self, key: &str, words: &str) {
        self.found.invented += 1;
        self.example(format!("{key}: invented: {words}"));
    }

    pub(crate) fn resurrected(&mut self, key: &str, version: u32, deleted_by: u32) {
        self.found.resurrected += 1;
        self.example(format!(
            "{key}: version {version} is back, which was deleted by the acknowledged write {deleted_by}"
        ));
    }

    pub(crate) fn lost(&mut self, key: &str, version: u32, age_s: f64) {
        self.found.lost += 1;
        let place = LOST_AGES_S.iter().take_while(|bound| age_s >= **bound).count();
        self.found.lost_ages.resize(LOST_AGES_S.len() + 1, 0);
        self.found.lost_ages[place] += 1;
        self.found.oldest_lost_s = Some(self.found.oldest_lost_s.unwrap_or_default().max(age_s));
        self.example(format!("{key}: the acknowledged write {version} is lost, {age_s:.3} s old at the crash"));
    }

    pub(crate) fn client(&mut self, acknowledged: u64, in_doubt: u64, lost: u64, holes: u64) {
        self.found.acknowledged += acknowledged;
        self.found.in_doubt += in_doubt;
        self.found.holes += holes;
        self.found.clients.push(ClientSurvival { acknowledged, lost });
    }

    fn example(&mut self, words: String) {
        if self.found.examples.len() < MOST_EXAMPLES {
            self.found.examples.push(words);
        }
    }
}
