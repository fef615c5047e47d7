//! Fuzzing of stores behind HTTP: one reply of an operation is mutated, cut and sent in pieces, over a real socket.
//!
//! Whatever comes, the client must not panic, must come to an end, must hold no more than came, and must make the same of one reply
//! however it is split.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::shared::http::Http;
use ground::fuzz::{Dice, STREAMS, mutate};
use std::io::ErrorKind;
use std::time::Duration;
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::{Endpoint, Operation};
use tokio::net::UnixStream;

/// An operation, and good replies to its requests: status and body.
pub(crate) type HttpSample = (Operation<'static>, &'static [(u16, &'static str)]);

/// The time after which a client that is not at an end hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns a reply of announced length, or in chunks.
fn reply(status: u16, body: &str, dice: &mut Dice) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n");
    let at = dice.below(body.len());
    match dice.below(3) {
        0 if body.is_char_boundary(at) && at > 0 => {
            let (first, second) = body.split_at(at);
            let (one, two) = (first.len(), second.len());
            format!("{head}Transfer-Encoding: chunked\r\n\r\n{one:x}\r\n{first}\r\n{two:x}\r\n{second}\r\n0\r\n\r\n")
        }
        _ => format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()),
    }
    .into_bytes()
}

/// Answers each request with the next reply, in pieces of `piece_bytes` bytes, and hangs up after the last.
async fn serve(socket: UnixStream, replies: Vec<Vec<u8>>, piece_bytes: usize) {
    let mut request = vec![0; 64 << 10];
    for reply in replies {
        loop {
            socket.readable().await.unwrap();
            match socket.try_read(&mut request) {
                Ok(1..) => break,
                // It only seemed to be readable.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Ok(0) | Err(_) => return,
            }
        }
        for piece in reply.chunks(piece_bytes) {
            // Nothing sent is as large as the socket's buffer.
            if socket.try_write(piece).is_err() {
                return;
            }
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Returns the client's reply to these answers.
async fn made<C: AsyncClient>(
    make: impl Fn(Http) -> C,
    operation: &Operation<'_>,
    replies: &[Vec<u8>],
    piece_bytes: usize,
) -> (BufferedReply, String) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = tokio::spawn(serve(theirs, replies.to_vec(), piece_bytes));
    // A second connection cannot be had.
    let mut client = make(Http::over(&Endpoint::unix("/nowhere/at/all"), ours).await.unwrap());
    let mut buffer = ReplyBuffer::default();
    let answer = tokio::time::timeout(PATIENCE, client.execute(operation, &mut buffer)).await;
    server.abort();
    let answer = answer.unwrap_or_else(|_| panic!("{operation:?} hangs"));
    (answer, format!("{buffer:?}"))
}

fn is_failure(answer: BufferedReply) -> bool {
    matches!(answer, BufferedReply::Refused | BufferedReply::ConnectionLost | BufferedReply::Protocol)
}

/// Tries replies to these operations.
pub(crate) fn assault<C: AsyncClient>(make: impl Fn(Http) -> C, samples: &[HttpSample]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut ended = [0; 3];
    for seed in 0..STREAMS {
        let mut dice = Dice::of(seed);
        let (operation, answers) = &samples[dice.below(samples.len())];
        let mut replies: Vec<_> = answers.iter().map(|(status, body)| reply(*status, body, &mut dice)).collect();
        // The last: after one that seems longer than it is, the server would wait for a request and the client for the rest.
        let at = replies.len() - 1;
        let good = replies[at].clone();
        mutate(&mut replies[at], &mut dice);
        let piece_bytes = 1 + dice.below(60);
        let at_once = runtime.block_on(made(&make, operation, &replies, usize::MAX));
        let in_pieces = runtime.block_on(made(&make, operation, &replies, piece_bytes));
        let came: usize = replies.iter().map(Vec::len).sum();
        // Bytes are written as numbers here, with a comma and a space.
        assert!(at_once.1.len() < 12 * came + 1000, "seed {seed}: {} bytes of {came}", at_once.1.len());
        // What lies behind a reply meets the next request or does not.
        if let [reply] = &replies[..] {
            let same = at_once == in_pieces || (is_failure(at_once.0) && is_failure(in_pieces.0));
            assert!(
                same,
                "seed {seed}: {operation:?} {}\nat once {at_once:?}\nin pieces of {piece_bytes} {in_pieces:?}",
                reply.escape_ascii()
            );
        }
        if replies[at] == good {
            assert!(
                !is_failure(at_once.0) && !is_failure(in_pieces.0),
                "seed {seed}: {operation:?} {at_once:?} {in_pieces:?}"
            );
        }
        ended[match at_once.0 {
            BufferedReply::Protocol | BufferedReply::Refused => 1,
            BufferedReply::ConnectionLost => 2,
            _ => 0,
        }] += 1;
    }
    // Each end was met often: the replies are neither all right nor all nonsense.
    assert!(ended.iter().all(|count| *count > STREAMS / 50), "{ended:?}");
}
