//! The directory kind: search and bind over TLS (RFC 4511, 4513, 4515), with a login page of the hub's own.
//!
//! Owns: what a typed name and password are worth, and the claims of an entry; how often they may be tried is decided in
//! `backoff`. Must not
//! know: HTML or HTTP; the web layer draws the page at `{base_url}/connectors/{connector}/login` through [`PasswordPage`].
//!
//! The password is proven by the directory: the hub's account looks for exactly one entry, then a fresh connection binds
//! as that entry. What was proven waits under a one-time code for the connector's callback, so that from there on a login
//! goes the way that every other one goes. Its time is that of the bind, so re-authentication is proven by being done.

mod backoff;
mod directory;
mod tries;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;
use url::form_urlencoded::Serializer;

use self::backoff::{Attempt as Bind, Backoff};
use self::directory::{Directory, Entry};
use self::tries::Tries;
use super::finding::{Examination, Finding};
use super::one_time::OneTimeCodes;
use super::own_page::{self, PasswordPage, SignedIn, Typed};
use super::{Connector, ConnectorFault, ConnectorRefused, ConnectorContext, code_flow};
use crate::assurance::acr::Agreement;
use crate::assurance::amr::Told;
use crate::config::ldap::LdapKind;
use crate::config::model::ConnectorFile;
use crate::egress::guard::CallLimits;
use crate::env::{Env, Timestamp};
use crate::ids::{ConnectorId, Secret};
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, AuthorizationRedirect};
use crate::protocol::catalogue::ErrorCode;

/// Wrong passwords within one login: so many at once, then one for each minute.
const WRONG_IN_A_LOGIN: u32 = 10;
const WAIT: Duration = Duration::from_secs(60);

/// Characters of a name and bytes of a password that are looked at, at most.
const LONGEST_NAME: usize = 256;
const LONGEST_PASSWORD: usize = 1024;

const CLIENT_ID: &str = "passerelle";

pub struct LdapConnector {
    id: ConnectorId,
    /// No address: the directory is not called by the browser.
    issuer: String,
    subject_attribute: String,
    attributes: Vec<String>,
    directory: Arc<Directory>,
    env: Env,
    agreement: Agreement,
    backoff: Backoff,
    logins: Tries,
    proven: OneTimeCodes<Proven>,
}

/// What a code stands for.
#[derive(Serialize, Deserialize)]
struct Proven {
    subject: Secret<String>,
    claims: Map<String, Value>,
    at: Timestamp,
}

impl LdapConnector {
    /// Nothing is called yet: a dead directory does not stop the start.
    ///
    /// # Errors
    /// The file can't work; which key, and how to mend it.
    pub fn new(
        id: ConnectorId,
        file: &ConnectorFile,
        kind: &LdapKind,
        bind_password: Option<Secret<String>>,
        means: ConnectorContext,
    ) -> Result<Self, ConnectorRefused> {
        let Some(bind_password) = bind_password else {
            return Err(ConnectorRefused::new(
                "kind.ldap.bind_password",
                "it is missing; name the password's file or variable",
            ));
        };
        Ok(Self {
            issuer: format!("urn:passerelle:ldap:{id}"),
            proven: OneTimeCodes::new(&id, means.codes),
            id,
            subject_attribute: kind.subject_attribute.clone(),
            attributes: kind.attributes.clone(),
            directory: Arc::new(Directory::new(kind, bind_password)?),
            agreement: super::agreement(file),
            backoff: Backoff::new(kind.lockout_after, kind.lockout_window(), &means.env),
            logins: Tries::new(WRONG_IN_A_LOGIN, WAIT, &means.env),
            env: means.env,
        })
    }

    /// The entry whose password it is; `None` if there is none.
    async fn authenticated<'t>(
        &'t self,
        typed: &Typed,
        counted: &mut Counted<'t>,
    ) -> Result<Option<Entry>, Stop> {
        let (network, now) = (typed.network, counted.at);
        counted.count(&self.logins, typed.login.as_str())?;
        let name = by_name(typed);
        self.backoff.count_network(&name, network, now, &mut counted.bind).map_err(Stop::Wait)?;
        self.backoff.count_person(&name, network, now, &mut counted.bind).map_err(Stop::Wait)?;
        let found = self.directory.find(&typed.username).await?;
        let Some(entry) = found.filter(|entry| !entry.dn.is_empty()) else {
            // The same conversation as for somebody who is there, so that its length says nothing (user enumeration).
            let nobody = self.directory.nobody(&self.env.entropy().token());
            self.directory.proves(&nobody, &typed.password).await?;
            return Ok(None);
        };
        // By the entry as well: a directory takes many spellings of a name for the same one.
        self.backoff
            .count_person(&by_entry(&entry), network, now, &mut counted.bind)
            .map_err(Stop::Wait)?;
        Ok(self.directory.proves(&entry.dn, &typed.password).await?.then_some(entry))
    }

    fn proven(&self, entry: &Entry) -> Result<Proven, ConnectorFault> {
        let subject = match entry.values.get(&self.subject_attribute).map(Vec::as_slice) {
            Some([one]) if !one.trim().is_empty() => Secret::new(one.clone()),
            _ => {
                let why = "subject_attribute is missing, empty or has several values; may the hub's account read it?";
                return Err(ConnectorFault::new(ErrorCode::LdapSubject, why));
            }
        };
        let claim = |name: &String| {
            Some((
                name.clone(),
                match entry.values.get(name)?.as_slice() {
                    [one] => Value::String(one.clone()),
                    several => Value::from(several.to_vec()),
                },
            ))
        };
        Ok(Proven {
            subject,
            claims: self.attributes.iter().filter_map(claim).collect(),
            at: self.env.now(),
        })
    }

    async fn judged(&self, typed: &Typed) -> Result<SignedIn, ConnectorFault> {
        let mut counted = Counted { at: self.env.now(), tries: Vec::new(), bind: Bind::default() };
        let outcome = tokio::time::timeout(
            CallLimits::DEFAULT.whole,
            self.authenticated(typed, &mut counted),
        )
        .await;
        match outcome.unwrap_or_else(|_| Err(Stop::Fault(late()))) {
            Ok(Some(entry)) => {
                counted.forgive();
                self.backoff.succeed(
                    &[&by_name(typed), &by_entry(&entry)],
                    typed.network,
                    counted.at,
                    &counted.bind,
                );
                let proven = self.proven(&entry)?;
                let code = self.proven.keep(&typed.state, &proven, &self.env).await?;
                let mut query = Serializer::new(String::new());
                query
                    .append_pair("code", &code)
                    .append_pair("state", &typed.state)
                    .append_pair("iss", &self.issuer);
                Ok(SignedIn::Yes(Secret::new(query.finish())))
            }
            Ok(None) => Ok(SignedIn::No),
            Err(Stop::Wait(wait)) => {
                self.backoff.give_back(&counted.bind);
                Ok(SignedIn::Wait(wait))
            }
            Err(Stop::Fault(fault)) => {
                counted.forgive();
                self.backoff.give_back(&counted.bind);
                Err(fault)
            }
        }
    }
}

fn late() -> ConnectorFault {
    ConnectorFault::new(ErrorCode::IdpTimeout, "the directory did not answer in time")
}

/// Why a try was not judged to its end.
enum Stop {
    Wait(Duration),
    Fault(ConnectorFault),
}

impl From<ConnectorFault> for Stop {
    fn from(fault: ConnectorFault) -> Self {
        Self::Fault(fault)
    }
}

/// What one try was counted under.
struct Counted<'t> {
    at: Timestamp,
    tries: Vec<(&'t Tries, String)>,
    bind: Bind,
}

impl<'t> Counted<'t> {
    fn count(&mut self, tries: &'t Tries, who: &str) -> Result<(), Stop> {
        tries.count(who, self.at).map_err(Stop::Wait)?;
        self.tries.push((tries, who.to_owned()));
        Ok(())
    }

    fn forgive(&self) {
        self.tries.iter().for_each(|(tries, who)| tries.forgive(who));
    }
}

/// What a person is counted by, as typed.
fn by_name(typed: &Typed) -> String {
    format!("name {}", alike(typed.username.reveal()))
}

/// What a person is counted by, as found.
fn by_entry(entry: &Entry) -> String {
    format!("entry {}", alike(&entry.dn))
}

/// Spellings that most directories take for one name (RFC 4518, 2).
fn alike(name: &str) -> String {
    name.nfkc()
        .flat_map(char::to_lowercase)
        .filter(|character| !character.is_whitespace())
        .collect()
}

#[async_trait]
impl PasswordPage for LdapConnector {
    async fn sign_in(&self, typed: Typed) -> Result<SignedIn, ConnectorFault> {
        let name = typed.username.reveal().chars().count();
        // RFC 4513, 5.1.2: a bind without a password succeeds, and proves nothing (unauthenticated bind).
        if !(1..=LONGEST_NAME).contains(&name)
            || !(1..=LONGEST_PASSWORD).contains(&typed.password.reveal().len())
        {
            return Ok(SignedIn::No);
        }
        self.judged(&typed).await
    }
}

#[async_trait]
impl Connector for LdapConnector {
    async fn begin(&self, departure: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        let mut url =
            own_page::address(&departure, &self.id, &format!("/connectors/{}/login", self.id))?;
        url.query_pairs_mut().append_pair("state", &departure.state);
        Ok(AuthorizationRedirect {
            token_endpoint: self.issuer.clone(),
            issuer: self.issuer.clone(),
            client_id: CLIENT_ID.into(),
            url: url.into(),
            iss_expected: true,
        })
    }

    async fn complete(
        &self,
        attempt: Attempt,
        arrival: Arrival,
    ) -> Result<Authentication, ConnectorFault> {
        let code = code_flow::judge_arrival(&self.issuer, CLIENT_ID, &attempt, arrival)?;
        let proven = self.proven.take(code.reveal(), &attempt.state, self.env.now()).await?;
        let judged = self.agreement.judge(None, self.agreement.to_ask(attempt.level));
        Ok(Authentication {
            connector: self.id.clone(),
            upstream_subject: proven.subject,
            level: judged.map_err(|fault| ConnectorFault::new(fault.code(), fault.to_string()))?,
            amr: Told::Nothing,
            auth_time: proven.at,
            claims: proven.claims,
            id_token: None,
        })
    }

    async fn warm(&self) -> Result<(), ConnectorFault> {
        tokio::time::timeout(CallLimits::DEFAULT.whole, self.directory.knock())
            .await
            .unwrap_or_else(|_| Err(late()))
    }

    async fn examine(&self, examination: &Examination) -> Vec<Finding> {
        self.directory.examine(examination, &self.subject_attribute, self.env.now()).await
    }

    fn password_page(&self) -> Option<&dyn PasswordPage> {
        Some(self)
    }
}

#[cfg(test)]
mod fake_directory;
#[cfg(test)]
mod tests;
