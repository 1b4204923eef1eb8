saml-send-title = A su cuenta
saml-send-lead = Va a «{ $provider }» para iniciar sesión. Si no ocurre nada, use el botón.
saml-send-go = Continuar
