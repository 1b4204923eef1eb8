saml-send-title = To your account
saml-send-lead = You are going to “{ $provider }” to sign in. If nothing happens, use the button.
saml-send-go = Continue
