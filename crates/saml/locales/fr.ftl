saml-send-title = Vers votre compte
saml-send-lead = Vous allez sur « { $provider } » pour vous connecter. Si rien ne se passe, utilisez le bouton.
saml-send-go = Continuer
