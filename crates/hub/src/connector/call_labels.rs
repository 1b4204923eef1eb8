//! Names of connector operations in metrics and spans.

use crate::health::CallKind;

/// Returns the label of an operation in metrics.
pub(super) const fn call_label(call: CallKind) -> &'static str {
    match call {
        CallKind::BeginLogin => "begin_login",
        CallKind::CompleteLogin => "complete_login",
        CallKind::SignIn => "sign_in",
        CallKind::EndSession => "end_session",
        CallKind::Preload => "preload",
        CallKind::Probe => "probe",
    }
}

/// Returns the span name of an operation.
pub(super) const fn span_name(call: CallKind) -> &'static str {
    match call {
        CallKind::BeginLogin => "idp begin_login",
        CallKind::CompleteLogin => "idp complete_login",
        CallKind::SignIn => "idp sign_in",
        CallKind::EndSession => "idp end_session",
        CallKind::Preload => "idp preload",
        CallKind::Probe => "idp probe",
    }
}
