//! A service at an endpoint, and connections to it whose requests are signed.

use super::signature::{Signer, hex_sha256};
use crate::shared::http::{Answered, Bytes, Http, HttpError, Method, header};
use header::{HeaderName, HeaderValue};
use std::time::{SystemTime, UNIX_EPOCH};
use store::tls;
use store::{Endpoint, StoreError};
use study::Spec;

/// The region of signatures when neither the user nor the name of the host states one.
const REGION: &str = "us-east-1";

/// The ends of the host names of Amazon's own servers.
const AMAZON: [&str; 2] = [".amazonaws.com", ".amazonaws.com.cn"];

/// A service at an endpoint, and the login for it.
#[derive(Clone)]
pub(crate) struct Service {
    endpoint: Endpoint,
    signer: Signer,
    /// The host as requests name it.
    host: HeaderValue,
}

impl Service {
    /// Returns the service of this name (`dynamodb`, `s3`) at an endpoint, reached as the options of the spec say.
    pub(crate) fn of(name: &'static str, spec: &Spec, endpoint: &Endpoint) -> Result<Service, StoreError> {
        let host = match endpoint.tcp() {
            // As all other clients have it: the port of the scheme is not named.
            Some((host, port)) if port == if endpoint.tls.is_some() { tls::PORT } else { 80 } => host.to_owned(),
            _ => endpoint.to_string().replace('/', "-"),
        };
        let host = HeaderValue::try_from(host)
            .map_err(|_| StoreError::open(endpoint, "the name of the host cannot be sent; correct it"))?;
        let region = super::REGION.asked(spec).or_else(|| region_of(endpoint)).unwrap_or(REGION);
        let signer = Signer::new(endpoint, region, name);
        Ok(Service { endpoint: endpoint.clone(), signer, host })
    }

    /// Returns whether Amazon itself answers there.
    pub(crate) fn is_amazons(&self) -> bool {
        self.endpoint.tcp().is_some_and(|(host, _)| AMAZON.iter().any(|end| host.to_ascii_lowercase().ends_with(end)))
    }

    /// Returns whether the connection is encrypted.
    pub(crate) fn tls(&self) -> &'static str {
        if self.endpoint.tls.is_some() { "TLS" } else { "no TLS" }
    }

    /// Returns the region of signatures.
    pub(crate) fn region(&self) -> &str {
        self.signer.region()
    }

    /// Connects.
    pub(crate) async fn open(&self) -> Result<Signed, HttpError> {
        Ok(self.over(Http::open_bare(&self.endpoint).await?))
    }

    /// Wraps a connection that is open already.
    pub(crate) fn over(&self, http: Http) -> Signed {
        Signed { http, signer: self.signer.clone(), host: self.host.clone() }
    }
}

/// Returns `eu-central-1` from `dynamodb.eu-central-1.amazonaws.com`.
fn region_of(endpoint: &Endpoint) -> Option<&str> {
    let (host, _) = endpoint.tcp()?;
    let name = AMAZON.iter().find_map(|end| host.strip_suffix(end))?;
    name.rsplit('.').next().filter(|region| *region != name && region.contains('-'))
}

/// A connection whose requests are signed.
pub(crate) struct Signed {
    http: Http,
    signer: Signer,
    host: HeaderValue,
}

impl Signed {
    /// Bounds replies: see [`Http::believe`].
    pub(crate) fn believe(&mut self, largest_reply_bytes: u64) {
        self.http.believe(largest_reply_bytes);
    }

    /// Signs a request, sends it and reads the whole answer. The path and the query are encoded, and the parameters in the order of
    /// their names; headers are given in that order, too, and lie between `host` and `x-amz-content-sha256`.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        query: &str,
        headers: &[(HeaderName, HeaderValue)],
        body: Vec<u8>,
    ) -> Result<Answered, HttpError> {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let stamp: String = study::rfc3339(now_s).chars().filter(|sign| !matches!(sign, '-' | ':')).collect();
        let body_sha256 = hex_sha256(&body);
        let value = |text: &str| HeaderValue::try_from(text).map_err(|error| HttpError::Protocol(error.to_string()));
        let mut all = vec![(header::HOST, self.host.clone())];
        all.extend_from_slice(headers);
        all.push((HeaderName::from_static("x-amz-content-sha256"), value(&body_sha256)?));
        all.push((HeaderName::from_static("x-amz-date"), value(&stamp)?));
        all.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        if self.signer.has_key() {
            let authorization = self.signer.authorization(&stamp, method.as_str(), path, query, &all, &body_sha256);
            all.push((header::AUTHORIZATION, value(&authorization)?));
        }
        let uri = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        self.http.send(method, &uri, all, body.into()).await
    }
}

/// Returns a body as text, shortened to what is worth showing.
pub(crate) fn shown(body: &Bytes) -> String {
    String::from_utf8_lossy(&body[..body.len().min(200)]).trim().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::Service;
    use store::Endpoint;
    use study::{Spec, Target};

    fn service(text: &str) -> Result<Service, String> {
        let spec: Spec = text.parse().unwrap();
        let Target::Server(authority) = &spec.target else { panic!("{spec}") };
        let endpoint = store::tls::secured(&spec, Endpoint::of(authority, 443)).unwrap().remove(0);
        Service::of("dynamodb", &spec, &endpoint).map_err(|error| error.to_string())
    }

    #[test]
    fn the_region_and_tls_follow_from_the_address_unless_said_otherwise() {
        for (text, expected) in [
            ("dynamodb://a:b@dynamodb.eu-central-1.amazonaws.com/t", ("eu-central-1", "TLS", true)),
            ("dynamodb://a:b@dynamodb.cn-north-1.amazonaws.com.cn/t", ("cn-north-1", "TLS", true)),
            ("dynamodb://a:b@s3.amazonaws.com,region=sa-east-1", ("sa-east-1", "TLS", true)),
            ("dynamodb://a:b@s3.amazonaws.com", ("us-east-1", "TLS", true)),
            ("dynamodb://127.0.0.1:8000", ("us-east-1", "no TLS", false)),
            ("dynamodb://h:8000,tls=on", ("us-east-1", "TLS", false)),
            ("dynamodb://h,tls=off", ("us-east-1", "no TLS", false)),
            ("dynamodb://amazonaws.com.example.org:80", ("us-east-1", "no TLS", false)),
        ] {
            let service = service(text).unwrap();
            assert_eq!((service.region(), service.tls(), service.is_amazons()), expected, "{text}");
        }
    }

    #[test]
    fn a_port_is_named_to_the_server_unless_it_is_the_usual_one() {
        let host = |text: &str| service(text).unwrap().host.to_str().unwrap().to_owned();
        assert_eq!(host("dynamodb://h"), "h");
        assert_eq!(host("dynamodb://h:80"), "h");
        assert_eq!(host("dynamodb://h:443,tls=off"), "h:443");
        assert_eq!(host("dynamodb://h:8000"), "h:8000");
    }
}
