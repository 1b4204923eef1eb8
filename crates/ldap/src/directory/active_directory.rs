//! Reasons for which Active Directory and Samba refuse a bind, from the data code in the diagnostic
//! message of result 49: `80090308: LdapErr: …, comment: AcceptSecurityContext error, data 52e, …`.
//!
//! The code is a Windows system error in hexadecimal. All but those of [`DataCodeMeaning::Wrong`]
//! and [`DataCodeMeaning::Locked`] come only after the right password.

use passerelle_protocol::catalogue::ErrorCode;

/// A data code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DataCode {
    pub number: u32,
    pub meaning: DataCodeMeaning,
    /// For the operator.
    pub description: &'static str,
}

/// What a data code says of a sign-in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DataCodeMeaning {
    /// The name or the password is wrong.
    Wrong,
    /// The account is locked, whatever the password is.
    Locked,
    /// The password is right, and the account may not sign in.
    Refused(ErrorCode),
    /// The directory could not verify the password.
    Unavailable,
}

impl DataCode {
    /// Reads the data code of a diagnostic message; `None` if it has none.
    pub(super) fn from_message(message: &str) -> Option<Self> {
        let (_, text) = message.split_once("LdapErr")?;
        let (_, text) = text.split_once("data ")?;
        let digits = text.split(|c: char| !c.is_ascii_hexdigit()).next()?;
        let number = u32::from_str_radix(digits, 16).ok()?;
        let (meaning, description) = explain(number);
        Some(Self { number, meaning, description })
    }
}

const fn explain(number: u32) -> (DataCodeMeaning, &'static str) {
    use DataCodeMeaning::{Locked, Refused, Unavailable, Wrong};
    use ErrorCode::{
        LdapAccountDisabled, LdapOutsideHours, LdapSignInNotPermitted, PasswordChangeRequired,
    };
    match number {
        0x525 => (Wrong, "there is no such user"),
        0x52e => (Wrong, "the name or the password is wrong"),
        0x52f => (Refused(LdapSignInNotPermitted), "a restriction of the account forbids it"),
        0x530 => (Refused(LdapOutsideHours), "it is outside the account's logon hours"),
        0x531 => (
            Refused(LdapSignInNotPermitted),
            "the account may not sign in from this workstation: add the domain controller to its workstations",
        ),
        0x532 => (Refused(PasswordChangeRequired), "the password has expired"),
        0x533 => (Refused(LdapAccountDisabled), "the account is disabled"),
        0x534 | 0x569 => {
            (Refused(LdapSignInNotPermitted), "the account lacks the requested logon type")
        }
        0x568 => (Refused(LdapSignInNotPermitted), "the account is in too many groups"),
        0x701 => (Refused(LdapAccountDisabled), "the account has expired"),
        0x773 => (
            Refused(PasswordChangeRequired),
            "the user must change the password before the next sign-in",
        ),
        0x775 => (Locked, "the account is locked, usually after too many wrong passwords"),
        0x78f => (Refused(LdapSignInNotPermitted), "selective authentication forbids it"),
        0x51f => (Unavailable, "no domain controller is available for the account"),
        _ => (Wrong, "the data code is unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_code_is_read_from_the_messages_of_active_directory_and_samba() {
        for (message, number) in [
            (
                "80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error, data 52e, v4563\0",
                Some(0x52e),
            ),
            (
                "80090308: LdapErr: DSID-0C0903A9, comment: AcceptSecurityContext error, data 773, v1db1",
                Some(0x773),
            ),
            (
                "80090308: LdapErr: DSID-0C09042F, comment: AcceptSecurityContext error, data 52E, vece",
                Some(0x52e),
            ),
            ("LdapErr: data ", None),
            ("LdapErr: data fffffffff,", None),
            ("data 532", None),
            ("", None),
        ] {
            assert_eq!(
                DataCode::from_message(message).map(|code| code.number),
                number,
                "{message}"
            );
        }
    }
}
