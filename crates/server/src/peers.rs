//! Asks the other hubs for logins, over their private listeners.
//!
//! Responsible for the calls: all hubs at once, each bounded in time and size, with the token that
//! hubs share. The caller decides which answers to trust when it joins them.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use http::header::{AUTHORIZATION, HeaderValue};
use http::{Method, Request};
use serde::de::DeserializeOwned;
use url::Url;

use passerelle_admin::console::{
    FailureReport, PeerAnswer, PeerHubs, PeerLoginSearch, failure_filter_query,
};
use passerelle_admin::operator_accounts::PeerAccess;
use passerelle_audit::recent::failures::FailureFilter;
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, EgressError, SafeHttpClient,
};
use passerelle_protocol::ids::{Secret, SupportId};

/// A hub searches its audit log for at most four seconds. A person waits for the page meanwhile.
const LIMITS: CallLimits = CallLimits {
    connect_timeout: Duration::from_secs(1),
    total_timeout: Duration::from_secs(6),
    max_body_bytes: 256 * 1024,
};

/// A hub summarizes its failed logins from memory.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(2);

/// The other hubs, with a client for them.
pub(super) struct PeerHubClient {
    peers: BTreeMap<String, Url>,
    token: Secret<String>,
    client: SafeHttpClient,
}

impl PeerHubClient {
    /// Creates the client; `None` without other hubs.
    ///
    /// # Errors
    /// Returns an error if the TLS library can't be set up.
    pub(crate) fn new(access: Option<&PeerAccess>) -> Result<Option<Self>, EgressError> {
        let Some(PeerAccess { token, peers }) = access.filter(|access| !access.peers.is_empty())
        else {
            return Ok(None);
        };
        // The operator chose these hosts, so any address is allowed.
        let hosts: Vec<String> =
            peers.values().filter_map(Url::host_str).map(str::to_owned).collect();
        let client = SafeHttpClient::new(AllowedSchemes::HttpAndHttps, &hosts, LIMITS)?;
        Ok(Some(Self { peers: peers.clone(), token: token.clone(), client }))
    }

    async fn ask_all<Report: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Vec<PeerAnswer<Report>> {
        let ask = async |(peer, base): (&String, &Url)| PeerAnswer {
            peer: peer.clone(),
            answer: self.call_peer(method.clone(), base, path, body.clone()).await,
        };
        join_all(self.peers.iter().map(ask)).await
    }

    async fn call_peer<Report: DeserializeOwned>(
        &self,
        method: Method,
        base: &Url,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Report, String> {
        let bearer = HeaderValue::try_from(format!("Bearer {}", self.token.reveal()))
            .map_err(|_| "the token can't be sent".to_owned())?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{}/{path}", base.as_str().trim_end_matches('/')))
            .header(AUTHORIZATION, bearer)
            .body(body)
            .map_err(|_| "its address can't be called".to_owned())?;
        let answer = self.client.send(request).await.map_err(|error| error.to_string())?;
        match answer.status().as_u16() {
            200 => serde_json::from_slice(answer.body())
                .map_err(|_| "it answered something that is not a report of a hub".to_owned()),
            401 | 429 => Err("it rejects private.peer_token".to_owned()),
            404 => Err("it has no private.peer_token, or is not a hub of this version".to_owned()),
            409 => Err("it has no audit log that records the search".to_owned()),
            status => Err(format!("it answered with the status {status}")),
        }
    }
}

#[async_trait]
impl PeerHubs for PeerHubClient {
    async fn find_login(&self, id: &SupportId) -> Vec<PeerAnswer> {
        self.ask_all(Method::GET, &format!("admin/peer/logins/{id}"), Vec::new()).await
    }

    async fn find_person(&self, search: &PeerLoginSearch) -> Vec<PeerAnswer> {
        let body = serde_json::to_vec(search).unwrap_or_default();
        self.ask_all(Method::POST, "admin/peer/logins/search", body).await
    }

    async fn summarize_failures(&self, filter: &FailureFilter) -> Vec<PeerAnswer<FailureReport>> {
        let path = format!("admin/peer/failures?{}", failure_filter_query(filter));
        let ask = async |(peer, base): (&String, &Url)| {
            let call = self.call_peer(Method::GET, base, &path, Vec::new());
            let answer = tokio::time::timeout(SUMMARY_TIMEOUT, call).await;
            let late = || Err("it did not answer within two seconds".to_owned());
            PeerAnswer { peer: peer.clone(), answer: answer.unwrap_or_else(|_| late()) }
        };
        join_all(self.peers.iter().map(ask)).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use passerelle_admin::console::LoginReport;
    use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer};

    fn report(instance: &str) -> serde_json::Value {
        let line = serde_json::json!({ "time": "2026-11-21T10:15:00Z", "event": "code_issued" });
        serde_json::json!({ "instance": instance, "source": "memory", "lines": [line] })
    }

    async fn ask(urls: &[(&str, String)]) -> BTreeMap<String, Result<LoginReport, String>> {
        let peers = urls.iter().map(|(name, url)| ((*name).to_owned(), Url::parse(url).unwrap()));
        let access = PeerAccess { token: Secret::new("p".repeat(32)), peers: peers.collect() };
        let peers = PeerHubClient::new(Some(&access)).unwrap().unwrap();
        let id = SupportId::new("7K2M9QX4T0BC");
        let answers = peers.find_login(&id).await;
        answers.into_iter().map(|one| (one.peer, one.answer)).collect()
    }

    #[tokio::test]
    async fn each_hub_is_asked_with_the_token_and_answers_for_itself() {
        let good = FakeServer::start(|request| {
            let is_mine = request
                .headers
                .to_ascii_lowercase()
                .contains(&format!("bearer {}", "p".repeat(32)))
                && request.target == "/admin/peer/logins/7K2M9QX4T0BC";
            if is_mine { FakeResponse::json(&report("other")) } else { FakeResponse::status(401) }
        })
        .await;
        let refusing = FakeServer::start(|_| FakeResponse::status(401)).await;
        let answers = ask(&[("good", good.base()), ("refusing", refusing.base())]).await;
        assert_eq!(answers["good"].as_ref().unwrap().lines.len(), 1);
        assert!(answers["refusing"].as_ref().unwrap_err().contains("peer_token"));
    }

    /// Attack: a hub that was taken over answers with nonsense, with gigabytes, or never.
    #[tokio::test]
    async fn a_peer_that_lies_or_never_answers_costs_bounded_time_and_size() {
        let nonsense = FakeServer::start(|_| {
            let lines = [serde_json::json!({ "time": "now", "event": "rm -rf" })];
            FakeResponse::json(
                &serde_json::json!({ "instance": "x", "source": "memory", "lines": lines }),
            )
        })
        .await;
        let huge = FakeServer::start(|_| FakeResponse {
            status: 200,
            headers: Vec::new(),
            body: vec![b' '; LIMITS.max_body_bytes + 1],
        })
        .await;
        let redirecting = FakeServer::start(|_| FakeResponse {
            status: 302,
            headers: vec![("location", "http://127.0.0.1:1/admin/peer/logins/x".to_owned())],
            body: Vec::new(),
        })
        .await;
        let closing = FakeServer::start(|_| FakeResponse::connection_closed()).await;
        // Accepts connections and never answers.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", silent.local_addr().unwrap());
        let good = FakeServer::start(|_| FakeResponse::json(&report("other"))).await;
        let started = Instant::now();
        let answers = ask(&[
            ("nonsense", nonsense.base()),
            ("huge", huge.base()),
            ("redirecting", redirecting.base()),
            ("closing", closing.base()),
            ("silent", address),
            ("good", good.base()),
        ])
        .await;
        assert!(started.elapsed() < LIMITS.total_timeout + Duration::from_secs(3));
        assert!(answers["good"].is_ok());
        for bad in ["nonsense", "huge", "redirecting", "closing", "silent"] {
            assert!(answers[bad].is_err(), "{bad}");
        }
    }
}
