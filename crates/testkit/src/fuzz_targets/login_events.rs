//! Two logins on two hubs that share a store, under any sequence of events.
//!
//! Each hub loads a login, decides, stores it by version and performs the effect, as
//! `steps` of `passerelle_hub` does. Between two events of a hub anything may happen at the other one. The
//! invariants are checked at every effect and every stored state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::{FuzzTarget, target};
use passerelle_federation::assurance::{AcrCheck, Level};
use passerelle_federation::login::upstream::{CallbackParams, UpstreamAuthorizationRequest};
use passerelle_federation::login::{
    Callback, CodeGrant, ConsentAnswer, ConsentSubmission, Effect, EffectOutcome, HubCount,
    IdentifiedUser, Login, LoginAnswer, LoginRequest, LoginState, Save, SessionUse, Step,
    StepInputs, StepOutput, on_effect_outcome, on_request,
};
use passerelle_federation::testing::samples::{
    self, IDP_ISSUER, authentication, authorization_redirect, identified_user,
    user_of_reused_session,
};
use passerelle_protocol::authorize::AuthorizationResponse;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::digest::HmacKey;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ConnectorId, InteractionHash, Secret};
use passerelle_protocol::registration::ClientType;
use passerelle_protocol::registration::ConsentRequirement;
use passerelle_protocol::testing::env::SeededEntropy;
use passerelle_store::memory::MemoryStore;
use passerelle_store::testing::store_conformance::ample_capacities;
use passerelle_store::{
    NewRecord, RecordKey, RecordKind, RecordVersion, ReplaceOutcome, Store, StoreError, TakeOutcome,
};

pub(super) const TARGETS: &[FuzzTarget] = &[target(
    "login_events",
    &[
        "crates/federation/src/login.rs",
        "crates/federation/src/login/",
        "crates/store/src/memory.rs",
        "crates/store/src/memory/kind_cache.rs",
    ],
    || Box::new(run_events),
)];

const COOKIES: [&str; 2] = ["the cookie of browser 0", "the cookie of browser 1"];
const MAX_EVENTS: usize = 200;

/// Returns true if a code was delivered.
fn run_events(data: &[u8]) -> bool {
    let mut bytes = data.iter().copied();
    let mut world = TwoLogins::new(bytes.next().unwrap_or_default());
    for _ in 0..MAX_EVENTS {
        let Some(event) = bytes.next() else { break };
        world.play(event, bytes.next().unwrap_or_default());
    }
    world.seen.iter().any(|seen| !seen.delivered.is_empty())
}

/// A step that a hub works on: what it decided, and the effect that it performs.
struct PendingStep {
    browser: usize,
    login: Login,
    version: RecordVersion,
    effect: Effect,
}

/// What was seen of one login.
#[derive(Default)]
struct ObservedEvents {
    /// What was asked of the identity providers, by `state`.
    attempts: BTreeMap<String, (ConnectorId, UpstreamAuthorizationRequest)>,
    order: Vec<String>,
    /// States whose callback was accepted.
    completed: BTreeSet<String>,
    /// States whose user was authenticated and identified.
    earned: BTreeSet<String>,
    reused: bool,
    codes: BTreeSet<String>,
    delivered: BTreeSet<String>,
    page_digest: String,
    /// The error that the stored login ended with.
    failed: Option<ErrorCode>,
}

struct TwoLogins {
    store: MemoryStore,
    entropy: SeededEntropy,
    now: Timestamp,
    is_closed: bool,
    consent: ConsentRequirement,
    hubs: [Option<PendingStep>; 2],
    seen: [ObservedEvents; 2],
    redeemed: BTreeSet<String>,
}

impl TwoLogins {
    fn new(options: u8) -> Self {
        let store = MemoryStore::new(ample_capacities());
        let prompt = ["", "login", "none", "select_account"][usize::from(options >> 2 & 3)];
        for cookie in COOKIES {
            let level = if options & 1 == 0 { "eidas1" } else { "eidas2" };
            let mut context = samples::login_context(&[("acr_values", level), ("prompt", prompt)]);
            context.hash = InteractionHash::from_cookie(cookie);
            let value = serde_json::to_vec(&Login::new(context)).unwrap();
            let record = NewRecord::new(value, samples::OPENED + Duration::from_secs(660));
            now_or_never(store.insert(login_key(cookie), record, samples::OPENED)).unwrap();
        }
        let consent = if options & 2 == 0 {
            ConsentRequirement::Information
        } else {
            ConsentRequirement::Required
        };
        Self {
            store,
            entropy: SeededEntropy::new(7),
            now: samples::OPENED,
            is_closed: false,
            consent,
            hubs: [None, None],
            seen: Default::default(),
            redeemed: BTreeSet::new(),
        }
    }

    /// The low bits choose the event, the browser and the hub.
    fn play(&mut self, event: u8, argument: u8) {
        let (browser, hub) = (usize::from(event >> 4 & 1), usize::from(event >> 5 & 1));
        match event & 15 {
            0..=6 => self.finish_effect(hub, argument),
            7 => self.hubs[hub] = None,
            8 => self.now = self.now + Duration::from_millis(u64::from(argument) * 700),
            9 => self.is_closed = argument & 7 == 0,
            10 => self.redeem(browser),
            _ => {
                if self.hubs[hub].is_none()
                    && let Some(request) = self.request(event & 15, browser, argument)
                {
                    self.begin_step(hub, browser, request);
                }
            }
        }
    }

    fn request(&mut self, event: u8, browser: usize, argument: u8) -> Option<LoginRequest> {
        Some(match (event, argument & 7) {
            (11, 0) => LoginRequest::Cancel,
            (11, 1) => LoginRequest::Displace,
            (11, 2) => LoginRequest::OpenConsentPage,
            (11, 3) => LoginRequest::ReportWrongUser,
            (11, 4) => {
                self.seen[browser].reused = true;
                let reuse = Some(Box::new(user_of_reused_session("session")));
                LoginRequest::OpenPage { reuse: Ok(reuse) }
            }
            (11, _) => LoginRequest::OpenPage { reuse: Ok(None) },
            (12, which) => LoginRequest::Choose(if which == 0 { "other" } else { "idp" }.into()),
            (13 | 14, _) => self.callback(browser, argument)?,
            (_, which) => {
                let digest = &self.seen[browser].page_digest;
                LoginRequest::Consent(ConsentSubmission {
                    answer: if which == 0 { ConsentAnswer::No } else { ConsentAnswer::Yes },
                    page_digest: if which == 1 { "another page".into() } else { digest.clone() },
                })
            }
        })
    }

    /// Returns a callback in this browser, of one of its own attempts or of the other browser's,
    /// with one difference from the expected callback.
    fn callback(&self, browser: usize, argument: u8) -> Option<LoginRequest> {
        let owner = if argument & 0x18 == 0x18 { 1 - browser } else { browser };
        let seen = &self.seen[owner];
        let state = seen.order.iter().rev().nth(usize::from(argument >> 6))?;
        let mut callback = Callback {
            connector: seen.attempts[state].0.clone(),
            state: state.clone(),
            params: CallbackParams {
                code: Some(Secret::new("upstream code".into())),
                iss: Some(IDP_ISSUER.into()),
                error: None,
                response: None,
            },
            network: ClientNetwork::containing([192, 0, 2, 1].into()),
        };
        match argument & 7 {
            0 => callback.state.push('x'),
            1 => callback.connector = "evil".into(),
            2 => callback.params.iss = Some("https://evil.example".into()),
            3 => callback.params.error = Some("access_denied".into()),
            _ => {}
        }
        Some(LoginRequest::Callback(callback))
    }

    fn begin_step(&mut self, hub: usize, browser: usize, request: LoginRequest) {
        let key = login_key(COOKIES[browser]);
        let Some(record) = now_or_never(self.store.load(&key, self.now)).unwrap() else { return };
        let login = Login::from_record(&key.name.as_ref().into(), &record.value).unwrap();
        let step = self.decide(|inputs| on_request(login, request, inputs));
        self.apply_step(hub, browser, step, record.version);
    }

    fn decide(&self, decide: impl FnOnce(&StepInputs<'_>) -> Step) -> Step {
        let gate = |_: &ConnectorId, _: AcrCheck| {
            if self.is_closed { Err(ErrorCode::GateClosed) } else { Ok(()) }
        };
        decide(&StepInputs {
            now: self.now,
            entropy: &self.entropy,
            gate: &gate,
            check_registration: &|_| Ok(()),
            connector_for_login_hint: &|_| None,
            forwarded_params: &|_, _| BTreeMap::new(),
            consent: self.consent,
            client_type: ClientType::Confidential,
            callback_base: "https://hub.example/api/v2/callback/",
            session: Some(&Secret::new("session".into())),
            hub_count: HubCount::Several,
            mail_code_key: &HmacKey::new(b"key of the fuzz target"),
        })
    }

    /// Stores the decision if necessary, and keeps its effect. A hub that lost the race stops.
    fn apply_step(&mut self, hub: usize, browser: usize, step: Step, mut version: RecordVersion) {
        let Step { login, save, output } = step;
        if save == Save::Yes {
            let value = serde_json::to_vec(&login).unwrap();
            let until = login.context.expires_at + Duration::from_secs(60);
            let key = login_key(COOKIES[browser]);
            let stored = self.store.replace(&key, version, value, until, self.now);
            match now_or_never(stored).unwrap() {
                ReplaceOutcome::Replaced(next) => version = next,
                ReplaceOutcome::Stale | ReplaceOutcome::Gone => return,
            }
            self.seen[browser].check_stored(&login);
        }
        match output {
            StepOutput::Perform(effect) => {
                self.seen[browser].check_effect(&effect, &login, save);
                self.hubs[hub] = Some(PendingStep { browser, login, version, effect: *effect });
            }
            StepOutput::Answer(answer) => self.seen[browser].check_answer(answer),
        }
    }

    /// Performs the pending effect of the hub, with success or an error.
    fn finish_effect(&mut self, hub: usize, argument: u8) {
        let Some(PendingStep { browser, login, version, effect }) = self.hubs[hub].take() else {
            return;
        };
        let is_good = argument & 3 != 0;
        let level = [Level::Eidas3, Level::Eidas1, Level::Eidas2][usize::from(argument >> 2) % 3];
        let outcome = match effect {
            Effect::BeginLogin(connector, request) => {
                if is_good {
                    self.seen[browser].order.push(request.state.clone());
                    let attempt = (connector, request);
                    self.seen[browser].attempts.insert(attempt.1.state.clone(), attempt);
                }
                let redirect = is_good.then(authorization_redirect);
                EffectOutcome::RedirectPrepared(redirect.ok_or(ErrorCode::IdpTimeout))
            }
            Effect::CompleteLogin(attempt, ..) => {
                let user = Box::new(authentication(attempt.connector.as_str(), level));
                EffectOutcome::Authenticated(is_good.then_some(user).ok_or(ErrorCode::IdTokenNonce))
            }
            Effect::Identify(user) => {
                let level = user.level;
                let user =
                    IdentifiedUser { authentication: *user, ..identified_user("idp", level) };
                if is_good {
                    let state = login.context.accepted_state.clone().unwrap();
                    self.seen[browser].earned.insert(state);
                }
                let user = is_good.then(|| Box::new(user));
                EffectOutcome::Identified(user.ok_or(ErrorCode::RegisterNotFound.into()))
            }
            // No user of this target needs a code by mail.
            Effect::Mail(_) => EffectOutcome::Mail(Ok(())),
            Effect::IssueCode(grant) => {
                EffectOutcome::CodeIssued(self.issue(browser, &grant, is_good))
            }
            Effect::CheckCode(code) => {
                let live = now_or_never(self.store.load(&code_key(&code), self.now)).unwrap();
                EffectOutcome::CodeChecked(Ok(live.is_some()))
            }
        };
        let step = self.decide(|inputs| on_effect_outcome(login, outcome, inputs));
        self.apply_step(hub, browser, step, version);
    }

    /// Stores the code as `AuthorizationCodes::issue` does: before it expires, and only once.
    fn issue(&mut self, browser: usize, grant: &CodeGrant, is_good: bool) -> Result<(), ErrorCode> {
        if grant.granted_at + CODE_LIFE <= self.now {
            return Err(ErrorCode::AlreadyDone);
        }
        if !is_good {
            return Err(ErrorCode::StoreFull);
        }
        let until = grant.granted_at + CODE_LIFE;
        let record = NewRecord::new(vec![u8::try_from(browser).unwrap()], until);
        match now_or_never(self.store.insert(code_key(&grant.code), record, self.now)) {
            Ok(_) => {
                let first = self.seen[browser].codes.insert(grant.code.reveal().clone());
                assert!(first, "a code was issued again");
                assert_eq!(self.seen[browser].codes.len(), 1, "two codes for one login");
                Ok(())
            }
            Err(StoreError::Exists) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn redeem(&mut self, browser: usize) {
        for code in self.seen[browser].delivered.clone() {
            let key = code_key(&Secret::new(code.clone()));
            let taken = self.store.take(&key, vec![9], self.now + CODE_LIFE, self.now);
            if let TakeOutcome::Taken(record) = now_or_never(taken).unwrap() {
                assert_eq!(usize::from(record.value[0]), browser, "another login's code");
                assert!(self.redeemed.insert(code), "a code was redeemed twice");
            }
        }
    }
}

const CODE_LIFE: Duration = Duration::from_secs(30);

impl ObservedEvents {
    fn check_stored(&mut self, login: &Login) {
        let outcome = login.outcome();
        if let Some(code) = self.failed {
            assert_eq!(outcome, Some(Err(code)), "out of a failure");
        }
        self.failed = outcome.and_then(Result::err);
    }

    fn check_effect(&mut self, effect: &Effect, login: &Login, save: Save) {
        match effect {
            Effect::BeginLogin(..) => assert!(self.failed.is_none(), "a redirect after a failure"),
            Effect::CompleteLogin(attempt, params, _) => {
                assert!(self.failed.is_none(), "a callback after a failure");
                assert_eq!(save, Save::Yes, "an attempt that another hub would find open");
                let request = &attempt.request;
                let known = self.attempts.get(&request.state).expect("a state of this browser");
                assert_eq!(known.0, attempt.connector, "mix-up");
                assert_eq!(known.1.nonce, request.nonce, "another attempt's nonce");
                assert_eq!(known.1.verifier, request.verifier, "another attempt's verifier");
                assert_eq!(params.iss.as_deref(), Some(IDP_ISSUER), "another issuer");
                let first = self.completed.insert(request.state.clone());
                assert!(first, "a callback was accepted twice");
            }
            Effect::Identify(user) => {
                // Nothing is stored before, so another hub may have ended the login meanwhile.
                assert!(!self.completed.is_empty(), "a user without a callback");
                assert!(user.level >= login.context.request.level, "a level below the request");
            }
            Effect::Mail(_) => panic!("a code by mail that no rule asks for"),
            Effect::IssueCode(grant) => self.check_grant(grant, login),
            Effect::CheckCode(_) => assert!(matches!(login.state, LoginState::Completed(_))),
        }
    }

    fn check_grant(&self, grant: &CodeGrant, login: &Login) {
        assert!(self.failed.is_none(), "a grant after a failure");
        assert_eq!(grant.login, login.context.hash);
        match &grant.session {
            SessionUse::New { .. } => {
                let state = login.context.accepted_state.as_ref().expect("an accepted state");
                assert!(self.completed.contains(state), "a grant without a callback");
                assert!(self.earned.contains(state), "a grant without an identified user");
                assert!(grant.user.level >= grant.request.level, "too low a level");
            }
            SessionUse::Reused { .. } => assert!(self.reused, "no session was reused"),
        }
        assert!(self.codes.iter().all(|code| code == grant.code.reveal()), "a second code");
    }

    fn check_answer(&mut self, answer: LoginAnswer) {
        match answer {
            LoginAnswer::ConsentPage(page) => self.page_digest = page.page_digest(),
            LoginAnswer::ServiceProvider { answer, .. } => {
                let AuthorizationResponse::Redirect { location } = answer else { return };
                let query = location.split_once('?').map_or("", |(_, query)| query);
                let pairs = url::form_urlencoded::parse(query.as_bytes());
                for (_, code) in pairs.filter(|(name, _)| name == "code") {
                    assert!(self.failed.is_none(), "a code after a failure");
                    assert!(self.codes.contains(&*code), "an answer before its grant");
                    self.delivered.insert(code.into_owned());
                    assert_eq!(self.delivered.len(), 1, "two codes for one login");
                }
            }
            _ => {}
        }
    }
}

fn login_key(cookie: &str) -> RecordKey {
    let hash = InteractionHash::from_cookie(cookie);
    RecordKey { kind: RecordKind::LOGIN, name: Arc::from(hash.as_str()) }
}

fn code_key(code: &Secret<String>) -> RecordKey {
    RecordKey { kind: RecordKind::CODE, name: Arc::from(code.reveal().as_str()) }
}

/// The in-memory store never waits.
fn now_or_never<T>(operation: impl Future<Output = T>) -> T {
    operation.now_or_never().expect("the in-memory store answers at once")
}
