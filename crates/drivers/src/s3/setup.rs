//! Connecting: who answers, and the bucket.

use super::capabilities;
use super::client::{Client, refused, said};
use super::private::SERVER;
use crate::shared::aws::{Service, Signed};
use crate::shared::http::{HttpError, HttpTrouble, Method, in_url};
use std::collections::BTreeMap;
use std::time::Duration;
use store::asynchronous::{Async, brief};
use store::{
    Belongings, COUNT_PATIENCE, Capabilities, Endpoint, Facts, Holding, Session, SessionPlan, Store, StoreError,
};
use study::{Durability, Spec, Target};

/// The time a server may take to let us in.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// The version of the protocol: a date is all that the protocol states about itself.
const PROTOCOL: &str = "2006-03-01";

/// The region of a bucket by default.
const FIRST_REGION: &str = "us-east-1";

struct S3 {
    endpoint: Endpoint,
    service: Service,
    bucket: String,
    target: Target,
    capabilities: Capabilities,
    product: String,
    version: String,
}

/// Connects, and makes the bucket if it is absent.
pub(super) fn connect(spec: &Spec, nodes: &[Endpoint]) -> Result<Box<dyn Store>, StoreError> {
    let endpoint = store::only(nodes)?;
    let bucket = endpoint.database.as_deref().unwrap_or("kvtrial").to_owned();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    if !(3..=63).contains(&bucket.len()) || !bucket.bytes().all(plain) || bucket.starts_with('.') {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("'{bucket}' is no bucket; its name has 3 to 63 lowercase letters, digits, - and ."),
        });
    }
    if matches!(spec.target, Target::Server(_)) && SERVER.asked(spec).is_some() {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: "server= is for a private store; leave it out where a URL says which server it is".into(),
        });
    }
    let service = Service::of("s3", spec, endpoint)?;
    let server = brief(endpoint, CONNECT_TIMEOUT, async {
        let mut signed = service.open().await.map_err(|error: HttpError| StoreError::open(endpoint, error))?;
        make(&mut signed, &bucket, service.region())
            .await
            .map_err(|trouble| StoreError::open(endpoint, remedied(trouble)))
    })?;
    let (product, version, durability) = match &spec.target {
        Target::Server(_) if service.is_amazons() => ("Amazon S3".to_owned(), PROTOCOL.to_owned(), Durability::Commit),
        Target::Server(_) => {
            let product = if server.is_empty() { "a server of S3's protocol".to_owned() } else { server };
            (product, PROTOCOL.to_owned(), Durability::None)
        }
        Target::Private | Target::Path(_) => {
            let server = SERVER.read(spec);
            let version = server.program().and_then(|program| server.version(&program));
            (server.name().to_owned(), version.unwrap_or_else(|| "0".into()), Durability::Os)
        }
    };
    if let Some(asked) = spec.durability.filter(|asked| *asked != durability) {
        return Err(StoreError::Unsupported {
            store: spec.name.clone(),
            problem: format!("durability={asked} was asked for, but {product} has {durability}; leave durability out"),
        });
    }
    Ok(Box::new(S3 {
        endpoint: endpoint.clone(),
        service,
        bucket,
        target: spec.target.clone(),
        capabilities: Capabilities { durability, ..capabilities(spec) },
        product,
        version,
    }))
}

/// Returns the words of a refusal, with what to do about the usual ones.
fn remedied(trouble: HttpTrouble) -> String {
    let words = trouble.words();
    // versitygw does not know the key.
    let remedy = if words.starts_with("HTTP 403") || words.starts_with("HTTP 404: XAdminUserNotFound") {
        ". Give a key that may use the bucket, and its secret: s3://KEY:SECRET@HOST/BUCKET"
    } else {
        ""
    };
    words + remedy
}

/// Makes the bucket if it is absent, and returns the name that the server gives itself.
async fn make(signed: &mut Signed, bucket: &str, region: &str) -> Result<String, HttpTrouble> {
    let path = format!("/{bucket}");
    // A list of one: its refusals have words, which those of HEAD have not.
    let answered = signed.ask(Method::GET, &path, "list-type=2&max-keys=1", &[], Vec::new()).await?;
    let server = answered.headers.get("server").and_then(|name| name.to_str().ok()).unwrap_or_default().to_owned();
    match answered.status {
        200 if said(&answered, "Name").is_some() => Ok(server),
        200 => Err(HttpTrouble::Nonsense("this is no S3: it does not list a bucket".into())),
        404 if said(&answered, "Code").is_some_and(|code| code == "NoSuchBucket") => {
            let body = match region {
                FIRST_REGION => String::new(),
                region => format!(
                    "<CreateBucketConfiguration><LocationConstraint>{region}</LocationConstraint></CreateBucketConfiguration>"
                ),
            };
            let made = signed.ask(Method::PUT, &path, "", &[], body.into_bytes()).await?;
            match said(&made, "Code").as_deref() {
                // Another connection was faster.
                Some("BucketAlreadyOwnedByYou") => Ok(server),
                _ if made.status == 200 => Ok(server),
                _ => Err(refused(&made)),
            }
        }
        301 | 307 | 400 => {
            let there = answered.headers.get("x-amz-bucket-region").and_then(|region| region.to_str().ok());
            match there.filter(|there| *there != region) {
                Some(there) => {
                    Err(HttpTrouble::Refused(format!("the bucket is in another region; add region={there}")))
                }
                None => Err(refused(&answered)),
            }
        }
        _ => Err(refused(&answered)),
    }
}

impl S3 {
    async fn open(&self) -> Result<Signed, StoreError> {
        self.service.open().await.map_err(|error| StoreError::open(&self.endpoint, error))
    }
}

impl Store for S3 {
    store::of_driver!(capabilities);

    fn session(&self, plan: SessionPlan) -> Result<Box<dyn Session>, StoreError> {
        Async::session(plan, async |_| Ok(Client::new(self.open().await?, format!("/{}", self.bucket))))
    }

    /// Returns the bucket, which is kept afterwards: it may be older than the run.
    fn belongings(&self) -> Belongings<'_> {
        Belongings::Left(vec![format!("bucket {}", self.bucket)])
    }

    /// Lists the objects, a thousand per request, which Amazon would charge for.
    fn holding(&self) -> Result<Holding, StoreError> {
        if self.target != Target::Private {
            return Ok(Holding::default());
        }
        let failed = |trouble: HttpTrouble| StoreError::open(&self.endpoint, trouble.words());
        brief(&self.endpoint, COUNT_PATIENCE, async {
            let mut signed = self.open().await?;
            let (mut keys, mut from) = (0, String::new());
            loop {
                let query = format!("{from}list-type=2");
                let path = format!("/{}", self.bucket);
                let listed = signed.ask(Method::GET, &path, &query, &[], Vec::new()).await;
                let listed = listed.map_err(|error| failed(error.into()))?;
                if listed.status != 200 {
                    return Err(failed(refused(&listed)));
                }
                keys += String::from_utf8_lossy(&listed.body).matches("<Contents>").count() as u64;
                let Some(token) = said(&listed, "NextContinuationToken") else { break };
                from = format!("continuation-token={}&", in_url(token));
            }
            Ok(Holding { keys: Some(keys), ..Holding::default() })
        })
    }

    fn facts(&self) -> Result<Facts, StoreError> {
        let text = |text: &str| text.to_owned();
        let signed = if self.endpoint.user.is_some() { "each is signed (Signature Version 4)" } else { "not signed" };
        let mut config = BTreeMap::from([
            (text("connections"), text("one per slot, one request at a time")),
            (text("protocol"), format!("S3 {PROTOCOL} over HTTP, {}; the bucket in the path", self.service.tls())),
            (text("requests"), text(signed)),
            (
                text("deletes"),
                text(
                    "read first, then on condition of the ETag; if the server ignores it, two clients may both delete",
                ),
            ),
            (text("compare-and-set"), text("on the ETag: a value that changed and changed back passes")),
            (text("region"), self.service.region().to_owned()),
            (text("bucket"), self.bucket.clone()),
            (text("driver"), text("hyper")),
        ]);
        if self.target == Target::Private {
            config.insert(text("stand-in"), text("for Amazon S3: these figures are not Amazon's"));
        }
        Ok(Facts { product: self.product.clone(), version: self.version.clone(), config, ..Facts::default() })
    }
}
