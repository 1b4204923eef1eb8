//! Messages in the query of a redirect (SAML V2.0 Bindings §3.4): requests, and logout in both
//! directions.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use url::Url;
use url::form_urlencoded::{Serializer, parse};

use crate::xml::{
    Limits, SignatureAlgorithm, VerificationKey, VerifiedXml, XmlSignatureError, verify_detached,
};

/// Longest `RelayState` (SAML V2.0 Bindings §3.4.3).
pub const MAX_RELAY_STATE_BYTES: usize = 80;
/// Longest query that is read.
const MAX_QUERY_BYTES: usize = 16 * 1024;
const DEFLATE: &str = "urn:oasis:names:tc:SAML:2.0:bindings:URL-Encoding:DEFLATE";

/// A message in the query of a redirect (SAML V2.0 Bindings §3.4.4.1).
#[derive(Debug)]
pub struct RedirectMessage {
    location: Url,
    /// The parameters that a signature covers, in their order.
    query: String,
}

impl RedirectMessage {
    /// Compresses a message for this address. `name` is `SAMLRequest` or `SAMLResponse`. With an
    /// algorithm the query must be signed.
    pub fn new(
        location: &Url,
        name: &str,
        xml: &str,
        relay_state: Option<&str>,
        algorithm: Option<SignatureAlgorithm>,
    ) -> Self {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        // Writing to memory does not fail.
        let _ = encoder.write_all(xml.as_bytes());
        let deflated = encoder.finish().unwrap_or_default();
        let mut query = Serializer::new(String::new());
        query.append_pair(name, &STANDARD.encode(deflated));
        if let Some(relay_state) = relay_state {
            query.append_pair("RelayState", relay_state);
        }
        if let Some(algorithm) = algorithm {
            query.append_pair("SigAlg", algorithm.uri());
        }
        Self { location: location.clone(), query: query.finish() }
    }

    /// Returns what the key must sign.
    pub fn signing_input(&self) -> &[u8] {
        self.query.as_bytes()
    }

    /// Returns the address of an unsigned message.
    pub fn into_url(self) -> Url {
        let query = self.query.clone();
        self.with_query(query)
    }

    /// Returns the address of a signed message.
    pub fn with_signature(self, signature: &[u8]) -> Url {
        let mut signed = Serializer::new(self.query.clone());
        signed.append_pair("Signature", &STANDARD.encode(signature));
        let query = signed.finish();
        self.with_query(query)
    }

    /// Keeps the parameters that the metadata's address has.
    fn with_query(self, query: String) -> Url {
        let mut url = self.location;
        let query = match url.query().filter(|own| !own.is_empty()) {
            Some(own) => format!("{own}&{query}"),
            None => query,
        };
        url.set_query(Some(&query));
        url
    }
}

/// Error returned for a message that did not come from the identity provider as it is.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RedirectError {
    #[error("the query is too long, has a parameter twice, or another encoding than DEFLATE")]
    Query,
    #[error("the message is not compressed XML in base64, or too large")]
    Message,
    #[error(transparent)]
    Signature(#[from] XmlSignatureError),
}

/// A message that arrived in a query, signed by the identity provider.
#[derive(Debug)]
pub struct ReceivedMessage {
    /// Whether it came as `SAMLResponse`, not as `SAMLRequest`.
    pub is_response: bool,
    pub message: VerifiedXml,
    pub relay_state: Option<String>,
}

impl ReceivedMessage {
    /// Verifies a message. `query` is the query as it arrived: the signature is over its escapes.
    ///
    /// # Errors
    /// Any [`RedirectError`].
    pub fn verify(query: &str, keys: &[VerificationKey]) -> Result<Self, RedirectError> {
        use RedirectError as E;
        if query.len() > MAX_QUERY_BYTES {
            return Err(E::Query);
        }
        let parameter = |name| single_parameter(query, name);
        let request = parameter("SAMLRequest")?;
        let response = parameter("SAMLResponse")?;
        let (message, is_response) = match (request, response) {
            (Some(request), None) => (request, false),
            (None, Some(response)) => (response, true),
            _ => return Err(E::Query),
        };
        let relay_state = parameter("RelayState")?;
        let encoding = parameter("SAMLEncoding")?.and_then(decode);
        if encoding.is_some_and(|encoding| encoding != DEFLATE) {
            return Err(E::Query);
        }
        let algorithm = parameter("SigAlg")?.ok_or(XmlSignatureError::Missing)?;
        let signature = parameter("Signature")?.and_then(decode);
        let signature = signature.ok_or(XmlSignatureError::Missing)?;
        let signature = STANDARD.decode(signature).map_err(|_| XmlSignatureError::Base64)?;
        let signed: Vec<&str> =
            [Some(message), relay_state, Some(algorithm)].into_iter().flatten().collect();
        let algorithm = decode(algorithm).and_then(|uri| SignatureAlgorithm::from_uri(&uri));
        let algorithm = algorithm.ok_or(XmlSignatureError::Algorithm)?;
        let message =
            verify_detached(keys, algorithm, signed.join("&").as_bytes(), &signature, inflate)?;
        Ok(Self {
            is_response,
            message: message.ok_or(E::Message)?,
            relay_state: relay_state.and_then(decode),
        })
    }
}

/// Returns a parameter with its name, as it arrived; an error if there are two.
fn single_parameter<'a>(query: &'a str, name: &str) -> Result<Option<&'a str>, RedirectError> {
    let is_named = |pair: &&str| pair.split_once('=').is_some_and(|(own, _)| own == name);
    let mut pairs = query.split('&').filter(is_named);
    match (pairs.next(), pairs.next()) {
        (_, Some(_)) => Err(RedirectError::Query),
        (first, None) => Ok(first),
    }
}

/// Returns the value of a parameter without its escapes.
fn decode(pair: &str) -> Option<String> {
    parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned())
}

/// Returns the document of the first parameter of a signed query.
fn inflate(signed: &[u8]) -> Option<Vec<u8>> {
    let (_, value) = parse(signed).next()?;
    let deflated = STANDARD.decode(value.as_bytes()).ok()?;
    let limit = u64::try_from(Limits::RESPONSE.bytes).ok()?;
    let mut document = Vec::new();
    // One byte more than allowed is refused by the reader. Stops decompression bombs.
    DeflateDecoder::new(&deflated[..]).take(limit + 1).read_to_end(&mut document).ok()?;
    Some(document)
}
