//! Everything of a hub that can fail to be made: `serve` goes on with it, `check` only asks whether it can be had.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::{BuildFault, Keys, keys, register};
use crate::actor::blocks::Blocks;
use crate::actor::registry::{Changes, Known, Plan, Reader};
use crate::config::{ConfiguredConnector, Current, Federation, Loaded};
use crate::connector;
use crate::env::Env;
use crate::grant::client_keys::KeyDirectory;
use crate::identity::Claim;
use crate::identity::scopes::ScopeTable;
use crate::identity::sub::SubjectKeys;
use crate::ids::{ConnectorId, Scope};
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
    pub federation: Current,
    pub client_keys: Arc<KeyDirectory>,
    pub keys: keys::Read,
    pub connector_means: connector::Means,
    pub plans: Vec<Plan>,
    pub register: register::Read,
    pub blocks: Blocks,
    pub subject_keys: SubjectKeys,
    pub discovery: String,
    pub shell: Arc<Shell>,
}

/// # Errors
/// Every part that can't be made; never an empty list.
pub(super) fn prepare(loaded: &Loaded, env: &Env, keys: Keys) -> Result<Prepared, Vec<BuildFault>> {
    let (settings, now) = (&loaded.settings, env.now());
    let mut faults = Vec::new();
    let filter = keep(&mut faults, telemetry::check_filter(&settings.log.filter));
    let metrics = keep(&mut faults, Metrics::new(now).map(Arc::new));
    let federation = keep(&mut faults, Federation::of(loaded));
    let client_keys = federation
        .as_ref()
        .zip(metrics.as_ref())
        .and_then(|(federation, metrics)| keep(&mut faults, KeyDirectory::new(federation, metrics).map(Arc::new)));
    let keys = keep(&mut faults, keys::read(&settings.keys, now, keys));
    let connector_means = connector_means(loaded, env, keys.as_ref());
    let plans: Vec<_> =
        loaded.connectors.values().map(|configured| keep(&mut faults, plan(configured, &connector_means))).collect();
    let register = match settings.platform {
        // R009: identities are the providers' there, so a register is neither asked nor read.
        Platform::High => Some(register::Read::None),
        Platform::Standard => metrics.as_ref().and_then(|metrics| keep(&mut faults, register::read(loaded, metrics, now))),
    };
    let blocks = keep(&mut faults, Blocks::load(&settings.state, env));
    let subject_keys = keep(&mut faults, SubjectKeys::new(loaded.subject_keys.clone(), settings.home_country.clone()));
    let discovery = federation.as_ref().and_then(|federation| keep(&mut faults, discovery_document(loaded, federation)));
    let shell = metrics.as_ref().and_then(|metrics| keep(&mut faults, shell(loaded, env, metrics)));
    let all = || {
        filter?;
        Some(Prepared {
            metrics: metrics?,
            federation: federation?.into(),
            client_keys: client_keys?,
            keys: keys?,
            connector_means,
            plans: plans.into_iter().collect::<Option<_>>()?,
            register: register?,
            blocks: blocks?,
            subject_keys: subject_keys?,
            discovery: discovery?,
            shell: shell?,
        })
    };
    all().ok_or(faults)
}

/// Sets a fault aside, so that the next part is tried all the same.
fn keep<T, F: Into<BuildFault>>(faults: &mut Vec<BuildFault>, made: Result<T, F>) -> Option<T> {
    made.map_err(|fault| faults.push(fault.into())).ok()
}

/// Reads the connectors' folder of a running hub again. A bad file is told about, and its last good version goes on.
pub(super) fn reader(loaded: &Loaded, means: connector::Means) -> Reader {
    let source = loaded.source.clone();
    Arc::new(move |known: &Known| {
        let outcomes = match source.connectors() {
            Ok(outcomes) => outcomes,
            Err(problem) => {
                tracing::error!(%problem, "the connectors' folder can't be read; the last good connectors stay");
                return Changes::default();
            }
        };
        let mut changes = Changes::default();
        let mut there = BTreeSet::new();
        for (path, outcome) in outcomes {
            there.extend(path.file_stem().and_then(|stem| stem.to_str()).map(ConnectorId::from));
            let made = match outcome {
                Ok(configured) if known.get(&configured.id).is_some_and(|before| **before == configured) => continue,
                Ok(configured) => plan(&configured, &means).map_err(|fault| fault.to_string()),
                Err(problems) => Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
            };
            match made {
                Ok(plan) => changes.plans.push(plan),
                Err(fault) => {
                    tracing::error!(file = %path.display(), fault, "a connector's file is bad; its last good version stays")
                }
            }
        }
        changes.gone = known.keys().filter(|id| !there.contains(*id)).cloned().collect();
        changes
    })
}

/// Without keys nothing starts, but the connectors' files are looked at all the same.
pub(super) fn connector_means(loaded: &Loaded, env: &Env, keys: Option<&keys::Read>) -> connector::Means {
    let none = || Arc::new(ArcSwap::from_pointee(UpstreamKeys::none()));
    connector::Means {
        env: env.clone(),
        keys: keys.map_or_else(none, |keys| Arc::clone(&keys.shared.upstream)),
        sandbox: if loaded.settings.sandbox { connector::Sandbox::On } else { connector::Sandbox::Off },
    }
}

/// # Errors
/// The connector's file can't work.
pub(super) fn plan(configured: &ConfiguredConnector, means: &connector::Means) -> Result<Plan, BuildFault> {
    let connector = connector::build(configured.id.clone(), &configured.file, configured.client_secret.clone(), means.clone())
        .map_err(|fault| BuildFault::Connector { id: configured.id.to_string(), fault })?;
    Ok(Plan { id: configured.id.clone(), connector, configured: Arc::new(configured.clone()) })
}

fn shell(loaded: &Loaded, env: &Env, metrics: &Arc<Metrics>) -> Result<Arc<Shell>, BuildFault> {
    let (env, theme) = (env.clone(), pages::Theme::from(&loaded.theme));
    let page = move |head: &_, code| problem::early(&env, &theme, head, code);
    let deadline = Duration::from_secs(loaded.settings.limits.request_seconds);
    Ok(Arc::new(Shell::new(&loaded.settings.base_url, deadline, Arc::clone(metrics), page)?))
}

fn discovery_document(loaded: &Loaded, federation: &Federation) -> Result<String, serde_json::Error> {
    // Nothing is published that doesn't work: the standard's table counts where somebody may use it.
    let tables = || std::iter::once(&federation.scopes).chain(federation.serves_openid().then_some(&federation.openid_scopes));
    let scopes: BTreeSet<Scope> = tables().flat_map(ScopeTable::scopes).cloned().collect();
    let claims: BTreeSet<Claim> = tables().flat_map(ScopeTable::all_claim_names).collect();
    let scopes: Vec<Scope> = scopes.into_iter().collect();
    let claims: Vec<String> = claims.into_iter().map(|claim| claim.as_str().to_owned()).collect();
    let ui_locales: Vec<String> = Locale::all().map(|locale| locale.to_string()).collect();
    discovery::document(&discovery::Provider {
        issuer: &loaded.issuer,
        base_url: &loaded.settings.base_url,
        platform: loaded.settings.platform,
        scopes: &scopes,
        claims: &claims,
        features: &[discovery::Feature::EndSession, discovery::Feature::Revocation, discovery::Feature::Introspection],
        ui_locales: &ui_locales,
    })
}
