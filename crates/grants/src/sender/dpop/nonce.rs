//! Nonces that the hub asks for in DPoP proofs (RFC 9449 §8 and §9).
//!
//! A nonce is a time under an HMAC. Nothing is stored, and every hub with the same subject keys
//! accepts it.

use std::time::Duration;

use passerelle_jose::verify::CLOCK_SKEW_TOLERANCE;
use passerelle_protocol::digest::{self, HmacKey};
use passerelle_protocol::env::Timestamp;

/// How long a nonce is accepted.
const NONCE_LIFETIME: Duration = Duration::from_secs(5 * 60);
const TAG_BYTES: usize = 16;

/// Issues and recognizes nonces.
#[derive(Debug)]
pub struct DpopNonces(HmacKey);

impl DpopNonces {
    /// Derives the key of the nonces from a secret that all hubs of a federation share.
    pub fn from_secret(secret: &[u8]) -> Self {
        Self(HmacKey::new(&digest::hmac(secret, b"passerelle dpop nonces 1")))
    }

    /// Returns a new nonce.
    pub fn issue(&self, now: Timestamp) -> String {
        let time = now.seconds().to_be_bytes();
        digest::base64url(&[time.as_slice(), &self.tag(time)].concat())
    }

    /// Returns true if a hub issued this nonce within its lifetime.
    pub fn accepts(&self, nonce: &str, now: Timestamp) -> bool {
        let Some(bytes) = digest::from_base64url(nonce) else { return false };
        let Some((time, tag)) = bytes.split_first_chunk::<8>() else { return false };
        if !digest::constant_time_eq(&self.tag(*time), tag) {
            return false;
        }
        let issued_at = Timestamp::from_seconds(u64::from_be_bytes(*time));
        issued_at <= now + CLOCK_SKEW_TOLERANCE && now < issued_at + NONCE_LIFETIME
    }

    fn tag(&self, time: [u8; 8]) -> [u8; TAG_BYTES] {
        self.0.tag(&time).first_chunk().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_790_000_000);

    #[test]
    fn a_nonce_of_another_hub_is_accepted_until_it_is_five_minutes_old() {
        let (one, other) = (DpopNonces::from_secret(b"shared"), DpopNonces::from_secret(b"shared"));
        let nonce = one.issue(NOW);
        let accepted = |after: u64| other.accepts(&nonce, NOW + Duration::from_secs(after));
        assert_eq!([0, 299, 300].map(accepted), [true, true, false]);
        let ahead = one.issue(NOW + Duration::from_secs(61));
        assert!(!other.accepts(&ahead, NOW), "issued in the future");
    }

    #[test]
    fn a_forged_nonce_is_refused() {
        let nonces = DpopNonces::from_secret(b"shared");
        let nonce = nonces.issue(NOW);
        let other = DpopNonces::from_secret(b"another").issue(NOW);
        let mut later = digest::from_base64url(&nonce).unwrap();
        later[7] ^= 1;
        let later = digest::base64url(&later);
        for forged in ["", "AAAA", "é", &nonce[1..], &format!("{nonce}A"), &other, &later] {
            assert!(!nonces.accepts(forged, NOW), "{forged}");
        }
    }
}
