//! Tests whole configuration folders: valid ones, invalid files, environment variables.

mod blocks;
mod kinds;
mod store;
mod traces;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::connector::KINDS;
use crate::env::Timestamp;

pub(super) const SUBJECT_KEY: &str = "0123456789abcdef0123456789abcdef";
pub(super) const CLIENT_SECRET: &str = "a-client-secret-of-thirty-two-characters";

const SETTINGS: &str = r#"
platform = "standard"
base_url = "https://login.example.org"
subject_key = { env = "SUBJECT_KEY" }
connectors = "connectors"
public.listen = "127.0.0.1:8080"
private.listen = "127.0.0.1:9090"
identity_source = "provider"
"#;

const SERVICE: &str = r#"
client_id = "sp"
name = { fr = "Service", en = "Service" }
home_page = "https://sp.example.org/"
redirect_uris = ["https://sp.example.org/callback"]
scopes = ["openid", "email"]
secrets = [{ env = "SERVICE_PROVIDER_SP__SECRET" }]
"#;

const CONNECTOR: &str = r#"
name = { en = "Provider" }
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas2" }
[acr]
eidas1 = ["low"]
eidas2 = ["substantial"]
[kind.oidc]
issuer = "https://idp.example.org"
client_id = "hub"
client_secret = { env = "CONNECTOR_IDP__SECRET" }
"#;

/// A valid configuration folder that tests modify.
pub(super) struct Folder {
    root: TempDir,
    environment: Vec<(String, String)>,
}

impl Folder {
    pub(super) fn good() -> Self {
        let variables =
            [("SUBJECT_KEY", SUBJECT_KEY), ("SECOND_KEY", CLIENT_SECRET), ("SHORT", "short")];
        let own = [("SECRET", CLIENT_SECRET), ("SHORT", "idp-secret")];
        let services = ["SP", "OTHER", "ZZ", "MORE", "PICKY", "AA", "ASIDE"]
            .map(|id| format!("SERVICE_PROVIDER_{id}__"));
        let connectors =
            ["IDP", "KIND", "LOW", "ZZ", "OTHER", "SECOND", "LATE", "NEW", "NEVER", "ASIDE"]
                .map(|id| (format!("CONNECTOR_{id}__SECRET"), "idp-secret"));
        let service_variables = services
            .iter()
            .flat_map(|prefix| own.map(|(name, value)| (format!("{prefix}{name}"), value)));
        let own = service_variables
            .chain(connectors)
            .chain([("DATA_PROVIDER_ARCHIVE__SECRET".to_owned(), CLIENT_SECRET)]);
        let all = variables.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(own);
        let environment = all.map(|(name, value)| (name, value.to_owned())).collect();
        let folder = Self { root: tempfile::tempdir().unwrap(), environment };
        folder
            .with("passerelle.toml", SETTINGS)
            .with("service-providers/sp.toml", SERVICE)
            .with("connectors/idp.toml", CONNECTOR)
    }

    pub(super) fn with(self, file: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, with_own_variables(file, content.as_ref())).unwrap();
        self
    }

    pub(super) fn edit(self, file: &str, from: &str, to: &str) -> Self {
        let text = fs::read_to_string(self.root.path().join(file)).unwrap();
        assert!(text.contains(from), "{file} has no {from:?}");
        self.with(file, text.replacen(from, to, 1))
    }

    fn without(self, file: &str) -> Self {
        fs::remove_file(self.root.path().join(file)).unwrap();
        self
    }

    pub(super) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    pub(super) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(super) fn environment(&self) -> Environment {
        self.environment.iter().cloned().collect()
    }

    fn load(&self) -> Result<LoadedConfig, Vec<Diagnostic>> {
        load_config(self.root.path(), &self.environment(), KINDS)
    }

    /// Returns the problem with this key: file, key, and message with fix.
    #[track_caller]
    pub(super) fn problem_of(&self, key: &str) -> (String, String, String) {
        let problems = self.load().map(|_| ()).expect_err("the folder must be rejected");
        let problem = problems.iter().find(|problem| problem.key == key);
        let Diagnostic { file, key, message, fix, .. } =
            problem.cloned().unwrap_or_else(|| panic!("no {key} in {problems:#?}"));
        let file = file.replace(&format!("{}/", self.root.path().display()), "");
        (file, key, format!("{message}. {fix}"))
    }

    #[track_caller]
    pub(super) fn loaded(&self) -> LoadedConfig {
        let loaded = self.load();
        if loaded.is_err() {
            panic!("{}", report(&loaded, crate::env::Timestamp::default()));
        }
        loaded.unwrap()
    }

    /// Returns the only problem: file (relative to the folder), key, and message with fix.
    #[track_caller]
    pub(super) fn problem(&self) -> (String, String, String) {
        let problems = self.load().map(|_| ()).expect_err("the folder must be rejected");
        let [problem] = problems.as_slice() else { panic!("one problem expected: {problems:#?}") };
        let file = Path::new(&problem.file)
            .strip_prefix(self.root.path())
            .map_or(problem.file.clone(), |p| p.display().to_string());
        (file, problem.key.clone(), format!("{}. {}", problem.message, problem.fix))
    }
}

/// Adapts the variable names in a copied file to its new id.
pub(super) fn with_own_variables(file: &str, content: &[u8]) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(content) else { return content.to_owned() };
    let id = Path::new(file).file_stem().unwrap().to_str().unwrap().to_ascii_uppercase();
    let text = match file.split_once('/') {
        Some(("service-providers", _)) => {
            text.replace("SERVICE_PROVIDER_SP__", &format!("SERVICE_PROVIDER_{id}__"))
        }
        Some(("connectors", _)) => text.replace("CONNECTOR_IDP__", &format!("CONNECTOR_{id}__")),
        _ => text.to_owned(),
    };
    text.into_bytes()
}

#[test]
fn a_good_folder_loads_whole() {
    let loaded = Folder::good().edit("passerelle.toml", "example.org\"", "example.org/\"").loaded();
    assert_eq!(loaded.issuer, "https://login.example.org/api/v2");
    assert_eq!(loaded.settings.base_url, "https://login.example.org");
    assert_eq!(loaded.subject_keys.get(&1).unwrap().secret.reveal(), SUBJECT_KEY.as_bytes());
    let service = loaded.service_providers.get("sp").unwrap();
    assert_eq!(service.secrets[0].sha256, crate::digest::sha256(CLIENT_SECRET.as_bytes()));
    assert_eq!(service.sector, "sp");
    let connector = loaded.connectors.get("idp").unwrap();
    assert_eq!(connector.client_secret.as_ref().unwrap().reveal(), "idp-secret");
    assert!(loaded.scopes.scopes.contains_key("identite_pivot"));
    assert_eq!(text_in_language(&loaded.theme.name, "de"), "Passerelle");
    assert_eq!(loaded.settings.lifetimes.session(loaded.settings.platform).as_secs(), 28_800);
    assert!(loaded.warnings.iter().any(|warning| warning.key == "identity_source"));
}

/// File to modify · text to replace · replacement · expected key · expected words in the message or
/// fix. A list of one value of 129 characters.
const ENDLESS: &str = concat!(
    "[\"",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "!\"]"
);

type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

#[test]
fn each_bad_setting_is_named_with_its_fix() {
    let file = "passerelle.toml";
    let rows: &[Row] = &[
        (file, "platform = \"standard\"", "", "platform", "is missing. add it"),
        (file, "\"standard\"", "\"gigantic\"", "platform", "write one of: standard, high"),
        (
            file,
            "platform =",
            "platfrom = 1\nplatform =",
            "platfrom",
            "use one of: platform, base_url",
        ),
        (
            file,
            "public.listen",
            "public.prot = 1\npublic.listen",
            "public.prot",
            "use one of: listen",
        ),
        (
            file,
            "\"127.0.0.1:8080\"",
            "8080",
            "public.listen",
            "must be text. Address and port, for example `127.0.0.1:8080`",
        ),
        (
            file,
            "\"127.0.0.1:8080\"",
            "\"here\"",
            "public.listen",
            "Address and port, for example `127.0.0.1:8080`",
        ),
        (file, "127.0.0.1:9090", "127.0.0.1:8080", "private.listen", "choose another port"),
        (file, "https://", "http://", "base_url", "use https://"),
        (file, "example.org", "example.org/hub", "base_url", "has a path"),
        (file, "example.org", "example.org?a=b", "base_url", "has a query"),
        (file, "login.", "me:pw@login.", "base_url", "user name or password"),
        (file, "https://login.example.org", "login", "base_url", "not an absolute address"),
        (file, "{ env = \"SUBJECT_KEY\" }", "\"hunter2hunter2\"", "subject_key", "{ file"),
        (file, "{ env = \"SUBJECT_KEY\" }", "{}", "subject_key", "references no secret"),
        (
            file,
            "{ env = \"SUBJECT_KEY\" }",
            "{ env = \"A\", file = \"b\" }",
            "subject_key",
            "references two secrets",
        ),
        (file, "SUBJECT_KEY", "UNSET_KEY", "subject_key.env", "not set"),
        (file, "SUBJECT_KEY", "SHORT", "subject_key", "at least 32 random bytes"),
        (file, "{ env = \"SUBJECT_KEY\" }", "{ file = \"none\" }", "subject_key.file", "missing"),
        (file, "identity_source = \"provider\"", "", "register", "add [register.file]"),
        (
            file,
            "\"provider\"",
            "\"register\"\nsubject = \"provider\"\nregister.file.path = \"passerelle.toml\"",
            "subject",
            "pivot",
        ),
        (
            file,
            "identity_source",
            "register.file.path = \"none.csv\"\nidentity_source",
            "register.file.path",
            "missing",
        ),
        http_row("url = \"http://register.example.org\"", "register.http.url", "use https://"),
        http_row("url = \"https://register.example.org/?a=b\"", "register.http.url", "has a query"),
        http_row(
            "url = \"https://r.example\"\nuri = \"\"",
            "register.http.uri",
            "use one of: url, client_certificate",
        ),
        http_row(
            "url = \"https://r.example\"\ncalls = 0",
            "register.http.calls",
            "from 1 to 65536",
        ),
        http_row("url = \"https://r.example\"\nca = \"none.crt\"", "register.http.ca", "missing"),
        http_row(
            "url = \"https://r.example\"\nca = \"passerelle.toml\"",
            "register.http.ca",
            "without a PEM certificate",
        ),
        http_row(
            "url = \"https://r.example\"\nclient_key = { env = \"SECOND_KEY\" }",
            "register.http.client_key",
            "add client_certificate",
        ),
        http_row(
            "url = \"https://r.example\"\n[register.file]\npath = \"passerelle.toml\"",
            "register",
            "keep one",
        ),
        http_row(
            "url = \"https://r.example\"\nbearer = { env = \"UNSET\" }",
            "register.http.bearer.env",
            "not set",
        ),
        (
            file,
            "identity_source",
            "amr_marker = \"pwd\"\nidentity_source",
            "amr_marker",
            "RFC 8176",
        ),
        (
            file,
            "identity_source",
            "cookie_prefix = \"__Host-x\"\nidentity_source",
            "cookie_prefix",
            "not starting with __",
        ),
        (
            file,
            "identity_source",
            "home_country = \"FR\"\nidentity_source",
            "home_country",
            "five digits",
        ),
        (
            file,
            "identity_source",
            "sandbox = true\nidentity_source",
            "sandbox",
            "sandbox_public = true",
        ),
        (
            file,
            "identity_source",
            "sandbox = \"yes\"\nidentity_source",
            "sandbox",
            "must be true or false",
        ),
        (
            file,
            "identity_source",
            "lifetimes.code_seconds = 0\nidentity_source",
            "lifetimes.code_seconds",
            "from 1 to 600",
        ),
        (
            file,
            "identity_source",
            "lifetimes.code_seconds = -1\nidentity_source",
            "lifetimes.code_seconds",
            "a whole number",
        ),
        (
            file,
            "identity_source",
            "lifetimes.session_seconds = 60\nidentity_source",
            "lifetimes.session_idle_seconds",
            "at most",
        ),
        (
            file,
            "identity_source",
            "lifetimes.session_seconds = 90000\nidentity_source",
            "lifetimes.session_seconds",
            "28800",
        ),
        (
            file,
            "identity_source",
            "limits.request_seconds = 0\nidentity_source",
            "limits.request_seconds",
            "from 1 to 120",
        ),
        (
            file,
            "identity_source",
            "theme = \"none.toml\"\nidentity_source",
            "",
            "the file is missing",
        ),
    ];
    check_rows(rows);
}

const TWO_ALIKE: &str = "choice.categories = [{ id = \"a\", name = { en = \"A\" } }, { id = \"a\", name = { en = \"B\" } }]";

#[test]
fn each_bad_choice_is_named_with_its_fix() {
    let row = |text: &'static str, key, word| -> Row {
        ("passerelle.toml", "identity_source", format!("{text}\nidentity_source").leak(), key, word)
    };
    check_rows(&[
        row(
            "choice.categories = [{ id = \"A b\", name = { en = \"A\" } }]",
            "choice.categories[0].id",
            "a-z, 0-9",
        ),
        row(
            "choice.categories = [{ id = \"a\", name = {} }]",
            "choice.categories[0].name",
            "has no text in any language",
        ),
        row(TWO_ALIKE, "choice.categories[1].id", "the id of another category"),
        row("choice.remember_days = 181", "choice.remember_days", "from 1 to 180"),
        row("choice.remember_days = 0", "choice.remember_days", "from 1 to 180"),
    ]);
}

#[test]
fn references_to_missing_files_are_warnings() {
    let rules = "connectors = { deny = [\"later\"], order = [\"idp\", \"soon\"], idp_hint = [\"one-day\"] }\nclient_id";
    let loaded = Folder::good()
        .edit("service-providers/sp.toml", "client_id", rules)
        .edit("connectors/idp.toml", "[acr]", "category = \"health\"\n[acr]")
        .loaded();
    let keys: Vec<&str> = loaded.warnings.iter().map(|warning| warning.key.as_str()).collect();
    for key in ["connectors.deny[0]", "connectors.order[1]", "connectors.idp_hint[0]", "category"] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
    }
    assert!(!keys.contains(&"connectors.order[0]"));
    let known =
        "choice.categories = [{ id = \"health\", name = { en = \"Health\" } }]\nidentity_source";
    let loaded = Folder::good()
        .edit("passerelle.toml", "identity_source", known)
        .edit("connectors/idp.toml", "[acr]", "category = \"health\"\n[acr]")
        .loaded();
    assert!(loaded.warnings.iter().all(|warning| warning.key != "category"));
}

#[test]
fn logos_are_read_with_the_file_that_names_them() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
    let folder = |picture: &[u8]| {
        Folder::good()
            .with("connectors/idp.png", picture)
            .with("service-providers/sp.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
            .edit("connectors/idp.toml", "[acr]", "logo = \"idp.png\"\n[acr]")
            .edit("service-providers/sp.toml", "client_id", "logo = \"sp.svg\"\nclient_id")
    };
    let loaded = folder(PNG).loaded();
    let of_connector = loaded.connectors.get("idp").unwrap().logo.as_ref().unwrap();
    assert_eq!((of_connector.media_type, &*of_connector.bytes), ("image/png", PNG));
    let of_service = loaded.service_providers.get("sp").unwrap().logo.as_ref().unwrap();
    assert_eq!(of_service.media_type, "image/svg+xml");
    assert!(of_service.version.len() == 16 && of_service.version != of_connector.version);
    let (_, key, text) = folder(&[PNG, &[0; 64 * 1024]].concat()).problem();
    assert!(key == "logo" && text.contains("over 64 KiB"), "{key}: {text}");
    let (_, key, text) = folder(b"GIF89a").problem();
    assert!(key == "logo" && text.contains("neither an SVG nor a PNG"), "{key}: {text}");
}

const SIGNS: &str = "token_endpoint_auth_method = \"private_key_jwt\"";
const SIGNS_BY_URI: &str = r#"
token_endpoint_auth_method = "private_key_jwt"
jwks_uri = "https://sp.example.org/jwks"
client_id"#;

const ITS_SECRETS: &str = "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]";
const NO_AUDIENCE: &str = r#"
token_endpoint_auth_method = "private_key_jwt"
jwks_uri = "https://sp.example.org/jwks"
client_assertion_audiences = []"#;
const UNKNOWN_AUDIENCE: &str = r#"
token_endpoint_auth_method = "private_key_jwt"
jwks_uri = "https://sp.example.org/jwks"
client_assertion_audiences = ["issuer", "tokens"]"#;

/// Three secrets; only for one hour are they valid all together.
const THREE_AT_ONCE: &str = r#"[
    { env = "SERVICE_PROVIDER_SP__SECRET", not_after = 2027-03-01T01:00:00Z },
    { env = "SERVICE_PROVIDER_SP__SECRET" },
    { env = "SERVICE_PROVIDER_SP__SECRET", not_before = "2027-03-01T00:00:00Z" },
]"#;
/// `[register.http]` holding `text`, at the end of the settings.
fn http_row(text: &'static str, key: &'static str, word: &'static str) -> Row {
    let table = format!("identity_source = \"provider\"\n[register.http]\n{text}\n");
    ("passerelle.toml", "identity_source = \"provider\"\n", table.leak(), key, word)
}

#[test]
fn a_register_over_http_is_read_with_its_credentials() {
    let table = r#"[register.http]
url = "https://register.example.org/v1/"
client_certificate = "r.crt"
client_key = { env = "REGISTER_KEY" }
ca = "r.crt"
bearer = { env = "REGISTER_TOKEN" }
internal_hosts = ["register.example.org"]
"#;
    let certificate = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n";
    let folder = Folder::good()
        .edit("passerelle.toml", "identity_source = \"provider\"\n", table)
        .with("r.crt", certificate);
    let folder =
        folder.variable("REGISTER_KEY", "the key").variable("REGISTER_TOKEN", "abc-._~+/123==");
    let loaded = folder.loaded();
    assert_eq!(
        loaded.register.identity.as_ref().unwrap().reveal(),
        &format!("{certificate}\nthe key\n")
    );
    assert_eq!(loaded.register.ca.as_deref(), Some(certificate));
    assert!(!format!("{loaded:?}").contains("the key") && !format!("{loaded:?}").contains("123=="));
    let folder = folder.variable("REGISTER_TOKEN", "Bearer abc");
    let (_, key, text) = folder.problem();
    assert!(
        key == "register.http.bearer" && text.contains("without the word Bearer"),
        "{key}: {text}"
    );
    let folder = folder.variable("REGISTER_TOKEN", "abc").edit(
        "passerelle.toml",
        "client_key = { env = \"REGISTER_KEY\" }\n",
        "",
    );
    let (_, key, text) = folder.problem();
    assert!(
        key == "register.http.client_certificate"
            && text.contains("add client_key, or remove both"),
        "{key}: {text}"
    );
}

#[test]
fn each_bad_service_provider_is_named_with_its_fix() {
    let file = "service-providers/sp.toml";
    let rows: &[Row] = &[
        (
            file,
            "\"https://sp.example.org/callback\"",
            "\"http://sp.example.org/callback\"",
            "redirect_uris[0]",
            "use https://",
        ),
        (file, "/callback", "/callback#x", "redirect_uris[0]", "remove the #"),
        (
            file,
            "\"https://sp.example.org/callback\"",
            "\"https://me:pw@sp.example.org\"",
            "redirect_uris[0]",
            "user name",
        ),
        (
            file,
            "\"https://sp.example.org/callback\"",
            "\"myapp:/callback\"",
            "redirect_uris[0]",
            "https://",
        ),
        (
            file,
            "\"https://sp.example.org/callback\"",
            "\"/callback\"",
            "redirect_uris[0]",
            "absolute",
        ),
        (file, "/callback", "/call back", "redirect_uris[0]", "space"),
        (file, "/callback", "/*", "redirect_uris[0]", "patterns are not supported"),
        (file, "[\"https://sp.example.org/callback\"]", "[]", "redirect_uris", "at least one"),
        (file, "home_page = \"https", "home_page = \"ftp", "home_page", "https"),
        (
            file,
            "{ fr = \"Service\", en = \"Service\" }",
            "{}",
            "name",
            "has no text in any language",
        ),
        (file, "fr = \"Service\"", "fr = \" \"", "name.fr", "1 to 100"),
        (file, "fr = \"Service\"", "French = \"Service\"", "name.French", "two-letter"),
        (file, "\"openid\", ", "", "scopes", "add \"openid\""),
        (file, "\"email\"", "\"emial\"", "scopes[1]", "birthcountry"),
        (file, "client_id = \"sp\"", "client_id = \"s p\"", "client_id", "printable"),
        (file, "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }", "", "secrets", "add one or two"),
        (
            file,
            "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
            "",
            "secrets",
            "add one or two",
        ),
        (
            file,
            "SP__SECRET\" }",
            "SP__SECRET\", not_after = 2027-03-01T00:00:00 }",
            "secrets[0].not_after",
            "2027-03-01T00:00:00Z",
        ),
        (
            file,
            "SP__SECRET\" }",
            "SP__SECRET\", not_before = \"soon\" }",
            "secrets[0].not_before",
            "with a time zone",
        ),
        (
            file,
            "SP__SECRET\" }",
            "SP__SECRET\", not_before = 2027 }",
            "secrets[0].not_before",
            "must be text",
        ),
        (
            file,
            "SP__SECRET\" }",
            "SP__SECRET\", not_before = 2027-03-01T00:00:00Z, not_after = 2027-03-01T01:00:00+01:00 }",
            "secrets[0].not_after",
            "the period is empty",
        ),
        (
            file,
            "[{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
            THREE_AT_ONCE,
            "secrets",
            "more than two secrets that are valid at the same time",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_signing_alg = \"RS256\"\nclient_id",
            "token_endpoint_auth_signing_alg",
            "remove it",
        ),
        (
            file,
            "client_id",
            "client_assertion_audiences = [\"issuer\"]\nclient_id",
            "client_assertion_audiences",
            "remove it",
        ),
        (
            file,
            ITS_SECRETS,
            NO_AUDIENCE,
            "client_assertion_audiences",
            "no assertion can ever be accepted",
        ),
        (file, ITS_SECRETS, UNKNOWN_AUDIENCE, "client_assertion_audiences[1]", "token_endpoint"),
        (
            file,
            "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
            SIGNS,
            "token_endpoint_auth_method",
            "add jwks or jwks_uri",
        ),
        (file, "client_id", SIGNS_BY_URI, "secrets", "private_key_jwt doesn't use"),
        (
            file,
            "client_id",
            "token_endpoint_auth_method = \"none\"\nclient_id",
            "token_endpoint_auth_method",
            "private_key_jwt",
        ),
        (
            file,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ env = \"SERVICE_PROVIDER_SP__SHORT\" }",
            "secrets[0]",
            "at least 32 random characters",
        ),
        (
            file,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ sha256 = \"abc\" }",
            "secrets[0].sha256",
            "64 hex digits",
        ),
        (
            file,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ sha256 = \"abc\", env = \"A\" }",
            "secrets[0]",
            "exactly one",
        ),
        (
            file,
            "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "{ evn = \"SERVICE_PROVIDER_SP__SECRET\" }",
            "secrets[0].evn",
            "file, env, sha256",
        ),
        (
            file,
            "client_id",
            "connectors.deny = [\"idp\"]\nclient_id",
            "connectors",
            "no user can ever log in",
        ),
        (
            file,
            "client_id",
            "connectors.allow = [\"later\"]\nclient_id",
            "connectors",
            "allow at least one connector",
        ),
        (
            file,
            "client_id",
            "connectors.allow = []\nclient_id",
            "connectors.allow",
            "name at least one",
        ),
        (
            file,
            "client_id",
            "connectors = { allow = [\"idp\"], deny = [\"x\"] }\nclient_id",
            "connectors.deny",
            "keep allow (only these), or deny",
        ),
        (
            file,
            "client_id",
            "connectors.idp_hint = \"some\"\nclient_id",
            "connectors.idp_hint",
            "\"none\", or a list",
        ),
        (
            file,
            "client_id",
            "connectors.idp_hint = 3\nclient_id",
            "connectors.idp_hint",
            "\"none\", or a list",
        ),
        (
            file,
            "client_id",
            "connectors.hint = \"any\"\nclient_id",
            "connectors.hint",
            "allow, deny, order, idp_hint",
        ),
        (file, "client_id", "logo = \"none.png\"\nclient_id", "logo", "put the logo there"),
        (
            file,
            "client_id",
            "logo = \"../passerelle.toml\"\nclient_id",
            "logo",
            "folder of this file",
        ),
        (
            file,
            "client_id",
            "rules = \"oidc\"\nclient_id",
            "rules",
            "write one of: federation, openid",
        ),
        (
            file,
            "client_id",
            "consent = \"none\"\nclient_id",
            "consent",
            "write consent = \"information\"",
        ),
        (
            file,
            "[\"openid\", \"email\"]",
            "[\"openid\", \"phone\"]",
            "scopes[1]",
            "to [scopes] of scopes.toml",
        ),
        (
            file,
            "[\"openid\", \"email\"]",
            "[\"openid\", \"birth\"]\nrules = \"openid\"",
            "scopes[1]",
            "to [openid] of scopes.toml",
        ),
        (file, "client_id", "client_id = \"x\"\nclient_id", "", "valid TOML"),
    ];
    check_rows(rows);
}

#[test]
fn each_bad_connector_is_named_with_its_fix() {
    let file = "connectors/idp.toml";
    let rows: &[Row] = &[
        (file, "https://idp", "http://idp", "kind.oidc.issuer", "use https://"),
        (file, "[acr]", "category = \"Health\"\n[acr]", "category", "a-z, 0-9"),
        (file, "[acr]", "logo = \"none.svg\"\n[acr]", "logo", "put the logo there"),
        (file, "[acr]", "logo = \"idp.toml\"\n[acr]", "logo", ".svg or .png"),
        (file, "[acr]", "logo = \"/etc/passwd\"\n[acr]", "logo", "folder of this file"),
        (file, "example.org\"", "example.org?tenant=1\"", "kind.oidc.issuer", "remove the ?"),
        (file, "example.org\"", "example.org#a\"", "kind.oidc.issuer", "remove the #"),
        (file, "lowest = \"eidas1\"", "lowest = \"eidas3\"", "levels", "above the highest"),
        (file, "highest = \"eidas2\"", "highest = \"eidas3\"", "acr", "add eidas3"),
        (file, "highest = \"eidas2\"", "highest = \"eidas1\"", "acr.eidas2", "outside"),
        (file, "\"substantial\"", "\"low\"", "acr.eidas2", "another level"),
        (file, "[\"low\"]", "[]", "acr.eidas1", "is empty or contains an empty value"),
        (file, "[\"low\"]", "[\"low two\"]", "acr.eidas1", "with a space"),
        (file, "[\"low\"]", "[\" low\"]", "acr.eidas1", "with a space"),
        (file, "eidas1 = [\"low\"]", "eidas9 = [\"low\"]", "acr.eidas9", "eidas1, eidas2, eidas3"),
        (
            file,
            "[acr]\neidas1 = [\"low\"]\neidas2 = [\"substantial\"]",
            "",
            "acr",
            "assumed_level = \"eidas1\"",
        ),
        (
            file,
            "[acr]",
            "assumed_level = \"eidas2\"\n[acr]",
            "assumed_level",
            "only level that may be assumed",
        ),
        (file, "[acr]", "ignore_acr = true\n[acr]", "ignore_acr", "add assumed_level"),
        (
            file,
            "[acr]",
            "assumed_level = \"eidas1\"\nignore_acr = true\n[acr]",
            "acr",
            "or ignore_acr",
        ),
        (file, "[acr]", "[acr]\nsend = \"no\"", "acr.send", "true or false"),
        (file, "client_id", "ca = \"none.pem\"\nclient_id", "kind.oidc.ca", "file that is missing"),
        (file, "[\"low\"]", "[\"low\\u0007\"]", "acr.eidas1", "without control characters"),
        (file, "[\"low\"]", ENDLESS, "acr.eidas1", "at most 128 bytes"),
        (file, "[acr]", "limits.calls = 0\n[acr]", "limits.calls", "from 1 to 65536"),
        (file, "[acr]", "limits = { queue = 65537 }\n[acr]", "limits.queue", "from 0 to 65536"),
        (file, "[acr]", "limits = { queue_ms = 5001 }\n[acr]", "limits.queue_ms", "from 0 to 5000"),
        (file, "[acr]", "limits = { call = 1 }\n[acr]", "limits.call", "use one of: calls"),
        (file, "[acr]", "amr = [\"pwd\", \"magic\"]\n[acr]", "amr[1]", "RFC 8176"),
        (file, "[acr]", "amr = [\"pwd\", \"mfa\"]\n[acr]", "amr", "the hub derives mfa"),
        (
            file,
            "lowest = \"eidas1\"",
            "lowest = \"substantial\"",
            "levels.lowest",
            "eidas1, eidas2, eidas3",
        ),
        (file, "[\"low\"]", "[\"low\", \"\"]", "acr.eidas1", "empty"),
        (file, "eidas1\", h", "eidas2\", h", "acr.eidas1", "outside"),
        (file, "[acr]\neidas1 = [\"low\"]\n", "[acr]\n", "acr", "add eidas1"),
        (file, "lowest = \"eidas1\"", "lowest = \"eidas2\"", "acr.eidas1", "outside"),
        (file, "[acr]", "mfa = [\"mfa\"]\n[acr]", "mfa", "by itself"),
        (
            file,
            "client_id",
            "authorize_params = { nonce = \"1\" }\nclient_id",
            "kind.oidc.authorize_params.nonce",
            "remove it",
        ),
        (
            file,
            "client_id",
            "internal_hosts = [\"http://a\"]\nclient_id",
            "kind.oidc.internal_hosts[0]",
            "host name",
        ),
        (file, "[kind.oidc]", "[kind.persona]\n[kind.oidc]", "kind", "keep one"),
        (
            file,
            "client_id",
            "client_idd = 1\nclient_id",
            "kind.oidc.client_idd",
            "use one of: issuer, client_id",
        ),
        (file, "client_id", "scopes = [\"email\"]\nclient_id", "kind.oidc.scopes", "openid"),
        (
            file,
            "[kind.oidc]",
            "[kind.saml]",
            "kind.saml",
            "not one of the allowed words. write one of: oidc, oauth2, ldap, persona",
        ),
        (
            file,
            "CONNECTOR_IDP__SECRET",
            "CONNECTOR_IDP__UNSET",
            "kind.oidc.client_secret.env",
            "not set",
        ),
        (
            file,
            "client_secret = { env = \"CONNECTOR_IDP__SECRET\" }",
            "",
            "kind.oidc.client_secret",
            "private_key_jwt",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_method = \"private_key_jwt\"\nclient_id",
            "kind.oidc.client_secret",
            "remove it",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_method = \"client_secret_jwt\"\nclient_id",
            "kind.oidc.token_endpoint_auth_method",
            "client_secret_basic",
        ),
        (
            file,
            "client_id",
            "token_endpoint_auth_signing_alg = \"ES256\"\nclient_id",
            "kind.oidc.token_endpoint_auth_signing_alg",
            "private_key_jwt",
        ),
        (
            file,
            "client_id",
            "client_assertion_audience = \"issuer\"\nclient_id",
            "kind.oidc.client_assertion_audience",
            "private_key_jwt",
        ),
        (
            file,
            "client_id",
            "id_token_encrypted_response_enc = \"A256GCM\"\nclient_id",
            "kind.oidc.id_token_encrypted_response_enc",
            "id_token_encrypted_response_alg",
        ),
        (
            file,
            "client_id",
            "id_token_encrypted_response_alg = \"RSA1_5\"\nclient_id",
            "kind.oidc.id_token_encrypted_response_alg",
            "RSA-OAEP-256",
        ),
        (
            file,
            "client_id",
            "userinfo_encrypted_response_alg = \"ECDH-ES\"\nclient_id",
            "kind.oidc.userinfo_encrypted_response_alg",
            "userinfo_signed_response_alg",
        ),
    ];
    check_rows(rows);
}

#[track_caller]
fn check_rows(rows: &[Row]) {
    for (file, from, to, key, words) in rows {
        let (found_file, found_key, text) = Folder::good().edit(file, from, to).problem();
        assert_eq!(found_key, *key, "{to}: {text}");
        assert!(text.contains(words), "{to}: {text}");
        assert!(found_file == *file || found_file.ends_with("none.toml"), "{to}: {found_file}");
    }
}

#[test]
fn a_persona_connector_needs_the_sandbox() {
    let persona = "name = { en = \"Persons\" }\nlevels = { lowest = \"eidas1\", highest = \"eidas1\" }\n[kind.persona]\n";
    let folder = Folder::good().with("connectors/persons.toml", persona);
    let (file, key, text) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("connectors/persons.toml", "kind.persona"));
    assert!(text.contains("sandbox = true"));
    let sandbox = "sandbox = true\nsandbox_public = true\nidentity_source";
    assert!(
        folder
            .edit("passerelle.toml", "identity_source", sandbox)
            .loaded()
            .warnings
            .iter()
            .any(|w| w.key == "sandbox")
    );
}

#[test]
fn levels_that_a_sandbox_would_ignore_are_refused() {
    let sandbox = "sandbox = true\nsandbox_public = true\nidentity_source";
    for (key, line) in
        [("acr", "acr = { eidas1 = [\"low\"] }"), ("assumed_level", "assumed_level = \"eidas1\"")]
    {
        let persona = format!(
            "name = {{ en = \"Persons\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\n{line}\n[kind.persona]\n"
        );
        let folder = Folder::good().with("connectors/persons.toml", &persona).edit(
            "passerelle.toml",
            "identity_source",
            sandbox,
        );
        let (file, found, text) = folder.problem();
        assert_eq!((file.as_str(), found.as_str()), ("connectors/persons.toml", key));
        assert!(text.contains("remove it"), "{text}");
    }
}

#[test]
fn two_files_with_one_client_id_are_both_named() {
    let folder = Folder::good().with("service-providers/zz.toml", SERVICE);
    let (file, key, text) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/zz.toml", "client_id"));
    assert!(text.contains("sp.toml"), "{text}");
}

#[test]
fn a_sector_of_a_service_provider_that_does_not_declare_it_is_rejected() {
    let other = SERVICE.replace("client_id = \"sp\"", "client_id = \"other\"\nsector = \"sp\"");
    let folder = Folder::good().with("service-providers/other.toml", other);
    let (file, key, _) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/other.toml", "sector"));
    let loaded = folder
        .edit("service-providers/sp.toml", "client_id", "sector = \"sp\"\nclient_id")
        .loaded();
    assert!(loaded.service_providers.values().all(|service| service.sector == "sp"));
}

const TWO_KEYS: &str = "subject_keys = [{ version = 1, env = \"SUBJECT_KEY\" }, { version = 2, env = \"SECOND_KEY\" }]";

fn with_two_keys() -> Folder {
    Folder::good().edit("passerelle.toml", "subject_key = { env = \"SUBJECT_KEY\" }", TWO_KEYS)
}

// R037
#[test]
fn a_service_provider_keeps_the_key_version_that_it_knows() {
    let other =
        SERVICE.replace("client_id = \"sp\"", "client_id = \"other\"\nsubject_key_version = 1");
    let loaded = with_two_keys().with("service-providers/other.toml", other).loaded();
    assert_eq!(loaded.subject_keys.keys().collect::<Vec<_>>(), [&1, &2]);
    let version = |id: &str| loaded.service_providers.get(id).unwrap().subject_key_version;
    assert_eq!(
        (version("sp"), version("other")),
        (2, 1),
        "the newest, unless the file says otherwise"
    );
    assert_eq!(Folder::good().loaded().service_providers.get("sp").unwrap().subject_key_version, 1);
}

#[test]
fn each_bad_key_version_is_named_with_its_fix() {
    for (from, to, key, words) in [
        ("version = 2", "version = 1", "subject_keys[1].version", "its own version"),
        ("version = 1", "version = 0", "subject_keys[0].version", "start versions at 1"),
        ("SECOND_KEY", "SUBJECT_KEY", "subject_keys[1]", "the same key as another"),
        ("SECOND_KEY", "SHORT", "subject_keys[1]", "at least 32 random bytes"),
        ("SECOND_KEY", "UNSET_KEY", "subject_keys[1].env", "not set"),
        (
            "version = 2, env = \"SECOND_KEY\"",
            "version = 2",
            "subject_keys[1]",
            "references no secret",
        ),
        (
            "version = 2,",
            "version = 2, derivation = 3,",
            "subject_keys[1].derivation",
            "not a version of the derivation",
        ),
        (
            "subject_keys",
            "subject_key = { env = \"SUBJECT_KEY\" }\nsubject_keys",
            "subject_key",
            "move it to subject_keys",
        ),
        (TWO_KEYS, "", "subject_key", "is missing"),
        (TWO_KEYS, "subject_keys = []", "subject_key", "is missing"),
    ] {
        let (file, found, text) = with_two_keys().edit("passerelle.toml", from, to).problem();
        assert_eq!((file.as_str(), found.as_str()), ("passerelle.toml", key), "{to}: {text}");
        assert!(text.contains(words), "{to}: {text}");
    }
    let unknown = with_two_keys().edit(
        "service-providers/sp.toml",
        "client_id",
        "subject_key_version = 3\nclient_id",
    );
    let (file, key, text) = unknown.problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/sp.toml", "subject_key_version"));
    assert!(text.contains("one of: 1, 2"), "{text}");
}

#[test]
fn the_derivation_of_a_subject_key_is_the_operators_or_the_keys_own() {
    use crate::identity::pivot::Derivation::{V1, V2};
    let made = format!("derivation-2.{SUBJECT_KEY}");
    let written = |derivation: &str| format!("{{ env = \"SUBJECT_KEY\"{derivation} }}");
    for (key, derivation, expected, is_warned) in [
        (SUBJECT_KEY, "", V1, true),
        (SUBJECT_KEY, ", derivation = 1", V1, true),
        (SUBJECT_KEY, ", derivation = 2", V2, false),
        (&made, "", V2, false),
        (&made, ", derivation = 1", V1, true),
    ] {
        let folder = Folder::good().variable("SUBJECT_KEY", key);
        let loaded = folder
            .edit("passerelle.toml", "{ env = \"SUBJECT_KEY\" }", &written(derivation))
            .loaded();
        assert_eq!(loaded.subject_keys.get(&1).unwrap().derivation, expected, "{derivation}");
        let warned = loaded.warnings.iter().any(|warning| warning.key == "subject_key");
        assert_eq!(warned, is_warned, "{derivation}");
    }
    let provider = Folder::good()
        .edit("passerelle.toml", "identity_source", "subject = \"provider\"\nidentity_source")
        .loaded();
    assert!(
        provider.warnings.iter().all(|warning| warning.key != "subject_key"),
        "no name goes into these subjects"
    );
}

#[test]
fn one_key_serves_an_old_and_a_new_derivation_and_each_sector_chooses() {
    let both = TWO_KEYS.replace("env = \"SECOND_KEY\"", "env = \"SUBJECT_KEY\", derivation = 2");
    let other =
        SERVICE.replace("client_id = \"sp\"", "client_id = \"other\"\nsubject_key_version = 1");
    let folder =
        Folder::good().edit("passerelle.toml", "subject_key = { env = \"SUBJECT_KEY\" }", &both);
    let loaded = folder.with("service-providers/other.toml", other).loaded();
    let derivation = |id: &str| {
        let version = loaded.service_providers.get(id).unwrap().subject_key_version;
        loaded.subject_keys.get(&version).unwrap().derivation.number()
    };
    assert_eq!((derivation("sp"), derivation("other")), (2, 1));
    assert!(loaded.warnings.iter().all(|warning| !warning.key.starts_with("subject_key")));
}

#[test]
fn a_connector_whose_users_may_edit_themselves_is_refused_for_pivot_identities() {
    let silent = || Folder::good().edit("connectors/idp.toml", "identity = \"verified\"\n", "");
    let loaded = silent().loaded();
    let [refused] = loaded.unverified_connectors.as_slice() else {
        panic!("{:?}", loaded.unverified_connectors)
    };
    assert!(
        refused.file.ends_with("connectors/idp.toml") && refused.key == "identity",
        "{refused}"
    );
    assert!(refused.fix.contains("identity = \"verified\""), "{refused}");
    assert!(crate::config::report(&Ok(loaded.clone()), Timestamp::default()).contains("1 problem"));
    assert_eq!(
        (loaded.files.unverified_connectors().len(), loaded.files.diagnostics().len()),
        (1, 0),
        "it is in use, and not held back"
    );
    let proves_identity = |loaded: &LoadedConfig| {
        Federation::from_loaded(loaded).connector(&"idp".into()).unwrap().proves_identity
    };
    assert_eq!(
        (proves_identity(&loaded), proves_identity(&Folder::good().loaded())),
        (false, true)
    );
    let subject = "subject = \"provider\"\nidentity_source";
    assert!(
        silent()
            .edit("passerelle.toml", "identity_source", subject)
            .loaded()
            .unverified_connectors
            .is_empty()
    );
    assert!(Folder::good().loaded().unverified_connectors.is_empty());
}

#[test]
fn identity_claims_in_the_id_token_are_for_openid_rules_alone() {
    let with = |rules: &str| {
        let lines = format!("id_token_claims = true\n{rules}client_id");
        Folder::good().edit("service-providers/sp.toml", "client_id", &lines)
    };
    let (file, key, text) = with("").problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/sp.toml", "id_token_claims"));
    assert!(text.contains("rules = \"openid\""), "{text}");
    with("rules = \"openid\"\n").loaded();
}

#[test]
fn a_connector_that_takes_the_callbacks_time_says_whether_it_reauthenticates() {
    let with = |lines: &str| {
        Folder::good().edit("connectors/idp.toml", "client_id", &format!("{lines}\nclient_id"))
    };
    for (lines, reauthenticates) in [
        ("", true),
        ("auth_time = \"callback\"", false),
        ("auth_time = \"callback\"\nreauthenticates = true", true),
    ] {
        let loaded = with(lines).loaded();
        let federation = Federation::from_loaded(&loaded);
        assert_eq!(
            federation.connector(&"idp".into()).unwrap().reauthenticates,
            reauthenticates,
            "{lines}"
        );
        assert_eq!(
            loaded.warnings.iter().any(|warning| warning.key == "kind.oidc.auth_time"),
            !reauthenticates,
            "{lines}"
        );
    }
    let (_, key, text) = with("reauthenticates = true").problem();
    assert_eq!(key, "kind.oidc.reauthenticates");
    assert!(text.contains("has no effect"), "{text}");
}

#[test]
fn one_sector_has_one_key_version() {
    let other = SERVICE.replace(
        "client_id = \"sp\"",
        "client_id = \"zz\"\nsector = \"tax\"\nsubject_key_version = 1",
    );
    let folder = with_two_keys().edit(
        "service-providers/sp.toml",
        "client_id",
        "sector = \"tax\"\nclient_id",
    );
    let folder = folder.with("service-providers/zz.toml", other);
    let (file, key, text) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("service-providers/zz.toml", "subject_key_version"));
    assert!(text.contains("sp.toml") && text.contains("two sub"), "{text}");
    folder
        .edit("service-providers/sp.toml", "client_id", "subject_key_version = 1\nclient_id")
        .loaded();
}

#[test]
fn a_connectors_name_is_an_id() {
    for name in ["confirm.toml", "La-Poste.toml", "a_b.toml"] {
        let connector =
            CONNECTOR.replace("{ env = \"CONNECTOR_IDP__SECRET\" }", "{ file = \"x\" }");
        let (file, _, text) =
            Folder::good().with(&format!("connectors/{name}"), connector).problem_of("");
        assert_eq!(file, format!("connectors/{name}"));
        assert!(text.contains("rename it"));
    }
    Folder::good()
        .with("connectors/.draft.toml", "x")
        .with("connectors/b.toml.template", "x")
        .loaded();
}

#[test]
fn missing_files_and_folders_are_reported() {
    let (file, _, text) = Folder::good().without("passerelle.toml").problem();
    assert_eq!((file.as_str(), text.starts_with("the file is missing")), ("passerelle.toml", true));
    let folder = Folder::good();
    fs::remove_dir_all(folder.root.path().join("service-providers")).unwrap();
    assert_eq!(folder.problem().0, "service-providers");
    let folder = Folder::good();
    fs::remove_dir_all(folder.root.path().join("connectors")).unwrap();
    assert_eq!(folder.problem().0, "connectors");
}

#[test]
fn without_connectors_the_hub_starts_and_warns() {
    let loaded = Folder::good().without("connectors/idp.toml").loaded();
    assert!(loaded.warnings.iter().any(|warning| warning.message.contains("no user can log in")));
}

#[test]
fn all_problems_are_reported_at_once() {
    let problems = Folder::good()
        .edit(
            "passerelle.toml",
            "platform",
            "typo_one = 1\ntypo_two = 2\nsandbox = \"no\"\nplatform",
        )
        .edit("service-providers/sp.toml", "https://sp.example.org/\"", "nowhere\"")
        .with("service-providers/broken.toml", "client_id = ")
        .with("theme.toml", "")
        .load()
        .unwrap_err();
    let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
    for key in ["typo_one", "typo_two", "sandbox", "home_page", ""] {
        assert!(keys.contains(&key), "{key} in {keys:?}");
    }
    assert_eq!(keys.len(), 5, "{problems:#?}");
    let line = |key: &str| problems.iter().find(|problem| problem.key == key).unwrap().line;
    assert_eq!((line("typo_two"), line("home_page")), (Some(3), Some(4)));
}

#[test]
fn secret_value_never_appears_in_an_error() {
    const VALUE: &str = "s3cr3t-Value-7777777";
    let text = |value: &str| format!("\"{value}\"");
    let mut folders = vec![
        Folder::good().variable("PASSERELLE_SUBJECT_KEY", VALUE),
        Folder::good().variable("PASSERELLE_SUBJECT_KEYY", VALUE),
        Folder::good().variable("PASSERELLE_PLATFORM", VALUE),
        Folder::good().variable("PASSERELLE_PUBLIC__LISTEN", VALUE),
        Folder::good().variable("PASSERELLE_LIMITS__WORKERS", VALUE),
        Folder::good()
            .variable("PASSERELLE_BASE_URL", &format!("https://me:{VALUE}@sp.example.org/x")),
        Folder::good().variable("SUBJECT_KEY", VALUE),
        Folder::good().variable("SERVICE_PROVIDER_SP__SECRET", VALUE),
        Folder::good().edit(
            "passerelle.toml",
            "platform =",
            &format!("subject_key = {VALUE}\nplatform ="),
        ),
        Folder::good().edit(
            "passerelle.toml",
            "platform =",
            &format!("subject_key = \"{VALUE}\nplatform ="),
        ),
        Folder::good().edit("passerelle.toml", "SUBJECT_KEY", VALUE),
        Folder::good().edit("service-providers/sp.toml", "SERVICE_PROVIDER_SP__SECRET", VALUE),
        Folder::good().edit(
            "service-providers/sp.toml",
            "env = \"SERVICE_PROVIDER_SP__SECRET\"",
            &format!("sha256 = \"{VALUE}\""),
        ),
        Folder::good().edit(
            "service-providers/sp.toml",
            "env = \"SERVICE_PROVIDER_SP__SECRET\"",
            &format!("file = \"{VALUE}\""),
        ),
        Folder::good().edit(
            "service-providers/sp.toml",
            "https://sp.",
            &format!("https://me:{VALUE}@sp."),
        ),
        Folder::good().edit(
            "connectors/idp.toml",
            "{ env = \"CONNECTOR_IDP__SECRET\" }",
            &text(VALUE),
        ),
        Folder::good().edit(
            "connectors/idp.toml",
            "{ env = \"CONNECTOR_IDP__SECRET\" }",
            "7777777",
        ),
        Folder::good().edit(
            "connectors/idp.toml",
            "https://idp.",
            &format!("https://me:{VALUE}@idp."),
        ),
        Folder::good().edit(
            "connectors/idp.toml",
            "[acr]",
            &format!("assumed_level = \"{VALUE}\"\n[acr]"),
        ),
        Folder::good().edit("connectors/idp.toml", "\"hub\"", &format!("[\"{VALUE}\"]")),
    ];
    for from in [
        "\"standard\"",
        "{ env = \"SUBJECT_KEY\" }",
        "\"127.0.0.1:8080\"",
        "\"provider\"",
        "\"connectors\"",
    ] {
        folders.push(Folder::good().edit("passerelle.toml", from, &text(VALUE)));
        folders.push(Folder::good().edit("passerelle.toml", from, "7777777"));
    }
    for (index, folder) in folders.iter().enumerate() {
        let result = folder.load();
        assert!(result.is_err(), "folder {index} must be refused");
        // The name of a missing folder is the one value that a message contains.
        let problems: Vec<Diagnostic> = result
            .as_ref()
            .unwrap_err()
            .iter()
            .filter(|p| !p.message.starts_with("the folder"))
            .cloned()
            .collect();
        let seen = format!(
            "{}{problems:?}",
            report(&Err(problems.clone()), crate::env::Timestamp::default())
        );
        assert!(!seen.contains("7777777"), "folder {index}: {seen}");
    }
    let loaded = Folder::good().loaded();
    let seen = format!("{loaded:?}");
    assert!(
        !seen.contains(CLIENT_SECRET)
            && !seen.contains(SUBJECT_KEY)
            && !seen.contains("idp-secret")
    );
}

#[test]
fn variables_win_over_the_file_and_are_typed() {
    let loaded = Folder::good()
        .variable("PASSERELLE_PUBLIC__LISTEN", "127.0.0.1:7000")
        .variable("PASSERELLE_LIMITS__WORKERS", "3")
        .variable("PASSERELLE_CHOICE__HIDE_UNAVAILABLE", "true")
        .variable("PASSERELLE_CHOICE__ORDER", "idp, b")
        .variable("PASSERELLE_LIFETIMES__LOGIN_SECONDS", "900")
        // Looks like a number but is a text: a parser that guesses would reject it.
        .variable("PASSERELLE_HOME_COUNTRY", "01234")
        .variable("PASSERELLE_COOKIE_PREFIX", "true")
        .loaded();
    assert_eq!(loaded.settings.public.listen.port(), 7000);
    assert_eq!(loaded.settings.limits.workers, 3);
    assert!(loaded.settings.choice.hide_unavailable);
    assert_eq!(loaded.settings.choice.order.len(), 2);
    assert_eq!(loaded.settings.lifetimes.login_seconds, Some(900));
    assert_eq!(
        (loaded.settings.home_country.as_str(), loaded.settings.cookie_prefix.as_str()),
        ("01234", "true")
    );
}

#[test]
fn a_bad_variable_is_named_in_full() {
    let rows = [
        ("PASSERELLE_HTTP__PROT", "1", "is not a setting"),
        (
            "PASSERELLE_PUBLIC__PROT",
            "1",
            "known here: CLIENT_ADDRESS_HEADER, LISTEN, MAX_CONNECTIONS",
        ),
        ("PASSERELLE_PUBLIC", "1", "one by one"),
        ("PASSERELLE_LIMITS__WORKERS", "many", "must be a whole number"),
        ("PASSERELLE_LIMITS__WORKERS", "2000", "from 0 to 1024"),
        ("PASSERELLE_SANDBOX", "yes", "must be true or false"),
        ("PASSERELLE_PLATFORM", "huge", "write one of: standard, high"),
        ("PASSERELLE_BASE_URL", "http://login.example.org", "use https://"),
    ];
    for (name, value, words) in rows {
        let (file, key, text) = Folder::good().variable(name, value).problem();
        assert_eq!((file.as_str(), key.as_str()), ("environment", name));
        assert!(text.contains(words), "{name}: {text}");
    }
}

#[test]
fn a_secrets_variable_may_have_the_hubs_prefix() {
    let folder = Folder::good().variable("PASSERELLE_SUBJECT_KEY", SUBJECT_KEY);
    folder.edit("passerelle.toml", "\"SUBJECT_KEY\"", "\"PASSERELLE_SUBJECT_KEY\"").loaded();
}

#[test]
fn secrets_come_from_files_too_and_two_may_be_valid() {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let both = format!("{{ file = \"sp.secret\" }}, {{ sha256 = \"{hash}\" }}");
    let loaded = Folder::good()
        .with("sp.secret", format!("{CLIENT_SECRET}\r\n"))
        .edit("service-providers/sp.toml", "{ env = \"SERVICE_PROVIDER_SP__SECRET\" }", &both)
        .loaded();
    let expected =
        [crate::digest::sha256(CLIENT_SECRET.as_bytes()), crate::digest::sha256(b"test")];
    let secrets = &loaded.service_providers.get("sp").unwrap().secrets;
    assert_eq!(secrets.iter().map(|secret| secret.sha256).collect::<Vec<_>>(), expected);
}

#[test]
fn private_key_jwt_needs_a_key_of_its_algorithm_and_no_secret() {
    let key = josekit::jwk::Jwk::generate_ec_key(josekit::jwk::alg::ec::EcCurve::P256)
        .unwrap()
        .to_public_key()
        .unwrap();
    let set = serde_json::json!({ "keys": [key.as_ref()] }).to_string();
    let of = |alg: &str| {
        let lines = format!("{SIGNS}\njwks = {{ file = \"sp.jwks\" }}\n{alg}");
        Folder::good().with("sp.jwks", &set).edit(
            "service-providers/sp.toml",
            "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]",
            &lines,
        )
    };
    let loaded = of("").loaded();
    assert!(loaded.warnings_at(Timestamp::default()).all(|warning| warning.key != "secrets"));
    let (_, key, text) = of("token_endpoint_auth_signing_alg = \"RS256\"").problem();
    assert_eq!(key, "jwks");
    assert!(text.contains("RS256"), "{text}");
}

#[test]
fn dated_secrets_are_valid_and_reported_when_none_is_valid() {
    let chain = r#"[
        { env = "SERVICE_PROVIDER_SP__SECRET", not_before = 2027-01-01T00:00:00Z, not_after = 2027-03-01T00:00:00Z },
        { env = "SERVICE_PROVIDER_SP__SECRET", not_before = 2027-02-01T00:00:00Z, not_after = 2027-04-01T00:00:00Z },
        { env = "SERVICE_PROVIDER_SP__SECRET", not_before = 2027-03-01T00:00:00Z, not_after = 2027-05-01T00:00:00Z },
    ]"#;
    let loaded = Folder::good()
        .edit("service-providers/sp.toml", "[{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]", chain)
        .loaded();
    let at = |text: &str| {
        Timestamp::from_millis(
            chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis() as u64,
        )
    };
    let warnings = |now| {
        loaded.warnings_at(now).any(|warning| warning.key == "secrets" && warning.line.is_some())
    };
    for (now, expected) in [
        ("2026-12-31T23:59:59Z", true),
        ("2027-01-01T00:00:00Z", false),
        ("2027-04-30T23:59:59Z", false),
        ("2027-05-01T00:00:00Z", true),
    ] {
        assert_eq!(warnings(at(now)), expected, "{now}");
    }
    assert!(
        report(&Ok(loaded.clone()), at("2027-06-01T00:00:00Z"))
            .contains("contains no currently valid secret")
    );
}

#[test]
fn a_low_contrast_accent_and_an_invalid_logo_are_rejected() {
    let theme = include_str!("../../config/theme.toml");
    let folder = || {
        Folder::good().edit(
            "passerelle.toml",
            "identity_source",
            "theme = \"theme.toml\"\nidentity_source",
        )
    };
    let pale = theme.replace("#0b4f8a", "#8aa0b0");
    let (file, key, text) = folder().with("theme.toml", pale).problem();
    assert_eq!((file.as_str(), key.as_str()), ("theme.toml", "accent.light"));
    assert!(text.contains("4.5"), "{text}");
    let logo = theme.replace("# logo", "logo");
    assert_eq!(folder().with("theme.toml", &logo).with("logo.svg", "<html>").problem().1, "logo");
    let loaded = folder()
        .with("theme.toml", &logo)
        .with("logo.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>")
        .loaded();
    assert_eq!(loaded.theme.logo.unwrap().media_type, "image/svg+xml");
}

#[test]
fn the_scopes_table_is_data() {
    let folder = Folder::good()
        .with("scopes.toml", "[scopes]\nopenid = [\"sub\"]\nemail = [\"shoe_size\"]\n");
    let (file, key, _) = folder.problem();
    assert_eq!((file.as_str(), key.as_str()), ("scopes.toml", "scopes.email"));
}

#[test]
fn the_table_of_openid_connect_is_data_too() {
    for (rows, key) in [
        ("email = [\"email\"]", "openid.openid"),
        ("openid = [\"sub\"]\nemail = [\"shoe_size\"]", "openid.email"),
        ("openid = [\"sub\"]\n\"a b\" = [\"email\"]", "openid.a b"),
    ] {
        let folder = Folder::good().with(
            "scopes.toml",
            format!("[scopes]\nopenid = [\"sub\"]\nemail = [\"email\"]\n[openid]\n{rows}\n"),
        );
        assert_eq!(folder.problem().1, key, "{rows}");
    }
    // The specification's table has the specification's claims only.
    let folder = Folder::good().with(
        "scopes.toml",
        "[scopes]\nopenid = [\"sub\"]\nemail = [\"email\", \"email_verified\"]\n",
    );
    assert_eq!(folder.problem().1, "scopes.email");
    let loaded = Folder::good()
        .with("scopes.toml", "[scopes]\nopenid = [\"sub\"]\nemail = [\"email\"]\n")
        .loaded();
    assert!(loaded.scopes.openid.contains_key("phone"), "without [openid], the built-in one");
}

#[test]
fn what_plain_openid_connect_registers_by_default() {
    let service = |more: &str| {
        let file = SERVICE.replace("client_id = \"sp\"", &format!("client_id = \"sp\"\n{more}"));
        let loaded = Folder::good().with("service-providers/sp.toml", file).loaded();
        let service =
            Federation::from_loaded(&loaded).service_provider(&"sp".into()).unwrap().clone();
        (service.id_token_signed_response_alg, service.userinfo_signed_response_alg)
    };
    use crate::protocol::alg::SigningAlg::{ES256, RS256};
    assert_eq!(service(""), (ES256, Some(ES256)));
    assert_eq!(service("rules = \"openid\"\nconsent = \"none\""), (RS256, None));
    let named =
        "id_token_signed_response_alg = \"ES256\"\nuserinfo_signed_response_alg = \"RS256\"";
    assert_eq!(service(&format!("rules = \"openid\"\n{named}")), (ES256, Some(RS256)));
}

#[test]
fn authentication_without_a_registered_method_accepts_post_and_basic() {
    let authentication = |more: &str| {
        let file = SERVICE.replace("client_id = \"sp\"", &format!("client_id = \"sp\"\n{more}"));
        let loaded = Folder::good().with("service-providers/sp.toml", file).loaded();
        Federation::from_loaded(&loaded)
            .service_provider(&"sp".into())
            .unwrap()
            .authentication
            .clone()
    };
    use crate::config::federation::ClientAuthentication::{Secret, SecretBasic, SecretPost};
    let (post, basic) = ["post", "basic"]
        .map(|by| format!("token_endpoint_auth_method = \"client_secret_{by}\""))
        .into();
    assert!(matches!(authentication(""), SecretPost(_)), "the federation's way");
    assert!(matches!(authentication(&basic), SecretBasic(_)));
    assert!(
        matches!(authentication("rules = \"openid\""), Secret(_)),
        "as ordinary libraries do it"
    );
    assert!(matches!(authentication(&format!("rules = \"openid\"\n{post}")), SecretPost(_)));
    assert!(matches!(authentication(&format!("rules = \"openid\"\n{basic}")), SecretBasic(_)));
}

#[test]
fn the_high_platform_refuses_plain_openid_connect() {
    let settings = SETTINGS
        .replace("\"standard\"", "\"high\"")
        .replace("identity_source = \"provider\"\n", "");
    let service = SERVICE.replace("client_id = \"sp\"", "client_id = \"sp\"\nrules = \"openid\"");
    let folder =
        Folder::good().with("passerelle.toml", settings).with("service-providers/sp.toml", service);
    let problems = folder.load().unwrap_err();
    let text = problems.iter().find(|problem| problem.key == "rules").unwrap().to_string();
    assert!(text.contains("remove it and follow the specification"), "{text}");
}
