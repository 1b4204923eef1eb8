//! Gives the routes of an optional crate access to the connectors of its kind.

use super::registry::Connectors;
use passerelle_protocol::ids::ConnectorId;

impl Connectors {
    /// Returns whether the connector exists, and its own routes work with a `T`.
    pub fn has_own_pages<T: 'static>(&self, id: &ConnectorId) -> bool {
        self.connector(id).is_some_and(|connector| {
            connector.own_pages().is_some_and(<dyn std::any::Any>::is::<T>)
        })
    }

    /// Calls the connector's own pages; returns `None` if there is no connector of this kind.
    pub async fn with_own_pages<T: 'static, R>(
        &self,
        id: &ConnectorId,
        call: impl AsyncFnOnce(&T) -> R,
    ) -> Option<R> {
        let connector = self.connector(id)?;
        Some(call(connector.own_pages()?.downcast_ref::<T>()?).await)
    }
}
