//! What answers are like while the hub goes down.

use actix_web::body::BoxBody;
use actix_web::dev::ServiceResponse;
use actix_web::http::ConnectionType;

use crate::web::private::Readiness;

/// While the hub goes down each answer is the last on its connection: a proxy that keeps connections is thereby rid of them
/// before they are cut, and sends no request into a cut.
pub(super) fn last_if_draining(
    mut answer: ServiceResponse<BoxBody>,
    readiness: &Readiness,
) -> ServiceResponse<BoxBody> {
    if readiness.is_draining() {
        answer.response_mut().head_mut().set_connection_type(ConnectionType::Close);
    }
    answer
}
