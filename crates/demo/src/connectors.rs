//! Writes the connector files of the demo's hubs, and the look of its identity providers.

/// Person of the sandbox, who also has a document in the demo wallet.
pub(crate) use passerelle_connector::persona::Persona as DemoPerson;
use passerelle_jose::decrypt::JweAlgorithms;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::alg::{ContentEncryption, EncryptionAlg};

use super::localized_names::{self, LocalizedName};

/// Identity provider of the demo: connector id, names and look.
pub(crate) struct IdentityProvider {
    pub id: &'static str,
    name: LocalizedName,
    look: Option<Look>,
}

/// Look of an identity provider's pages, and its logo on the choice page.
struct Look {
    logo: &'static str,
    /// Accent colours of the light and the dark scheme, each with the colour of text on it.
    light: (&'static str, &'static str),
    dark: (&'static str, &'static str),
}

/// Sandbox identity providers of each platform.
pub(crate) const IDENTITY_PROVIDERS: [IdentityProvider; 2] = [
    IdentityProvider {
        id: "amandier",
        name: localized_names::AMANDIER,
        look: Some(Look {
            logo: include_str!("logos/amandier.svg"),
            light: ("#7a4a1c", "#ffffff"),
            dark: ("#e2b77d", "#2b1a05"),
        }),
    },
    IdentityProvider {
        id: "belvedere",
        name: localized_names::BELVEDERE,
        look: Some(Look {
            logo: include_str!("logos/belvedere.svg"),
            light: ("#155e63", "#ffffff"),
            dark: ("#7fd0d4", "#04282a"),
        }),
    },
];

/// The SAML identity provider, at the standard hub.
#[cfg(feature = "saml")]
pub(crate) const UNIVERSITY: IdentityProvider = IdentityProvider {
    id: "erable",
    name: localized_names::ERABLE,
    look: Some(Look {
        logo: include_str!("logos/erable.svg"),
        light: ("#8f2d18", "#ffffff"),
        dark: ("#f0a58f", "#3a0d04"),
    }),
};

/// Example of an identity provider that can't be reached, at the standard hub.
pub(crate) const UNREACHABLE: IdentityProvider =
    IdentityProvider { id: "donjon", name: localized_names::DONJON, look: None };

/// Address of [`UNREACHABLE`]: connections to port 1 are refused at once.
const UNREACHABLE_ADDRESS: &str = "http://localhost:1";

/// Example of a blocked identity provider, at the standard hub. It is a sandbox of the hub itself.
const BLOCKED: &str = r#"
# An example of a block: without the table [[block]], this account can be chosen within a second (docs/blocking.md).
name = {name}
identity = "verified"
levels = { lowest = "eidas1", highest = "eidas1" }

[[block]]
reason = "example of the demo"
message = {message}

[kind.persona]
"#;

/// Comment in the file of [`UNREACHABLE`].
const UNREACHABLE_COMMENT: &str = "# Nothing listens at this address, to show how the hub treats that (docs/identity-provider-health.md).";

/// Scopes of the demo's service provider and of the hub at its identity providers.
pub(crate) const SCOPES: &str = "openid given_name family_name birthdate gender birthplace birthcountry email preferred_username";

/// Encryption of tokens on the high platform.
pub(crate) const RESPONSE_ENCRYPTION: JweAlgorithms =
    JweAlgorithms { alg: EncryptionAlg::EcdhEs, enc: ContentEncryption::A256GCM };

/// File of a configuration folder: path and text.
pub(crate) type NamedFile = (String, String);

/// Returns the files of the examples at the standard hub: one blocked, one that can't be reached.
pub(crate) fn example_connector_files() -> Vec<NamedFile> {
    let mut files = UNREACHABLE.connector_files(Platform::Standard, UNREACHABLE_ADDRESS);
    for (_, text) in &mut files {
        text.insert_str(0, UNREACHABLE_COMMENT);
    }
    let blocked = BLOCKED
        .replace("{name}", &localized_names::CASSIS.to_toml())
        .replace("{message}", &localized_names::CASSIS_BLOCK.to_toml());
    files.push(("connectors/cassis.toml".to_owned(), blocked));
    files
}

impl IdentityProvider {
    /// Returns the environment variable with the hub's secret at this identity provider.
    pub(crate) fn secret_variable(&self) -> String {
        format!("CONNECTOR_{}__CLIENT_SECRET", self.id.to_ascii_uppercase())
    }

    /// Returns the `name` line of a file.
    pub(crate) fn name_line(&self) -> String {
        format!("name = {}\n", self.name.to_toml())
    }

    /// Returns the files that connect a hub to this identity provider at `address`.
    pub(crate) fn connector_files(&self, platform: Platform, address: &str) -> Vec<NamedFile> {
        let id = self.id;
        let (levels, encryption) = match platform {
            Platform::Standard => (levels_by_name(&["eidas1"]), String::new()),
            Platform::High => (levels_by_name(&["eidas2", "eidas3"]), encryption_lines()),
        };
        let file = format!(
            r#"
{head}identity = "verified"
# A request with login_hint=jean@{id}.example needs no choice page, and finds Jean selected (docs/choice.md).
email_domains = ["{id}.example"]
{levels}
[kind.oidc]
issuer = "{address}/api/v2"
client_id = "demo-hub"
client_secret = {{ env = "{secret}" }}
scopes = [{scopes}]
userinfo_signed_response_alg = "ES256"
request_amr = true
authorize_params = {{ idp_hint = "persona" }}
insecure_http = true
internal_hosts = ["localhost"]
{encryption}
[kind.oidc.forwarded_params]
login_hint = {{ pattern = "[a-z-]+@{id}\\.example" }}
"#,
            head = self.head_lines(),
            secret = self.secret_variable(),
            scopes = quoted(SCOPES)
        );
        self.with_logo(file)
    }

    /// Returns the lines of the name and the logo of a connector.
    fn head_lines(&self) -> String {
        let logo = self.look.as_ref().map(|_| format!("logo = \"{}.svg\"\n", self.id));
        self.name_line() + &logo.unwrap_or_default()
    }

    /// Returns the file of a connector with its logo.
    fn with_logo(&self, file: String) -> Vec<NamedFile> {
        let logo = self.look.as_ref().map(|look| ("svg", look.logo.to_owned()));
        [("toml", file)]
            .into_iter()
            .chain(logo)
            .map(|(extension, text)| (format!("connectors/{}.{extension}", self.id), text))
            .collect()
    }

    /// Returns the theme of its own pages, with the logo.
    pub(crate) fn theme_files(&self) -> Vec<NamedFile> {
        let Some(look) = &self.look else { return Vec::new() };
        let theme = format!("logo = \"logo.svg\"\n{}", self.theme_without_logo());
        vec![(THEME.to_owned(), theme), ("logo.svg".to_owned(), look.logo.to_owned())]
    }

    /// Returns the theme of its own pages, with the accent colours.
    pub(crate) fn theme_without_logo(&self) -> String {
        let accent = |scheme: &str, (background, text): (&str, &str)| {
            format!("[accent.{scheme}]\nbackground = \"{background}\"\ntext = \"{text}\"\n")
        };
        let accents =
            self.look.as_ref().map(|look| accent("light", look.light) + &accent("dark", look.dark));
        self.name_line() + &accents.unwrap_or_default()
    }
}

/// Theme file in the folder of an identity provider.
pub(crate) const THEME: &str = "theme.toml";

/// Returns true if this program has the kind of [`wallet_file`], which is a Cargo feature.
pub(crate) const fn has_wallets() -> bool {
    cfg!(feature = "openid4vp")
}

/// Returns the file that connects a hub to the demo wallet at `address`. Its certificates stand in
/// the folder `wallet`.
pub(crate) fn wallet_file(platform: Platform, address: &str) -> String {
    let lowest = match platform {
        Platform::Standard => "eidas1",
        Platform::High => "eidas2",
    };
    WALLET
        .replace("{name}", &localized_names::WALLET.to_toml())
        .replace("{levels}", &levels(&[lowest, "eidas3"]))
        .replace("{address}", address)
}

const WALLET: &str = r#"
# A wallet with fictional identity documents (docs/wallet.md). It is a page of the demo.
name = {name}
identity = "verified"
{levels}
unmapped_claims = "drop"

[mapping]
given_name = { from = "given_name" }
family_name = { from = "birth_family_name" }
preferred_username = { from = "family_name" }
birthdate = { from = "birthdate" }
gender = { from = "sex", map = { "1" = "male", "2" = "female" }, otherwise = "unspecified" }
birthplace = { from = "/place_of_birth/locality", map = { Paris = "75107", Ajaccio = "2A004", Bordeaux = "33063", Lyon = "69123" } }
birthcountry = { from = "/place_of_birth/country", map = { FR = "99100", ES = "99134", SN = "99341" } }

[kind.openid4vp]
certificate = "wallet/access.pem"
private_key = { file = "secrets/connectors/portefeuille/access.key" }
trust_anchors = "wallet/issuers.pem"
subject_claims = ["personal_administrative_number", "issuing_country"]
wallets = [{ url = "{address}/authorize" }]
insecure_http = true

[[kind.openid4vp.credentials]]
id = "pid"
format = "dc+sd-jwt"
types = ["urn:eudi:pid:1"]
claims = ["given_name", "family_name", "birth_family_name", "birthdate", "sex", "/place_of_birth/country", "personal_administrative_number", "issuing_country"]
optional_claims = ["/place_of_birth/locality"]
"#;

/// Returns the files that connect a hub to the SAML identity provider. Its metadata and the hub's key
/// stand in further files.
#[cfg(feature = "saml")]
pub(crate) fn university_files(entity_id: &str, class: &str) -> Vec<NamedFile> {
    let file = format!(
        r#"
# A SAML 2.0 identity provider (docs/saml.md). It is a page of the demo.
{head}identity = "verified"
{levels}
acr = {{ eidas1 = ["{class}"] }}

[kind.saml]
entity_id = "{entity_id}"
metadata_file = "saml/erable.xml"
private_keys = {{ file = "secrets/connectors/erable/saml.pem" }}
insecure_http = true
"#,
        head = UNIVERSITY.head_lines(),
        levels = levels(&["eidas1"]),
    );
    UNIVERSITY.with_logo(file)
}

/// Returns the `levels` line of a connector, for levels in ascending order.
pub(crate) fn levels(names: &[&str]) -> String {
    let (lowest, highest) = (names.first().unwrap_or(&""), names.last().unwrap_or(&""));
    format!("levels = {{ lowest = \"{lowest}\", highest = \"{highest}\" }}")
}

/// Returns the lines of a connector whose identity provider uses the same level names.
fn levels_by_name(names: &[&str]) -> String {
    let table: Vec<_> = names.iter().map(|name| format!("{name} = [\"{name}\"]")).collect();
    format!("{}\nacr = {{ {} }}", levels(names), table.join(", "))
}

/// Returns the lines that register [`RESPONSE_ENCRYPTION`].
pub(crate) fn encryption_lines() -> String {
    let JweAlgorithms { alg, enc } = RESPONSE_ENCRYPTION;
    let line = |token, what, value| format!("{token}_encrypted_response_{what} = \"{value}\"\n");
    ["id_token", "userinfo"]
        .map(|token| line(token, "alg", alg.as_str()) + &line(token, "enc", enc.as_str()))
        .concat()
}

/// Returns space-separated scopes as the items of a TOML list.
pub(crate) fn quoted(scopes: &str) -> String {
    scopes.split(' ').map(|scope| format!("\"{scope}\"")).collect::<Vec<_>>().join(", ")
}
