//! Binds the tokens of an identity provider to a key by DPoP (RFC 9449), as a client.
//!
//! Responsible for the proofs of one login, and for the nonces that the identity provider asks for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use url::Url;

use super::error::ConnectorError;
use passerelle_jose::PrivateJwk;
use passerelle_jose::dpop_key::DpopKey;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;

/// Header of a proof (RFC 9449 §4.1).
pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");
const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");
/// Error of a server that asks for its nonce (RFC 9449 §8).
pub(crate) const USE_DPOP_NONCE: &str = "use_dpop_nonce";
/// Maximum length of a nonce that is sent back.
const MAX_NONCE_CHARS: usize = 1024;
/// Maximum number of origins whose nonce is remembered; an identity provider has one to three.
const MAX_ORIGINS: usize = 16;

/// The last nonce of each server of one identity provider, by origin (RFC 9449 §8.2).
#[derive(Default)]
pub struct ServerNonces(Mutex<BTreeMap<String, String>>);

impl ServerNonces {
    /// Stores the nonce of a response if it has a usable one, because every response may have a new
    /// one. Returns whether it has one.
    fn remember(&self, url: &Url, headers: &HeaderMap) -> bool {
        let mut received = headers.get_all(DPOP_NONCE).iter();
        let (Some(nonce), None) = (received.next(), received.next()) else { return false };
        let is_acceptable = |nonce: &&str| (1..=MAX_NONCE_CHARS).contains(&nonce.len());
        // `to_str` accepts visible ASCII only.
        let Some(nonce) = nonce.to_str().ok().filter(is_acceptable) else { return false };
        let mut nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let origin = url.origin().ascii_serialization();
        if nonces.len() >= MAX_ORIGINS && !nonces.contains_key(&origin) {
            nonces.clear();
        }
        nonces.insert(origin, nonce.to_owned());
        true
    }

    fn latest(&self, url: &Url) -> Option<String> {
        let nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nonces.get(&url.origin().ascii_serialization()).cloned()
    }
}

/// Proves possession of the key of one login.
pub struct DpopSession<'a> {
    key: DpopKey,
    nonces: &'a ServerNonces,
    env: &'a Env,
}

impl<'a> DpopSession<'a> {
    /// Returns the session of this key.
    ///
    /// # Errors
    /// `Internal` if the key is unusable.
    pub fn new(
        key: &PrivateJwk,
        nonces: &'a ServerNonces,
        env: &'a Env,
    ) -> Result<Self, ConnectorError> {
        let key = DpopKey::parse(key)
            .map_err(|error| ConnectorError::new(ErrorCode::Internal, error.to_string()))?;
        Ok(Self { key, nonces, env })
    }

    /// Returns the thumbprint of the key, for `dpop_jkt` (RFC 9449 §10).
    pub fn thumbprint(&self) -> &str {
        self.key.thumbprint()
    }

    /// Returns a proof for one request (RFC 9449 §4.2), with the server's last nonce. With an
    /// access token, the proof is for that one too (§7).
    ///
    /// # Errors
    /// `Internal` if OpenSSL fails.
    pub fn proof(
        &self,
        method: &http::Method,
        url: &Url,
        access_token: Option<&Secret<String>>,
    ) -> Result<HeaderValue, ConnectorError> {
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let mut claims = Map::from_iter([
            ("jti".to_owned(), Value::from(self.env.entropy().token())),
            ("htm".to_owned(), method.as_str().into()),
            ("htu".to_owned(), target.as_str().into()),
            ("iat".to_owned(), self.env.now().seconds().into()),
        ]);
        if let Some(nonce) = self.nonces.latest(url) {
            claims.insert("nonce".to_owned(), nonce.into());
        }
        if let Some(token) = access_token {
            claims.insert("ath".to_owned(), digest::sha256_base64url(token.reveal()).into());
        }
        self.key
            .sign_proof(&claims)
            .and_then(|proof| HeaderValue::from_str(&proof).ok())
            .ok_or_else(|| ConnectorError::new(ErrorCode::Internal, "no DPoP proof can be signed"))
    }

    /// Remembers the nonce of a response. Returns whether it has one.
    pub fn remember_nonce(&self, url: &Url, headers: &HeaderMap) -> bool {
        self.nonces.remember(url, headers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_sent_only_to_its_issuer_and_a_malformed_one_to_none() {
        let nonces = ServerNonces::default();
        let headers = |values: &[&[u8]]| {
            let values = values.iter().map(|value| HeaderValue::from_bytes(value).unwrap());
            values.map(|value| (DPOP_NONCE, value)).collect::<HeaderMap>()
        };
        let url = |text: &str| Url::parse(text).unwrap();
        assert!(nonces.remember(&url("https://idp.example/token"), &headers(&[b"n-1"])));
        assert_eq!(nonces.latest(&url("https://idp.example/userinfo")).as_deref(), Some("n-1"));
        for other in ["https://idp.example:444/", "http://idp.example/", "https://evil.example/"] {
            assert_eq!(nonces.latest(&url(other)), None, "{other}");
        }
        let long = [b'n'; MAX_NONCE_CHARS + 1];
        let odd: [&[&[u8]]; 5] = [&[], &[b""], &[b"a", b"b"], &[b"\xc3\xa9"], &[&long]];
        for odd in odd {
            assert!(!nonces.remember(&url("https://idp.example/"), &headers(odd)));
        }
        assert_eq!(nonces.latest(&url("https://idp.example/")).as_deref(), Some("n-1"));
        for number in 0..100 {
            nonces.remember(&url(&format!("https://{number}.example/")), &headers(&[b"n"]));
        }
        assert!(nonces.0.lock().unwrap().len() <= MAX_ORIGINS);
    }
}
