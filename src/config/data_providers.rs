//! The files of data providers: who may have an access token introspected, what it learns, and how it is told (decisions
//! 6, 11). They need none on any platform: a folder that is not there holds none.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::env::Timestamp;
use crate::identity::Claim;
use crate::ids::{ClientId, Scope};
use crate::protocol::alg::{ContentEncryption, EncryptionAlg, SigningAlg};

use super::client_auth;
use super::client_keys::{self, GivenKeys, KeySource};
use super::model::{ClientSecret, JwksSource, defaults};
use super::problem::Problem;
use super::secret_rules::{Context, OwnerKind};
use super::secrets::DatedSecret;
use super::source::Source;
use super::together::{self, Party};
use super::{shapes, text};

/// Where the files are, in the configuration folder.
pub const FOLDER: &str = "data-providers";

/// `config/data-providers/*.toml`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataProvider {
    /// As the data provider sends it; unique among the files of service providers and data providers.
    pub client_id: ClientId,
    /// For the operator and the log, by language (`fr`, `en`).
    pub name: BTreeMap<String, String>,
    /// An inactive data provider is as good as unknown.
    #[serde(default = "defaults::yes")]
    pub active: bool,
    /// Scopes that it may learn of: a token that shares none of them with it is inactive to it. `openid` doesn't count.
    pub scopes: Vec<Scope>,
    /// What it sends as `client_secret`. Two may be valid at once, so that rotation needs no appointment.
    pub secrets: Vec<ClientSecret>,
    /// Data providers and service providers with the same sector share one `sub`; every one of them must say so. Default:
    /// the client_id.
    #[serde(default)]
    pub sector: Option<String>,
    /// Version of the subjects' key that its users' `sub` are made with. Default: the newest. The same in a whole sector.
    #[serde(default)]
    pub subject_key_version: Option<u32>,
    /// Absent: it is answered in JSON (RFC 7662). Present: by a JWT signed with this algorithm (RFC 9701).
    #[serde(default)]
    pub introspection_signed_response_alg: Option<SigningAlg>,
    /// Present: that JWT is encrypted to its key by this algorithm.
    #[serde(default)]
    pub introspection_encrypted_response_alg: Option<EncryptionAlg>,
    /// The only way there is, and so the default.
    #[serde(default)]
    pub introspection_encrypted_response_enc: Option<ContentEncryption>,
    /// Its public keys, to encrypt answers to.
    #[serde(default)]
    pub jwks: Option<JwksSource>,
    /// Instead of `jwks`: where it publishes them. Fetched in the background, refreshed before they are old.
    #[serde(default)]
    pub jwks_uri: Option<String>,
    /// Allows http for `jwks_uri`.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts of `jwks_uri` that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

/// A data provider whose file holds.
#[derive(Clone, Debug)]
pub struct RegisteredDataProvider {
    pub file: DataProvider,
    /// Past, present and future; at most two are valid at any moment.
    pub secrets: Vec<DatedSecret>,
    /// What to say while none of them is valid.
    without_secret: Option<Problem>,
    /// What its subjects are derived for: the declared sector, else the client_id.
    pub sector: String,
    /// Version of the key that they are derived with.
    pub subject_key_version: u32,
    pub keys: KeySource,
}

impl RegisteredDataProvider {
    /// One whose every secret is over, or not valid yet: told about and not refused, as with a service provider.
    #[must_use]
    pub fn locked_out(&self, now: Timestamp) -> Option<&Problem> {
        self.without_secret.as_ref().filter(|_| client_auth::none_valid(&self.secrets, now))
    }
}

/// A file that could be read, for the checks that need all of them.
pub struct Draft {
    pub source: Source,
    pub file: DataProvider,
}

impl Draft {
    /// For the checks over all files.
    pub fn party(&self) -> Party<'_> {
        Party::of_data_provider(&self.source, &self.file)
    }
}

/// Reads every file of the folder.
pub fn read(folder: &Path, problems: &mut Vec<Problem>) -> Vec<Draft> {
    if !folder.exists() {
        return Vec::new();
    }
    let mend = "make it readable; each data provider is one .toml file there";
    shapes(folder, mend, problems)
        .into_iter()
        .map(|(source, file)| Draft { source, file })
        .collect()
}

/// Checks what a file says, as far as it depends on no other file; the answer counts only if `problems` did not grow.
pub fn check(
    source: &Source,
    file: DataProvider,
    newest_subject_key: u32,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> RegisteredDataProvider {
    let context = &context.for_file(OwnerKind::DataProvider, source.path());
    together::usable_id(source, &file.client_id, problems);
    text::check(source, "name", &file.name, problems);
    together::named_sector(source, file.sector.as_deref(), problems);
    let secrets = client_auth::secrets(source, &file.secrets, context, problems);
    if file.secrets.is_empty() {
        let what = "is empty, so that it could never have a token introspected";
        problems.push(source.problem("secrets", what, "give one or two secrets"));
    }
    let keys = client_keys::source(source, &GivenKeys::from(&file), context, problems);
    form(source, &file, &keys, problems);
    let without_secret = (!secrets.is_empty()).then(|| {
        let what = "holds no secret that is valid now: every introspection by this data provider is refused";
        source.problem("secrets", what, "add a secret, or correct the dates")
    });
    let sector = file.sector.clone().unwrap_or_else(|| file.client_id.to_string());
    let subject_key_version = file.subject_key_version.unwrap_or(newest_subject_key);
    RegisteredDataProvider { file, secrets, without_secret, sector, subject_key_version, keys }
}

/// A data provider to which every token looks inactive, or which waits for an e-mail address that never comes, is refused.
pub fn against_scopes(
    source: &Source,
    file: &DataProvider,
    table: &BTreeMap<Scope, Vec<String>>,
    problems: &mut Vec<Problem>,
) {
    together::known_scopes(source, &file.scopes, ("scopes", table), problems);
    if file.scopes.iter().all(|scope| scope.as_str() == "openid") {
        let what = "names no scope but openid, so that every token would be inactive to it";
        problems.push(source.problem("scopes", what, "add the scopes that it needs to learn of"));
    }
    for (index, scope) in file.scopes.iter().enumerate() {
        let Some(claims) = table.get(scope).filter(|claims| !claims.is_empty()) else { continue };
        if claims.iter().all(|claim| claim == Claim::Email.as_str()) {
            let what = "releases the e-mail address alone, which a data provider is never told";
            problems.push(source.problem(&format!("scopes[{index}]"), what, "remove it"));
        }
    }
}

/// What is encrypted is signed first (RFC 9701, 5), and there must be a key to encrypt to.
fn form(source: &Source, file: &DataProvider, keys: &KeySource, problems: &mut Vec<Problem>) {
    let mut say =
        |key: &str, what: &str, mend: &str| problems.push(source.problem(key, what, mend));
    let Some(alg) = file.introspection_encrypted_response_alg else {
        if file.introspection_encrypted_response_enc.is_some() {
            let what = "says how content is encrypted, but nothing is";
            say(
                "introspection_encrypted_response_enc",
                what,
                "remove it, or add introspection_encrypted_response_alg",
            );
        }
        if file.jwks.is_some() || file.jwks_uri.is_some() {
            let key = if file.jwks.is_some() { "jwks" } else { "jwks_uri" };
            say(
                key,
                "gives keys that nothing is encrypted to",
                "remove it, or add introspection_encrypted_response_alg",
            );
        }
        return;
    };
    if file.introspection_signed_response_alg.is_none() {
        let what = "asks for encryption, and only a signed answer is encrypted";
        let mend = "add introspection_signed_response_alg, ES256 or RS256";
        say("introspection_encrypted_response_alg", what, mend);
    }
    if file.jwks.is_none() && file.jwks_uri.is_none() {
        let what = "is missing, and answers are to be encrypted to a key of the data provider";
        say(
            "jwks",
            what,
            "add jwks = { file = \"…\" }, or jwks_uri, with a public key for encryption (use = \"enc\") and its kid",
        );
    }
    client_keys::fitting(source, keys, &[alg], problems);
}

impl<'a> From<&'a DataProvider> for GivenKeys<'a> {
    fn from(file: &'a DataProvider) -> Self {
        Self {
            jwks: file.jwks.as_ref(),
            jwks_uri: file.jwks_uri.as_deref(),
            internal_hosts: &file.internal_hosts,
            insecure_http: file.insecure_http,
        }
    }
}

#[cfg(test)]
mod tests;
