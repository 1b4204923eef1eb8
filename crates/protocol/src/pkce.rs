//! Proof Key for Code Exchange (RFC 7636), S256 only: `plain` does not protect against an attacker
//! who reads the request.

use super::path_normalization::is_unreserved;
use crate::digest;

/// Returns true for 43 base64url characters, the form of an S256 challenge (RFC 7636 §4.2).
pub fn is_challenge(value: &str) -> bool {
    value.len() == 43
        && value.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_'))
}

/// Returns true for 43 to 128 unreserved characters (RFC 7636 §4.1).
fn is_verifier(value: &str) -> bool {
    (43..=128).contains(&value.len()) && value.bytes().all(is_unreserved)
}

/// Returns true if the verifier of the token request matches the challenge of the authorization
/// request.
///
/// A verifier without a challenge does not match: an attacker may have stripped the challenge from
/// the request (PKCE downgrade, RFC 9700 §2.1.1).
pub fn proves(challenge: Option<&str>, verifier: Option<&str>) -> bool {
    match (challenge, verifier) {
        (None, None) => true,
        (Some(challenge), Some(verifier)) => {
            // RFC 7636 §4.6
            is_verifier(verifier)
                && digest::constant_time_eq(
                    digest::sha256_base64url(verifier).as_bytes(),
                    challenge.as_bytes(),
                )
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 7636, appendix B
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_test_vector_of_rfc_7636_is_proven() {
        assert!(is_challenge(CHALLENGE));
        assert!(proves(Some(CHALLENGE), Some(VERIFIER)));
    }

    #[test]
    fn missing_wrong_or_plain_verifier_proves_nothing() {
        assert!(!proves(Some(CHALLENGE), None));
        assert!(!proves(Some(CHALLENGE), Some("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXl")));
        assert!(!proves(Some(CHALLENGE), Some(CHALLENGE)));
        assert!(!proves(Some(VERIFIER), Some(VERIFIER)), "plain");
    }

    #[test]
    fn stripped_challenge_is_noticed() {
        assert!(!proves(None, Some(VERIFIER)));
        assert!(proves(None, None));
    }

    #[test]
    fn a_verifier_outside_its_shape_proves_nothing_even_if_its_hash_fits() {
        for verifier in ["a".repeat(42), "a".repeat(129), format!("{}+", "a".repeat(43))] {
            assert!(
                !proves(Some(&digest::sha256_base64url(&verifier)), Some(&verifier)),
                "{verifier}"
            );
        }
        for verifier in ["a".repeat(43), "~.-_".repeat(32)] {
            assert!(
                proves(Some(&digest::sha256_base64url(&verifier)), Some(&verifier)),
                "{verifier}"
            );
        }
    }

    #[test]
    fn a_challenge_is_43_base64url_characters() {
        for bad in [
            "",
            "a",
            &"a".repeat(42),
            &"a".repeat(44),
            &format!("{}=", "a".repeat(42)),
            &format!("{}+", "a".repeat(42)),
        ] {
            assert!(!is_challenge(bad), "{bad}");
        }
    }
}
