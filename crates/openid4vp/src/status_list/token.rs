//! Verifies status list tokens (Token Status List §5.1, §8.3).

use std::io::Read as _;
use std::time::Duration;

use flate2::read::ZlibDecoder;
use serde_json::{Map, Value};

use super::StatusError;
use crate::presentation_error::PresentationError;
use crate::signature::{CredentialAlg, UnverifiedJws};
use crate::trust::{CertificatePurpose, TrustAnchors};
use passerelle_jose::verify::{CLOCK_SKEW_TOLERANCE, numeric_date};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;

/// Size limit of an uncompressed list, in bytes: 33 million credentials with one bit each.
const MAX_LIST_BYTES: u64 = 4 << 20;
/// How long a list is used that states neither `ttl` nor `exp`.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(600);
/// A revocation must take effect within a day.
const MAX_LIFETIME: Duration = Duration::from_secs(86_400);

/// Why a status list token is rejected.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatusListError {
    #[error("it is not a status list token")]
    Malformed,
    #[error("its typ is not statuslist+jwt")]
    TokenType,
    #[error("its algorithm is not accepted")]
    Algorithm,
    #[error("its header demands an extension")]
    Extension,
    #[error("its certificate chain is not accepted: {0}")]
    Certificate(PresentationError),
    #[error("its signature is wrong")]
    Signature,
    #[error("its sub is not the address that the credential names")]
    Subject,
    #[error("it has expired")]
    Expired,
    #[error("it is from the future")]
    InFuture,
    #[error("its list is not compressed as the standard says")]
    Compression,
    #[error("its list is larger than 4 MiB")]
    TooLarge,
}

/// A verified list.
pub struct StatusList {
    bits: u8,
    statuses: Vec<u8>,
    ttl: Option<Duration>,
    expires_at: Option<Timestamp>,
}

impl StatusList {
    /// Verifies a token that was fetched from `uri`.
    ///
    /// # Errors
    /// Returns the check that it fails.
    pub fn verify(
        token: &[u8],
        uri: &str,
        anchors: &TrustAnchors,
        now: Timestamp,
    ) -> Result<Self, StatusListError> {
        let text = std::str::from_utf8(token).map_err(|_| StatusListError::Malformed)?;
        let jws = UnverifiedJws::parse(text.trim_ascii()).ok_or(StatusListError::Malformed)?;
        // Stops a credential or a key binding that passes for a list.
        if jws.header_text("typ") != Some("statuslist+jwt") {
            return Err(StatusListError::TokenType);
        }
        let alg = jws.accepted_alg(&CredentialAlg::ALL).ok_or(StatusListError::Algorithm)?;
        if jws.demands_extension() {
            return Err(StatusListError::Extension);
        }
        let chain = jws.certificate_chain().ok_or(PresentationError::CertificateMissing);
        let purpose = CertificatePurpose::StatusList;
        let signer = chain
            .and_then(|chain| anchors.verify_chain(&chain, purpose, now))
            .map_err(StatusListError::Certificate)?;
        if !alg.verifies(&signer.key, jws.message.as_bytes(), &jws.signature) {
            return Err(StatusListError::Signature);
        }
        Self::from_claims(&jws.claims, uri, now)
    }

    fn from_claims(
        claims: &Map<String, Value>,
        uri: &str,
        now: Timestamp,
    ) -> Result<Self, StatusListError> {
        // Stops the list of other credentials of the same issuer.
        if claims.get("sub").and_then(Value::as_str) != Some(uri) {
            return Err(StatusListError::Subject);
        }
        // Numbers may have fractions (RFC 7519 §2).
        let date = |name| numeric_date(claims, name).map_err(|_| StatusListError::Malformed);
        let issued_at = date("iat")?.ok_or(StatusListError::Malformed)?;
        if issued_at > now + CLOCK_SKEW_TOLERANCE {
            return Err(StatusListError::InFuture);
        }
        let list = claims.get("status_list").ok_or(StatusListError::Malformed)?;
        let bits = list.get("bits").and_then(Value::as_u64).ok_or(StatusListError::Malformed)?;
        let bits = u8::try_from(bits).ok().filter(|bits| [1, 2, 4, 8].contains(bits));
        let compressed = list.get("lst").and_then(Value::as_str);
        let compressed = compressed.and_then(digest::from_base64url);
        let list = Self {
            bits: bits.ok_or(StatusListError::Malformed)?,
            statuses: inflate(&compressed.ok_or(StatusListError::Malformed)?)?,
            // Measured from the epoch, it is a duration.
            ttl: date("ttl")?.map(|end| end.since(Timestamp::default())),
            expires_at: date("exp")?,
        };
        if list.is_valid(now) { Ok(list) } else { Err(StatusListError::Expired) }
    }

    /// Returns true until the list expires.
    pub fn is_valid(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Returns how long the list may be cached.
    pub fn lifetime(&self, now: Timestamp) -> Duration {
        let until_expiry = self.expires_at.map(|end| end.since(now));
        until_expiry.into_iter().chain([self.max_age()]).min().unwrap_or_default()
    }

    /// Returns how long after its fetch the list may be used, if it does not expire before.
    pub fn max_age(&self) -> Duration {
        let unstated = if self.expires_at.is_some() { MAX_LIFETIME } else { DEFAULT_LIFETIME };
        self.ttl.unwrap_or(unstated).min(MAX_LIFETIME)
    }

    /// Succeeds if the entry is 0 (Token Status List §7.1).
    ///
    /// # Errors
    /// Returns the entry's other value, or that the list has no such entry.
    pub fn check(&self, index: u64) -> Result<(), StatusError> {
        let per_byte = u64::from(8 / self.bits);
        let byte = usize::try_from(index / per_byte).ok().and_then(|at| self.statuses.get(at));
        let byte = u16::from(*byte.ok_or(StatusError::OutOfRange)?);
        let shift = (index % per_byte) * u64::from(self.bits);
        match (byte >> shift) & ((1 << self.bits) - 1) {
            0 => Ok(()),
            1 => Err(StatusError::Revoked),
            2 => Err(StatusError::Suspended),
            _ => Err(StatusError::UnknownStatus),
        }
    }
}

/// Decompresses a list, up to the limit: a bomb is a thousand times smaller than what it becomes.
fn inflate(compressed: &[u8]) -> Result<Vec<u8>, StatusListError> {
    let mut list = Vec::new();
    let mut decoder = ZlibDecoder::new(compressed).take(MAX_LIST_BYTES + 1);
    decoder.read_to_end(&mut list).map_err(|_| StatusListError::Compression)?;
    if list.len() as u64 > MAX_LIST_BYTES { Err(StatusListError::TooLarge) } else { Ok(list) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<_> = text.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap()).collect()
    }

    fn statuses(list: &StatusList, count: u64) -> Vec<u8> {
        let number = |index| match list.check(index) {
            Ok(()) => 0,
            Err(StatusError::Revoked) => 1,
            Err(StatusError::Suspended) => 2,
            Err(StatusError::UnknownStatus) => 3,
            Err(other) => panic!("{other}"),
        };
        (0..count).map(number).collect()
    }

    /// Token Status List §4.1 and §4.2.
    #[test]
    fn the_lists_of_the_standards_examples_are_right() {
        let list = |bits, text| {
            let statuses = inflate(&digest::from_base64url(text).unwrap()).unwrap();
            StatusList { bits, statuses, ttl: None, expires_at: None }
        };
        let one_bit = list(1, "eNrbuRgAAhcBXQ");
        assert_eq!(one_bit.statuses, hex("b9a3"));
        assert_eq!(statuses(&one_bit, 16), [1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1]);
        assert_eq!(one_bit.check(16), Err(StatusError::OutOfRange));
        assert_eq!(one_bit.check(u64::MAX), Err(StatusError::OutOfRange));
        let two_bits = list(2, "eNo76fITAAPfAgc");
        assert_eq!(two_bits.statuses, hex("c944f9"));
        assert_eq!(statuses(&two_bits, 12), [1, 2, 0, 3, 0, 1, 0, 1, 1, 2, 3, 3]);
    }

    /// Token Status List appendix C.1 and C.2: every entry that is not named is 0.
    #[test]
    fn the_lists_of_the_standards_appendix_are_right() {
        const C_1: &str =
            include_str!("../../../../tests/fixtures/openid4vp/token-status-list-appendix-c-1.txt");
        const C_2: &str =
            include_str!("../../../../tests/fixtures/openid4vp/token-status-list-appendix-c-2.txt");
        let entries = [
            (0, 1),
            (1993, 2),
            (25_460, 1),
            (159_495, 3),
            (495_669, 1),
            (554_353, 1),
            (645_645, 2),
            (723_232, 1),
            (854_545, 1),
            (934_534, 2),
            (1_000_345, 3),
        ];
        for (bits, text, highest) in [(1, C_1, 1), (2, C_2, 3)] {
            let text: String = text.lines().collect();
            let list = inflate(&digest::from_base64url(&text).unwrap()).unwrap();
            let list = StatusList { bits, statuses: list, ttl: None, expires_at: None };
            let statuses = statuses(&list, 1 << 20).into_iter().zip(0..);
            let set: Vec<_> = statuses.filter(|(status, _)| *status != 0).collect();
            let expected = entries.map(|(index, status): (u64, u8)| (status.min(highest), index));
            assert_eq!(set, expected, "{bits} bits");
            assert_eq!(list.check(1 << 20), Err(StatusError::OutOfRange));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_decompressed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _read = inflate(&bytes);
        }

        #[test]
        fn any_index_has_a_status_or_none(bits in prop::sample::select(vec![1_u8, 2, 4, 8]), index: u64) {
            let list = StatusList { bits, statuses: vec![0; 9], ttl: None, expires_at: None };
            prop_assert_eq!(list.check(index).is_ok(), index < 72 / u64::from(bits));
        }
    }
}
