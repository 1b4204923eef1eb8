//! Passerelle: an identity federation hub.
//!
//! Service providers delegate login to it, it federates identity providers, and it hands back a verified identity with
//! an honest level of assurance. This page is the map; every module says in its first lines what it owns and what it
//! must not know.
//!
//! # Floors
//!
//! Arrows only point down. A test reads the `use` lines and fails on any other.
//!
//! | floor | modules | may use |
//! |---|---|---|
//! | top | [`app`], [`demo`], the binary | everything; only `app` names concrete stores, connectors, registers |
//! | L4 | [`web`] | L0, types of L1, `actor`'s typed handles, `grant`, `quota` |
//! | L3 | [`actor`], [`grant`], [`quota`] | L0 to L2, the last through traits only; both others may use `quota`, and `actor` `grant` |
//! | L2 | [`store`], [`connector`], [`register`] | L0, L1, never each other |
//! | L1 | [`login`], [`session`] | L0, `identity`, `assurance`; pure: no async, no clock, no randomness of their own |
//! | L1 | [`identity`], [`assurance`], [`token`], [`config`], [`telemetry`], [`egress`], [`audit`] | L0, each other where it is obvious and one-way |
//! | L0 | [`protocol`], [`ids`], [`mod@env`], [`digest`], [`client_network`] | nothing above |
//!
//! # The life of one login
//!
//! ```text
//! SP ── authorize ──▶ web::authorize: protocol::authorize::check ─▶ actor::Logins::open: stored, not yet awake
//! browser ── interaction ─▶ web::login ─▶ Logins::step ─▶ login actor ─▶ login::on_request ─▶ choice page
//! browser ── choose ──▶ … ─▶ Effect::Begin ─▶ connector actor ─▶ 303 to the identity provider
//! IdP ── callback ────▶ … ─▶ attempt closed and stored ─▶ Effect::Complete (token, userinfo, every check)
//!                           ─▶ Effect::Identify (rules, register, sub, claims) ─▶ 303 to the consent page
//! browser ── yes ─────▶ … ─▶ answered and stored ─▶ Effect::Grant (session, code) ─▶ 303 to the SP
//! SP ── token ────────▶ web::token ─▶ grant: take the code, once ─▶ token: sign      SP ── userinfo ─▶ grant: judge, sign
//! DP ── checktoken ───▶ web::introspection ─▶ grant: judge, tell
//!
//! browser ── session/end ─▶ web::logout: protocol::logout::check ─▶ session::logout::judge ─▶ actor::Logouts: way back
//!                           kept, session, codes and tokens ended ─▶ 303 to the identity provider ─▶ 303 to the SP
//! ```
//!
//! # Where to begin reading
//!
//! 1. [`login`]: the machine. `(state, request, world) → (state, effect or answer)`, one file per state.
//! 2. [`actor`]: what drives it. The actor is a queue and a cache; the [`store`] is the truth.
//! 3. [`protocol::authorize`]: the checks of an authorization request, as one ordered table.
//! 4. [`connector::oidc`]: everything that an identity provider's answer must survive.
//! 5. [`grant`]: codes and tokens, and why a code can't be used twice.
//! 6. [`protocol::catalogue`]: every error the hub can answer with.

pub mod actor;
pub mod app;
pub mod assurance;
pub mod audit;
pub mod client_network;
pub mod config;
pub mod connector;
pub mod demo;
pub mod digest;
pub mod egress;
pub mod env;
pub mod grant;
pub mod identity;
pub mod ids;
pub mod login;
pub mod protocol;
pub mod quota;
pub mod register;
pub mod session;
pub mod store;
pub mod telemetry;
pub mod token;
pub mod web;
