//! The files of service providers, each on its own, and what they can reach (decisions 6, 15). What concerns those of
//! data providers as well is in `together`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::env::Timestamp;
use crate::ids::ConnectorId;
use crate::protocol::acr::{Level, Platform};
use crate::protocol::registration::{Consent, Rules};

use super::address::{self, Http};
use super::client_auth;
use super::client_keys::{self, AnswerEncryption, GivenKeys, KeySource};
use super::connector_rules::Admitted;
use super::connectors;
use super::logo::Logo;
use super::model::ServiceProvider;
use super::problem::Problem;
use super::quotas::rate;
use super::scopes::Tables;
use super::secret_rules::{Context, OwnerKind};
use super::secrets::DatedSecret;
use super::source::Source;
use super::together::{self, Conflict, Party};
use super::{shapes, text};

/// Where the files are, in the configuration folder.
pub const FOLDER: &str = "service-providers";

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
    pub logo: Option<Logo>,
}

impl RegisteredClient {
    /// A service provider whose every secret is over, or not valid yet. It is told about and not refused: a hub must
    /// come up again although one service provider forgot a date.
    #[must_use]
    pub fn locked_out(&self, now: Timestamp) -> Option<&Problem> {
        self.without_secret.as_ref().filter(|_| client_auth::none_valid(&self.secrets, now))
    }
}

/// A file that could be read, for the checks that need all of them.
pub struct Draft {
    pub source: Source,
    pub file: ServiceProvider,
}

impl Draft {
    /// For the checks over all files.
    pub fn party(&self) -> Party<'_> {
        Party::of_service(&self.source, &self.file)
    }
}

/// Reads every file of the folder.
pub fn read(folder: &Path, problems: &mut Vec<Problem>) -> Vec<Draft> {
    let mend = "create it; each service provider is one .toml file there";
    shapes(folder, mend, problems)
        .into_iter()
        .map(|(source, file)| Draft { source, file })
        .collect()
}

/// Checks what a file says, as far as it depends on no other file; the answer counts only if `problems` did not grow. No
/// `platform`: the settings can't be read, and what depends on it is left unsaid.
pub fn check(
    source: &Source,
    file: ServiceProvider,
    newest_subject_key: u32,
    platform: Option<Platform>,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> RegisteredClient {
    let context = &context.for_file(OwnerKind::ServiceProvider, source.path());
    one(source, &file, problems);
    rules(source, &file, platform, problems);
    let secrets = client_auth::secrets(source, &file.secrets, context, problems);
    let sector = file.sector.clone().unwrap_or_else(|| file.client_id.to_string());
    let keys = client_keys::source(source, &GivenKeys::from(&file), context, problems);
    client_auth::check(source, &file, &keys, problems);
    let encryption = platform
        .and_then(|platform| client_keys::encryption(source, &file, &keys, platform, problems));
    let subject_key_version = file.subject_key_version.unwrap_or(newest_subject_key);
    let without_secret = (!secrets.is_empty()).then(|| {
        let what = "holds no secret that is valid now: every token request of this service provider is refused";
        source.problem("secrets", what, "add a secret, or correct the dates")
    });
    let logo = logo(source, &file, context, problems);
    RegisteredClient {
        file,
        secrets,
        without_secret,
        sector,
        keys,
        encryption,
        subject_key_version,
        logo,
    }
}

/// What a file is granted must be in the table that counts for it.
pub fn against_scopes(
    source: &Source,
    file: &ServiceProvider,
    tables: &Tables,
    problems: &mut Vec<Problem>,
) {
    let table = match file.rules {
        Rules::Federation => "scopes",
        Rules::Openid => "openid",
    };
    together::known_scopes(source, &file.scopes, (table, tables.of(file.rules)), problems);
}

/// The connectors that there are, as far as service providers depend on them.
pub struct Reach<'a> {
    /// Each with its highest level and its file.
    pub connectors: BTreeMap<&'a ConnectorId, (Level, &'a Path)>,
}

/// An SP that could never log in is refused (decisions 15). Needs every connector's file to have been read.
pub fn reachable<'a>(
    services: impl IntoIterator<Item = (&'a Source, &'a ServiceProvider)>,
    Reach { connectors }: &Reach<'_>,
    platform: Platform,
) -> Vec<Conflict> {
    let mut found = Vec::new();
    // With no connector at all the hub may start: a file can be dropped in later.
    if connectors.is_empty() {
        return found;
    }
    // A list that allows nobody has been told about already.
    let allows_some = |file: &ServiceProvider| {
        file.connectors.allow.as_ref().is_none_or(|allowed| !allowed.is_empty())
    };
    for (source, file) in services.into_iter().filter(|(_, file)| allows_some(file)) {
        let with_connectors = |problem: Problem| {
            let files = connectors.values().map(|(_, file)| *file).chain([source.path()]);
            Conflict::new(problem, files)
        };
        // One that is switched off counts, for it can be switched on again; one that the rules leave out doesn't.
        let admitted = file.connectors.admitted();
        let mut left = connectors.iter().filter(|(id, _)| admitted.includes(id)).peekable();
        let lowest = platform.levels().first();
        if left.peek().is_none() {
            let what = "leaves no connector that is there, so that nobody could ever log in";
            let mend = match admitted {
                Admitted::Only(_) => "allow at least one whose file is in the connectors folder",
                Admitted::AllBut(_) | Admitted::All => "deny one less",
            };
            found.push(with_connectors(source.problem("connectors", what, mend)));
        } else if !left.any(|(_, (highest, _))| lowest.is_some_and(|lowest| highest >= lowest)) {
            let what = "leaves no connector that reaches the platform's lowest level";
            let mend = "allow or add a connector with a higher levels.highest";
            found.push(with_connectors(source.problem("connectors", what, mend)));
        }
    }
    found
}

/// Connectors that the files name and that aren't there (yet).
pub fn unknown_connectors(
    drafts: &[Draft],
    is_known: impl Fn(&ConnectorId) -> bool,
) -> Vec<Problem> {
    drafts
        .iter()
        .flat_map(|draft| draft.file.connectors.unknown(&draft.source, &is_known))
        .collect()
}

fn one(source: &Source, file: &ServiceProvider, problems: &mut Vec<Problem>) {
    together::usable_id(source, &file.client_id, problems);
    text::check(source, "name", &file.name, problems);
    addresses(source, file, problems);
    file.connectors.check(source, problems);
    if !file.scopes.iter().any(|scope| scope.as_str() == "openid") {
        problems.push(source.problem(
            "scopes",
            "lacks openid, without which no request is valid",
            "add \"openid\"",
        ));
    }
    if file.class.as_deref().is_some_and(|class| !connectors::is_category(class)) {
        problems.push(source.problem(
            "class",
            "is no name of a class",
            "use 1 to 32 characters of a-z, 0-9 and -",
        ));
    }
    together::named_sector(source, file.sector.as_deref(), problems);
    rate(source, "logins_per_minute", file.logins_per_minute, problems);
}

fn logo(
    source: &Source,
    file: &ServiceProvider,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Logo> {
    let folder = context.folder.join(FOLDER);
    let read = file.logo.as_ref().map(|path| Logo::of_entry(&folder, path)).transpose();
    read.unwrap_or_else(|(what, mend)| {
        problems.push(source.problem("logo", what, mend));
        None
    })
}

/// What goes with the rules, and what the rules go with (decisions 3, Rules per SP).
fn rules(
    source: &Source,
    file: &ServiceProvider,
    platform: Option<Platform>,
    problems: &mut Vec<Problem>,
) {
    if file.rules == Rules::Openid && platform == Some(Platform::High) {
        let what = "is \"openid\", which the high platform doesn't serve";
        let mend =
            "remove it and follow the specification, or register at a hub of the standard platform";
        problems.push(source.problem("rules", what, mend));
    }
    if file.consent == Consent::None && file.rules == Rules::Federation {
        let what = "is \"none\", and the specification has the person told what is sent";
        let mend = "write consent = \"information\"; or rules = \"openid\", if this is a service of plain OpenID Connect";
        problems.push(source.problem("consent", what, mend));
    }
    if file.id_token_claims && file.rules == Rules::Federation {
        let what = "puts identity claims into the ID token, and the specification has them at userinfo alone";
        let mend =
            "remove it; or write rules = \"openid\", if this is a service of plain OpenID Connect";
        problems.push(source.problem("id_token_claims", what, mend));
    }
}

/// Absolute https (http for loopback, or with `insecure_http`), no fragment, no user info (decisions 15).
fn addresses(source: &Source, file: &ServiceProvider, problems: &mut Vec<Problem>) {
    let http = if file.insecure_http { Http::Anywhere } else { Http::Loopback };
    let list = |key: &str, uris: &[String]| -> Vec<(String, String)> {
        uris.iter()
            .enumerate()
            .map(|(index, uri)| (format!("{key}[{index}]"), uri.clone()))
            .collect()
    };
    let mut all = vec![("home_page".to_owned(), file.home_page.clone())];
    all.extend(list("redirect_uris", &file.redirect_uris));
    all.extend(list("post_logout_redirect_uris", &file.post_logout_redirect_uris));
    for (key, uri) in all {
        match address::absolute(&uri, http) {
            // URIs are compared as strings: a star would match nothing but itself.
            Ok(_) if uri.contains('*') => {
                problems.push(source.problem(
                    &key,
                    "holds a *, and patterns are not matched",
                    "write out each address",
                ));
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
