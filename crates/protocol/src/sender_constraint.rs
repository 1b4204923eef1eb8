//! Sender-constrained access tokens on the wire: what a request sends to prove possession of a
//! key, and the key that a token is bound to (RFC 9449; RFC 8705; RFC 7800 §3.1).
//!
//! Does not verify anything: `passerelle_jose::dpop_proof` reads a proof, `client_certificate` a
//! certificate, and `passerelle_grants` decides on them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::field_value::trim_ows;
use crate::digest;
use crate::ids::Secret;

/// Algorithms of DPoP proofs: asymmetric ones only (RFC 9449 §4.3). `Ed25519` is `EdDSA` under its
/// own name (RFC 9864).
pub const DPOP_SIGNING_ALGS: &[&str] = &["ES256", "PS256", "RS256", "EdDSA", "Ed25519"];

/// [`DPOP_SIGNING_ALGS`] that FAPI 2.0 accepts (FAPI 2.0 Security Profile §5.4.1).
pub const FAPI_DPOP_SIGNING_ALGS: &[&str] = &["ES256", "PS256", "EdDSA", "Ed25519"];

/// Maximum length of a DPoP proof: holds a key and a signature of RSA with 4096 bits twice.
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
    pub const fn token_type(&self) -> &'static str {
        match self {
            Self::DpopKey(_) => "DPoP",
            // RFC 8705 §3: used as a bearer token, over a connection with the certificate.
            Self::Certificate(_) => "Bearer",
        }
    }

    /// Returns the metric label of the method.
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
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("ForwardedCertificate(***)")]
pub struct ForwardedCertificate(Vec<u8>);

impl ForwardedCertificate {
    /// Parses the header of RFC 9440 §2.1: DER in base64 between colons. Returns `None` for an empty
    /// one, which a proxy sends for a connection without a certificate.
    ///
    /// # Errors
    /// The format of a header that is not a byte sequence.
    pub fn parse_header(header: &[u8]) -> Result<Option<Self>, CertificateHeaderError> {
        let text = std::str::from_utf8(header).map_err(|_| CertificateHeaderError::Malformed)?;
        let text = trim_ows(text);
        if matches!(text, "" | "::") {
            return Ok(None);
        }
        let encoded = text.strip_prefix(':').and_then(|text| text.strip_suffix(':'));
        let encoded = encoded.ok_or_else(|| CertificateHeaderError::from_text(text))?;
        if encoded.len() > MAX_CERTIFICATE_CHARS {
            return Err(CertificateHeaderError::Malformed);
        }
        let der = STANDARD.decode(encoded).map_err(|_| CertificateHeaderError::Malformed)?;
        Ok(Some(Self(der)))
    }

    /// Returns the DER bytes.
    pub fn der(&self) -> &[u8] {
        &self.0
    }

    /// Returns base64url of the SHA-256 of the certificate.
    pub fn thumbprint(&self) -> String {
        digest::base64url(&digest::sha256(&self.0))
    }
}

/// Error returned for an unusable certificate header: names what the proxy sends.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CertificateHeaderError {
    #[error(
        "the certificate header occurs twice: the proxy adds its own to the client's; let it replace the client's"
    )]
    Repeated,
    #[error(
        "the certificate header has the format of nginx's $ssl_client_escaped_cert, percent-encoded PEM; {WANTED}"
    )]
    EscapedPem,
    #[error(
        "the certificate header has the format of Apache's SSL_CLIENT_CERT and of nginx's $ssl_client_cert, PEM; {WANTED}"
    )]
    Pem,
    #[error(
        "the certificate header is Apache's text for a variable without a value, (null); {WANTED}"
    )]
    ApacheNull,
    #[error("the certificate header has the format of Envoy's x-forwarded-client-cert; {WANTED}")]
    Envoy,
    #[error(
        "the certificate header is base64 without colons around it, as Traefik sends it; {WANTED}"
    )]
    BareBase64,
    #[error("the certificate header has an unknown format; {WANTED}")]
    Malformed,
}

/// The format that the hub reads.
const WANTED: &str =
    "let the proxy send the certificate's DER in base64 between colons, `:MII…:` (RFC 9440)";

impl CertificateHeaderError {
    /// Recognizes the format of a proxy that does not follow RFC 9440.
    fn from_text(text: &str) -> Self {
        let envoy_keys = ["By=", "Hash=", "Cert=", "Chain=", "Subject=", "URI=", "DNS="];
        let is_base64 = |c: u8| c.is_ascii_alphanumeric() || b"+/=%,".contains(&c);
        if text.starts_with("-----BEGIN%20") {
            Self::EscapedPem
        } else if text.starts_with("-----BEGIN ") {
            Self::Pem
        } else if text == "(null)" {
            Self::ApacheNull
        } else if envoy_keys.iter().any(|key| text.starts_with(key)) {
            Self::Envoy
        // DER of a certificate begins with 0x30 0x82.
        } else if text.starts_with("MI") && text.bytes().all(is_base64) {
            Self::BareBase64
        } else {
            Self::Malformed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_header_is_one_byte_sequence() {
        let read = |header: &str| ForwardedCertificate::parse_header(header.as_bytes());
        assert_eq!(read(" :AQID: ").unwrap().unwrap().der(), [1, 2, 3]);
        for without_certificate in ["", "::", " :: "] {
            assert_eq!(read(without_certificate), Ok(None), "{without_certificate}");
        }
        let long = format!(":{}:", "A".repeat(MAX_CERTIFICATE_CHARS + 4));
        for header in [
            ":",
            ":::",
            ": :",
            "AQID",
            ":AQID",
            "AQID:",
            ":AQI:",
            ":AQ ID:",
            ":é:",
            ":AQID:, :AQID:",
            ":AQID:;a=1",
            "\"AQID\"",
            "\u{a0}:AQID:",
            &long,
        ] {
            assert_eq!(read(header), Err(CertificateHeaderError::Malformed), "{header}");
        }
    }

    #[test]
    fn a_certificate_header_of_another_format_is_named_with_the_format_wanted() {
        for (header, format, name) in [
            (
                "-----BEGIN%20CERTIFICATE-----%0AMIIB%0A-----END%20CERTIFICATE-----%0A",
                CertificateHeaderError::EscapedPem,
                "nginx",
            ),
            (
                "-----BEGIN CERTIFICATE-----\tMIIB\t-----END CERTIFICATE-----",
                CertificateHeaderError::Pem,
                "Apache",
            ),
            ("(null)", CertificateHeaderError::ApacheNull, "Apache"),
            (
                "Hash=468ed33be74eee6556d90c0149c1309e9ba61d6425303443c0748a02dd8de688;Cert=\"x\"",
                CertificateHeaderError::Envoy,
                "Envoy",
            ),
            ("By=spiffe://a;Hash=b;Subject=\"\"", CertificateHeaderError::Envoy, "Envoy"),
            ("MIIDEzCCAfugAwIBAgIBADA%2BAB%3D", CertificateHeaderError::BareBase64, "Traefik"),
        ] {
            let error = ForwardedCertificate::parse_header(header.as_bytes()).unwrap_err();
            assert_eq!(error, format, "{header}");
            let message = error.to_string();
            assert!(message.contains(name) && message.contains("RFC 9440"), "{message}");
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
