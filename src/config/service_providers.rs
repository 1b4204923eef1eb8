//! The files of service providers: each on its own, then all together (decisions 6, 7, 15).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId, Scope};
use crate::protocol::acr::Platform;
use crate::protocol::registration::{Consent, Rules};

use super::address::{self, Http};
use super::client_auth;
use super::client_keys::{self, AnswerEncryption, KeySource};
use super::connectors::ConfiguredConnector;
use super::model::ServiceProvider;
use super::problem::Problem;
use super::scopes::{Scopes, Tables};
use super::secrets::DatedSecret;
use super::settings::SubjectKeys;
use super::source::Source;
use super::validity::Standing;
use super::{Context, text, toml_files};

/// A service provider whose file holds.
#[derive(Clone, Debug)]
pub struct RegisteredClient {
    pub file: ServiceProvider,
    /// Past, present and future; at most two are valid at any moment.
    pub secrets: Vec<DatedSecret>,
    /// What to say while none of them is valid.
    without_secret: Option<Problem>,
    /// What its subjects are derived for: the declared sector, else the client_id.
    pub sector: String,
    /// Its public keys, or where they are to be had.
    pub keys: KeySource,
    /// Version of the key that they are derived with.
    pub subject_key_version: u32,
    /// On the high platform: how its answers are encrypted.
    pub encryption: Option<AnswerEncryption>,
}

impl RegisteredClient {
    /// A service provider whose every secret is over, or not valid yet. It is told about and not refused: a hub must
    /// come up again although one service provider forgot a date.
    #[must_use]
    pub fn locked_out(&self, now: Timestamp) -> Option<&Problem> {
        let none_valid = self.secrets.iter().all(|secret| secret.validity.at(now) != Standing::Valid);
        self.without_secret.as_ref().filter(|_| none_valid)
    }
}

/// A file that could be read, for the checks that need all of them.
pub struct Draft {
    pub source: Source,
    pub file: ServiceProvider,
}

/// Reads every file of the folder.
pub fn read(folder: &Path, problems: &mut Vec<Problem>) -> Vec<Draft> {
    let mend = "create it; each service provider is one .toml file there";
    let files = toml_files(folder, mend).map_err(|problem| problems.push(problem)).unwrap_or_default();
    let mut drafts = Vec::new();
    for path in files {
        match Source::read(&path) {
            Ok(source) => {
                if let Some(file) = source.shape(problems) {
                    drafts.push(Draft { source, file });
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    drafts
}

/// Checks each file and all of them together; the answer counts only if `problems` did not grow. No `platform`: the
/// settings can't be read, and what depends on it is left unsaid.
pub fn check(
    drafts: Vec<Draft>,
    scopes: &Tables,
    newest_subject_key: u32,
    platform: Option<Platform>,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> BTreeMap<ClientId, RegisteredClient> {
    duplicates(&drafts, problems);
    sectors(&drafts, problems);
    let mut registered = BTreeMap::new();
    for Draft { source, file } in drafts {
        one(&source, &file, scopes.of(file.rules), problems);
        rules(&source, &file, platform, problems);
        let secrets = client_auth::secrets(&source, &file, context, problems);
        let sector = file.sector.clone().unwrap_or_else(|| file.client_id.to_string());
        let keys = client_keys::source(&source, &file, context, problems);
        client_auth::check(&source, &file, &keys, problems);
        let encryption = platform.and_then(|platform| client_keys::encryption(&source, &file, &keys, platform, problems));
        let subject_key_version = file.subject_key_version.unwrap_or(newest_subject_key);
        let without_secret = (!secrets.is_empty()).then(|| {
            let what = "holds no secret that is valid now: every token request of this service provider is refused";
            source.problem("secrets", what, "add a secret, or correct the dates; then restart")
        });
        let registration = RegisteredClient { file, secrets, without_secret, sector, keys, encryption, subject_key_version };
        registered.insert(registration.file.client_id.clone(), registration);
    }
    registered
}

/// An SP that could never log in is refused (decisions 15). Needs every connector's file to have been read.
pub fn reachable(
    drafts: &[Draft],
    connectors: &BTreeMap<ConnectorId, ConfiguredConnector>,
    platform: Platform,
    problems: &mut Vec<Problem>,
) {
    for Draft { source, file } in drafts {
        for (index, blocked) in file.blocked_connectors.iter().enumerate() {
            if !connectors.contains_key(blocked) {
                let mend = "remove it, or write the stem of a file in the connectors folder";
                problems.push(source.problem(
                    &format!("blocked_connectors[{index}]"),
                    "names a connector that does not exist",
                    mend,
                ));
            }
        }
        // With no connector at all the hub may start: a file can be dropped in later. One that is switched off counts,
        // for it can be switched on again; a blocked one doesn't.
        let mut left = connectors.values().filter(|connector| !file.blocked_connectors.contains(&connector.id)).peekable();
        if connectors.is_empty() {
            continue;
        }
        if left.peek().is_none() {
            let what = "blocks every connector, so that nobody could ever log in";
            problems.push(source.problem("blocked_connectors", what, "leave at least one connector unblocked"));
            continue;
        }
        let lowest = platform.levels().first();
        if !left.any(|connector| lowest.is_some_and(|lowest| connector.file.levels.highest >= *lowest)) {
            let what = "leaves no connector that reaches the platform's lowest level";
            problems.push(source.problem("blocked_connectors", what, "unblock or add a connector with a higher levels.highest"));
        }
    }
}

fn one(source: &Source, file: &ServiceProvider, scopes: &Scopes, problems: &mut Vec<Problem>) {
    let id = file.client_id.as_str();
    if id.is_empty() || id.len() > 255 || !id.bytes().all(|c| c.is_ascii_graphic()) {
        let mend = "use 1 to 255 printable ASCII characters without blanks";
        problems.push(source.problem("client_id", "is not a usable id", mend));
    }
    text::check(source, "name", &file.name, problems);
    addresses(source, file, problems);
    if !file.scopes.iter().any(|scope| scope.as_str() == "openid") {
        problems.push(source.problem("scopes", "lacks openid, without which no request is valid", "add \"openid\""));
    }
    for (index, _) in file.scopes.iter().enumerate().filter(|(_, scope)| !scopes.contains_key(*scope)) {
        let known = scopes.keys().map(Scope::as_str).collect::<Vec<_>>().join(", ");
        let table = match file.rules {
            Rules::Federation => "scopes",
            Rules::Openid => "openid",
        };
        let mend = format!("add it to [{table}] of scopes.toml, or use one of: {known}");
        problems.push(source.problem(&format!("scopes[{index}]"), "is granted, but the scopes table does not know it", mend));
    }
    if file.sector.as_ref().is_some_and(|sector| sector.trim().is_empty()) {
        problems.push(source.problem("sector", "is empty", "name the sector, or remove the key"));
    }
}

/// What goes with the rules, and what the rules go with (decisions 3, Rules per SP).
fn rules(source: &Source, file: &ServiceProvider, platform: Option<Platform>, problems: &mut Vec<Problem>) {
    if file.rules == Rules::Openid && platform == Some(Platform::High) {
        let what = "is \"openid\", which the high platform doesn't serve";
        let mend = "remove it and follow the specification, or register at a hub of the standard platform";
        problems.push(source.problem("rules", what, mend));
    }
    if file.consent == Consent::None && file.rules == Rules::Federation {
        let what = "is \"none\", and the specification has the person told what is sent";
        let mend = "write consent = \"information\"; or rules = \"openid\", if this is a service of plain OpenID Connect";
        problems.push(source.problem("consent", what, mend));
    }
}

/// Absolute https (http for loopback, or with `insecure_http`), no fragment, no user info (decisions 15).
fn addresses(source: &Source, file: &ServiceProvider, problems: &mut Vec<Problem>) {
    let http = if file.insecure_http { Http::Anywhere } else { Http::Loopback };
    let list = |key: &str, uris: &[String]| -> Vec<(String, String)> {
        uris.iter().enumerate().map(|(index, uri)| (format!("{key}[{index}]"), uri.clone())).collect()
    };
    let mut all = vec![("home_page".to_owned(), file.home_page.clone())];
    all.extend(list("redirect_uris", &file.redirect_uris));
    all.extend(list("post_logout_redirect_uris", &file.post_logout_redirect_uris));
    for (key, uri) in all {
        match address::absolute(&uri, http) {
            // URIs are compared as strings: a star would match nothing but itself.
            Ok(_) if uri.contains('*') => {
                problems.push(source.problem(&key, "holds a *, and patterns are not matched", "write out each address"));
            }
            Ok(_) => {}
            Err((what, mend)) => problems.push(source.problem(&key, what, mend)),
        }
    }
    if file.redirect_uris.is_empty() {
        problems.push(source.problem(
            "redirect_uris",
            "is empty, so that nobody could ever log in",
            "register at least one address",
        ));
    }
}

fn duplicates(drafts: &[Draft], problems: &mut Vec<Problem>) {
    let mut seen: BTreeMap<&ClientId, &Draft> = BTreeMap::new();
    for draft in drafts {
        if let Some(first) = seen.insert(&draft.file.client_id, draft) {
            let what = format!("is already the client_id of {}", first.source.file());
            problems.push(draft.source.problem("client_id", what, "give each service provider an id of its own"));
        }
    }
}

/// Several share a sector only if each file says so (decisions 7): nobody's sector is another's bare client_id.
fn sectors(drafts: &[Draft], problems: &mut Vec<Problem>) {
    let undeclared: BTreeSet<&str> =
        drafts.iter().filter(|draft| draft.file.sector.is_none()).map(|draft| draft.file.client_id.as_str()).collect();
    for draft in drafts {
        let Some(sector) = draft.file.sector.as_deref() else { continue };
        if undeclared.contains(sector) {
            let what = format!("is the sector of service provider {sector}, whose file does not say that it shares it");
            let mend = format!("write sector = \"{sector}\" there too, or choose another name");
            problems.push(draft.source.problem("sector", what, mend));
        }
    }
}

/// A version is one of those that there are, and the same in a whole sector, which would have two `sub` otherwise.
pub fn key_versions(drafts: &[Draft], keys: &SubjectKeys, problems: &mut Vec<Problem>) {
    let known = keys.keys().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let newest = keys.keys().next_back().copied().unwrap_or(1);
    let mut of_sector: BTreeMap<&str, (u32, &Draft)> = BTreeMap::new();
    for draft in drafts {
        let version = draft.file.subject_key_version.unwrap_or(newest);
        if !keys.contains_key(&version) {
            let mend = format!("write one of: {known}; or add the key to subject_keys in passerelle.toml");
            problems.push(draft.source.problem("subject_key_version", "is a version that no key has", mend));
            continue;
        }
        let Some(sector) = draft.file.sector.as_deref() else { continue };
        let (other, first) = *of_sector.entry(sector).or_insert((version, draft));
        if other != version {
            let what = format!(
                "is {version}, and {other} in {}, which shares the sector: one person would have two sub",
                first.source.file()
            );
            let mend = format!("write subject_key_version = {other} here, or the same other version in every file of the sector");
            problems.push(draft.source.problem("subject_key_version", what, mend));
        }
    }
}
