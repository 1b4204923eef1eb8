//! `passerelle check connector FILE --online` for a directory: connection, certificate, account,
//! base entry, and the number of users that the filter finds. No value of an entry is shown.

use std::sync::Arc;

use ldap3::{Ldap, ResultEntry, Scope, SearchEntry, SearchOptions};

use super::{
    LdapDirectory, ldap_error, malformed_entry, read_entry, result_code, run_in_task,
    unexpected_result,
};
use crate::connector::connection_check;
use crate::connector::diagnostic::{CheckDiagnostic, DiagnosisContext};
use crate::connector::error::ConnectorError;
use crate::connector::ldap::settings::USERNAME_PLACEHOLDER;
use crate::connector::ldap::timeout_error;
use crate::connector::online_check::diagnostic_for_error;
use crate::egress::safe_http_client::{CallLimits, PeerCertificate};
use crate::env::Timestamp;

/// Number of entries that are examined.
const MAX_EXAMINED_ENTRIES: i32 = 20;

impl LdapDirectory {
    /// Checks everything that a sign-in needs. `subject` is the attribute that identifies a user.
    pub async fn diagnose(
        self: &Arc<Self>,
        context: &DiagnosisContext,
        subject: &str,
        now: Timestamp,
    ) -> Vec<CheckDiagnostic> {
        let mut diagnostics = Vec::new();
        let (directory, searching) = (Arc::clone(self), Arc::clone(self));
        match with_timeout(async move { directory.peer_certificate().await }).await {
            Ok(certificate) => {
                diagnostics.push(CheckDiagnostic::ok(
                    "reachable",
                    format!("{} responds", self.url.host_str().unwrap_or_default()),
                ));
                diagnostics.push(self.diagnose_tls(certificate.as_ref(), now));
            }
            Err(error) => {
                diagnostics.push(diagnostic_for_error("reachable", &error));
                return diagnostics;
            }
        }
        match with_timeout(async move { searching.search_samples().await }).await {
            Ok(results) => diagnostics.extend(results.diagnostics(self, subject)),
            Err(error) => diagnostics.push(diagnostic_for_error("account", &error)),
        }
        diagnostics.extend(self.unmapped_claims(context));
        diagnostics
    }

    async fn peer_certificate(&self) -> Result<Option<PeerCertificate>, ConnectorError> {
        Ok(self.open_connection().await?.certificate)
    }

    fn diagnose_tls(
        &self,
        certificate: Option<&PeerCertificate>,
        now: Timestamp,
    ) -> CheckDiagnostic {
        if self.url.scheme() == "ldap" && !self.starttls {
            let message = "there is no TLS: passwords are sent in clear text over the network";
            return CheckDiagnostic::warning(
                "certificate",
                message,
                "use ldaps, or starttls = true; plain ldap is for tests",
            );
        }
        connection_check::diagnose_certificate(certificate, now)
    }

    async fn search_samples(&self) -> Result<SampleResults, ConnectorError> {
        let mut ldap = self.bind_as_account().await?;
        let base =
            search(&mut ldap, &self.base_dn, Scope::Base, "(objectClass=*)", &["1.1".to_owned()])
                .await?;
        // The unescaped star matches every username.
        let any_user = self.filter.replace(USERNAME_PLACEHOLDER, "*");
        let users = match ldap3::parse_filter(&any_user) {
            Ok(_) if base.result == result_code::SUCCESS => Some(
                search(&mut ldap, &self.base_dn, Scope::Subtree, &any_user, &self.attributes)
                    .await?,
            ),
            _ => None,
        };
        Ok(SampleResults { base, users })
    }

    /// Returns a warning about required claims that no attribute provides.
    fn unmapped_claims(&self, context: &DiagnosisContext) -> Option<CheckDiagnostic> {
        let is_read = |name: &String| self.attributes.contains(name);
        let missing: Vec<String> = context
            .required_claims
            .iter()
            .filter(|(_, sources)| !sources.is_empty() && !sources.iter().any(is_read))
            .map(|(claim, _)| claim.to_string())
            .collect();
        (!missing.is_empty()).then(|| {
            let message = format!("no configured attribute provides {}", missing.join(", "));
            CheckDiagnostic::warning(
                "claims",
                message,
                "add attributes to kind.ldap.attributes, and map them: [mapping] family_name = { from = \"sn\" }",
            )
        })
    }
}

/// Limits an operation in time, so that earlier diagnostics are reported even if it hangs.
async fn with_timeout<T: Send + 'static>(
    operation: impl Future<Output = Result<T, ConnectorError>> + Send + 'static,
) -> Result<T, ConnectorError> {
    tokio::time::timeout(CallLimits::DEFAULT.total_timeout, run_in_task(operation))
        .await
        .unwrap_or_else(|_| Err(timeout_error()))
}

struct SearchResult {
    result: u32,
    entries: Vec<SearchEntry>,
}

struct SampleResults {
    base: SearchResult,
    /// `None` if the search was skipped.
    users: Option<SearchResult>,
}

async fn search(
    ldap: &mut Ldap,
    base: &str,
    scope: Scope,
    filter: &str,
    attributes: &[String],
) -> Result<SearchResult, ConnectorError> {
    let seconds = i32::try_from(CallLimits::DEFAULT.total_timeout.as_secs()).unwrap_or(i32::MAX);
    ldap.with_search_options(
        SearchOptions::new().sizelimit(MAX_EXAMINED_ENTRIES).timelimit(seconds),
    );
    let mut stream = ldap
        .streaming_search(base, scope, filter, attributes.to_vec())
        .await
        .map_err(|error| ldap_error(&error))?;
    let mut entries = Vec::new();
    while let Some(item) = stream.next().await.map_err(|error| ldap_error(&error))? {
        let is_entry = |item: &ResultEntry| !item.is_ref() && !item.is_intermediate();
        if is_entry(&item) {
            entries.push(read_entry(item).ok_or_else(malformed_entry)?);
        }
        // Stops a directory that ignores the size limit.
        if entries.len() >= MAX_EXAMINED_ENTRIES.unsigned_abs() as usize {
            return Ok(SearchResult { result: result_code::SIZE_LIMIT_EXCEEDED, entries });
        }
    }
    Ok(SearchResult { result: stream.finish().await.rc, entries })
}

impl SampleResults {
    fn diagnostics(&self, directory: &LdapDirectory, subject: &str) -> Vec<CheckDiagnostic> {
        let mut diagnostics =
            vec![CheckDiagnostic::ok("account", "it accepts the account that searches")];
        diagnostics.push(match (self.base.result, self.base.entries.len()) {
            (result_code::SUCCESS, 1) => CheckDiagnostic::ok("base-dn", "the account can read the entry base_dn"),
            (result_code::SUCCESS | 32, _) => {
                let fix = "check that base_dn exists in the directory, and that the account may read below it";
                CheckDiagnostic::error("base-dn", "the entry base_dn does not exist, or the account may not read it", fix)
            }
            (other, _) => diagnostic_for_error("base-dn", &unexpected_result("a search", other)),
        });
        let Some(users) = &self.users else { return diagnostics };
        diagnostics.push(match (users.result, users.entries.len()) {
            (result_code::SUCCESS, 0) => {
                let fix = "check that it uses the attribute that users enter, and that the account may read it";
                CheckDiagnostic::error("filter", "it finds no entry for any username", fix)
            }
            (result_code::SUCCESS, count) => CheckDiagnostic::ok("filter", format!("it finds {count} entries")),
            (result_code::SIZE_LIMIT_EXCEEDED, _) => {
                CheckDiagnostic::ok("filter", format!("it finds {MAX_EXAMINED_ENTRIES} entries or more"))
            }
            (other, _) => diagnostic_for_error("filter", &unexpected_result("the search", other)),
        });
        if !users.entries.is_empty() {
            diagnostics.extend(diagnose_attributes(&users.entries, &directory.attributes, subject));
        }
        diagnostics
    }
}

/// Returns the diagnostics of the attributes of the entries found.
fn diagnose_attributes(
    entries: &[SearchEntry],
    attributes: &[String],
    subject: &str,
) -> Vec<CheckDiagnostic> {
    let value_count = |entry: &SearchEntry, name: &str| {
        let text = entry
            .attrs
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, all)| all.len());
        let binary = entry
            .bin_attrs
            .iter()
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, all)| all.len());
        text.chain(binary).sum::<usize>()
    };
    let without = entries.iter().filter(|entry| value_count(entry, subject) != 1).count();
    let mut diagnostics = vec![if without == 0 {
        CheckDiagnostic::ok("subject", format!("each entry has one {subject}"))
    } else {
        let message = format!(
            "{without} of the first {} entries have no {subject}, or several, and can't sign in",
            entries.len()
        );
        CheckDiagnostic::error(
            "subject",
            message,
            "choose an attribute that each user has once, and that the account may read",
        )
    }];
    let absent: Vec<&str> = attributes
        .iter()
        .filter(|name| {
            *name != subject && entries.iter().all(|entry| value_count(entry, name) == 0)
        })
        .map(String::as_str)
        .collect();
    if !absent.is_empty() {
        let message =
            format!("none of the first {} entries has {}", entries.len(), absent.join(", "));
        diagnostics.push(CheckDiagnostic::warning(
            "attributes",
            message,
            "check the spelling, and that the account may read it",
        ));
    }
    diagnostics
}
