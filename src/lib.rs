//! Passerelle, an identity federation hub.
//!
//! Service providers delegate login to the hub. The hub federates identity providers, and returns a
//! verified identity with a verified level of assurance. This page is the map; the head of each
//! module says what it is responsible for.
//!
//! # Layers
//!
//! Dependencies only point down. A test reads the `use` lines and fails on any other.
//!
//! | layer | modules | may use |
//! |---|---|---|
//! | top | [`app`], [`demo`], the binary | everything |
//! | L5 | [`config`] | everything below: each part defines and checks its own settings |
//! | L4 | [`web`] | L0, types of L1, `actor`'s handles, `grant`, `quota` |
//! | L3 | [`actor`], [`grant`], [`quota`] | L0 to L2, the last through traits only; both others may use `quota`, and `actor` `grant` |
//! | L2 | [`store`], [`connector`], [`register`] | L0, L1, never each other |
//! | L1 | [`login`], [`session`] | L0, `identity`, `assurance`; pure: no async, no clock, no randomness of their own |
//! | L1 | [`identity`], [`assurance`], [`token`], [`settings`], [`federation`], [`telemetry`], [`egress`], [`audit`] | L0, each other without cycles |
//! | L0 | [`protocol`], [`ids`], [`mod@env`], [`digest`], [`localization`], [`client_network`], [`atomic_file`] | nothing above |
//!
//! A kind of connector, store or register is one folder behind a trait, with one line in a list:
//! [`connector::KINDS`], [`store::KINDS`], [`register::KINDS`]. [`app::KINDS`] joins them, and
//! [`config`] gets them as an argument. A test fails on any other file that names a kind.
//!
//! Tests and benchmarks also have `testing`: test doubles, sample data, and the suites that every
//! store and register passes. It may use everything; product code may not use it, and no release
//! build compiles it.
//!
//! # One login, step by step
//!
//! ```text
//! SP ── authorize ──▶ web::authorize: checks ─▶ actor::Logins::admit: the login is stored
//! browser ── page ────▶ web::login ─▶ Logins::run_step ─▶ login actor ─▶ login::on_request ─▶ choice page
//! browser ── choose ──▶ … ─▶ Effect::BeginLogin ─▶ connector actor ─▶ 303 to the identity provider
//! IdP ── callback ────▶ … ─▶ attempt closed and stored ─▶ Effect::CompleteLogin (token, userinfo, all checks)
//!                           ─▶ Effect::Identify (rules, register, sub, claims) ─▶ 303 to the consent page
//! browser ── consent ─▶ … ─▶ login stored as completed ─▶ Effect::IssueCode (session, code) ─▶ 303 to the SP
//! SP ── token ────────▶ web::token ─▶ grant: takes the code once ─▶ token: signs
//! SP ── userinfo ─────▶ grant: validates the access token, signs the claims
//! DP ── checktoken ───▶ web::introspection ─▶ grant: validates the token, answers
//!
//! browser ── session/end ─▶ web::logout ─▶ session::logout::decide_logout ─▶ actor::Logouts: destination
//!                           stored; session, codes and tokens ended ─▶ 303 to the identity provider ─▶ 303 to the SP
//! ```
//!
//! # Where to begin reading
//!
//! 1. [`login`]: the state machine. `(state, request, inputs) → (state, effect or answer)`, one
//!    file per state.
//! 2. [`actor`]: runs it. An actor is a queue and a cache; the [`store`]'s record is
//!    authoritative.
//! 3. [`protocol::authorize`]: the checks of an authorization request, as one ordered table.
//! 4. [`connector::oidc`]: every check of an identity provider's response. Other kinds have the same
//!    shape (`docs/adding-a-kind.md`).
//! 5. [`grant`]: codes and tokens, and why a code can't be used twice.
//! 6. [`protocol::catalogue`]: every error of the hub.

pub use passerelle_audit as audit;
pub use passerelle_config as config;
pub use passerelle_connector as connector;
pub use passerelle_demo as demo;
pub use passerelle_egress as egress;
pub use passerelle_federation::{self as federation, assurance, identity, login, session};
pub use passerelle_grants as grant;
pub use passerelle_hub as actor;
pub use passerelle_jose as token;
pub use passerelle_localization as localization;
pub use passerelle_protocol::{self as protocol, atomic_file, client_network, digest, env, ids};
pub use passerelle_quota as quota;
pub use passerelle_register as register;
pub use passerelle_server as app;
pub use passerelle_settings as settings;
pub use passerelle_store as store;
pub use passerelle_telemetry as telemetry;
#[cfg(feature = "testing")]
pub use passerelle_testkit as testing;
pub use passerelle_web as web;

/// Compiles the examples of the contributor's guide as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/adding-a-kind.md")]
pub struct AddingAKind;
