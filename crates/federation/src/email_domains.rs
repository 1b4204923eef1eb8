//! Finds connectors by the domain of an e-mail address: by those that their files list, and by a
//! file of many domains.

use std::collections::HashMap;
use std::path::Path;

use passerelle_protocol::email_domain::EmailDomain;
use passerelle_protocol::ids::ConnectorId;
use passerelle_settings::{Diagnostic, ValueError, file_diagnostic};

/// Maximum size of a file of domains, in bytes: more than 10,000 of the longest.
pub const MAX_EMAIL_DOMAIN_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Checks a domain of a connector: `example.org`, or `*.example.org` for all its subdomains.
///
/// # Errors
/// The rule that it breaks.
pub fn check_pattern(pattern: &str) -> Result<(), ValueError> {
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

/// The rows of a file of domains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EmailDomainFile {
    pub rows: Vec<EmailDomainRow>,
}

/// One domain and its connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmailDomainRow {
    pub pattern: Box<str>,
    pub connector: ConnectorId,
    /// Line in the file, from 1.
    pub line: usize,
}

impl EmailDomainFile {
    /// Parses a CSV file in UTF-8 with the header `domain,connector`.
    ///
    /// # Errors
    /// Returns a diagnostic with the line.
    pub fn parse(file: &Path, bytes: &[u8]) -> Result<Self, Diagnostic> {
        const FIX: &str = "write rows such as example.org,la-poste below the line domain,connector";
        let problem = |line: Option<usize>, message: &str, fix: &str| Diagnostic {
            line,
            ..file_diagnostic(file, message, fix)
        };
        if bytes.len() > MAX_EMAIL_DOMAIN_FILE_BYTES {
            return Err(problem(None, "is larger than 4 MiB", "remove rows"));
        }
        // Spreadsheets begin a file with a byte order mark.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut reader = csv::Reader::from_reader(bytes);
        if reader.headers().is_ok_and(|headers| headers.iter().ne(["domain", "connector"])) {
            return Err(problem(Some(1), "has another header than domain,connector", FIX));
        }
        let line_of = |position: Option<&csv::Position>| {
            position.and_then(|position| usize::try_from(position.line()).ok())
        };
        let mut rows = Vec::new();
        for record in reader.into_records() {
            let record = record.map_err(|error| {
                problem(line_of(error.position()), "has an unreadable row", FIX)
            })?;
            let line = line_of(record.position());
            let mut fields = record.iter().map(str::trim_ascii);
            let (pattern, connector) =
                (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
            check_pattern(pattern).map_err(|error| {
                problem(line, &format!("the domain {}", error.message), &error.fix)
            })?;
            if !ConnectorId::is_well_formed(connector) {
                return Err(problem(line, "has no id of a connector", FIX));
            }
            rows.push(EmailDomainRow {
                pattern: pattern.into(),
                connector: connector.into(),
                line: line.unwrap_or_default(),
            });
        }
        Ok(Self { rows })
    }
}

/// The connectors of each domain. A lookup takes one access to a hash table for each label of the
/// domain, however many domains there are.
#[derive(Clone, Debug, Default)]
pub struct EmailDomainIndex(HashMap<Box<str>, Vec<ConnectorId>>);

impl EmailDomainIndex {
    /// Creates an index of domains and connectors.
    pub fn new<'a>(entries: impl Iterator<Item = (&'a str, &'a ConnectorId)>) -> Self {
        let mut index: HashMap<Box<str>, Vec<ConnectorId>> = HashMap::new();
        for (pattern, connector) in entries {
            // The suffix keeps its dot: `*.example.org` does not match `badexample.org`.
            let key = pattern.strip_prefix('*').unwrap_or(pattern);
            let connectors = index.entry(key.into()).or_default();
            if let Err(at) = connectors.binary_search(connector) {
                connectors.insert(at, connector.clone());
            }
        }
        Self(index)
    }

    /// Returns the connectors of the closest match: the domain itself, then the longest suffix.
    pub fn find(&self, domain: &EmailDomain) -> &[ConnectorId] {
        let name = domain.as_str();
        let suffixes = name.match_indices('.').filter_map(|(at, _)| name.get(at..));
        let found = std::iter::once(name).chain(suffixes).find_map(|key| self.0.get(key));
        found.map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_domain_wins_and_a_wildcard_matches_subdomains_only() {
        let [one, two, three] = ["one", "two", "three"].map(ConnectorId::from);
        let entries = [
            ("example.org", &two),
            ("example.org", &one),
            ("example.org", &two),
            ("*.example.org", &two),
            ("*.labs.example.org", &three),
        ];
        let index = EmailDomainIndex::new(entries.into_iter());
        for (name, found) in [
            ("example.org", &["one", "two"][..]),
            ("mail.example.org", &["two"]),
            ("a.b.example.org", &["two"]),
            ("labs.example.org", &["two"]),
            ("a.labs.example.org", &["three"]),
            ("badexample.org", &[]),
            ("example.org.attacker.example", &[]),
            ("xample.org", &[]),
            ("org.example", &[]),
        ] {
            let connectors = index.find(&EmailDomain::parse(name).unwrap());
            assert_eq!(
                connectors.iter().map(ConnectorId::as_str).collect::<Vec<_>>(),
                found,
                "{name}"
            );
        }
    }

    #[test]
    fn a_bad_row_is_named_by_its_line() {
        let parse = |text: &str| EmailDomainFile::parse(Path::new("domains.csv"), text.as_bytes());
        let good =
            parse("\u{feff}domain,connector\nexample.org,idp\n*.example.org , idp\n").unwrap();
        assert_eq!(good.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 3]);
        for (text, line) in [
            ("", 1),
            ("example.org,idp\n", 1),
            ("domain,connector\nexample.org,idp\nExample.org,idp\n", 3),
            ("domain,connector\nexample.org,Two Words\n", 2),
            ("domain,connector\nexample.org\n", 2),
            ("domain,connector\nzoe@example.org,idp\n", 2),
        ] {
            assert_eq!(parse(text).unwrap_err().line, Some(line), "{text}");
        }
        let long = format!("domain,connector\n{}", "a.example,idp\n".repeat(400_000));
        assert!(parse(&long).is_err());
    }
}
