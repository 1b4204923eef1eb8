saml-send-title = Zu Ihrem Konto
saml-send-lead = Sie gehen jetzt zu „{ $provider }“, um sich anzumelden. Wenn nichts geschieht, verwenden Sie die Schaltfläche.
saml-send-go = Weiter
