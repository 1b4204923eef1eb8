//! Checks the `[kind.ldap]` table: a directory whose users enter their password on a
//! page of the hub (RFC 4511, RFC 4513, RFC 4515, RFC 4516).

use std::path::Path;

use crate::config::loading::{Diagnostic, SourceFile};
use crate::config::model::{LdapKind, USERNAME_PLACEHOLDER};

/// Checks the table.
pub fn check_ldap(
    source: &SourceFile,
    kind: &LdapKind,
    folder: &Path,
    problems: &mut Vec<Diagnostic>,
) {
    let mut report = |key: &str, message: &str, fix: &str| {
        problems.push(source.diagnostic(&format!("kind.ldap.{key}"), message, fix))
    };
    match kind.server_address() {
        Err((message, fix)) => report("url", message, fix),
        Ok(address) if address.url.scheme() == "ldaps" && kind.starttls => {
            report(
                "starttls",
                "has no effect with ldaps://, which always uses TLS",
                "remove it, or write ldap:// in url",
            );
        }
        Ok(address) if address.url.scheme() == "ldap" && !kind.starttls && !kind.insecure_ldap => {
            let fix = "write ldaps://, or starttls = true (or insecure_ldap = true in this file, for tests only)";
            report("url", "sends every password in clear text", fix);
        }
        Ok(_) => {}
    }
    for (key, value) in [
        ("bind_dn", &kind.bind_dn),
        ("base_dn", &kind.base_dn),
        ("subject_attribute", &kind.subject_attribute),
    ] {
        if value.trim().is_empty() {
            report(key, "is empty", "write the directory's value");
        }
    }
    if kind.filter.matches(USERNAME_PLACEHOLDER).count() == 0 {
        report(
            "filter",
            "lacks {username}, so every user would match the same entry",
            "write a filter such as \"(uid={username})\"",
        );
    }
    if !(3..=100).contains(&kind.lockout_after) {
        let fix =
            "write the value of the directory's password policy, which must be at least three";
        report("lockout_after", "is not from 3 to 100", fix);
    }
    if !(1..=1440).contains(&kind.lockout_minutes) {
        report(
            "lockout_minutes",
            "is not from 1 to 1440",
            "write the period in which the directory counts wrong passwords, in minutes",
        );
    }
    problems.extend(source.check_file_exists("kind.ldap.ca", folder, kind.ca.as_deref()));
    problems.extend(source.check_hosts("kind.ldap.internal_hosts", &kind.internal_hosts));
}
