//! One step of a login, from the store and back: load, decide, store, act, decide, store, answer.

mod clock;

use std::sync::Arc;
use std::time::Duration;

use self::clock::{Clock, Whose};
use super::admission::Place;
use super::audited::Trail;
use super::connector::ConnectorHandle;
use super::identify;
use super::logins::{Ended, Reply, Standing};
use super::means::LoginServices;
use super::ongoing::Spot;
use super::reuse;
use super::unauthenticated::unseen_end;
use crate::connector::ConnectorFault;
use crate::env::Timestamp;
use crate::grant::{Gate as _, store_code};
use crate::ids::{ConnectorId, InteractionHash, Secret};
use crate::login::{
    self, Answer, ConsentPolicy, Effect, Login, Nodes, Report, Request, Save, Step, Then, World,
};
use crate::protocol::authorize::AuthorizationRequest;
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::registration::Consent;
use crate::store::{Key, Kind, Loaded, Reach, Replaced, Version};
use crate::telemetry::trace::{self, Scope, Span};
use crate::telemetry::{Outcome, at_level};

/// As [`login::State::name`] calls it.
const FAILED: &str = "failed";

/// A login's record outlives the login by this much, so that a repeated step can still be answered (decisions 4).
pub(super) const AFTERLIFE: Duration = Duration::from_secs(60);

/// A step that lost a race is taken again on the new state, this often.
const ATTEMPTS: usize = 4;

/// A callback that another node works on is looked after this often, for as long as it can be under way.
const PAUSE: Duration = Duration::from_millis(100);
const LOOKS: usize = 80;

/// A step, and the session cookie that came with it.
#[derive(Clone, Debug)]
pub(super) struct BrowserStep {
    pub request: Request,
    pub session: Option<Secret<String>>,
    pub place: Arc<Place>,
    /// Of the request that it came with.
    pub scope: Scope,
}

/// The record as last stored.
pub(super) struct Cached {
    login: Login,
    version: Version,
    /// From here on the store has no such record, and the cache must not know better.
    until: Timestamp,
}

pub(super) fn key(hash: &InteractionHash) -> Key {
    Key { kind: Kind::Login, name: Arc::from(hash.as_str()) }
}

/// Takes one step. Gives back what to keep in memory for the next.
pub(super) async fn drive(
    means: &LoginServices,
    hash: &InteractionHash,
    mut cached: Option<Cached>,
    step: BrowserStep,
) -> (Option<Cached>, Result<Reply, Ended>) {
    for _ in 0..ATTEMPTS {
        let (current, seen) = match cached.take().filter(|cached| means.env.now() < cached.until) {
            Some(current) if can_begin_with_the_cache(means, &step.request) => {
                (current, Seen::Before)
            }
            Some(_) | None => match load_settled(means, hash, &step).await {
                Ok(Some(current)) => (current, Seen::Now),
                Ok(None) => return (None, Err(Ended::Unknown)),
                Err(code) => return (None, Err(Ended::Hub(code))),
            },
        };
        match take(means, current, seen, &step).await {
            Ok((current, answer)) => {
                let standing = Standing::of(&current.login);
                return (Some(current), Ok(Reply { answer, standing }));
            }
            Err(Interrupted::Stale) => {}
            Err(Interrupted::Gone) => return (None, Err(Ended::Unknown)),
            Err(Interrupted::Hub(code)) => return (None, Err(Ended::Hub(code))),
        }
    }
    (None, Err(Ended::Hub(ErrorCode::Busy)))
}

/// When the state that a step begins with was the store's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Now,
    Before,
}

/// The page that a browser comes back to changes nothing, as a rule: where others may have changed it, it is read anew.
fn can_begin_with_the_cache(means: &LoginServices, request: &Request) -> bool {
    means.store.reach() == Reach::Process || !matches!(request, Request::Look { .. })
}

/// Why a step could not be brought to its end on the state that it began with.
enum Interrupted {
    /// Another node was faster, or may have been.
    Stale,
    Gone,
    Hub(ErrorCode),
}

async fn take(
    means: &LoginServices,
    current: Cached,
    seen: Seen,
    browser: &BrowserStep,
) -> Result<(Cached, Answer), Interrupted> {
    let ticket = &current.login.ticket;
    trace::about(&ticket.support_id, ticket.trace.as_ref());
    let mut span = trace::span("login step");
    span.client(&ticket.request.client_id);
    let taken = span.run(Box::pin(step(means, current, seen, browser))).await;
    tell(&mut span, &taken);
    taken
}

/// What a step's span says of it.
fn tell(span: &mut Span, taken: &Result<(Cached, Answer), Interrupted>) {
    match taken {
        Ok((cached, answer)) => {
            span.state(cached.login.state.name());
            match answer {
                Answer::Problem(problem) => span.refused(problem.code),
                Answer::Blocked(banner) => span.refused(banner.code),
                _ => {}
            }
        }
        Err(Interrupted::Hub(code)) => span.refused(*code),
        Err(Interrupted::Stale) => span.outcome("stale"),
        Err(Interrupted::Gone) => span.outcome("gone"),
    }
}

async fn step(
    means: &LoginServices,
    current: Cached,
    seen: Seen,
    browser: &BrowserStep,
) -> Result<(Cached, Answer), Interrupted> {
    let Cached { mut login, mut version, mut until } = current;
    let mut clock = Clock::start(&mut login, means.env.now());
    let (mut spot, mut chosen) = (Spot::of(&login), login.state.connector().cloned());
    let sp = login.ticket.request.client_id.clone();
    let gate = |connector: &_, at| means.connectors.may(&sp, connector, at);
    let registered =
        |request: &AuthorizationRequest| means.federation.load().check_registration(request);
    let consent = match means.federation.load().active(&sp).map(|sp| sp.registration.consent) {
        Some(Consent::Required) => ConsentPolicy::Required,
        Some(Consent::None) => ConsentPolicy::None,
        Some(Consent::Information) | None => ConsentPolicy::Information,
    };
    let world = |now| World {
        now,
        fresh: means.env.entropy(),
        gate: &gate,
        registered: &registered,
        consent,
        callback_base: &means.callback_base,
        session: browser.session.as_ref(),
        nodes: if means.store.reach() == Reach::Shared { Nodes::Many } else { Nodes::One },
    };
    let before = login.state.name();
    let request = match browser.request.clone() {
        // The interaction page is one of the few places where a session is looked at (decisions 4).
        Request::Look { .. } => Request::Look {
            reuse: reuse::reusable(means, &login, browser.session.as_ref()).await.map(Box::new),
        },
        other => other,
    };
    let mut trail = Trail::new(means, &login, &request);
    let mut step = login::on_request(login, request, &world(means.env.now()));
    // What is stored proves by its version that it began with the truth. What is only answered proves nothing: a refusal
    // of this node's old copy must not end a login that another node has brought further.
    if step.save == Save::No && seen == Seen::Before && means.store.reach() == Reach::Shared {
        return Err(Interrupted::Stale);
    }
    loop {
        let Step { mut login, save, then } = step;
        clock.note(&mut login);
        chosen = login.state.connector().cloned().or(chosen);
        if save == Save::Yes {
            (version, until) = store(means, &login, version).await?;
            if !Spot::stays(&login) {
                let now_at = Spot::of(&login);
                means.ongoing.moved(login.ticket.expires_at, spot.as_ref(), now_at.clone());
                spot = now_at;
            }
        }
        match then {
            Then::Answer(answer) => {
                clock.note(&mut login);
                observe(means, before, &login, chosen.as_ref(), &answer);
                trail.end(&login, &answer);
                return Ok((Cached { login, version, until }, answer));
            }
            Then::Do(effect) => {
                if effect.asks_an_identity_provider() {
                    browser.place.leave();
                }
                if matches!(*effect, Effect::Identify(_)) {
                    means.unauthenticated.remove(&login.ticket.hash);
                }
                trail.before(&login, &effect);
                let whose = Whose::of(&effect);
                let mut fault_detail = None;
                let report =
                    clock.during(whose, perform(means, &login, *effect, &mut fault_detail)).await;
                trail.after(&report, fault_detail);
                step = login::on_report(login, report, &world(means.env.now()));
            }
        }
    }
}

/// Does what the machine asked for. A panic or a lost future here costs this step, never the login. `fault_detail` gets
/// what the operator is to know of a failed call.
async fn perform(
    means: &LoginServices,
    login: &Login,
    effect: Effect,
    fault_detail: &mut Option<String>,
) -> Report {
    let support_id = &login.ticket.support_id;
    let mut told = |connector: &ConnectorId, fault: ConnectorFault| {
        log_fault(support_id.as_str(), connector, &fault);
        *fault_detail = displayed_detail(&fault);
        fault.code
    };
    match effect {
        Effect::Begin(connector, departure) => {
            Report::Departed(match may_leave(means, &connector) {
                Ok(handle) => {
                    handle.begin(departure).await.map_err(|fault| told(&connector, fault))
                }
                Err(code) => Err(code),
            })
        }
        Effect::Complete(attempt, arrival, network) => {
            let connector = attempt.connector.clone();
            Report::Authenticated(match means.connectors.handle(&connector) {
                Ok(handle) => handle
                    .complete(attempt, arrival, network)
                    .await
                    .map(Box::new)
                    .map_err(|fault| told(&connector, fault)),
                Err(code) => Err(code),
            })
        }
        Effect::Identify(authentication) => Report::Identified(
            identify::identify(means, login, *authentication).await.map(Box::new),
        ),
        Effect::Grant(grant) => Report::Granted(means.grants.issue(*grant).await),
        Effect::LookForCode(code) => {
            let lives = means.grants.code_lives(code.reveal()).await;
            // Who stored the code may have died before it came to this.
            if let (Ok(true), Some(former)) = (&lives, login.former_session()) {
                means.grants.forget_session(former).await;
            }
            Report::CodeLives(lives)
        }
    }
}

/// The way to an identity provider that may get one more person this minute.
fn may_leave(means: &LoginServices, connector: &ConnectorId) -> Result<ConnectorHandle, ErrorCode> {
    let handle = means.connectors.handle(connector)?;
    let own_rate =
        means.federation.load().connector(connector).and_then(|facts| facts.departures_per_minute);
    means.quotas.departs(connector, own_rate).map_err(|_| ErrorCode::IdpLimited)?;
    Ok(handle)
}

/// Tells the operator what went wrong, by the id that the person reads on the page.
fn log_fault(support_id: &str, connector: &ConnectorId, fault: &ConnectorFault) {
    at_level!(fault.code, support_id, %connector, detail = fault.detail, "an identity provider's step failed");
}

/// The explanation that the operator console shows. A refusal in the callback's query is not shown: any text may stand in
/// its `error_description`, of a person too. The program's log has it.
fn displayed_detail(fault: &ConnectorFault) -> Option<String> {
    let repeats_the_query = matches!(fault.code, ErrorCode::IdpDenied | ErrorCode::IdpError);
    (!repeats_the_query).then(|| fault.detail.clone())
}

fn observe(
    means: &LoginServices,
    before: &'static str,
    login: &Login,
    chosen: Option<&ConnectorId>,
    answer: &Answer,
) {
    let (metrics, sp) = (&means.metrics, &login.ticket.request.client_id);
    let after = login.state.name();
    if before != after {
        metrics.login_reached(after);
        match (login.end(), answer) {
            // It was counted when it failed; now the service provider hears of it.
            _ if before == FAILED => {}
            (Some(Ok(())), _) => {
                metrics.login_ended(Outcome::Granted, sp, chosen, 1);
                metrics.login_granted(&clock::parts(&login.ticket.spent), means.env.now());
            }
            (Some(Err(code)), _) => metrics.login_ended(Outcome::Refused(code), sp, chosen, 1),
            // Counted as abandoned once its second is past.
            (None, _) if Spot::stays(login) => {}
            (None, Answer::Problem(problem)) if after == FAILED => {
                metrics.login_ended(Outcome::Failed(problem.code), sp, chosen, 1);
            }
            (None, _) => {}
        }
    }
    let support_id = login.ticket.support_id.as_str();
    match answer {
        Answer::Problem(problem) => {
            at_level!(problem.code, support_id, state = after, "a login step was refused");
        }
        Answer::Blocked(banner) => {
            let connector = banner.connector.as_ref().map(tracing::field::display);
            at_level!(
                banner.code,
                support_id,
                connector,
                state = before,
                "a login was stopped by a block"
            );
        }
        Answer::ServiceProvider { .. } if before != after => {
            let client_id = &login.ticket.request.client_id;
            match login.end().and_then(Result::err) {
                None => {
                    tracing::info!(support_id, %client_id, outcome = "granted", "a login has its answer")
                }
                Some(code) => {
                    at_level!(code, support_id, %client_id, outcome = "refused", "a login has its answer")
                }
            }
        }
        Answer::ServiceProvider { .. }
        | Answer::Choice { .. }
        | Answer::Leave { .. }
        | Answer::ToConsent
        | Answer::Consent(_) => {}
    }
}

/// Steps of one login wait for each other, wherever they are taken: the browser that sends its callback again, or looks,
/// while another node still asks the identity provider, gets what comes of it.
async fn load_settled(
    means: &LoginServices,
    hash: &InteractionHash,
    step: &BrowserStep,
) -> Result<Option<Cached>, ErrorCode> {
    let mut found = load(means, hash).await?;
    if means.store.reach() == Reach::Process {
        return Ok(found);
    }
    for _ in 0..LOOKS {
        if !found.as_ref().is_some_and(|cached| cached.login.is_being_verified(means.env.now())) {
            break;
        }
        step.place.leave();
        tokio::time::sleep(PAUSE).await;
        found = load(means, hash).await?;
    }
    Ok(found)
}

async fn load(means: &LoginServices, hash: &InteractionHash) -> Result<Option<Cached>, ErrorCode> {
    let found = means
        .store
        .load_and_keep(&key(hash), means.env.now())
        .await
        .map_err(|fault| store_code(&fault))?;
    let Some(Loaded { record, is_first }) = found else {
        return Ok(None);
    };
    let login: Login = serde_json::from_slice(&record.value).map_err(|_| ErrorCode::Internal)?;
    means.unauthenticated.update(hash, record.version, record.expires_at);
    if is_first {
        let ends = (unseen_end(&login.ticket), login.ticket.expires_at);
        means.ongoing.outlives(ends, Spot::of(&login));
    }
    Ok(Some(Cached { login, version: record.version, until: record.expires_at }))
}

/// Gives the record's new version, and until when it is there.
async fn store(
    means: &LoginServices,
    login: &Login,
    version: Version,
) -> Result<(Version, Timestamp), Interrupted> {
    let value = serde_json::to_vec(login).map_err(|_| Interrupted::Hub(ErrorCode::Internal))?;
    let now = means.env.now();
    let until = keep_until(login, now);
    match means.store.replace(&key(&login.ticket.hash), version, value, until, now).await {
        Ok(Replaced::Done(version)) => {
            means.unauthenticated.update(&login.ticket.hash, version, until);
            Ok((version, until))
        }
        Ok(Replaced::Stale) => Err(Interrupted::Stale),
        Ok(Replaced::Gone) => Err(Interrupted::Gone),
        Err(fault) => Err(Interrupted::Hub(store_code(&fault))),
    }
}

/// A login that is over stays for a minute; any other for its life and a minute.
pub(super) fn keep_until(login: &Login, now: Timestamp) -> Timestamp {
    let end = if login.is_over() { now } else { login.ticket.expires_at };
    end + AFTERLIFE
}
