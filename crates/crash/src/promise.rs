//! Whether a level of durability kept its promise in crashes, and what that can rule out.

use study::{CrashCut, Durability, Promise};

/// Returns the verdict of these cuts on a level. Those that measured nothing show nothing.
pub fn promise(level: Durability, cuts: &[CrashCut]) -> Promise {
    if cuts.iter().any(|cut| cut.breaks(level)) {
        Promise::Broken
    } else if cuts.iter().any(|cut| cut.found.acknowledged > 0 && cut.not_measured.is_none()) {
        Promise::Kept
    } else {
        Promise::NotShown
    }
}

/// Returns the largest share of cuts in which a promise may still break that was kept in all of these, at 95 % (the rule of three).
pub fn ruled_out(clean_cuts: u32) -> f64 {
    match clean_cuts {
        0 => 1.0,
        cuts => 1.0 - 0.05_f64.powf(1.0 / f64::from(cuts)),
    }
}

#[cfg(test)]
mod tests {
    use super::{promise, ruled_out};
    use study::{CrashCut, CrashFindings, Durability, PowerCut, Promise};

    #[test]
    fn in_a_power_cut_os_promises_nothing_and_what_measured_nothing_shows_nothing() {
        let cut = |change: fn(&mut CrashCut)| {
            let found = CrashFindings { acknowledged: 9, lost: 4, ..CrashFindings::default() };
            let mut cut = CrashCut { found, power: Some(PowerCut::default()), ..CrashCut::default() };
            change(&mut cut);
            cut
        };
        let lost = cut(|_| {});
        let torn = cut(|it| it.found.torn = 1);
        let idle = cut(|it| {
            it.found.lost = 0;
            it.not_measured = Some("nothing was written".into());
        });
        let damaged = cut(|it| it.not_measured = Some("the file system was damaged".into()));
        assert_eq!(promise(Durability::Os, std::slice::from_ref(&lost)), Promise::Kept);
        assert_eq!(promise(Durability::Os, &[torn]), Promise::Broken);
        assert_eq!(promise(Durability::Commit, &[idle.clone(), lost]), Promise::Broken);
        assert_eq!(promise(Durability::Commit, &[idle, damaged]), Promise::NotShown);
    }

    #[test]
    fn none_may_lose_and_the_others_may_not() {
        let cut = |change: fn(&mut CrashFindings)| {
            let mut found = CrashFindings { acknowledged: 9, ..CrashFindings::default() };
            change(&mut found);
            [CrashCut { found, ..CrashCut::default() }]
        };
        let (good, lost, torn) = (cut(|_| {}), cut(|it| it.lost = 1), cut(|it| it.torn = 1));
        for level in [Durability::Os, Durability::Commit] {
            assert_eq!(
                [&good, &lost, &torn].map(|cuts| promise(level, cuts)),
                [Promise::Kept, Promise::Broken, Promise::Broken]
            );
        }
        assert_eq!(
            [&good, &lost, &torn].map(|cuts| promise(Durability::None, cuts)),
            [Promise::Kept, Promise::Kept, Promise::Broken]
        );
        let aged = |age_s| {
            let mut cuts = cut(|it| it.lost = 1);
            cuts[0].found.oldest_lost_s = Some(age_s);
            promise(Durability::Second, &cuts)
        };
        assert_eq!([0.9, 1.1].map(aged), [Promise::Kept, Promise::Broken]);
        assert_eq!(promise(Durability::Os, &cut(|it| it.acknowledged = 0)), Promise::NotShown);
        assert_eq!(promise(Durability::Os, &[]), Promise::NotShown);
        assert!((0.138..0.140).contains(&ruled_out(20)), "20 clean cuts leave up to 14 %");
    }
}
