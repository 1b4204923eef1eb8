//! What a directory says of a password beside the result of the bind: the password policy control
//! (draft-behera-ldap-password-policy-10 §6.2, asked for by OpenLDAP, 389 Directory Server and
//! others), and the password expired and expiring controls of 389 Directory Server, which it sends
//! unasked (draft-vchu-ldap-pwd-policy-00 §9).

use std::time::Duration;

use ldap3::asn1::{StructureTag, parse_tag};
use ldap3::controls::{Control, RawControl};

use super::message::complete_message;

const POLICY_CONTROL: &str = "1.3.6.1.4.1.42.2.27.8.5.1";
const EXPIRED_CONTROL: &str = "2.16.840.1.113730.3.4.4";
const EXPIRING_CONTROL: &str = "2.16.840.1.113730.3.4.5";

/// Returns the control that asks for the policy's response.
pub(super) fn policy_request() -> RawControl {
    RawControl { ctype: POLICY_CONTROL.to_owned(), crit: false, val: None }
}

/// State of an accepted password.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PasswordState {
    Valid,
    /// It was reset, or is the first one: the user must change it.
    MustChange,
    /// It has expired; the directory accepts it this many more times.
    Grace(u32),
    ExpiresIn(Duration),
}

/// Why a directory refused a bind, in its policy's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PolicyRefusal {
    /// The password is right, and must be changed.
    MustChange,
    /// The account is locked, whatever the password is.
    Locked,
}

/// The response controls of a bind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PolicyResponse {
    error: Option<u32>,
    grace: Option<u32>,
    expires_in: Option<Duration>,
    /// The expired control: the password has expired, or must be changed.
    is_expired: bool,
}

impl PolicyResponse {
    /// Reads the controls. A malformed one says nothing, as if it had not been sent.
    pub(super) fn read(controls: &[Control]) -> Self {
        let mut response = Self::default();
        for Control(_, control) in controls {
            let value = control.val.as_deref().unwrap_or_default();
            match control.ctype.as_str() {
                POLICY_CONTROL => {
                    let policy = Self::from_value(value).unwrap_or_default();
                    response.error = policy.error;
                    response.grace = policy.grace;
                    response.expires_in = policy.expires_in.or(response.expires_in);
                }
                EXPIRED_CONTROL => response.is_expired = true,
                EXPIRING_CONTROL => {
                    let seconds = str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                    response.expires_in = response.expires_in.or(seconds.map(Duration::from_secs));
                }
                _ => {}
            }
        }
        response
    }

    /// Reads `PasswordPolicyResponseValue` (§6.2); `None` if it is malformed.
    pub fn from_value(value: &[u8]) -> Option<Self> {
        // `parse_tag` recurses, and the bounds of the message don't reach into an octet string.
        complete_message(value).ok()??;
        let (_, sequence) = parse_tag(value).ok()?;
        let mut response = Self::default();
        for part in sequence.expect_constructed()? {
            match part.id {
                0 => {
                    let warning = part.expect_constructed()?.into_iter().next()?;
                    match (warning.id, read_number(warning)?) {
                        (0, seconds) => {
                            response.expires_in = Some(Duration::from_secs(u64::from(seconds)));
                        }
                        (1, sign_ins) => response.grace = Some(sign_ins),
                        _ => {}
                    }
                }
                1 => response.error = Some(read_number(part)?),
                _ => {}
            }
        }
        Some(response)
    }

    /// Returns the state of a password that the directory accepted. The expired control comes with
    /// grace logins, too.
    pub(super) fn password_state(self) -> PasswordState {
        match (self.error, self.grace) {
            (Some(policy_error::CHANGE_AFTER_RESET), _) => PasswordState::MustChange,
            (_, Some(sign_ins)) => PasswordState::Grace(sign_ins),
            (Some(policy_error::PASSWORD_EXPIRED), None) => PasswordState::MustChange,
            _ if self.is_expired => PasswordState::MustChange,
            _ => self.expires_in.map_or(PasswordState::Valid, PasswordState::ExpiresIn),
        }
    }

    /// Returns why the directory refused a bind, if it says so.
    pub(super) fn refusal(self) -> Option<PolicyRefusal> {
        match self.error {
            Some(policy_error::ACCOUNT_LOCKED) => Some(PolicyRefusal::Locked),
            Some(policy_error::PASSWORD_EXPIRED | policy_error::CHANGE_AFTER_RESET) => {
                Some(PolicyRefusal::MustChange)
            }
            Some(_) => None,
            None => self.is_expired.then_some(PolicyRefusal::MustChange),
        }
    }
}

/// Values of `error` (§6.2).
mod policy_error {
    pub(crate) const PASSWORD_EXPIRED: u32 = 0;
    pub(crate) const ACCOUNT_LOCKED: u32 = 1;
    pub(crate) const CHANGE_AFTER_RESET: u32 = 2;
}

/// Reads a number of BER (RFC 4511 §5.1).
fn read_number(tag: StructureTag) -> Option<u32> {
    let octets = tag.expect_primitive()?;
    // A leading zero keeps the number positive; a negative one has no meaning here.
    let (Some(0..=0x7f), 1..=5) = (octets.first(), octets.len()) else { return None };
    let number = octets.iter().fold(0_u64, |sum, octet| sum << 8 | u64::from(*octet));
    u32::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(oid: &str, value: &[u8]) -> Control {
        Control(None, RawControl { ctype: oid.to_owned(), crit: false, val: Some(value.to_vec()) })
    }

    fn policy(value: &[u8]) -> PolicyResponse {
        PolicyResponse::read(&[control(POLICY_CONTROL, value)])
    }

    #[test]
    fn the_state_of_an_accepted_password_by_table() {
        const DAY: Duration = Duration::from_secs(86_400);
        for (controls, state) in [
            (vec![], PasswordState::Valid),
            (vec![control(POLICY_CONTROL, b"\x30\x00")], PasswordState::Valid),
            (vec![control(POLICY_CONTROL, b"\x30\x03\x81\x01\x02")], PasswordState::MustChange),
            (vec![control(EXPIRED_CONTROL, b"0")], PasswordState::MustChange),
            (
                vec![control(POLICY_CONTROL, b"\x30\x05\xa0\x03\x81\x01\x02")],
                PasswordState::Grace(2),
            ),
            (
                vec![
                    control(EXPIRED_CONTROL, b"0"),
                    control(POLICY_CONTROL, b"\x30\x05\xa0\x03\x81\x01\x00"),
                ],
                PasswordState::Grace(0),
            ),
            (
                vec![control(POLICY_CONTROL, b"\x30\x07\xa0\x05\x80\x03\x01\x51\x80")],
                PasswordState::ExpiresIn(DAY),
            ),
            (vec![control(EXPIRING_CONTROL, b"86400")], PasswordState::ExpiresIn(DAY)),
            (vec![control(EXPIRING_CONTROL, b"soon")], PasswordState::Valid),
            (vec![control("1.2.3", b"\x30\x03\x81\x01\x02")], PasswordState::Valid),
        ] {
            assert_eq!(PolicyResponse::read(&controls).password_state(), state, "{controls:?}");
        }
    }

    #[test]
    fn the_reason_of_a_refused_bind_by_table() {
        for (value, refusal) in [
            (&b"\x30\x03\x81\x01\x00"[..], Some(PolicyRefusal::MustChange)),
            (b"\x30\x03\x81\x01\x02", Some(PolicyRefusal::MustChange)),
            (b"\x30\x03\x81\x01\x01", Some(PolicyRefusal::Locked)),
            (b"\x30\x03\x81\x01\x06", None),
            (b"\x30\x00", None),
        ] {
            assert_eq!(policy(value).refusal(), refusal, "{value:?}");
        }
        let expired = PolicyResponse::read(&[control(EXPIRED_CONTROL, b"0")]);
        assert_eq!(expired.refusal(), Some(PolicyRefusal::MustChange));
    }

    #[test]
    fn a_control_that_would_exhaust_the_stack_or_is_malformed_says_nothing() {
        let mut nested = Vec::new();
        for _ in 0..20_000 {
            let length = u32::try_from(nested.len()).unwrap().to_be_bytes();
            nested = [&[0x30, 0x84], &length[..], &nested[..]].concat();
        }
        for value in [
            &nested[..],
            b"",
            b"\x30",
            b"\x04\x00",
            b"\x30\x03\x81\x01\xff",
            b"\x30\x08\x81\x06\x01\x01\x01\x01\x01\x01",
            b"\x30\x02\xa0\x00",
            b"\x30\x02\x81\x00",
            b"\x30\x05\x81\x01\x02\xa0\x00",
        ] {
            assert_eq!(policy(value), PolicyResponse::default());
        }
    }
}
