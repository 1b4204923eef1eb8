//! What an operation on an identity provider is called.

use crate::actor::health::Call;

/// The name of an operation in metrics.
pub const fn label(call: Call) -> &'static str {
    match call {
        Call::Begin => "begin",
        Call::Complete => "complete",
        Call::SignIn => "sign_in",
        Call::End => "end",
        Call::Warm => "warm",
        Call::Probe => "probe",
        Call::LoginProbe => "login_probe",
    }
}

/// The name of its span.
pub const fn span_name(call: Call) -> &'static str {
    match call {
        Call::Begin => "idp begin",
        Call::Complete => "idp complete",
        Call::SignIn => "idp sign_in",
        Call::End => "idp end",
        Call::Warm => "idp warm",
        Call::Probe => "idp probe",
        Call::LoginProbe => "idp login_probe",
    }
}
