//! The configuration of a test hub, as an operator would write it.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::LazyLock;

use passerelle_jose::keyfiles;
use passerelle_protocol::env::Env;
use tempfile::TempDir;

pub const BASE: &str = "https://hub.example";
pub const HOST: &str = "hub.example";
pub const SECRET: &str = "a client secret of more than 32 characters";
pub const ADMIN_TOKEN: &str = "an-administrator-token-of-more-than-32-characters";
pub const SCOPES: &str = "openid given_name family_name birthdate gender birthplace birthcountry email preferred_username";

const SETTINGS: &str = r#"
platform = "standard"
base_url = "https://hub.example"
public = { listen = "127.0.0.1:0" }
private = { listen = "127.0.0.1:0", admin_token = { env = "ADMIN_TOKEN" } }
sandbox = true
sandbox_public = true
subject_key = { env = "SUBJECT_KEY" }
register.file.path = "register.csv"
connectors = "connectors"
keys = "keys"
choice.order = ["amandier", "belvedere", "closed"]
limits.workers = 1
"#;

/// The id of each service provider, and the lines of its file beyond the common keys.
const SERVICES: [(&str, &str); 4] = [
    ("bakery", ""),
    ("clinic", "consent = \"required\""),
    ("library", ""),
    ("cautious", "connectors.deny = [\"belvedere\"]"),
];

const CONNECTORS: [(&str, &str, &str); 3] = [
    ("amandier", "fr = \"Compte Amandier\", en = \"Amandier account\"", ""),
    ("belvedere", "fr = \"Identité Belvédère\", en = \"Belvedere identity\"", ""),
    ("closed", "fr = \"Compte fermé\", en = \"Closed account\"", "enabled = false"),
];

/// Persons of the register whom the sandbox's built-in file leaves out.
const MORE_PERSONS: &str = r#"
[[person]]
id = "fernand"
label = "Fernand Auguste MOREL"
given_name = "Fernand Auguste"
family_name = "MOREL"
birthdate = "1921-03-05"
gender = "male"
birthplace = "69123"
birthcountry = "99100"

[[person]]
id = "odile"
label = "Odile PERRIN"
given_name = "Odile"
family_name = "PERRIN"
birthdate = "1955-11-30"
gender = "female"
birthplace = "59350"
birthcountry = "99100"

[[person]]
id = "paul"
label = "Paul MARTIN"
given_name = "Paul"
family_name = "MARTIN"
birthdate = "1970-01-01"
gender = "male"
birthplace = "13055"
birthcountry = "99100"
"#;

/// One set of keys for all tests, because generating an RSA key takes longer than any of them.
static KEYS: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let folder = TempDir::new().unwrap();
    let keys = folder.path().join("keys");
    keyfiles::create_keys(&keys, &Env::system()).unwrap();
    let files = ["", "assertion/", "encryption/"].into_iter().flat_map(|sort| {
        let entries = fs::read_dir(keys.join(sort)).unwrap().map(|entry| entry.unwrap());
        entries.filter(|entry| entry.path().is_file()).map(move |file| {
            (
                format!("{sort}{}", file.file_name().into_string().unwrap()),
                fs::read(file.path()).unwrap(),
            )
        })
    });
    files.collect()
});

pub fn home_page(service: &str) -> String {
    format!("https://{service}.example/start")
}

pub fn redirect_uri(service: &str) -> String {
    format!("https://{service}.example/callback?tenant=7")
}

pub fn post_logout_redirect_uri(service: &str) -> String {
    format!("https://{service}.example/out?tenant=7")
}

/// Writes a configuration of the high platform, which has no register. One identity provider proves
/// up to eidas3, the other one up to eidas2.
pub fn write_high(folder: &Path, services: &[(&str, String)]) {
    let settings = SETTINGS
        .replace("\"standard\"", "\"high\"")
        .replace("register.file.path = \"register.csv\"\n", "");
    put(folder, "passerelle.toml", settings.as_bytes());
    put(
        folder,
        "persons.toml",
        include_bytes!("../../../../crates/connector/src/persona/persons.toml"),
    );
    for (name, bytes) in KEYS.iter() {
        put(folder, &format!("keys/{name}"), bytes);
    }
    for (id, more) in services {
        put(folder, &format!("service-providers/{id}.toml"), service(id, more).as_bytes());
    }
    for (id, highest) in [("amandier", "eidas3"), ("belvedere", "eidas2")] {
        let levels = format!("levels = {{ lowest = \"eidas2\", highest = \"{highest}\" }}");
        let file = format!(
            "name = {{ en = \"{id}\" }}\n{levels}\n[kind.persona]\npersons = \"persons.toml\"\n"
        );
        put(folder, &format!("connectors/{id}.toml"), file.as_bytes());
    }
}

/// Writes the configuration into `folder`. `more` are lines of `passerelle.toml`.
pub fn write(folder: &Path, more: &str) {
    put(folder, "passerelle.toml", format!("{SETTINGS}{more}\n").as_bytes());
    put(folder, "register.csv", include_bytes!("../../../../crates/demo/src/register.csv"));
    let persons = format!(
        "{}{MORE_PERSONS}",
        include_str!("../../../../crates/connector/src/persona/persons.toml")
    );
    put(folder, "persons.toml", persons.as_bytes());
    for (name, bytes) in KEYS.iter() {
        put(folder, &format!("keys/{name}"), bytes);
    }
    for (id, more) in SERVICES {
        put(folder, &format!("service-providers/{id}.toml"), service(id, more).as_bytes());
    }
    for (id, name, more) in CONNECTORS {
        let file = format!(
            r#"
name = {{ {name} }}
levels = {{ lowest = "eidas1", highest = "eidas1" }}
{more}
[kind.persona]
persons = "persons.toml"
"#
        );
        put(folder, &format!("connectors/{id}.toml"), file.as_bytes());
    }
}

fn service(id: &str, more: &str) -> String {
    let scopes =
        SCOPES.split(' ').map(|scope| format!("\"{scope}\"")).collect::<Vec<_>>().join(", ");
    format!(
        r#"
client_id = "{id}"
name = {{ fr = "Le service {id}", en = "The {id}" }}
home_page = "{home}"
redirect_uris = ["{redirect}"]
post_logout_redirect_uris = ["{out}"]
scopes = [{scopes}]
secrets = [{{ env = "CLIENT_SECRET" }}]
{more}
"#,
        home = home_page(id),
        redirect = redirect_uri(id),
        out = post_logout_redirect_uri(id),
    )
}

/// Writes a file. In the file of a connector, a service provider or a data provider, replaces
/// `{ env = "CLIENT_SECRET" }` by a file of secrets that this file may refer to.
pub fn put(folder: &Path, name: &str, bytes: &[u8]) {
    let create = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Key files must be their owner's alone.
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
        file.write_all(bytes).unwrap();
    };
    match (own_secret(folder, name), std::str::from_utf8(bytes)) {
        (Some(secret), Ok(text)) => {
            let text = text.replace("env = \"CLIENT_SECRET\"", &format!("file = \"{secret}\""));
            create(name, text.as_bytes());
        }
        _ => create(name, bytes),
    }
}

/// Writes a secret to a file that the file `name` may refer to, and returns its path.
pub fn own_secret(folder: &Path, name: &str) -> Option<String> {
    let (kind, id) = name.strip_suffix(".toml")?.split_once('/')?;
    let own = format!("secrets/{kind}/{id}");
    fs::create_dir_all(folder.join(&own)).unwrap();
    let path = format!("{own}/client.secret");
    fs::write(folder.join(&path), SECRET).unwrap();
    Some(path)
}
