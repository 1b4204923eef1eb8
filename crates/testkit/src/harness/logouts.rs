//! Logouts of a test hub, and their records in its store.

use passerelle_grants::logout_redirects::LogoutDestination;
use passerelle_grants::pending_post::PostedMessage;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::logout::{self, LogoutRequest};
use passerelle_protocol::params::Params;

use super::hub::TestHub;

impl TestHub {
    /// Stores the destination of a logout request, as if the browser had been sent to this identity
    /// provider's logout.
    pub async fn save_logout_destination(
        &self,
        connector: &str,
        state: &str,
        request: &[(impl AsRef<str>, impl AsRef<str>)],
    ) {
        let hub = &self.hub;
        let owned = |text: &str| text.to_owned();
        let pairs = request
            .iter()
            .map(|(name, value)| (owned(name.as_ref()), owned(value.as_ref())))
            .collect();
        let validated = logout::validate_request(
            &Params::new(pairs),
            hub.core.federation.load().as_ref(),
            |hint| hub.hints.verify_logout_hint(hint),
        );
        let LogoutRequest::Named { hint, return_to } = validated.unwrap() else {
            panic!("the request names no service provider")
        };
        let destination = LogoutDestination {
            service_provider: Some(hint.audience),
            return_to,
            ..LogoutDestination::default()
        };
        let connector = connector.into();
        hub.logout_redirects.save_destination(&connector, state, &destination).await.unwrap();
    }

    /// Fills the capacity for pending logout requests.
    pub async fn fill_pending_logouts(&self) {
        while self.hub.pending_posts.save(PostedMessage::Logout, &[]).await.is_ok() {}
    }

    /// Ends the session of this cookie by a request that has loaded the session before `meanwhile`
    /// runs, and ends it afterwards.
    pub async fn log_out_during(&self, cookie: &str, meanwhile: impl Future<Output = ()>) {
        let cookie = Secret::new(cookie.to_owned());
        let (_, loaded) = self.hub.logouts.decide_logout(None, Some(&cookie)).await.unwrap();
        meanwhile.await;
        self.hub
            .logouts
            .log_out(&cookie, &loaded.unwrap(), &LogoutDestination::default())
            .await
            .unwrap();
    }
}
