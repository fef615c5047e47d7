//! TLS over a connection of a driver's or of the HTTP client.

use rustls::pki_types::ServerName;
use store::tls::{Trust, config, explained, words};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Shakes hands with a server whose certificate a trusted authority has signed, or says in words why that failed.
pub(crate) async fn over(stream: TcpStream, host: &str, trust: &Trust) -> Result<TlsStream<TcpStream>, String> {
    let name = ServerName::try_from(host.to_owned())
        .map_err(|_| format!("TLS: '{host}' is no name of a host; correct the URL"))?;
    let config = config(trust).map_err(|error| error.to_string())?;
    TlsConnector::from(config).connect(name, stream).await.map_err(|error| {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        inner.map_or_else(|| explained(&error), words)
    })
}
