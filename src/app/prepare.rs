//! Everything of a hub that can fail to be made: `serve` goes on with it, `check` only asks whether it can be had.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::codes::Codes;
use super::traces::{self, Traces};
use super::{BuildFault, Keys, keys, register};
use crate::actor::blocks::Blocks;
use crate::actor::registry::Plan;
use crate::config::outline::Fields;
use crate::config::{ConfiguredConnector, Federation, Loaded};
use crate::connector;
use crate::egress::shared::Guards;
use crate::env::Env;
use crate::grant::client_keys::KeyDirectory;
use crate::identity::Claim;
use crate::identity::scopes::ScopeTable;
use crate::identity::sub::SubjectKeys;
use crate::ids::Scope;
use crate::protocol::acr::Platform;
use crate::protocol::discovery;
use crate::telemetry::{self, Metrics};
use crate::token::UpstreamKeys;
use crate::web::pages::{self, Locale};
use crate::web::problem;
use crate::web::shell::Shell;

/// A hub's parts, of which nothing runs yet.
pub(super) struct Prepared {
    pub metrics: Arc<Metrics>,
    pub federation: Federation,
    pub client_keys: Arc<KeyDirectory>,
    pub keys: keys::Read,
    pub connector_means: connector::ConnectorContext,
    pub codes: Codes,
    pub plans: Vec<Plan>,
    pub register: register::Read,
    pub blocks: Blocks,
    pub subject_keys: SubjectKeys,
    pub publication: Publication,
    pub traces: Traces,
    pub shell: Arc<Shell>,
}

/// # Errors
/// Every part that can't be made; never an empty list.
pub(super) fn prepare(loaded: &Loaded, env: &Env, keys: Keys) -> Result<Prepared, Vec<BuildFault>> {
    let (settings, now) = (&loaded.settings, env.now());
    let mut faults = Vec::new();
    let filter = keep(&mut faults, telemetry::check_filter(&settings.log.filter));
    let metrics = keep(&mut faults, Metrics::new(now).map(Arc::new));
    let publication = Publication::of(loaded);
    let federation = keep(&mut faults, publication.published(Federation::of(loaded)));
    let client_keys =
        federation.as_ref().zip(metrics.as_ref()).and_then(|(federation, metrics)| {
            keep(&mut faults, KeyDirectory::new(federation, metrics).map(Arc::new))
        });
    let keys = keep(&mut faults, keys::read(&settings.keys, env, keys));
    let codes = Codes::default();
    let connector_means = connector_means(loaded, env, keys.as_ref(), &codes);
    let described = loaded.files.connectors();
    let plans: Vec<_> = described
        .values()
        .map(|(configured, fields)| keep(&mut faults, plan(configured, fields, &connector_means)))
        .collect();
    let register = match settings.platform {
        // R009: identities are the providers' there, so a register is neither asked nor read.
        Platform::High => Some(register::Read::None),
        Platform::Standard => metrics
            .as_ref()
            .and_then(|metrics| keep(&mut faults, register::read(loaded, metrics, now))),
    };
    let blocks = keep(&mut faults, Blocks::load(&settings.state, env));
    let subject_keys = keep(
        &mut faults,
        SubjectKeys::new(loaded.subject_keys.clone(), settings.home_country.clone()),
    );
    let traces = metrics
        .as_ref()
        .and_then(|metrics| keep(&mut faults, traces::prepare(loaded, env, metrics)));
    let shell = metrics.as_ref().zip(traces.as_ref());
    let shell = shell
        .and_then(|(metrics, traces)| keep(&mut faults, shell_of(loaded, env, metrics, traces)));
    let all = || {
        filter?;
        Some(Prepared {
            metrics: metrics?,
            federation: federation?,
            client_keys: client_keys?,
            keys: keys?,
            connector_means,
            codes,
            plans: plans.into_iter().collect::<Option<_>>()?,
            register: register?,
            blocks: blocks?,
            subject_keys: subject_keys?,
            publication,
            traces: traces?,
            shell: shell?,
        })
    };
    all().ok_or(faults)
}

/// Sets a fault aside, so that the next part is tried all the same.
fn keep<T, F: Into<BuildFault>>(faults: &mut Vec<BuildFault>, made: Result<T, F>) -> Option<T> {
    made.map_err(|fault| faults.push(fault.into())).ok()
}

/// Without keys nothing starts, but the connectors' files are looked at all the same.
pub(super) fn connector_means(
    loaded: &Loaded,
    env: &Env,
    keys: Option<&keys::Read>,
    codes: &Codes,
) -> connector::ConnectorContext {
    let none = || Arc::new(ArcSwap::from_pointee(UpstreamKeys::none()));
    connector::ConnectorContext {
        env: env.clone(),
        keys: keys.map_or_else(none, |keys| Arc::clone(&keys.shared.upstream)),
        sandbox: if loaded.settings.sandbox {
            connector::Sandbox::On
        } else {
            connector::Sandbox::Off
        },
        guards: Guards::default(),
        codes: Arc::new(codes.clone()),
    }
}

/// # Errors
/// The connector's file can't work.
pub(super) fn plan(
    configured: &ConfiguredConnector,
    fields: &Arc<Fields>,
    means: &connector::ConnectorContext,
) -> Result<Plan, BuildFault> {
    let connector = connector::build(
        configured.id.clone(),
        &configured.file,
        configured.client_secret.clone(),
        means.clone(),
    )
    .map_err(|fault| BuildFault::Connector { id: configured.id.to_string(), fault })?;
    Ok(Plan {
        id: configured.id.clone(),
        connector,
        limits: configured.file.limits,
        fields: Arc::clone(fields),
    })
}

fn shell_of(
    loaded: &Loaded,
    env: &Env,
    metrics: &Arc<Metrics>,
    traces: &Traces,
) -> Result<Arc<Shell>, BuildFault> {
    let (env, theme) = (env.clone(), pages::Theme::from(&loaded.theme));
    let page = move |head: &_, code| problem::early(&env, &theme, head, code);
    let deadline = Duration::from_secs(loaded.settings.limits.request_seconds);
    let shell = Shell::new(&loaded.settings.base_url, deadline, Arc::clone(metrics), page)?;
    Ok(Arc::new(shell.traced(traces.tracer.clone())))
}

/// What discovery says that no file of the federation changes.
#[derive(Clone)]
pub(super) struct Publication {
    issuer: String,
    base_url: String,
    platform: Platform,
}

impl Publication {
    fn of(loaded: &Loaded) -> Self {
        let (base_url, platform) = (loaded.settings.base_url.clone(), loaded.settings.platform);
        Self { issuer: loaded.issuer.clone(), base_url, platform }
    }

    /// The federation, with the document that goes with it.
    ///
    /// # Errors
    /// It can't be written.
    pub(super) fn published(
        &self,
        mut federation: Federation,
    ) -> Result<Federation, serde_json::Error> {
        // Nothing is published that doesn't work: the standard's table counts where somebody may use it.
        let tables = || {
            std::iter::once(&federation.scopes)
                .chain(federation.serves_openid().then_some(&federation.openid_scopes))
        };
        let scopes: BTreeSet<Scope> = tables().flat_map(ScopeTable::scopes).cloned().collect();
        let claims: BTreeSet<Claim> = tables().flat_map(ScopeTable::all_claim_names).collect();
        let scopes: Vec<Scope> = scopes.into_iter().collect();
        // Those of an ID token that `claims` may ask for, beside the identity's.
        let claims = claims.into_iter().map(Claim::as_str).chain(["acr", "amr"]);
        let claims: Vec<String> = claims.map(ToOwned::to_owned).collect();
        let ui_locales: Vec<String> = Locale::all().map(|locale| locale.to_string()).collect();
        let document = discovery::document(&discovery::Provider {
            issuer: &self.issuer,
            base_url: &self.base_url,
            platform: self.platform,
            scopes: &scopes,
            claims: &claims,
            features: &[
                discovery::Feature::EndSession,
                discovery::Feature::Revocation,
                discovery::Feature::Introspection,
            ],
            ui_locales: &ui_locales,
        })?;
        federation.discovery = document.into();
        Ok(federation)
    }
}
