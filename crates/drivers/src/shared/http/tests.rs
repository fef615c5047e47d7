//! Requests over a socket whose other end is the test.
#![allow(clippy::unwrap_used)]

use super::trouble::HttpTrouble;
use super::{Http, HttpError, Method, PATH_BYTES};
use store::Endpoint;
use store::asynchronous::{BufferedReply, IntoReply, ReplyBuffer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

#[test]
fn a_path_longer_than_a_server_reads_is_refused_unsent_and_the_connection_stays_usable() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut http = Http::over(&Endpoint::unix("/nowhere/at/all"), ours).await.unwrap();
        let long = format!("/{}", "k".repeat(PATH_BYTES));
        let refused = http.ask(Method::PUT, &long, b"{}".to_vec()).await.err().unwrap();
        assert!(matches!(refused, HttpError::TooLong(_)), "{refused}");
        let reply = HttpTrouble::from(refused).reply(&mut ReplyBuffer::default());
        assert_eq!(reply, BufferedReply::Refused);
        let (answered, request) = tokio::join!(http.ask(Method::GET, &long[..PATH_BYTES], Vec::new()), async {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                theirs.read_buf(&mut request).await.unwrap();
            }
            theirs.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await.unwrap();
            request
        });
        assert_eq!(&answered.unwrap().body[..], b"hi");
        assert!(request.starts_with(b"GET /kkk"), "something was sent before");
    });
}
