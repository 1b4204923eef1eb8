saml-send-title = Verso il suo account
saml-send-lead = Sta andando a «{ $provider }» per accedere. Se non succede nulla, usi il pulsante.
saml-send-go = Continua
