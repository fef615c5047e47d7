//! A server that gives the replies of a test, one after the other, and keeps the requests.
#![allow(clippy::unwrap_used)]

use crate::shared::http::Http;
use store::asynchronous::{AsyncClient, BufferedReply, ReplyBuffer};
use store::{Endpoint, Operation};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// Returns the bytes of the body that a request announces.
fn body_bytes(head: &str) -> usize {
    let length =
        head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    length.map_or(0, |length| length.parse().unwrap())
}

/// Gives a reply to each request until there are no more of either, and returns the requests.
async fn serve(mut socket: UnixStream, replies: Vec<String>) -> Vec<String> {
    let mut requests = Vec::new();
    for reply in replies {
        let mut request = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&request).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n")
                && body.len() >= body_bytes(head)
            {
                requests.push(text);
                break;
            }
            if socket.read_buf(&mut request).await.unwrap_or(0) == 0 {
                return requests;
            }
        }
        socket.write_all(reply.as_bytes()).await.unwrap();
    }
    requests
}

/// Carries out operations one after the other, with these replies (status line and headers, and a body), and returns what the operations and the
/// requests came to.
pub(crate) fn dialogue<C: AsyncClient>(
    make: impl Fn(Http) -> C,
    operations: &[Operation<'_>],
    replies: &[(&str, &str)],
) -> (Vec<BufferedReply>, Vec<String>) {
    let whole =
        |(head, body): &(&str, &str)| format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let replies = replies.iter().map(whole).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = tokio::spawn(serve(theirs, replies));
        let mut client = make(Http::over(&Endpoint::unix("/nowhere/at/all"), ours).await.unwrap());
        let mut ended = Vec::new();
        for operation in operations {
            ended.push(client.execute(operation, &mut ReplyBuffer::default()).await);
        }
        drop(client);
        (ended, server.await.unwrap())
    })
}
