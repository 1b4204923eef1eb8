saml-send-title = Para a sua conta
saml-send-lead = Vai para «{ $provider }» para iniciar sessão. Se nada acontecer, use o botão.
saml-send-go = Continuar
