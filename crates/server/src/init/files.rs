//! The files of a new folder, from the templates beside this file.

use std::borrow::Cow;

use serde_json::Value;
use url::Url;
use url::form_urlencoded::Serializer;

use super::{InitOptions, PageLinks};
use crate::generate_secret;
use passerelle_jose::KeyError;
use passerelle_jose::decryption_key;
use passerelle_protocol::acr::{Level, Platform};
use passerelle_protocol::digest;
use passerelle_protocol::discovery::path;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::ClientId;

/// File of the subject key.
pub(super) const SUBJECT_KEY: &str = "subject.key";
/// File of the service provider. Its name does not depend on the `client_id`, which may be a URL.
const APPLICATION: &str = "service-providers/application.toml";
const THEME: &str = "theme.toml";
const CLIENT_SECRET: &str = "secrets/service-providers/application/client.secret";
const CLIENT_KEY: &str = "secrets/service-providers/application/private.jwk.json";

/// Registration of a service provider with every scope.
#[derive(Clone, Debug)]
pub struct ApplicationRegistration {
    pub client_id: ClientId,
    pub home_page: String,
    pub redirect_uri: String,
    pub post_logout_redirect_uri: String,
}

impl ApplicationRegistration {
    /// Creates a registration. The home page and the default redirect URI of a logout are the
    /// origin of `redirect_uri`.
    pub fn new(
        client_id: ClientId,
        redirect_uri: String,
        post_logout_redirect_uri: Option<String>,
    ) -> Self {
        Self {
            client_id,
            home_page: at_origin(&redirect_uri, "/"),
            post_logout_redirect_uri: post_logout_redirect_uri
                .unwrap_or_else(|| at_origin(&redirect_uri, "/signed-out")),
            redirect_uri,
        }
    }

    /// Returns the application of the guide and of `examples/`, at `http://localhost:3000`.
    pub fn example() -> Self {
        Self::new(ClientId::new("example"), "http://localhost:3000/callback".into(), None)
    }

    /// Returns its file. `name` is the TOML table of its names, and `secret` that which refers to
    /// its secret.
    pub fn to_toml(&self, name: &str, secret: &str) -> String {
        let values = [
            ("{name}", name.to_owned()),
            ("{client_id}", quoted(self.client_id.as_str())),
            ("{home_page}", quoted(&self.home_page)),
            ("{redirect_uri}", quoted(&self.redirect_uri)),
            ("{post_logout_redirect_uri}", quoted(&self.post_logout_redirect_uri)),
            ("{secret}", secret.to_owned()),
        ];
        fill_template(include_str!("application.toml"), &values)
    }
}

/// Returns `path` at the origin of `address`, or `address` itself if it has none.
fn at_origin(address: &str, path: &str) -> String {
    Url::parse(address)
        .and_then(|url| url.join(path))
        .map_or_else(|_| address.to_owned(), String::from)
}

/// Every file but the keys of the hub.
pub(super) struct ConfigurationFiles {
    /// Path in the folder, and content.
    pub contents: Vec<(&'static str, Cow<'static, str>)>,
    pub issuer: String,
    pub client_secret: &'static str,
    pub client_key: Option<&'static str>,
    pub login_url: String,
}

/// Returns the files.
///
/// # Errors
/// Returns an error if a key can't be generated.
pub(super) fn configuration_files(
    options: &InitOptions,
    env: &Env,
) -> Result<ConfigurationFiles, KeyError> {
    let (mut settings, mut application) = (settings(options), application(&options.application));
    let mut contents: Vec<(&str, Cow<'static, str>)> = vec![
        ("connectors/sandbox.toml", sandbox(options.platform).into()),
        ("persons.toml", include_str!("persons.toml").into()),
        ("admin.token", generate_secret(env).into_inner().into()),
        (CLIENT_SECRET, generate_secret(env).into_inner().into()),
    ];
    let client_key = match options.platform {
        Platform::Standard => {
            settings += include_str!("register.toml");
            contents.push(("register.csv", include_str!("register.csv").into()));
            None
        }
        Platform::High => {
            let (private, public) = decryption_key::generate_client_key(env.now())?;
            application += include_str!("encryption.toml");
            contents.push(("application.jwks.json", public.into()));
            let private = Value::Object(private.into_inner()).to_string();
            contents.push((CLIENT_KEY, private.into()));
            Some(CLIENT_KEY)
        }
    };
    contents.extend([("passerelle.toml", settings.into()), (APPLICATION, application.into())]);
    if options.links != PageLinks::default() {
        contents.push((THEME, theme(&options.links).into()));
    }
    let issuer = format!("{}{}", options.base_url.trim_end_matches('/'), path::ISSUER);
    let login_url = login_url(&issuer, options, env);
    Ok(ConfigurationFiles { contents, issuer, client_secret: CLIENT_SECRET, client_key, login_url })
}

fn settings(options: &InitOptions) -> String {
    let platform = match options.platform {
        Platform::Standard => "standard",
        Platform::High => "high",
    };
    let sandbox_public = if options.sandbox_public { "sandbox_public = true\n" } else { "" };
    let theme = if options.links == PageLinks::default() {
        String::new()
    } else {
        format!("theme = {}\n", quoted(THEME))
    };
    let values = [
        ("{theme}\n", theme),
        ("{platform}", quoted(platform)),
        ("{base_url}", quoted(&options.base_url)),
        ("{sandbox_public}\n", format!("{sandbox_public}\n")),
        ("{port}", options.port.to_string()),
        ("{private_port}", options.private_port.to_string()),
    ];
    fill_template(include_str!("settings.toml"), &values)
}

/// Returns the theme file: the built-in theme with these links.
fn theme(links: &PageLinks) -> String {
    let line = |key: &str, address: &Option<String>| {
        address.as_ref().map(|address| format!("{key} = {}\n", quoted(address))).unwrap_or_default()
    };
    let footer = |text: &str, address: &Option<String>| match address {
        Some(_) => text.replace("{url}\n", &line("url", address)),
        None => String::new(),
    };
    let values = [
        ("{support_url}\n", line("support_url", &links.support)),
        ("{privacy}\n", footer(include_str!("privacy.toml"), &links.privacy)),
        ("{accessibility}\n", footer(include_str!("accessibility.toml"), &links.accessibility)),
    ];
    fill_template(include_str!("theme.toml"), &values)
}

fn application(registration: &ApplicationRegistration) -> String {
    let head = "# The first service provider. Every key: docs/configuration.md. What its developer needs: docs/integrate/.\n";
    let secret = format!("{{ file = {} }}", quoted(CLIENT_SECRET));
    head.to_owned()
        + &registration.to_toml("{ fr = \"Mon application\", en = \"My application\" }", &secret)
}

fn sandbox(platform: Platform) -> String {
    let level = |level: Option<&Level>| quoted(level.map_or("", |level| level.as_str()));
    let levels = platform.levels();
    let values = [("{lowest}", level(levels.first())), ("{highest}", level(levels.last()))];
    fill_template(include_str!("sandbox.toml"), &values)
}

/// Returns an authorization request of the service provider (RFC 6749 §4.1.1, RFC 7636).
fn login_url(issuer: &str, options: &InitOptions, env: &Env) -> String {
    let fresh = || generate_secret(env).into_inner();
    let level = options.platform.levels().first().map_or("", |level| level.as_str());
    let query = Serializer::new(String::new())
        .append_pair("response_type", "code")
        .append_pair("client_id", options.application.client_id.as_str())
        .append_pair("redirect_uri", &options.application.redirect_uri)
        .append_pair("scope", "openid profile")
        .append_pair("acr_values", level)
        .append_pair("state", &fresh())
        .append_pair("nonce", &fresh())
        .append_pair("code_challenge", &digest::sha256_base64url(&fresh()))
        .append_pair("code_challenge_method", "S256")
        .finish();
    format!("{issuer}/authorize?{query}")
}

/// Replaces each placeholder of a template.
fn fill_template(template: &str, values: &[(&str, String)]) -> String {
    values.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Returns a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
