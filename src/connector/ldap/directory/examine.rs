//! `passerelle check connector FILE --online`, for a directory: whether it can be reached, its certificate, the account,
//! the base entry, and how many persons the filter would find. No value of an entry is shown.

use std::sync::Arc;

use ldap3::{Ldap, ResultEntry, Scope, SearchEntry, SearchOptions};

use super::{Directory, answered, apart, code, fault_of};
use crate::config::ldap::USERNAME;
use crate::connector::asked::of_fault;
use crate::connector::finding::{Examination, Finding};
use crate::connector::ldap::late;
use crate::connector::{ConnectorFault, connection};
use crate::egress::guard::{CallLimits, PeerCertificate};
use crate::env::Timestamp;

/// So many persons are looked at.
const PERSONS: i32 = 20;

impl Directory {
    /// Looks at everything that a sign-in would need. `subject` is the attribute that names a person for ever.
    pub async fn examine(
        self: &Arc<Self>,
        examination: &Examination,
        subject: &str,
        now: Timestamp,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        let (directory, to) = (Arc::clone(self), Arc::clone(self));
        match timely(async move { directory.certificate().await }).await {
            Ok(shown) => {
                findings.push(Finding::ok(
                    "reachable",
                    format!("{} answers", self.url.host_str().unwrap_or_default()),
                ));
                findings.push(self.secured(shown.as_ref(), now));
            }
            Err(fault) => {
                findings.push(of_fault("reachable", &fault));
                return findings;
            }
        }
        match timely(async move { to.looked().await }).await {
            Ok(seen) => findings.extend(seen.findings(self, subject)),
            Err(fault) => findings.push(of_fault("account", &fault)),
        }
        findings.extend(self.not_read(examination));
        findings
    }

    async fn certificate(&self) -> Result<Option<PeerCertificate>, ConnectorFault> {
        let mut ldap = self.connect().await?;
        Ok(ldap
            .get_peer_certificate()
            .await
            .map_err(|error| fault_of(&error))?
            .map(PeerCertificate))
    }

    fn secured(&self, shown: Option<&PeerCertificate>, now: Timestamp) -> Finding {
        if self.url.scheme() == "ldap" && !self.starttls {
            let what =
                "there is no TLS: every password goes in the clear, to whoever is on the way";
            return Finding::warning(
                "certificate",
                what,
                "use ldaps, or starttls = true; plain ldap is for tests",
            );
        }
        connection::certificate(shown, now)
    }

    async fn looked(&self) -> Result<Seen, ConnectorFault> {
        let mut ldap = self.as_account().await?;
        let base =
            search(&mut ldap, &self.base_dn, Scope::Base, "(objectClass=*)", &["1.1".to_owned()])
                .await?;
        // Of anybody, so what was typed is not escaped here: the star stands for every name.
        let anybody = self.filter.replace(USERNAME, "*");
        let persons = match ldap3::parse_filter(&anybody) {
            Ok(_) if base.result == code::SUCCESS => Some(
                search(&mut ldap, &self.base_dn, Scope::Subtree, &anybody, &self.attributes)
                    .await?,
            ),
            _ => None,
        };
        Ok(Seen { base, persons })
    }

    /// Claims that an identity needs, and that no attribute would bring.
    fn not_read(&self, examination: &Examination) -> Option<Finding> {
        let read = |name: &String| self.attributes.contains(name);
        let missing: Vec<String> = examination
            .needed
            .iter()
            .filter(|(_, made_of)| !made_of.is_empty() && !made_of.iter().any(read))
            .map(|(claim, _)| claim.to_string())
            .collect();
        (!missing.is_empty()).then(|| {
            let what = format!("no attribute that is read brings {}", missing.join(", "));
            Finding::warning(
                "claims",
                what,
                "add to kind.ldap.attributes, and map them: [mapping] family_name = { from = \"sn\" }",
            )
        })
    }
}

/// What was found before a conversation that hangs is told all the same.
async fn timely<T: Send + 'static>(
    conversation: impl Future<Output = Result<T, ConnectorFault>> + Send + 'static,
) -> Result<T, ConnectorFault> {
    tokio::time::timeout(CallLimits::DEFAULT.whole, apart(conversation))
        .await
        .unwrap_or_else(|_| Err(late()))
}

struct Found {
    result: u32,
    entries: Vec<SearchEntry>,
}

struct Seen {
    base: Found,
    /// `None` where they were not looked for.
    persons: Option<Found>,
}

async fn search(
    ldap: &mut Ldap,
    base: &str,
    scope: Scope,
    filter: &str,
    asked: &[String],
) -> Result<Found, ConnectorFault> {
    let seconds = i32::try_from(CallLimits::DEFAULT.whole.as_secs()).unwrap_or(i32::MAX);
    ldap.with_search_options(SearchOptions::new().sizelimit(PERSONS).timelimit(seconds));
    let mut stream = ldap
        .streaming_search(base, scope, filter, asked.to_vec())
        .await
        .map_err(|error| fault_of(&error))?;
    let mut entries = Vec::new();
    while let Some(item) = stream.next().await.map_err(|error| fault_of(&error))? {
        let is_entry = |item: &ResultEntry| !item.is_ref() && !item.is_intermediate();
        if is_entry(&item) {
            entries.push(SearchEntry::construct(item));
        }
        // One that heeds no limit is not listened to without end.
        if entries.len() >= PERSONS.unsigned_abs() as usize {
            return Ok(Found { result: code::SIZE_LIMIT_EXCEEDED, entries });
        }
    }
    Ok(Found { result: stream.finish().await.rc, entries })
}

impl Seen {
    fn findings(&self, directory: &Directory, subject: &str) -> Vec<Finding> {
        let mut findings = vec![Finding::ok("account", "it takes the account that searches")];
        findings.push(match (self.base.result, self.base.entries.len()) {
            (code::SUCCESS, 1) => Finding::ok("base-dn", "the account sees the entry base_dn"),
            (code::SUCCESS, _) | (32, _) => {
                let mend = "is base_dn written as the directory has it, and may the account read below it?";
                Finding::fault("base-dn", "there is no entry base_dn, or none that the account may see", mend)
            }
            (other, _) => of_fault("base-dn", &answered("a search", other)),
        });
        let Some(persons) = &self.persons else { return findings };
        findings.push(match (persons.result, persons.entries.len()) {
            (code::SUCCESS, 0) => {
                let mend = "is it the attribute that people type, and may the account read it?";
                Finding::fault("filter", "it would find nobody, whatever was typed", mend)
            }
            (code::SUCCESS, count) => Finding::ok("filter", format!("it can find {count} entries")),
            (code::SIZE_LIMIT_EXCEEDED, _) => {
                Finding::ok("filter", format!("it can find {PERSONS} entries and more"))
            }
            (other, _) => of_fault("filter", &answered("the search", other)),
        });
        if !persons.entries.is_empty() {
            findings.extend(read(&persons.entries, &directory.attributes, subject));
        }
        findings
    }
}

/// Which attributes those who were found have.
fn read(entries: &[SearchEntry], attributes: &[String], subject: &str) -> Vec<Finding> {
    let values = |entry: &SearchEntry, name: &str| {
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
    let without = entries.iter().filter(|entry| values(entry, subject) != 1).count();
    let mut findings = vec![if without == 0 {
        Finding::ok("subject", format!("each of them has one {subject}"))
    } else {
        let what = format!(
            "{without} of the first {} have no {subject}, or several, and can't sign in",
            entries.len()
        );
        Finding::fault(
            "subject",
            what,
            "write an attribute that each person has once, and that the account may read",
        )
    }];
    let nobody: Vec<&str> = attributes
        .iter()
        .filter(|name| *name != subject && entries.iter().all(|entry| values(entry, name) == 0))
        .map(String::as_str)
        .collect();
    if !nobody.is_empty() {
        let what = format!("none of the first {} has {}", entries.len(), nobody.join(", "));
        findings.push(Finding::warning(
            "attributes",
            what,
            "is it written as the directory does, and may the account read it?",
        ));
    }
    findings
}
