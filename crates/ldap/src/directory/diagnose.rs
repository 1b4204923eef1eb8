//! `passerelle check connector FILE --online` for a directory: connection, certificate, account,
//! base entry, and the number of users that the filter finds. No value of an entry is shown.

use std::sync::Arc;
use std::time::Duration;

use ldap3::Scope;

use super::connection::OpenError;
use super::entry::SearchResultEntry;
use super::errors::unexpected_result;
use super::lockout_policy::VisiblePolicies;
use super::search::{MAX_EXAMINED_ENTRIES, SearchOutcome, search};
use super::{LdapDirectory, result_code, run_in_task};
use crate::settings::USERNAME_PLACEHOLDER;
use crate::timeout_error;
use passerelle_connector::connection_check;
use passerelle_connector::diagnostic::{CheckDiagnostic, DiagnosisContext};
use passerelle_connector::error::ConnectorError;
use passerelle_connector::online_check::diagnostic_for_error;
use passerelle_egress::safe_http_client::{CallLimits, PeerCertificate};
use passerelle_protocol::env::Timestamp;

/// Attributes by which products identify an entry permanently: OpenLDAP and OpenDJ, 389 Directory
/// Server, Active Directory, FreeIPA, Security Directory Server.
const SUBJECT_ATTRIBUTES: [&str; 5] =
    ["entryUUID", "nsUniqueId", "objectGUID", "ipaUniqueID", "ibm-entryUUID"];

/// Settings of the connector that a check compares with the directory.
#[derive(Clone, Copy)]
pub struct ComparedSettings<'a> {
    /// The attribute that identifies a user.
    pub subject: &'a str,
    pub lockout_after: u32,
    pub lockout_window: Duration,
}

impl LdapDirectory {
    /// Checks everything that a sign-in needs.
    pub async fn diagnose(
        self: &Arc<Self>,
        context: &DiagnosisContext,
        settings: ComparedSettings<'_>,
        now: Timestamp,
    ) -> Vec<CheckDiagnostic> {
        let mut diagnostics = Vec::new();
        let (directory, searching) = (Arc::clone(self), Arc::clone(self));
        match with_timeout(async move { directory.peer_certificate().await }).await {
            Ok(Ok(certificate)) => {
                diagnostics.push(CheckDiagnostic::ok(
                    "reachable",
                    format!("{} responds", self.url.host_str().unwrap_or_default()),
                ));
                diagnostics.push(self.diagnose_tls(certificate.as_ref(), now));
            }
            Ok(Err(why)) => {
                let host = self.url.host_str().unwrap_or_default();
                return vec![connection_check::diagnose_rejected_certificate(host, &why)];
            }
            Err(error) => return vec![diagnostic_for_error("reachable", &error)],
        }
        match with_timeout(async move { searching.search_samples().await }).await {
            Ok(results) => {
                diagnostics.extend(results.diagnostics(self, settings.subject));
                diagnostics.push(match results.policies {
                    Ok(policies) => {
                        policies.diagnose(settings.lockout_after, settings.lockout_window)
                    }
                    Err(error) => diagnostic_for_error("lockout", &error),
                });
            }
            Err(error) => diagnostics.push(diagnostic_for_error("account", &error)),
        }
        diagnostics.extend(self.unmapped_claims(context));
        diagnostics
    }

    /// Returns the certificate of a new connection, or why TLS rejects it.
    async fn peer_certificate(
        &self,
    ) -> Result<Result<Option<PeerCertificate>, String>, ConnectorError> {
        match self.open_connection().await {
            Ok(connection) => Ok(Ok(connection.certificate)),
            Err(OpenError::RejectedCertificate(why)) => Ok(Err(why)),
            Err(OpenError::Other(error)) => Err(error),
        }
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
            Ok(_) if base.result == result_code::SUCCESS => {
                let subjects = SUBJECT_ATTRIBUTES.into_iter().map(str::to_owned);
                let attributes: Vec<String> =
                    self.attributes.iter().cloned().chain(subjects).collect();
                let base = &self.base_dn;
                Some(search(&mut ldap, base, Scope::Subtree, &any_user, &attributes).await?)
            }
            _ => None,
        };
        let policies = VisiblePolicies::read(&mut ldap, &self.base_dn).await;
        Ok(SampleResults { base, users, policies })
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

struct SampleResults {
    base: SearchOutcome,
    /// `None` if the search was skipped.
    users: Option<SearchOutcome>,
    policies: Result<VisiblePolicies, ConnectorError>,
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
            diagnostics.push(diagnose_subject(&users.entries, subject));
            diagnostics.extend(directory.diagnose_attributes(&users.entries, subject));
        }
        diagnostics
    }
}

/// Returns whether each entry has one value of the subject attribute, and else which attribute of
/// the usual ones it has.
fn diagnose_subject(entries: &[SearchResultEntry], subject: &str) -> CheckDiagnostic {
    let lacking =
        |name: &str| entries.iter().filter(|entry| entry.values(name).count() != 1).count();
    let without = lacking(subject);
    if without == 0 {
        return CheckDiagnostic::ok("subject", format!("each entry has one {subject}"));
    }
    let message = format!(
        "{without} of the first {} entries have no {subject}, or several, and can't sign in",
        entries.len()
    );
    let usable = SUBJECT_ATTRIBUTES.into_iter().find(|name| lacking(name) == 0);
    let fix = usable.map_or_else(
        || "choose an attribute that each user has once, and that the account may read".to_owned(),
        |name| format!("write subject_attribute = \"{name}\": each of these entries has one"),
    );
    CheckDiagnostic::error("subject", message, fix)
}

impl LdapDirectory {
    /// Returns warnings about attributes that no entry has, and about values that can't be read.
    fn diagnose_attributes(
        &self,
        entries: &[SearchResultEntry],
        subject: &str,
    ) -> Vec<CheckDiagnostic> {
        let is_absent =
            |name: &&String| entries.iter().all(|entry| entry.values(name).next().is_none());
        let is_undecodable = |name: &&String| {
            let mut values = entries.iter().flat_map(|entry| entry.values(name));
            values.any(|value| self.binary.decode(name, value).is_none())
        };
        let names = |matches: &dyn Fn(&&String) -> bool| {
            let names: Vec<&str> =
                self.attributes.iter().filter(matches).map(String::as_str).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        let absent = names(&|name| *name != subject && is_absent(name)).map(|names| {
            let message = format!("none of the first {} entries has {names}", entries.len());
            let fix = "check the spelling, and that the account may read it";
            CheckDiagnostic::warning("attributes", message, fix)
        });
        let undecodable = names(&|name| is_undecodable(name)).map(|names| {
            let message = format!("a value of {names} is not UTF-8, and is left out at a sign-in");
            let fix = "write text in UTF-8 into the directory (RFC 4517 §3.3.6); or list the attribute in binary_attributes, if it is not text";
            CheckDiagnostic::warning("attributes", message, fix)
        });
        absent.into_iter().chain(undecodable).collect()
    }
}
