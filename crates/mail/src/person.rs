//! The record of a person at an identity provider: the confirmed address, and what counts against
//! mail bombs and guessed codes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use passerelle_hub::mail_codes::{MAX_WRONG_CODES_PER_DAY, MailUser};
use passerelle_protocol::digest;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::SupportId;
use passerelle_store::stored_value::StoredValue;
use passerelle_store::{RecordKey, RecordKind, RecordRetention};

/// Confirmed address of a person, with counts.
pub(crate) const MAIL_PERSON: &RecordKind =
    &RecordKind::new("mail_person", b'e', "mail_persons", 512)
        .with_retention(RecordRetention::Long);

/// Which person a login was of, by its support id.
pub(crate) const MAIL_LOGIN: &RecordKind = &RecordKind::new("mail_login", b'f', "mail_logins", 128);

pub(crate) const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Time for which an operator can reset the address by the support id of a login.
const SUPPORT_ID_LIFETIME: Duration = DAY;

/// The record of a person.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct MailPerson {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<StoredAddress>,
    /// Mails of the last hour.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mails: Vec<Timestamp>,
    /// Wrong codes of the last day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong_codes: Vec<Timestamp>,
}

/// A confirmed address.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredAddress {
    pub address: String,
    pub expires_at: Timestamp,
}

impl MailPerson {
    /// Returns the address that is stored and not expired.
    pub(crate) fn address(&self, now: Timestamp) -> Option<&str> {
        self.stored_address(now).map(|stored| stored.address.as_str())
    }

    fn stored_address(&self, now: Timestamp) -> Option<&StoredAddress> {
        self.address.as_ref().filter(|stored| stored.expires_at > now)
    }

    /// Stores the first address, or postpones the expiry of the same one, once a day: most logins
    /// then write nothing. Another one stays: a thief of the account at the identity provider must
    /// not replace it.
    pub(crate) fn store_address(&mut self, address: &str, expires_at: Timestamp, now: Timestamp) {
        let is_due = |stored: &StoredAddress| {
            stored.address == address && expires_at.since(stored.expires_at) >= DAY
        };
        if self.stored_address(now).is_none_or(is_due) {
            self.address = Some(StoredAddress { address: address.to_owned(), expires_at });
        }
    }

    /// Counts a mail. Returns false if the person is over `mails_per_hour`, or has entered too many
    /// wrong codes.
    pub(crate) fn take_mail(&mut self, mails_per_hour: usize, now: Timestamp) -> bool {
        remove_older(&mut self.mails, HOUR, now);
        let is_within = self.may_enter_codes(now) && self.mails.len() < mails_per_hour;
        if is_within {
            self.mails.push(now);
        }
        is_within
    }

    /// Counts a wrong code. Returns false if the person has entered too many before.
    pub(crate) fn record_wrong_code(&mut self, now: Timestamp) -> bool {
        let is_within = self.may_enter_codes(now);
        if is_within {
            self.wrong_codes.push(now);
        }
        is_within
    }

    /// Returns false if the person has entered too many wrong codes in a day.
    pub(crate) fn may_enter_codes(&mut self, now: Timestamp) -> bool {
        remove_older(&mut self.wrong_codes, DAY, now);
        self.wrong_codes.len() < max_wrong()
    }
}

fn max_wrong() -> usize {
    usize::try_from(MAX_WRONG_CODES_PER_DAY).unwrap_or(usize::MAX)
}

impl StoredValue for MailPerson {
    fn expires_at(&self, now: Timestamp) -> Timestamp {
        let address = self.address.as_ref().map(|stored| stored.expires_at);
        let mails = self.mails.last().map(|at| *at + HOUR);
        let wrong_codes = self.wrong_codes.last().map(|at| *at + DAY);
        [address, mails, wrong_codes].into_iter().flatten().fold(now + HOUR, Ord::max)
    }
}

/// Name of the record of the person of a login.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct LoginOfPerson {
    /// Name of the person's record.
    pub person: String,
    pub connector: String,
}

impl StoredValue for LoginOfPerson {
    fn expires_at(&self, now: Timestamp) -> Timestamp {
        now + SUPPORT_ID_LIFETIME
    }
}

/// Removes times that are older than `age`.
fn remove_older(times: &mut Vec<Timestamp>, age: Duration, now: Timestamp) {
    times.retain(|at| now.since(*at) < age);
}

/// Returns the key of a person's record.
pub(crate) fn person_key(user: &MailUser) -> RecordKey {
    named_key(digest::sha256_base64url(&format!("{}\n{}", user.connector, user.person)))
}

/// Returns the key of the record that says which person a login was of.
pub(crate) fn login_key(support_id: &SupportId) -> RecordKey {
    RecordKey { kind: MAIL_LOGIN, name: digest::sha256_base64url(support_id.as_str()).into() }
}

/// Returns the key of the person's record of this name.
pub(crate) fn named_key(name: String) -> RecordKey {
    RecordKey { kind: MAIL_PERSON, name: name.into() }
}
