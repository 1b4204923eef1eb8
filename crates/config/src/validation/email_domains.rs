//! Checks the e-mail domains of connector files, and of the file of domains.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use passerelle_connector::ConfiguredConnector;
use passerelle_federation::email_domains::{EmailDomainFile, EmailDomainRow, check_pattern};
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::{Diagnostic, FileCheck, SourceFile, ValueError, file_diagnostic};

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

/// Conflicts that are reported, at most.
const MAX_CONFLICTS: usize = 50;

/// Returns a warning for each domain with two connectors, between which its users choose, and for
/// each row of `file` without a connector.
pub(crate) fn domain_conflicts<'a>(
    connectors: impl Iterator<Item = (&'a SourceFile, &'a ConfiguredConnector)>,
    file: Option<(&Path, &EmailDomainFile)>,
) -> Vec<Diagnostic> {
    let mut first: HashMap<&str, (&ConnectorId, String)> = HashMap::new();
    let (mut known, mut found) = (BTreeSet::new(), Vec::new());
    let conflict = |place: &str| {
        format!("is also at {place}: users of this domain choose between the two connectors")
    };
    for (source, connector) in connectors {
        known.insert(&connector.id);
        for (index, pattern) in connector.file.email_domains.iter().enumerate() {
            let key = format!("email_domains[{index}]");
            let place = format!("the connector {}", connector.id);
            let (owner, place) = first.entry(pattern).or_insert((&connector.id, place));
            if **owner != connector.id {
                let fix = "remove it from one of the files, unless both serve the domain";
                found.push(source.diagnostic(&key, conflict(place), fix));
            }
        }
    }
    for (path, row) in file.iter().flat_map(|(path, file)| file.rows.iter().map(|row| (*path, row)))
    {
        let report = |message: String, fix: &str| Diagnostic {
            line: Some(row.line),
            ..file_diagnostic(path, message, fix)
        };
        let EmailDomainRow { pattern, connector, line } = row;
        if !known.contains(connector) {
            let message = format!("names the connector {connector}, which does not exist");
            found.push(report(message, "remove the row, or add the connector's file"));
            continue;
        }
        let (owner, place) =
            first.entry(pattern).or_insert_with(|| (connector, format!("line {line}")));
        if *owner != connector {
            let message = format!("the domain {pattern} of {connector} {}", conflict(place));
            found.push(report(message, "remove one of the two, unless both serve the domain"));
        }
    }
    let hidden = found.len().saturating_sub(MAX_CONFLICTS);
    found.truncate(MAX_CONFLICTS);
    if let Some(last) = found.last_mut().filter(|_| hidden > 0) {
        last.message += &format!("; {hidden} more problems with e-mail domains are not shown");
    }
    found
}
