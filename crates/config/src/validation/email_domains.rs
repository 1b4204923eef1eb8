//! Checks the e-mail domains of connector files.

use std::collections::{BTreeMap, BTreeSet};

use passerelle_protocol::email_domain::EmailDomain;
use passerelle_settings::{Diagnostic, FileCheck, SourceFile, ValueError};

use passerelle_connector::ConfiguredConnector;

/// Checks the domains that one file lists.
pub(crate) fn check_email_domains(check: &mut FileCheck<'_>, patterns: &[String]) {
    let mut known = BTreeSet::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let checked = match check_pattern(pattern) {
            Ok(()) if !known.insert(pattern) => {
                Err(ValueError::new("is listed twice", "remove one of the two"))
            }
            checked => checked,
        };
        check.accept(&format!("email_domains[{index}]"), checked);
    }
}

fn check_pattern(pattern: &str) -> Result<(), ValueError> {
    let domain = pattern.strip_prefix("*.").unwrap_or(pattern);
    if domain.contains('*') {
        return Err(ValueError::new(
            "has a * that does not stand for all subdomains",
            "write example.org, or *.example.org for its subdomains",
        ));
    }
    if domain.contains('@') {
        return Err(ValueError::new(
            "is an address and not a domain",
            "write only what follows the @",
        ));
    }
    match EmailDomain::parse(domain) {
        Some(parsed) if parsed.as_str() == domain => Ok(()),
        Some(_) => Err(ValueError::new(
            "is not written as it is compared, so it would never match",
            "write it in lower case, and an international name in ASCII (xn--…)",
        )),
        None => Err(ValueError::new(
            "is not a domain name of two labels or more",
            "write example.org, or *.example.org for its subdomains",
        )),
    }
}

/// Returns a warning for each domain that two files list: its users choose between the two.
pub(crate) fn shared_domain_warnings(
    connectors: &[(SourceFile, ConfiguredConnector)],
) -> Vec<Diagnostic> {
    let mut first_owners = BTreeMap::new();
    let mut warnings = Vec::new();
    for (source, connector) in connectors {
        for (index, pattern) in connector.file.email_domains.iter().enumerate() {
            let owner = *first_owners.entry(pattern).or_insert(&connector.id);
            if *owner == connector.id {
                continue;
            }
            let key = format!("email_domains[{index}]");
            let message = format!(
                "is also listed by the connector {owner}: users of this domain choose between the two"
            );
            let fix = "remove it from one of the files, unless both serve the domain";
            warnings.push(source.diagnostic(&key, message, fix));
        }
    }
    warnings
}
