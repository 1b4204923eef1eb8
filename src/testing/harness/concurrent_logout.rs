//! Logouts that overlap with other requests of the same browser.

use crate::grant::logout::LogoutDestination;
use crate::ids::Secret;

use super::hub::TestHub;

impl TestHub {
    /// Ends the session of this cookie by a request that has loaded the session before `meanwhile`
    /// runs, and ends it afterwards.
    pub async fn log_out_during(&self, cookie: &str, meanwhile: impl Future<Output = ()>) {
        let cookie = Secret::new(cookie.to_owned());
        let loaded = self.hub.grants.session(&cookie).await.unwrap().unwrap();
        meanwhile.await;
        self.hub.logouts.log_out(&cookie, &loaded, &LogoutDestination::default()).await.unwrap();
    }
}
