//! Sender-constrained access tokens on the wire: what a request sends to prove possession of a
//! key, and the key that a token is bound to (RFC 9449; RFC 8705; RFC 7800 §3.1).
//!
//! Does not verify anything: `token::dpop_proof` reads a proof, `token::client_certificate` a
//! certificate, and `grant` decides on them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::digest;
use crate::ids::Secret;

/// Algorithms of DPoP proofs: asymmetric ones only (RFC 9449 §4.3). `Ed25519` is `EdDSA` under its
/// own name (RFC 9864).
pub const DPOP_SIGNING_ALGS: &[&str] = &["ES256", "PS256", "RS256", "EdDSA", "Ed25519"];

/// [`DPOP_SIGNING_ALGS`] that FAPI 2.0 accepts (FAPI 2.0 Security Profile §5.4.1).
pub const FAPI_DPOP_SIGNING_ALGS: &[&str] = &["ES256", "PS256", "EdDSA", "Ed25519"];

/// Maximum length of a DPoP proof: holds a key and a signature of RSA with 8192 bits.
pub const MAX_DPOP_PROOF_BYTES: usize = 8 * 1024;

/// Maximum length of a certificate in base64; most have less than 3,000 characters.
const MAX_CERTIFICATE_CHARS: usize = 16 * 1024;

/// Key that an access token is bound to: the member `cnf` (RFC 7800 §3.1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Confirmation {
    /// Thumbprint of the public key of DPoP proofs (RFC 9449 §6.1).
    #[serde(rename = "jkt")]
    DpopKey(String),
    /// SHA-256 of the client certificate (RFC 8705 §3.1).
    #[serde(rename = "x5t#S256")]
    Certificate(String),
}

impl Confirmation {
    /// Returns the type of a token that is bound to this key.
    #[must_use]
    pub const fn token_type(&self) -> &'static str {
        match self {
            Self::DpopKey(_) => "DPoP",
            // RFC 8705 §3: used as a bearer token, over a connection with the certificate.
            Self::Certificate(_) => "Bearer",
        }
    }

    /// Returns the metric label of the method.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        match self {
            Self::DpopKey(_) => "dpop",
            Self::Certificate(_) => "mtls",
        }
    }
}

/// Proof of possession of a key that a request sends (RFC 7800 §1). Not verified.
#[derive(Clone, Debug, Default)]
pub struct ProofOfPossession {
    /// The `DPoP` header.
    pub dpop: Option<DpopHeader>,
    /// The certificate of the client's TLS connection, as a trusted proxy states it.
    pub certificate: Option<ForwardedCertificate>,
}

/// The one `DPoP` header of a request, and the method of that request.
#[derive(Clone, Debug)]
pub struct DpopHeader {
    /// As sent, at most [`MAX_DPOP_PROOF_BYTES`].
    pub proof: Secret<String>,
    /// The HTTP method that the proof must name.
    pub method: String,
}

/// A client certificate that a trusted proxy forwards: DER, unread. The proxy has verified that the
/// client has its private key, and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub struct ForwardedCertificate(Vec<u8>);

impl ForwardedCertificate {
    /// Parses the header of RFC 9440 §2.1: DER in base64 between colons. `None` if it is malformed.
    #[must_use]
    pub fn parse_header(header: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(header).ok()?.trim_matches(' ');
        let encoded = text.strip_prefix(':')?.strip_suffix(':')?;
        if encoded.is_empty() || encoded.len() > MAX_CERTIFICATE_CHARS {
            return None;
        }
        STANDARD.decode(encoded).ok().map(Self)
    }

    /// Returns the DER bytes.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.0
    }

    /// Returns base64url of the SHA-256 of the certificate.
    #[must_use]
    pub fn thumbprint(&self) -> String {
        digest::base64url(&digest::sha256(&self.0))
    }
}

impl std::fmt::Debug for ForwardedCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ForwardedCertificate(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_header_is_one_byte_sequence() {
        let read = |header: &str| ForwardedCertificate::parse_header(header.as_bytes());
        assert_eq!(read(" :AQID: ").unwrap().der(), [1, 2, 3]);
        let long = format!(":{}:", "A".repeat(MAX_CERTIFICATE_CHARS + 4));
        for header in ["", ":", "::", "AQID", ":AQID", "AQID:", ":AQI:", ":AQ ID:", ":é:", &long] {
            assert_eq!(read(header), None, "{header}");
        }
        for list in [":AQID:, :AQID:", ":AQID:;a=1", "\"AQID\"", "-----BEGIN CERTIFICATE-----"] {
            assert_eq!(read(list), None, "{list}");
        }
    }

    #[test]
    fn a_confirmation_is_the_member_of_the_standard() {
        let bound = Confirmation::DpopKey("thumbprint".into());
        let written = serde_json::to_string(&bound).unwrap();
        assert_eq!(written, r#"{"jkt":"thumbprint"}"#);
        assert_eq!(serde_json::from_str::<Confirmation>(&written).unwrap(), bound);
    }
}
