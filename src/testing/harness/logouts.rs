//! Records of logouts in the store of a test hub.

use crate::grant::logout::LogoutDestination;
use crate::protocol::logout::{self, LogoutRequest};
use crate::protocol::params::Params;

use super::hub::TestHub;

impl TestHub {
    /// Stores the destination of a logout request, as if the browser had been sent to this identity
    /// provider's logout.
    pub async fn save_logout_destination(
        &self,
        connector: &str,
        state: &str,
        request: &[(&str, &str)],
    ) {
        let hub = &self.hub;
        let pairs =
            request.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let validated = logout::validate_request(
            &Params::new(pairs),
            hub.core.federation.load().as_ref(),
            |hint| hub.token_service.verify_logout_hint(hint),
        );
        let LogoutRequest::Named { hint, return_to } = validated.unwrap() else {
            panic!("the request names no service provider")
        };
        let destination = LogoutDestination {
            service_provider: Some(hint.audience),
            return_to,
            ..LogoutDestination::default()
        };
        hub.token_service
            .save_logout_destination(&connector.into(), state, &destination)
            .await
            .unwrap();
    }

    /// Fills the capacity for pending logout requests.
    pub async fn fill_pending_logouts(&self) {
        while self.hub.token_service.save_logout_request(&[]).await.is_ok() {}
    }
}
