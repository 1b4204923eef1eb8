//! Closes connections after their current response while the hub shuts down.

use actix_web::body::BoxBody;
use actix_web::dev::ServiceResponse;
use actix_web::http::ConnectionType;

use crate::web::readiness::Readiness;

/// Adds `Connection: close` while the hub shuts down, so that a proxy with persistent connections
/// sends no request into a connection that is about to be cut.
pub(super) fn close_if_draining(
    mut answer: ServiceResponse<BoxBody>,
    readiness: &Readiness,
) -> ServiceResponse<BoxBody> {
    if readiness.is_draining() {
        answer.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    answer
}
