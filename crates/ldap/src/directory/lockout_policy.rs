//! The directory's own lockout policy, for `check connector --online`: an account that the directory
//! locks before the hub stops can be locked by strangers who know its name.

use std::time::Duration;

use ldap3::{Ldap, Scope};

use super::entry::SearchResultEntry;
use super::search::search;
use passerelle_connector::diagnostic::CheckDiagnostic;
use passerelle_connector::error::ConnectorError;

const NAME: &str = "lockout";
/// The highest number that the fixes suggest: with it a person has five attempts.
const ENOUGH_FAILURES: u32 = 10;
/// Active Directory counts intervals in units of 100 ns.
const INTERVALS_PER_SECOND: u64 = 10_000_000;

/// Policies below the suffix. 389 Directory Server shows subentries only to a filter that names
/// their class.
const POLICY_FILTER: &str = "(|(objectClass=pwdPolicy)(objectClass=krbPwdPolicy)(objectClass=msDS-PasswordSettings)(&(objectClass=ldapsubentry)(objectClass=passwordPolicy)))";

/// 389 Directory Server shows the entry only to an account that may read an attribute of the filter.
const CONFIG_FILTER: &str = "(|(passwordMaxFailure=*)(objectClass=*))";

/// Attributes of one product: number of failures, seconds in which they count, and the switch that
/// must be on.
struct PolicyAttributes {
    failures: &'static str,
    interval: &'static str,
    switch: Option<&'static str>,
}

const POLICY_ATTRIBUTES: [PolicyAttributes; 5] = [
    // OpenLDAP, OpenDJ (draft-behera-ldap-password-policy-10 §5.2).
    PolicyAttributes {
        failures: "pwdMaxFailure",
        interval: "pwdFailureCountInterval",
        switch: Some("pwdLockout"),
    },
    // 389 Directory Server.
    PolicyAttributes {
        failures: "passwordMaxFailure",
        interval: "passwordResetFailureCount",
        switch: Some("passwordLockout"),
    },
    // Active Directory: the domain, and fine-grained policies.
    PolicyAttributes {
        failures: "lockoutThreshold",
        interval: "lockOutObservationWindow",
        switch: None,
    },
    PolicyAttributes {
        failures: "msDS-LockoutThreshold",
        interval: "msDS-LockoutObservationWindow",
        switch: None,
    },
    // FreeIPA.
    PolicyAttributes {
        failures: "krbPwdMaxFailure",
        interval: "krbPwdFailureCountInterval",
        switch: None,
    },
];

/// A policy that locks accounts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LockoutPolicy {
    failures: u32,
    /// `None` if wrong passwords count until the next right one.
    interval: Option<Duration>,
}

/// What the hub's account sees of the directory's policies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct VisiblePolicies {
    locking: Vec<LockoutPolicy>,
    /// A policy is visible that locks no account.
    has_lenient: bool,
}

impl VisiblePolicies {
    /// Reads the policies of the suffix of `base_dn` and of `cn=config`. A search that the directory
    /// refuses shows no policy.
    pub(super) async fn read(ldap: &mut Ldap, base_dn: &str) -> Result<Self, ConnectorError> {
        let contexts = ["namingContexts".to_owned()];
        let root = search(ldap, "", Scope::Base, "(objectClass=*)", &contexts).await?.entries;
        let suffixes = root.iter().flat_map(|entry| entry.values("namingContexts"));
        let suffix = suffixes
            .filter_map(|value| str::from_utf8(value).ok())
            .filter(|suffix| !suffix.is_empty() && is_below(base_dn, suffix))
            .min_by_key(|suffix| suffix.len())
            .unwrap_or(base_dn)
            .to_owned();
        let attributes: Vec<String> = POLICY_ATTRIBUTES
            .iter()
            .flat_map(|names| [Some(names.failures), Some(names.interval), names.switch])
            .flatten()
            .map(str::to_owned)
            .collect();
        let mut policies = Self::default();
        for (base, scope, filter) in [
            (suffix.as_str(), Scope::Base, "(objectClass=*)"),
            (suffix.as_str(), Scope::Subtree, POLICY_FILTER),
            ("cn=config", Scope::Base, CONFIG_FILTER),
        ] {
            for entry in search(ldap, base, scope, filter, &attributes).await?.entries {
                policies.add(&entry);
            }
        }
        Ok(policies)
    }

    fn add(&mut self, entry: &SearchResultEntry) {
        for names in &POLICY_ATTRIBUTES {
            let Some(failures) = entry.text(names.failures).and_then(|text| text.parse().ok())
            else {
                continue;
            };
            let is_off = names.switch.and_then(|name| entry.text(name)).is_some_and(|text| {
                text.eq_ignore_ascii_case("FALSE") || text.eq_ignore_ascii_case("off")
            });
            if failures == 0 || is_off {
                self.has_lenient = true;
                continue;
            }
            let interval = entry.text(names.interval).and_then(parse_interval);
            self.locking.push(LockoutPolicy { failures, interval });
        }
    }

    /// Compares the strictest policy with the connector's file.
    pub(super) fn diagnose(&self, lockout_after: u32, window: Duration) -> CheckDiagnostic {
        let minutes = window.as_secs() / 60;
        let Some(strictest) = self.locking.iter().map(|policy| policy.failures).min() else {
            if self.has_lenient {
                return CheckDiagnostic::ok(NAME, "the directory's policy locks no account");
            }
            let message = format!(
                "the account can read no lockout policy, so it is unknown whether the directory locks accounts after {lockout_after} wrong passwords or more"
            );
            let fix = format!(
                "compare lockout_after with the policy (pwdMaxFailure, passwordMaxFailure, lockoutThreshold), and lockout_minutes ({minutes}) with its interval; or let the account read the policy"
            );
            return CheckDiagnostic::warning(NAME, message, fix);
        };
        if strictest < lockout_after {
            let message = format!(
                "the directory locks an account after {strictest} wrong passwords, and lockout_after is {lockout_after}: strangers who know a user name can lock its account"
            );
            let fix = if strictest < 3 {
                "let the directory allow at least 3, better 10, and set lockout_after to its number"
                    .to_owned()
            } else {
                format!("set lockout_after = {strictest}, or let the directory allow more")
            };
            return CheckDiagnostic::error(NAME, message, fix);
        }
        self.diagnose_interval(window)
            .unwrap_or_else(|| diagnose_attempts(strictest, lockout_after))
    }

    /// Returns a diagnostic if the directory counts wrong passwords for longer than the hub.
    fn diagnose_interval(&self, window: Duration) -> Option<CheckDiagnostic> {
        // A policy without an interval counts for ever.
        let intervals = self.locking.iter().map(|policy| policy.interval);
        let longest = intervals.max_by_key(|interval| interval.unwrap_or(Duration::MAX))?;
        let Some(longest) = longest else {
            let message = "the directory counts wrong passwords without an end, until the next right one: strangers who know a user name can lock its account by a few each day";
            let fix = "set an interval in the directory's policy, for example pwdFailureCountInterval: 900";
            return Some(CheckDiagnostic::warning(NAME, message, fix));
        };
        (longest > window).then(|| {
            let (minutes, needed) = (window.as_secs() / 60, longest.as_secs().div_ceil(60));
            let message = format!(
                "the directory counts wrong passwords for {needed} minutes, and lockout_minutes is {minutes}: strangers who know a user name can lock its account"
            );
            let fix = format!("set lockout_minutes = {}", needed.min(1440));
            CheckDiagnostic::error(NAME, message, fix)
        })
    }
}

/// Returns a warning if users have fewer attempts than the directory allows.
fn diagnose_attempts(strictest: u32, lockout_after: u32) -> CheckDiagnostic {
    let enough = strictest.min(ENOUGH_FAILURES);
    if lockout_after < enough {
        let message = format!(
            "the directory locks an account after {strictest} wrong passwords, and lockout_after is {lockout_after}, which leaves users fewer attempts than necessary"
        );
        return CheckDiagnostic::warning(NAME, message, format!("set lockout_after = {enough}"));
    }
    let message = format!(
        "the directory locks an account after {strictest} wrong passwords; the hub stops before {lockout_after}"
    );
    CheckDiagnostic::ok(NAME, message)
}

/// Returns whether a DN is a suffix, or below it, apart from case and spaces after commas.
fn is_below(dn: &str, suffix: &str) -> bool {
    let normal = |dn: &str| {
        dn.split(',').map(|part| part.trim_ascii().to_ascii_lowercase()).collect::<Vec<_>>()
    };
    normal(dn).ends_with(&normal(suffix))
}

/// Reads seconds, or a negative number of 100 ns; `None` for 0 and for Active Directory's "never".
fn parse_interval(text: &str) -> Option<Duration> {
    let number: i64 = text.parse().ok()?;
    let seconds = if number < 0 {
        number.unsigned_abs() / INTERVALS_PER_SECOND
    } else {
        number.unsigned_abs()
    };
    (seconds > 0 && number != i64::MIN).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use ldap3::ResultEntry;
    use ldap3::asn1::{PL, StructureTag, TagClass};

    use super::*;
    use passerelle_connector::diagnostic::DiagnosticStatus;

    const WINDOW: Duration = Duration::from_secs(15 * 60);

    fn entry(attributes: &[(&str, &str)]) -> SearchResultEntry {
        let tag = |id, payload| StructureTag { class: TagClass::Universal, id, payload };
        let text = |text: &str| tag(4, PL::P(text.as_bytes().to_vec()));
        let list = |parts| tag(16, PL::C(parts));
        let attributes = attributes
            .iter()
            .map(|(name, value)| list(vec![text(name), list(vec![text(value)])]))
            .collect();
        let entry = tag(4, PL::C(vec![text("cn=policy"), list(attributes)]));
        SearchResultEntry::read(ResultEntry::new(entry)).unwrap()
    }

    fn diagnose(entries: &[&[(&str, &str)]], lockout_after: u32) -> CheckDiagnostic {
        let mut policies = VisiblePolicies::default();
        for attributes in entries {
            policies.add(&entry(attributes));
        }
        policies.diagnose(lockout_after, WINDOW)
    }

    /// The attacks: wrong passwords through the hub up to the directory's own limit, and some in
    /// each of the hub's shorter intervals.
    #[test]
    fn a_directory_that_strangers_could_make_lock_an_account_is_an_error_that_names_the_setting() {
        let open_ldap: &[_] = &[("pwdMaxFailure", "5"), ("pwdFailureCountInterval", "900")];
        let red_hat: &[_] = &[
            ("passwordMaxFailure", "5"),
            ("passwordResetFailureCount", "600"),
            ("passwordLockout", "on"),
        ];
        let active_directory: &[_] =
            &[("lockoutThreshold", "5"), ("lockOutObservationWindow", "-9000000000")];
        let fine_grained: &[_] =
            &[("msDS-LockoutThreshold", "5"), ("msDS-LockoutObservationWindow", "-9000000000")];
        let free_ipa: &[_] = &[("krbPwdMaxFailure", "5"), ("krbPwdFailureCountInterval", "60")];
        for policy in [open_ldap, red_hat, active_directory, fine_grained, free_ipa] {
            let found = diagnose(&[policy], 10);
            assert_eq!(found.status, DiagnosticStatus::Error, "{policy:?}");
            assert!(found.fix.unwrap().contains("lockout_after = 5"), "{policy:?}");
            assert_eq!(diagnose(&[policy], 5).status, DiagnosticStatus::Ok, "{policy:?}");
        }
        let lenient: &[_] = &[("pwdMaxFailure", "20"), ("pwdFailureCountInterval", "900")];
        assert_eq!(diagnose(&[lenient, open_ldap], 10).status, DiagnosticStatus::Error);
        assert_eq!(diagnose(&[lenient], 10).status, DiagnosticStatus::Ok);
        let long: &[_] = &[("pwdMaxFailure", "10"), ("pwdFailureCountInterval", "3600")];
        let found = diagnose(&[long], 10);
        assert_eq!(found.status, DiagnosticStatus::Error);
        assert!(found.fix.unwrap().contains("lockout_minutes = 60"));
        let endless: &[_] = &[("pwdMaxFailure", "10"), ("pwdFailureCountInterval", "0")];
        assert_eq!(diagnose(&[endless], 10).status, DiagnosticStatus::Warning);
    }

    #[test]
    fn a_policy_that_locks_nothing_is_fine_and_an_unreadable_one_is_a_warning() {
        for policy in [
            &[("pwdMaxFailure", "0")][..],
            &[("pwdMaxFailure", "3"), ("pwdLockout", "FALSE")],
            &[("passwordMaxFailure", "3"), ("passwordLockout", "off")],
            &[("lockoutThreshold", "0"), ("lockOutObservationWindow", "-9223372036854775808")],
        ] {
            assert_eq!(diagnose(&[policy], 10).status, DiagnosticStatus::Ok, "{policy:?}");
        }
        assert_eq!(diagnose(&[], 10).status, DiagnosticStatus::Warning);
        assert_eq!(diagnose(&[&[("mail", "a@b")]], 10).status, DiagnosticStatus::Warning);
        let few = diagnose(&[&[("pwdMaxFailure", "20"), ("pwdFailureCountInterval", "900")]], 3);
        assert_eq!(few.status, DiagnosticStatus::Warning, "users have one attempt");
    }

    #[test]
    fn the_suffix_of_the_base_is_found_in_any_spelling() {
        assert!(is_below("ou=People, DC=Example,dc=org", "dc=example,dc=org"));
        assert!(is_below("dc=example,dc=org", "dc=example, dc=org"));
        assert!(!is_below("ou=people,dc=badexample,dc=org", "dc=example,dc=org"));
    }
}
