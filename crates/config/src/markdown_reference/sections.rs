//! The sections of `docs/configuration.md`, by task, each with an example.
//!
//! A table that no section names, such as that of a kind or of an optional crate, is a section of
//! its own, with the example of its schema.

/// One section: the keys whose longest known prefix is one of these.
pub(super) struct Section {
    pub title: &'static str,
    pub prefixes: &'static [&'static str],
    /// TOML.
    pub example: &'static str,
}

impl Section {
    /// Returns the section of `key`, if one of `sections` names it.
    pub(super) fn of_key(sections: &'static [Self], key: &str) -> Option<&'static Self> {
        let matched = |section: &&Self| {
            section.prefixes.iter().filter(|prefix| key.starts_with(*prefix)).map(|p| p.len()).max()
        };
        sections.iter().filter(|s| matched(s).is_some()).max_by_key(matched)
    }
}

pub(super) const SETTINGS: &[Section] = &[
    Section {
        title: "Name the hub and its folders",
        prefixes: &[
            "base_url",
            "platform",
            "profile",
            "cookie_prefix",
            "connectors",
            "service_documentation",
            "state",
            "sandbox",
        ],
        example: r#"platform = "standard"
base_url = "https://login.example.org"
connectors = "connectors"
state = "/var/lib/passerelle"
"#,
    },
    Section {
        title: "Listen, behind a proxy",
        prefixes: &["public.", "private."],
        example: r#"[public]
listen = "10.0.0.5:8080"
trusted_proxies = ["10.0.0.0/24"]
client_address_header = "x-forwarded-for"

[private]
listen = "127.0.0.1:9090"
admin_token = { file = "admin.token" }
"#,
    },
    Section {
        title: "Identify persons",
        prefixes: &[
            "identity_source",
            "home_country",
            "subject",
            "index_sessions_by_sub",
            "place_name_files",
        ],
        example: r#"identity_source = "register"
subject = "pivot"
subject_key = { file = "subject.key" }
"#,
    },
    Section {
        title: "Say what tokens contain, and how long things last",
        prefixes: &[
            "amr_marker",
            "claims",
            "id_token_claims",
            "level_names",
            "lifetimes.",
            "pushed_authorization_requests",
            "verified_claims",
        ],
        example: r#"pushed_authorization_requests = "accepted"

[lifetimes]
session_idle_seconds = 900
session_seconds = 28800

[claims.groups]
type = "string_array"
label = { fr = "Groupes", en = "Groups" }
"#,
    },
    Section {
        title: "Keep keys and secrets",
        prefixes: &[
            "key_passphrase",
            "keys",
            "plain_key_files",
            "pkcs11.",
            "rotate_keys_every_days",
            "secrets.",
            "vault_transit.",
        ],
        example: r#"keys = "keys"
key_passphrase = { file = "/run/credentials/passerelle.service/keys.passphrase" }

[pkcs11]
module = "/usr/lib/softhsm/libsofthsm2.so"
token = "passerelle"
pin = { file = "pin.secret" }
"#,
    },
    Section {
        title: "Show pages",
        prefixes: &["choice.", "default_language", "theme"],
        example: r#"default_language = "en"
theme = "theme.toml"

[choice]
remember_last = true
categories = [{ id = "public", name = { fr = "Comptes publics", en = "Public accounts" } }]
"#,
    },
    Section {
        title: "Limit load",
        prefixes: &["limits.", "quotas."],
        example: r"[limits]
logins = 50000

[quotas]
logins_per_service_provider = 6000
",
    },
    Section {
        title: "Record and observe",
        prefixes: &["audit.", "log.", "metrics.", "traces."],
        example: r#"[audit]
sink = "file"
path = "/var/log/passerelle/audit.jsonl"
keep_days = 365

[log]
format = "json"
"#,
    },
    Section {
        title: "Let applications register themselves",
        prefixes: &["client_registration."],
        example: r#"[client_registration]
open = "approval"
scopes = ["openid", "profile"]
"#,
    },
    Section {
        title: "Send mail",
        prefixes: &["mail."],
        example: r#"[mail]
url = "smtp://mail.example.org"
username = "passerelle"
password = { file = "mail.password" }
from = "no-reply@example.org"
"#,
    },
    Section {
        title: "Publish a status page, an accessibility statement and a privacy notice",
        prefixes: &["public_pages."],
        example: r"[public_pages]
status = true
",
    },
    Section {
        title: "Confine the process",
        prefixes: &["process."],
        example: r#"[process]
confinement = "required"
"#,
    },
];

pub(super) const SERVICE_PROVIDER: &[Section] = &[
    Section {
        title: "Register an application",
        prefixes: &[""],
        example: r#"client_id = "shop"
name = { fr = "Ma boutique", en = "My shop" }
home_page = "https://shop.example.org/"
redirect_uris = ["https://shop.example.org/callback"]
post_logout_redirect_uris = ["https://shop.example.org/signed-out"]
scopes = ["openid", "profile", "email"]
secrets = [{ file = "shop.secret" }]
"#,
    },
    Section {
        title: "Authenticate it, and bind its tokens",
        prefixes: &[
            "client_assertion_audiences",
            "dpop_",
            "jwks",
            "request_object_",
            "require_p",
            "require_signed",
            "secrets",
            "tls_client_",
            "token_endpoint_",
        ],
        example: r#"token_endpoint_auth_method = "private_key_jwt"
jwks_uri = "https://shop.example.org/jwks"
require_pushed_authorization_requests = true
dpop_bound_access_tokens = true
"#,
    },
    Section {
        title: "Sign and encrypt its responses",
        prefixes: &["authorization_", "id_token_encrypted_", "id_token_signed_", "userinfo_"],
        example: r#"id_token_encrypted_response_alg = "ECDH-ES"
userinfo_signed_response_alg = "ES256"
"#,
    },
    Section {
        title: "Choose identity providers, levels, logout and refresh tokens",
        prefixes: &[
            "backchannel_",
            "connectors.",
            "default_acr_values",
            "level_names",
            "mail_code",
            "refresh_tokens.",
            "require_auth_time",
        ],
        example: r#"default_acr_values = ["eidas1"]
backchannel_logout_uri = "https://shop.example.org/backchannel-logout"

[connectors]
allow = ["city-account", "bank"]

[refresh_tokens]
lifetime_seconds = 2592000
"#,
    },
];

pub(super) const DATA_PROVIDER: &[Section] = &[Section {
    title: "Register an API",
    prefixes: &[""],
    example: r#"client_id = "tax-office-api"
name = { fr = "API des impôts", en = "Tax API" }
scopes = ["openid", "birth"]
secrets = [{ file = "tax-office-api.secret" }]
"#,
}];

pub(super) const CONNECTOR: &[Section] = &[
    Section {
        title: "Offer an identity provider",
        prefixes: &[
            "block",
            "category",
            "email_domains",
            "enabled",
            "limits.",
            "listed",
            "logo",
            "name",
            "probe",
            "search_terms",
        ],
        example: r#"name = { fr = "Compte agent", en = "Staff account" }
email_domains = ["example.org"]
limits = { calls = 32 }

[[block]]
from = "2027-03-01T20:00:00+01:00"
until = "2027-03-01T22:00:00+01:00"
reason = "maintenance, announced by mail"
"#,
    },
    Section {
        title: "State what it proves",
        prefixes: &[
            "acr.",
            "amr",
            "assumed_level",
            "identity",
            "ignore_acr",
            "levels.",
            "mail_code",
            "mapping",
            "mfa",
            "passed_amr",
            "unmapped_claims",
        ],
        example: r#"identity = "verified"
levels = { lowest = "eidas1", highest = "eidas1" }
amr = ["pwd"]

[acr]
eidas1 = ["loa-low"]

[mapping]
family_name = { from = "surname" }
"#,
    },
    Section {
        title: "OpenID Connect: keys, signatures, encryption",
        prefixes: &[
            "kind.oidc.authorization_",
            "kind.oidc.client_",
            "kind.oidc.dpop",
            "kind.oidc.fapi2",
            "kind.oidc.id_token_",
            "kind.oidc.pushed_",
            "kind.oidc.request_object",
            "kind.oidc.tls_client_",
            "kind.oidc.token_endpoint_",
            "kind.oidc.userinfo_encrypted_",
            "kind.oidc.userinfo_signed_",
        ],
        example: r#"[kind.oidc]
client_id = "passerelle"
token_endpoint_auth_method = "private_key_jwt"
id_token_signed_response_alg = "ES256"
pushed_authorization_requests = "on"
dpop = "on"
"#,
    },
];

pub(super) const SCOPES: &[Section] = &[Section {
    title: "Name claims by scope",
    prefixes: &[""],
    example: r#"[scopes]
openid = ["sub"]
profile = ["given_name", "family_name", "birthdate"]
"#,
}];

pub(super) const NOTICES: &[Section] = &[Section {
    title: "Inform users",
    prefixes: &[""],
    example: r#"[[notice]]
severity = "warning"
text = { fr = "Interruption le 1er mars de 22 h à 23 h.", en = "The service is down on 1 March from 10 to 11 p.m." }
from = "2027-02-27T08:00:00+01:00"
until = "2027-03-01T23:00:00+01:00"
"#,
}];

pub(super) const THEME: &[Section] = &[Section {
    title: "Give the pages your colours and links",
    prefixes: &[""],
    example: r##"name = { fr = "Mon compte", en = "My account" }
logo = "logo.svg"

[accent.light]
background = "#0b4f8a"
text = "#ffffff"

[accent.dark]
background = "#8cc4ff"
text = "#0a1a2b"
"##,
}];
