//! Checks client certificates (RFC 8705): the chain to a certificate authority of the operator, and
//! the name that a client registered.
//!
//! Responsible for X.509. Does not know where a certificate comes from, or the client.

use std::net::IpAddr;
use std::path::Path;

use openssl::asn1::Asn1Object;
use openssl::error::ErrorStack;
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::{X509VerifyFlags, X509VerifyParam};
use openssl::x509::{
    GeneralNameRef, X509, X509PurposeId, X509Ref, X509StoreContext, X509StoreContextRef,
};

use passerelle_protocol::env::Timestamp;

/// Size limit of a file of authorities, in bytes.
const MAX_CA_FILE_BYTES: usize = 1 << 20;
/// OpenSSL's level for 112 bits: no SHA-1, no RSA under 2048 bits, no curve under 224.
const SECURITY_LEVEL: i32 = 2;

/// Error of a file of certificate authorities.
#[derive(thiserror::Error, Debug)]
pub enum AuthoritiesError {
    #[error("the file can't be read: {0}")]
    Read(#[from] std::io::Error),
    #[error("the file is no PEM file of certificates of at most 1 MiB")]
    Malformed,
}

/// Certificate authorities that may issue client certificates; intermediate ones count, too.
pub struct CertificateAuthorities(Vec<X509>);

impl CertificateAuthorities {
    /// Reads a PEM file.
    ///
    /// # Errors
    /// `Read`, or `Malformed` if it holds no certificate.
    pub fn read(path: &Path) -> Result<Self, AuthoritiesError> {
        Self::from_pem(&std::fs::read(path)?)
    }

    fn from_pem(pem: &[u8]) -> Result<Self, AuthoritiesError> {
        let certificates = X509::stack_from_pem(pem).unwrap_or_default();
        if certificates.is_empty() || pem.len() > MAX_CA_FILE_BYTES {
            return Err(AuthoritiesError::Malformed);
        }
        Ok(Self(certificates))
    }

    /// Returns true if one of the authorities issued this certificate for TLS clients and it is
    /// valid now.
    pub fn has_issued(&self, certificate: &X509Ref, now: Timestamp) -> bool {
        self.verify(certificate, now).unwrap_or(false)
    }

    fn verify(&self, certificate: &X509Ref, now: Timestamp) -> Result<bool, ErrorStack> {
        let mut store = X509StoreBuilder::new()?;
        for authority in &self.0 {
            store.add_cert(authority.clone())?;
        }
        let mut rules = X509VerifyParam::new()?;
        rules.set_time(i64::try_from(now.seconds()).unwrap_or(i64::MAX));
        // An intermediate authority may be trusted without its root.
        rules.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
        rules.set_purpose(X509PurposeId::SSL_CLIENT)?;
        rules.set_auth_level(SECURITY_LEVEL);
        store.set_param(&rules)?;
        let (store, chain) = (store.build(), Stack::new()?);
        X509StoreContext::new()?.init(&store, certificate, &chain, X509StoreContextRef::verify_cert)
    }
}

/// Name that a client registered for its certificate (RFC 8705 §2.1.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CertificateName {
    SubjectDn(DistinguishedName),
    Dns(String),
    Uri(String),
    Ip(IpAddr),
    Email(String),
}

impl CertificateName {
    /// Returns true if the certificate has this name: the whole subject, or one of its alternative
    /// names.
    pub fn is_in(&self, certificate: &X509Ref) -> bool {
        let has = |is: &dyn Fn(&GeneralNameRef) -> bool| {
            certificate.subject_alt_names().is_some_and(|names| names.iter().any(is))
        };
        match self {
            Self::SubjectDn(name) => name.is_subject(certificate),
            Self::Dns(name) => {
                has(&|alt| alt.dnsname().is_some_and(|dns| dns.eq_ignore_ascii_case(name)))
            }
            Self::Uri(name) => has(&|alt| alt.uri() == Some(name)),
            Self::Email(name) => has(&|alt| alt.email() == Some(name)),
            Self::Ip(IpAddr::V4(ip)) => has(&|alt| alt.ipaddress() == Some(&ip.octets())),
            Self::Ip(IpAddr::V6(ip)) => has(&|alt| alt.ipaddress() == Some(&ip.octets())),
        }
    }
}

/// A distinguished name in the notation of RFC 4514.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DistinguishedName(Vec<NameAttribute>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct NameAttribute {
    /// OpenSSL's name of the object identifier, or its numbers.
    kind: String,
    value: String,
}

impl DistinguishedName {
    /// Parses `CN=client,O=Example,C=FR`. `None` for an unknown attribute, a value in hexadecimal
    /// and several attributes joined by `+`, which the hub doesn't support.
    pub fn parse(text: &str) -> Option<Self> {
        let (mut attributes, mut rest) = (Vec::new(), text);
        loop {
            let (kind, after) = rest.split_once('=')?;
            let kind = Asn1Object::from_str(kind.trim_ascii()).ok()?.to_string();
            let (value, after) = parse_value(after)?;
            attributes.push(NameAttribute { kind, value });
            match after {
                None => return Some(Self(attributes)),
                Some(after) => rest = after,
            }
        }
    }

    /// RFC 4514 §2.1 writes the last attribute first.
    fn is_subject(&self, certificate: &X509Ref) -> bool {
        let subject = certificate.subject_name();
        subject.entries().count() == self.0.len()
            && subject.entries().zip(self.0.iter().rev()).all(|(entry, expected)| {
                entry.object().to_string() == expected.kind
                    && entry.data().to_string().is_ok_and(|value| value == expected.value)
            })
    }
}

/// Returns an unescaped value, and what follows its comma.
fn parse_value(text: &str) -> Option<(String, Option<&str>)> {
    let text = text.trim_start_matches(' ');
    let (mut value, mut chars) = (Vec::new(), text.char_indices());
    let mut trailing_spaces = 0;
    let after = loop {
        let Some((at, c)) = chars.next() else { break None };
        match c {
            ',' => break text.get(at + 1..),
            '+' | '"' | ';' | '<' | '>' | '\0' => return None,
            '#' if value.is_empty() => return None,
            '\\' => {
                trailing_spaces = 0;
                let (at, escaped) = chars.next()?;
                let hex = text.get(at..at + 2);
                // `from_str_radix` accepts a sign.
                let hex = hex.filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
                match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                    Some(byte) => {
                        chars.next()?;
                        value.push(byte);
                    }
                    None => value.extend(escaped.to_string().bytes()),
                }
            }
            c => {
                trailing_spaces = if c == ' ' { trailing_spaces + 1 } else { 0 };
                value.extend(c.to_string().bytes());
            }
        }
    };
    value.truncate(value.len() - trailing_spaces);
    Some((String::from_utf8(value).ok()?, after))
}

#[cfg(test)]
mod tests;
