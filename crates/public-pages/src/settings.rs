//! Defines and checks the `[public_pages]` table of `passerelle.toml`.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_extension::{OtherSettings, SettingsTable};
use passerelle_federation::localized_text::check_texts;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{ConfiguredTable, FileCheck, KindTable, TableKind, ValueError};

/// Characters of a text of the operator.
const MAX_TEXT_CHARS: usize = 1000;

/// Text of the operator, by language.
type LocalizedText = BTreeMap<String, String>;

/// Public pages, each linked from the foot of every page (docs/public-pages.md). The file is read at
/// the start of a hub.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PublicPagesConfig {
    /// Serves `/status`, `/status.json` and `/status.atom`: which identity providers work now, which
    /// blocks are in force or planned, and the notices.
    pub status: bool,
    /// Serves `/accessibility`, an accessibility statement (Directive (EU) 2016/2102) with these
    /// answers.
    pub accessibility: Option<AccessibilityConfig>,
    /// Serves `/privacy`, a privacy notice (GDPR, article 13) with these answers and the periods of
    /// this hub's settings.
    pub privacy: Option<PrivacyConfig>,
}

/// Answers of the accessibility statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessibilityConfig {
    /// Conformity with EN 301 549: `full`, `partial` or `none`.
    pub conformity: Conformity,
    /// Date of the statement, for example 2026-11-01.
    pub prepared: String,
    /// How it was assessed: `self`, by its operator, or `external`, by another organisation.
    pub assessed: Assessment,
    /// What is not accessible, and why, by language; one table for each.
    #[serde(default)]
    pub defects: Vec<LocalizedText>,
    /// Where to report a problem: an https address, or mailto.
    pub contact: String,
    /// Who enforces the law if the answer does not satisfy.
    pub enforcement: Authority,
}

/// Answers of the privacy notice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrivacyConfig {
    /// Name and address of the controller, by language.
    pub controller: LocalizedText,
    /// The controller's contact: an https address, or mailto.
    pub contact: String,
    /// The data protection officer's contact, likewise.
    #[serde(default)]
    pub data_protection_officer: Option<String>,
    /// Legal basis of the processing, by language.
    pub legal_basis: LocalizedText,
    /// Recipients besides the services to which a user signs in, for example a hosting company, by
    /// language; one table for each.
    #[serde(default)]
    pub recipients: Vec<LocalizedText>,
    /// The supervisory authority for complaints.
    pub authority: Authority,
}

/// A public authority.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Authority {
    /// Name, by language.
    pub name: LocalizedText,
    /// Absolute https URL.
    pub url: String,
}

/// Conformity, in the words of Implementing Decision (EU) 2018/1523.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Conformity {
    Full,
    Partial,
    None,
}

/// Who assessed the accessibility.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Assessment {
    #[serde(rename = "self")]
    Operator,
    External,
}

/// The table `[public_pages]`.
pub(crate) const TABLE: SettingsTable = SettingsTable {
    kind: TableKind {
        name: "public_pages",
        summary: "Public pages: status, accessibility statement, privacy notice (docs/public-pages.md). Default: none.",
        schema: |generator| generator.subschema_for::<PublicPagesConfig>(),
        load: read_table,
    },
    check: check_table,
};

fn read_table(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let config: PublicPagesConfig = table.deserialize()?;
    Some(table.configured(&config, config.clone()))
}

fn check_table(table: &ConfiguredTable, _: &OtherSettings<'_>, check: &mut FileCheck<'_>) {
    let Some(config) = table.settings::<PublicPagesConfig>() else { return };
    if let Some(statement) = &config.accessibility {
        let check = &mut check.table("accessibility");
        check_date(check, "prepared", &statement.prepared);
        check_list(check, "defects", &statement.defects);
        check_contact(check, "contact", &statement.contact);
        check_authority(check, "enforcement", &statement.enforcement);
        if statement.conformity != Conformity::Full && statement.defects.is_empty() {
            let message = "is empty, although the pages are said not to conform fully";
            check.report("defects", message, "name what is not accessible, and why");
        }
    }
    if let Some(notice) = &config.privacy {
        let check = &mut check.table("privacy");
        check_texts(check, "controller", &notice.controller, MAX_TEXT_CHARS);
        check_contact(check, "contact", &notice.contact);
        if let Some(officer) = &notice.data_protection_officer {
            check_contact(check, "data_protection_officer", officer);
        }
        check_texts(check, "legal_basis", &notice.legal_basis, MAX_TEXT_CHARS);
        check_list(check, "recipients", &notice.recipients);
        check_authority(check, "authority", &notice.authority);
    }
}

fn check_list(check: &mut FileCheck<'_>, key: &str, texts: &[LocalizedText]) {
    for (index, text) in texts.iter().enumerate() {
        check_texts(check, &format!("{key}[{index}]"), text, MAX_TEXT_CHARS);
    }
}

fn check_authority(check: &mut FileCheck<'_>, key: &str, authority: &Authority) {
    check_texts(check, &format!("{key}.name"), &authority.name, MAX_TEXT_CHARS);
    let url = address::parse_absolute_url(&authority.url, PlainHttp::Loopback);
    check.accept(&format!("{key}.url"), url);
}

/// Accepts an absolute address, or `mailto:` and an address.
fn check_contact(check: &mut FileCheck<'_>, key: &str, contact: &str) {
    let parsed = match contact.strip_prefix("mailto:") {
        Some(mailbox) if mailbox.contains('@') && mailbox.bytes().all(|c| c.is_ascii_graphic()) => {
            Ok(())
        }
        Some(_) => Err(ValueError::new(
            "is not an e-mail address",
            "write mailto: and the address, for example mailto:privacy@example.org",
        )),
        None => address::parse_absolute_url(contact, PlainHttp::Loopback).map(|_| ()),
    };
    check.accept(key, parsed);
}

fn check_date(check: &mut FileCheck<'_>, key: &str, date: &str) {
    if NaiveDate::parse_from_str(date, "%Y-%m-%d").is_err() {
        check.report(key, "is not a date", "write year, month and day, for example 2026-11-01");
    }
}
