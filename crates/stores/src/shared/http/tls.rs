//! HTTP over TLS.

use super::{Bytes, Full, HttpError, SendRequest, speak};
use rustls::pki_types::ServerName;
use store::Endpoint;
use store::tls::{Trust, config, words};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Connects to a server whose certificate those trusted have signed.
pub(super) async fn connect(endpoint: &Endpoint, trust: &Trust) -> Result<SendRequest<Full<Bytes>>, HttpError> {
    let lost = |words: String| HttpError::Lost(words);
    let Some((host, port)) = endpoint.tcp() else {
        return Err(lost("TLS is spoken over TCP only; give host and port".into()));
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|error| lost(format!("TLS to {host}: {error}")))?;
    let config = config(trust).map_err(|error| lost(error.to_string()))?;
    let stream = TcpStream::connect((host, port)).await.map_err(|error| lost(error.to_string()))?;
    stream.set_nodelay(true).map_err(|error| lost(error.to_string()))?;
    let stream = TlsConnector::from(config).connect(name, stream).await.map_err(|error| {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        lost(inner.map_or_else(|| format!("TLS: {error}"), words))
    })?;
    speak(stream).await
}
