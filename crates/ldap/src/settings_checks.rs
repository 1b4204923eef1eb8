//! Checks the `[kind.ldap]` table: a directory whose users enter their password on a
//! page of the hub (RFC 4511, RFC 4513, RFC 4515, RFC 4516).

use std::path::PathBuf;

use super::settings::{LdapKind, USERNAME_PLACEHOLDER};
use passerelle_connector::kind_settings::{KindCheck, KindSettings};
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::PlainHttp;

impl KindSettings for LdapKind {
    fn check(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        check.check_levels_without_acr();
        self.check_address(check);
        for (key, value) in [
            ("bind_dn", &self.bind_dn),
            ("base_dn", &self.base_dn),
            ("subject_attribute", &self.subject_attribute),
        ] {
            check.require_text(key, value, "write the directory's value");
        }
        if self.filter.matches(USERNAME_PLACEHOLDER).count() == 0 {
            check.report(
                "filter",
                "lacks {username}, so every user would match the same entry",
                "write a filter such as \"(uid={username})\"",
            );
        }
        if !(3..=100).contains(&self.lockout_after) {
            let fix =
                "write the value of the directory's password policy, which must be at least three";
            check.report("lockout_after", "is not from 3 to 100", fix);
        }
        if !(1..=1440).contains(&self.lockout_minutes) {
            check.report(
                "lockout_minutes",
                "is not from 1 to 1440",
                "write the period in which the directory counts wrong passwords, in minutes",
            );
        }
        if self.domain.as_deref().is_some_and(|name| name.is_empty() || name.contains(['\\', '@']))
        {
            check.report(
                "domain",
                "is not the NetBIOS name of a domain",
                "write the part before the backslash, for example \"EXAMPLE\" for EXAMPLE\\jane",
            );
        }
        if let Some(url) = &self.forgotten_password_url {
            check.check_url("forgotten_password_url", url, PlainHttp::Loopback);
        }
        check.check_hosts("internal_hosts", &self.internal_hosts);
        check.secret("bind_password", &self.bind_password)
    }

    fn file_paths_mut(&mut self) -> Vec<(&'static str, &mut PathBuf)> {
        self.ca.iter_mut().map(|path| ("ca", path.as_mut())).collect()
    }

    fn reauthenticates(&self) -> bool {
        true
    }

    fn insecure_key(&self) -> Option<&'static str> {
        self.insecure_ldap.then_some("insecure_ldap")
    }
}

impl LdapKind {
    fn check_address(&self, check: &mut KindCheck<'_>) {
        match self.server_address() {
            Err(error) => {
                check.accept::<()>("url", Err(error));
            }
            Ok(address) if address.url.scheme() == "ldaps" && self.starttls => {
                check.report(
                    "starttls",
                    "has no effect with ldaps://, which always uses TLS",
                    "remove it, or write ldap:// in url",
                );
            }
            Ok(address)
                if address.url.scheme() == "ldap" && !self.starttls && !self.insecure_ldap =>
            {
                let fix = "write ldaps://, or starttls = true (or insecure_ldap = true in this file, for tests only)";
                check.report("url", "sends every password in clear text", fix);
            }
            Ok(_) => {}
        }
    }
}
