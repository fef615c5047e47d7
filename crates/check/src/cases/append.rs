//! Bytes added at the end of values.

use super::Case;
use crate::fault::Stop;
use crate::subject::Subject;
use crate::value;
use store::OperationKind;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("appending creates a missing key and adds to an existing one", &[OperationKind::Append], grows),
        Case::new("16 clients append to one key and nothing is lost", &[OperationKind::Append], together),
    ]
}

fn grows(subject: &Subject<'_>) -> Result<(), Stop> {
    let limit = subject.longest_value_bytes();
    let mut probe = subject.probe()?;
    let (missing, existing, next) =
        (subject.key("appended to nothing"), subject.key("appended to"), subject.key("next to the appended"));
    let next_value = value::of(&next, 1, 30);
    probe.put(&next, &next_value)?;
    let mut whole = value::of(&existing, 0, 100);
    probe.put(&existing, &whole)?;
    let mut created = Vec::new();
    let tails = [1, 0, 10, 1000, 24, 1, 65_537, 3].into_iter().chain([7; 100]);
    for (version, len) in tails.enumerate() {
        if whole.len() + len > limit {
            continue;
        }
        let tail = value::of(&existing, version as u64 + 1, len);
        for (key, model) in [(&missing, &mut created), (&existing, &mut whole)] {
            model.extend_from_slice(&tail);
            probe.append(key, &tail, model.len())?;
            subject.ledger.write(key, model);
            probe.holds(key, model)?;
        }
        probe.holds(&next, &next_value)?;
    }
    probe.delete(&existing)?;
    probe.append(&existing, b"next", 4)?;
    probe.holds(&existing, b"next")
}

const PIECE_BYTES: usize = 16;
const PIECES: usize = 25;

fn together(subject: &Subject<'_>) -> Result<(), Stop> {
    let key = subject.key("appended by all");
    let piece = |client: usize, number: usize| value::of(format!("{client}").as_bytes(), number as u64, PIECE_BYTES);
    subject.clients(super::CLIENTS, |client, _| {
        let mut probe = subject.probe()?;
        (0..PIECES).try_for_each(|number| probe.append_beside_others(&key, &piece(client, number)))
    })?;
    let whole = subject.probe()?.value(&key)?;
    let mut next = [0; super::CLIENTS];
    for (at, found) in whole.chunks(PIECE_BYTES).enumerate() {
        // Each client's pieces come in its order.
        let owner = (0..super::CLIENTS).find(|client| next[*client] < PIECES && piece(*client, next[*client]) == found);
        match owner {
            Some(client) => next[client] += 1,
            None => {
                let seen =
                    format!("at byte {} is no client's next piece, of {} bytes in all", at * PIECE_BYTES, whole.len());
                return Err(Stop::wrong(study::ReasonKind::WrongValue, &key, seen));
            }
        }
    }
    match next.iter().map(|done| PIECES - done).sum::<usize>() {
        0 => Ok(()),
        lost => {
            let seen = format!("{lost} of {} appends were acknowledged and are not there", PIECES * super::CLIENTS);
            Err(Stop::wrong(study::ReasonKind::LostUpdates, &key, seen))
        }
    }
}
