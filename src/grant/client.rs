//! Who is calling: `client_secret_post` against the hashes that the configuration holds.

use super::Grants;
use crate::config::Service;
use crate::digest;
use crate::ids::ClientId;
use crate::protocol::catalogue::ErrorCode;

impl Grants {
    /// The service provider that this secret belongs to.
    ///
    /// # Errors
    /// `ClientAuthentication`, the same for an unknown id, an inactive one and a wrong secret, and after the same work.
    pub fn authenticate(&self, client_id: &ClientId, secret: &str) -> Result<&Service, ErrorCode> {
        let offered = digest::sha256(secret.as_bytes());
        let client = self.federation.active(client_id);
        // An unknown client costs the same comparison as a known one, so that ids can't be listed by timing.
        let nobody = [[0_u8; 32]];
        let registered = client.map_or(nobody.as_slice(), |client| client.secrets.as_slice());
        let matches = registered.iter().fold(false, |found, hash| digest::equal(hash, &offered) | found);
        client.filter(|_| matches).ok_or(ErrorCode::ClientAuthentication)
    }
}
