//! Prints the catalogue: `docs/errors.md` and `passerelle errors`.

use std::fmt::Write as _;

use serde::Serialize;

use super::families::{FAMILIES, Table};
use super::{CatalogueEntry, ErrorCode, ErrorOrigin, LogSeverity, ResponsibleParty};

/// Renders the catalogue as the Markdown page `docs/errors.md`.
pub fn render_markdown() -> String {
    let mut page = String::from(
        "# Error codes\n\n\
         What does this code mean, and who must act?\n\n\
         Generated from the program's catalogue, as `passerelle errors` prints it; do not edit. Codes are never reused or\n\
         renumbered. *Status* is the HTTP status of a direct error response; *error* and *description* are what a\n\
         service provider receives as `error` and `error_description`. *Origin* is who caused the error, *fixed by* who can\n\
         fix it, *log* its log level. `passerelle errors CODE` explains one code.\n",
    );
    let entries = entries_by_code();
    for family in FAMILIES {
        // Writing to a string can't fail.
        let _ = writeln!(page, "\n## {}: {}", family.prefix, family.title);
        for table in family.tables {
            let rows: Vec<&CatalogueEntry> = entries
                .iter()
                .copied()
                .filter(|entry| entry.code.starts_with(family.prefix))
                .filter(|entry| {
                    family
                        .table_of_code(entry.code)
                        .is_some_and(|own| own.prefixes == table.prefixes)
                })
                .collect();
            if !rows.is_empty() {
                write_table(&mut page, table, &rows);
            }
        }
    }
    page.push_str(
        "\nNext: [errors, for applications](integrate/errors.md), [find a login](operating.md).\n",
    );
    page
}

fn write_table(page: &mut String, table: &Table, rows: &[&CatalogueEntry]) {
    if let Some(title) = table.title {
        let _ = writeln!(page, "\n### {title}");
    }
    let (code, situation) = table.example;
    let _ = writeln!(
        page,
        "\nExample: {code}: {situation}\n\n\
         | code | status | error | description | origin | fixed by | log |\n|---|---|---|---|---|---|---|"
    );
    for CatalogueEntry {
        code, status, oauth, severity, origin, responsible, description, ..
    } in rows
    {
        let (origin, responsible, severity) =
            (origin.as_str(), responsible.as_str(), severity.as_str());
        let _ = writeln!(
            page,
            "| {code} | {status} | `{oauth}` | {description} | {origin} | {responsible} | {severity} |"
        );
    }
}

/// Renders the catalogue as aligned text, for `passerelle errors`.
pub fn render_table() -> String {
    let mut text = String::new();
    for CatalogueEntry { code, status, oauth, responsible, description, .. } in entries_by_code() {
        let _ = writeln!(
            text,
            "{code}  {status}  {oauth:<27}  {:<17}  {description}",
            responsible.as_str()
        );
    }
    text
}

/// Error code as JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CatalogueRow {
    pub code: &'static str,
    pub status: u16,
    pub oauth_error: &'static str,
    pub description: &'static str,
    pub origin: &'static str,
    pub responsible: &'static str,
    pub log_level: &'static str,
    pub family: &'static str,
}

impl From<&CatalogueEntry> for CatalogueRow {
    fn from(entry: &CatalogueEntry) -> Self {
        let family = FAMILIES.iter().find(|family| entry.code.starts_with(family.prefix));
        Self {
            code: entry.code,
            status: entry.status,
            oauth_error: entry.oauth,
            description: entry.description,
            origin: entry.origin.as_str(),
            responsible: entry.responsible.as_str(),
            log_level: entry.severity.as_str(),
            family: family.map_or("", |family| family.title),
        }
    }
}

/// Returns the catalogue, ordered by code.
pub fn catalogue_rows() -> Vec<CatalogueRow> {
    entries_by_code().into_iter().map(CatalogueRow::from).collect()
}

/// Explains one error code, for `passerelle errors CODE`. Returns `None` if it is not in the
/// catalogue.
pub fn explain_code(code: &str) -> Option<String> {
    let code = code.to_ascii_uppercase();
    let row = catalogue_rows().into_iter().find(|row| row.code == code)?;
    let CatalogueRow {
        status,
        oauth_error,
        description,
        origin,
        responsible,
        log_level,
        family,
        ..
    } = row;
    Some(format!(
        "{code}: {description}\n\n\
         family            {family}\n\
         caused by         {origin}\n\
         fixed by          {responsible}\n\
         HTTP status       {status}, where the hub answers itself\n\
         OAuth error       {oauth_error}, where the service provider gets it\n\
         log level         {log_level}\n"
    ))
}

fn entries_by_code() -> Vec<&'static CatalogueEntry> {
    let mut entries: Vec<_> = ErrorCode::all().iter().map(|code| code.entry()).collect();
    entries.sort_unstable_by_key(|entry| entry.code);
    entries
}

impl ErrorOrigin {
    /// Returns the name in the printed catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Upstream => "upstream",
            Self::User => "user",
            Self::Policy => "policy",
            Self::Hub => "hub",
        }
    }
}

impl ResponsibleParty {
    /// Returns the name in the printed catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::ServiceProvider => "service provider",
            Self::IdentityProvider => "identity provider",
            Self::Operator => "operator",
        }
    }
}

impl LogSeverity {
    /// Returns the name in the printed catalogue.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique_and_well_formed() {
        let mut seen = HashSet::new();
        for code in ErrorCode::all() {
            let entry = code.entry();
            assert!(seen.insert(entry.code), "{} twice", entry.code);
            assert!(
                entry.code.len() == 7
                    && entry.code.starts_with('Y')
                    && entry.code[1..].bytes().all(|c| c.is_ascii_digit())
            );
            assert!(
                entry
                    .description
                    .bytes()
                    .all(|c| (0x20..0x7f).contains(&c) && c != b'"' && c != b'\\'),
                "{}",
                entry.code
            );
            assert!((400..600).contains(&entry.status));
        }
    }

    #[test]
    fn every_code_is_on_the_page_and_in_the_table_once() {
        let (page, table) = (render_markdown(), render_table());
        for code in ErrorCode::all() {
            let code = code.entry().code;
            assert_eq!(
                page.matches(&format!("\n| {code} |")).count(),
                1,
                "{code}: is its family in FAMILIES?"
            );
            assert_eq!(table.matches(code).count(), 1, "{code}");
        }
        assert_eq!(table.lines().count(), ErrorCode::all().len());
    }

    #[test]
    fn every_table_has_at_most_40_rows_and_an_example_of_its_own() {
        for table in FAMILIES.iter().flat_map(|family| family.tables) {
            let own = |entry: &&CatalogueEntry| {
                let mut families = FAMILIES.iter();
                let family = families.find(|family| entry.code.starts_with(family.prefix));
                family.and_then(|family| family.table_of_code(entry.code)).map(|t| t.prefixes)
                    == Some(table.prefixes)
            };
            let rows: Vec<_> = entries_by_code().into_iter().filter(own).collect();
            let (example, _) = table.example;
            assert!(rows.len() <= 40, "{example}: {} rows", rows.len());
            // The codes of an optional crate are not here.
            let known = ErrorCode::all().iter().any(|code| code.entry().code == example);
            let listed = rows.iter().any(|entry| entry.code == example);
            assert_eq!(listed, known, "{example} is in another table");
        }
    }
}
